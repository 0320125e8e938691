# SPDX-License-Identifier: MIT
"""python_loops.py KIND...: Python memory that does not end, a thread and some functions for each.

    lines       functions 120 deep, called from changing places, whose line tables have a megabyte in their first entry
    pairs       the same, in many entries
    many        functions 110 deep, of a megabyte each
    frames      a frame that is its own caller
    circle      three frames that call one another
    long        a function's name and its file's of 2^60 characters, a line table of 2^60 bytes
    negative    the same with -1
    types       a function's name whose type is the name itself
    threads     a thread's state whose next one is itself
"""
import ctypes
import random
import sys
import threading
import time

TABLE = "co_linetable" if sys.version_info >= (3, 10) else "co_lnotab"
LOCATIONS = sys.version_info >= (3, 11)
FRAMES = sys.version_info >= (3, 11) # apart from their objects
SIZE = 16 # of an object's members, where its length is
kept = []


def word(address):
    return ctypes.c_uint64.from_address(address)


def spin():
    while True:
        pass


def changed(function, **changes):
    function.__code__ = function.__code__.replace(**changes)
    kept.append(function.__code__)
    return function


# --- line tables

def make_deep(table):
    def deep(n, way):
        if not n:
            end = time.monotonic() + 0.001
            while time.monotonic() < end:
                pass
        elif way & 1:
            deep(n - 1, way >> 1)
        else:
            deep(n - 1, way >> 1)
    changed(deep, **{TABLE: table})
    while True:
        deep(120, random.getrandbits(120))


def lines():
    make_deep(b"\x80" + b"\0" * 1000000 + b"\x80" * 1000 if LOCATIONS else b"\0\0" * 500000 + b"\x02\1" * 1000)


def pairs():
    make_deep(b"\xe8\2\2" * 300000 if LOCATIONS else b"\0\1\0\xff" * 250000 + b"\x02\1" * 1000)


def many():
    """More of it than a recorder keeps."""
    table = b"\xe8\2\2" * 340000 if LOCATIONS else b"\0\1\0\xff" * 250000 + b"\x02\1" * 1000
    chain = []

    def make(n):
        def deep():
            if n:
                chain[n - 1]()
            else:
                spin()
        chain.append(changed(deep, **{TABLE: table + b"\x80" * n * 2}))
    for n in range(110):
        make(n)
    chain[-1]()


# --- frames

def frame_address(frame):
    return word(id(frame) + 24).value if FRAMES else id(frame)


def link(callee, caller, to):
    """Has the one call the other."""
    for offset in range(0, 128, 8):
        if word(frame_address(callee) + offset).value == frame_address(caller):
            word(frame_address(callee) + offset).value = frame_address(to)


def frames():
    def caller_of_itself():
        frame = sys._getframe()
        kept.append(frame)
        link(frame, frame.f_back, frame)
        spin()
    caller_of_itself()


def circle():
    def first():
        def second():
            def third():
                one, two, three = sys._getframe(2), sys._getframe(1), sys._getframe()
                link(one, one.f_back, three)
                kept.append((one, two, three))
                spin()
            third()
        second()
    first()


# --- objects

def resized(size):
    def resized_spin():
        while True:
            pass
    names = dict(co_name="f" * 40, co_filename="g" * 40)
    if LOCATIONS:
        names["co_qualname"] = "h" * 40
    changed(resized_spin, **{TABLE: b"\x80\0" * 40}, **names)
    code = resized_spin.__code__
    for name in [*names, TABLE]:
        found = getattr(code, name)
        kept.append(found)
        ctypes.c_int64.from_address(id(found) + SIZE).value = size
    resized_spin()


def long():
    resized(1 << 60)


def negative():
    resized(-1)


def types():
    def typed_spin():
        while True:
            pass
    name = "".join(["i", "s", " its type"])
    changed(typed_spin, co_name=name, **({"co_qualname": name} if LOCATIONS else {}))
    for found in typed_spin.__code__.co_name, getattr(typed_spin.__code__, "co_qualname", name):
        kept.append(found)
        word(id(found) + 8).value = id(found)
    typed_spin()


# --- threads

def threads():
    get = ctypes.pythonapi.PyThreadState_Get
    get.restype = ctypes.c_uint64
    while not running.wait():
        pass
    state = get()
    word(state + 8).value = state
    spin()


running = threading.Event()


def genuine():
    spin()


if __name__ == "__main__":
    sys.setswitchinterval(0.002)
    for kind in sys.argv[1:]:
        threading.Thread(target=globals()[kind], name=kind).start()
    time.sleep(0.2)
    print("ready", flush=True)
    running.set()
    genuine()
