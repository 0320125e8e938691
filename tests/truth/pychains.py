# SPDX-License-Identifier: MIT
"""Stacks of all kinds that Python makes, with C between; see truth.h. Says "done" at the end."""

import asyncio
import ctypes
import signal
import sys
import threading

import pyext


class Known:
    """While it is open, the function it is used in is running."""

    def __init__(self, before="~py", name=None):
        self.before, self.name = before, name

    def __enter__(self):
        code = sys._getframe(1).f_code
        pyext.enter(self.before)
        pyext.enter((self.name or getattr(code, "co_qualname", code.co_name)) + " (pychains.py)!")

    def __exit__(self, *exception):
        pyext.leave()
        pyext.leave()


def point():
    with Known():
        pyext.point()
        pyext.point_unlocked()


def outer():
    with Known():
        inner(1, b=2)


def inner(a, *, b):
    with Known():
        point()


def busy():
    with Known():
        x = 1
        for i in range(300000):
            x = x * 3 % 1000003


def recursive(depth):
    with Known():
        if depth > 1:
            recursive(depth - 1)
        else:
            point()


class Work:
    def method(self):
        with Known():
            point()

    @property
    def value(self):
        with Known():
            point()
        return 1

    def __call__(self, x):
        with Known():
            pyext.call(self.method)

    def __del__(self):
        with Known():
            point()


def objects():
    with Known():
        work = Work()
        work.method()
        work.value
        work(1)
        del work


def generator():
    with Known():
        point()
        yield 1
    yield 2


def generators():
    with Known():
        for _ in generator():
            busy()


async def coroutine():
    with Known("~glue"):
        await awaited()


async def awaited():
    with Known():
        point()


def coroutines():
    with Known():
        asyncio.run(coroutine())


def called_back():
    with Known():
        point()


def calls():
    """Python, C, Python, C, Python."""
    with Known():
        pyext.call(lambda: pyext.call(called_back) if enter_lambda() else None)
        pyext.leave()
        pyext.leave()


def enter_lambda():
    code = sys._getframe(1).f_code
    pyext.enter("~py")
    pyext.enter(getattr(code, "co_qualname", code.co_name) + " (pychains.py)!")
    return True


def key(x):
    with Known():
        if x == 2:
            point()
    return -x


def sorts():
    with Known():
        sorted([3, 1, 2], key=key)


def compare(a, b):
    with Known("~glue"):
        if not compare.times:
            point()
        compare.times += 1
    return a[0] - b[0]


def foreign():
    """By way of ctypes, the C library's qsort, and ctypes again."""
    with Known():
        compare.times = 0
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
        numbers = (ctypes.c_int * 4)(4, 1, 3, 2)
        ctypes.CDLL(None).qsort(numbers, 4, 4, kind(compare))


def raises(depth):
    with Known():
        if depth:
            raises(depth - 1)
        raise ValueError


def exceptions():
    with Known():
        try:
            raises(2)
        except ValueError:
            point()


def handler(number, frame):
    with Known():
        point()


def signals():
    with Known():
        signal.signal(signal.SIGUSR1, handler)
        signal.raise_signal(signal.SIGUSR1)
        busy()


MADE = compile("point()", __file__, "exec") # here for good: its name is read some time after it has run


def made():
    with Known():
        exec(MADE, {"point": executed})


def executed():
    with Known("~py", "<module>"):
        with Known():
            point()


def thread(n):
    with Known("~pythread"):
        point()
        busy()


def threads():
    with Known():
        started = [threading.Thread(target=thread, args=(n,)) for n in range(2)]
        for t in started:
            t.start()
        for t in started:
            t.join()


if __name__ == "__main__":
    with Known("~pystart"):
        pyext.begin()
        outer()
        busy()
        recursive(40)
        objects()
        generators()
        coroutines()
        calls()
        sorts()
        foreign()
        exceptions()
        signals()
        made()
        threads()
    print("done")
