# SPDX-License-Identifier: MIT
"""A program that pushes and pops frames of all kinds without pause. Each function is called by one other only, so
that a stack is right when each frame's caller is the one that its name says: NAME_of_CALLER."""
import functools
import os


def leaf_of_method(x):
    return x


class Thing:
    def __init__(self, n):
        self.n = n

    def method_of_main(self):
        return leaf_of_method(self.n) + leaf_of_method(1)


def inner_of_outer():
    yield 1
    yield 2


def outer_of_main():
    yield from inner_of_outer()


def key_of_main(x):
    return -x


def adder_of_main(a, b):
    return a + b


def deep_of_deep(n):
    return deep_of_deep(n - 1) if n else 0


def main():
    while True:
        Thing(1).method_of_main()
        sum(outer_of_main())
        for _ in outer_of_main():
            pass
        sorted((3, 1, 2), key=key_of_main)
        functools.reduce(adder_of_main, (1, 2, 3))
        deep_of_deep(3)
        [adder_of_main(x, x) for x in (1, 2)]


os.write(1, b"busy\n")
main()
