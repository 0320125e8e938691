# SPDX-License-Identifier: MIT
"""Spins in a Python function of a name, in a file of a name, which are given as escapes: python_names.py FUNCTION FILE"""
import signal
import sys


def spin():
    while True:
        pass


def text(argument):
    return argument.encode().decode("unicode_escape")


signal.alarm(30)
spin.__code__ = spin.__code__.replace(co_name=text(sys.argv[1]), co_filename=text(sys.argv[2]),
                                      **({"co_qualname": text(sys.argv[1])} if hasattr(spin.__code__, "co_qualname") else {}))
print("ready", flush=True)
spin()
