# SPDX-License-Identifier: MIT
"""Python stacks of many kinds, each told by Python itself.

At each marked spot the program writes one line of JSON (what the spot is called, and by thread what
traceback and sys._current_frames say) and waits for a byte, so that somebody else can look at it meanwhile.
Runs on CPython 3.8 and later, without anything that is not in its library.
"""
import asyncio
import functools
import itertools
import json
import os
import sys
import threading
import time
import traceback

OUT = os.dup(1)
HERE = os.path.abspath(__file__)


def describe(frame):
    """Function, file and line of a frame and its callers, innermost first."""
    return [[getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_code.co_filename, line]
            for f, line in traceback.walk_stack(frame)]


def told(spot, own, printed):
    """The line for `spot`: all threads, this one's frames from `own` on."""
    assert len(printed) == len(own), (len(printed), len(own))
    for frame, (_, file, line) in zip(reversed(printed), own):
        assert (frame.filename, frame.lineno) == (file, line), (frame, file, line)
    threads = {threading.get_native_id(): own}
    for ident, frame in sys._current_frames().items():
        if ident in native_ids:
            threads[native_ids[ident]] = describe(frame)
    return (json.dumps({"spot": spot, "threads": threads}) + "\n").encode()


def stop(spot):
    sys.stdout.flush() or (os.write(OUT, told(spot, describe(sys._getframe()), traceback.extract_stack())) and os.read(0, 1))
    return 0


native_ids = {}


# Plain functions, methods, closures and lambdas.

def outer(n):
    if n:
        return outer(n - 1)
    return stop(
        "plain functions")


class Thing:
    def method(self):
        def inner():
            return (lambda: stop("methods, closures and lambdas"))()
        return inner()

    @staticmethod
    def static(x):
        return stop("static methods")

    @classmethod
    def made(cls):
        return cls.static(1)

    @property
    def attribute(self):
        return stop("properties")

    def __getitem__(self, key):
        return stop("__getitem__")

    def __add__(self, other):
        return stop("operators")

    def __iter__(self):
        yield stop("iterators")

    def __enter__(self):
        return self

    def __exit__(self, *args):
        stop("__exit__")
        return True

    def __lt__(self, other):
        stop("__lt__ in sort") if other is not self else None
        return False

    def __hash__(self):
        return 1

    def __repr__(self):
        stop("__repr__ in format")
        return "thing"

    def __getattr__(self, name):
        stop("__getattr__")
        return 1


class Dying:
    def __del__(self):
        stop("__del__")


class Made:
    def __init__(self, n):
        self.n = n
        if not n:
            stop("__init__")
        else:
            Made(n - 1)


class Counted:
    """Used often enough that the interpreter runs its fast ways of calling these."""

    def __init__(self, n):
        if not n:
            stop("a call of __init__ that was made many times")

    def __getitem__(self, n):
        return stop("a call of __getitem__ that was made many times") if not n else 0

    @property
    def value(self):
        return self.last and stop("a property that was read many times")


def counted(n):
    """Calls everything once for each number down to 0, from the same place."""
    one = None
    for i in range(n, -1, -1):
        one = Counted(i)
        one.last = not i
        one[i]
        one.value
        generated(i)


def numbers(n):
    for i in range(n):
        yield i
        if n == 2:
            stop("a generator in a for loop that ran many times")


def generated(n):
    for _ in numbers(n if n > 2 else 2 * (not n)):
        pass


class Meta(type):
    def __call__(cls, *args):
        stop("__call__ of a metaclass")
        return super().__call__(*args)


class WithMeta(metaclass=Meta):
    pass


def comprehensions():
    [stop("list comprehension") for _ in range(1)]
    {stop("set comprehension"): 1 for _ in range(1)}
    list(stop("generator expression") for _ in range(1))


# Generators and coroutines.

def leaf():
    yield 1
    yield stop("generators, yield from")


def middle():
    yield from leaf()


def generators():
    for _ in middle():
        pass
    g = leaf()
    next(g)
    g.send(None)


def thrown():
    try:
        yield 1
    except ValueError:
        stop("generator, throw")
        yield 2


def throwing():
    g = thrown()
    next(g)
    g.throw(ValueError())


async def awaited(n):
    if n:
        return await awaited(n - 1)
    await asyncio.sleep(0)
    return stop("coroutines, await")


async def asynchronous():
    async for _ in agen():
        pass
    return await asyncio.gather(awaited(3))


async def agen():
    yield stop("asynchronous generator")


# Decorators and calls from C.

def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


@decorated
@decorated
def twice(x, y=1):
    return stop("decorators")


def reducer(a, b):
    return stop("functools.reduce")


def key(x):
    return stop("sorted key")


@functools.lru_cache(None)
def cached(n):
    return cached(n - 1) if n else stop("lru_cache")


@functools.singledispatch
def dispatched(x):
    return stop("singledispatch")


def from_c():
    functools.reduce(reducer, [1, 2])
    sorted([1], key=key)
    list(map(lambda x: list(filter(lambda y: stop("map and filter"), [1])), [1]))
    cached(3)
    dispatched(1)
    functools.partial(twice, 1, y=2)()
    Thing().attribute
    Thing()[0]
    Thing() + 1
    list(Thing())
    with Thing():
        raise ValueError
    sorted([Thing(), Thing()])
    "%r" % Thing()
    Thing().missing
    Made(2)
    WithMeta()
    Dying()
    max([1], key=lambda x: sum(stop("max, key, sum") for _ in range(1)))


def callbacks():
    try:
        import ctypes
    except ImportError:
        return
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    qsort = ctypes.CDLL(None).qsort
    compare = kind(lambda a, b: stop("ctypes callback"))
    qsort((ctypes.c_int * 2)(1, 2), 2, 4, compare)
    thread = ctypes.c_ulong()
    run = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: stop("a thread that C made"))
    library = ctypes.CDLL(None)
    if hasattr(library, "pthread_create"):
        library.pthread_create(ctypes.byref(thread), None, run, None)
        library.pthread_join(thread, None)


def traced():
    def tracer(frame, event, argument):
        sys.setprofile(None)
        stop("profile function")
    sys.setprofile(tracer)
    len("")
    sys.setprofile(None)

    def by_line(frame, event, argument):
        if event == "line":
            sys.settrace(None)
            stop("trace function")
        return by_line

    def followed():
        a = 1
        return a
    sys.settrace(by_line)
    followed()
    sys.settrace(None)


def executed():
    source = "def größe(n):\n    return größe(n - 1) if n else stop('code that was compiled from text')\ngröße(2)\n"
    exec(compile(source, "<größe 日本 😀>", "exec"), globals())
    eval("(lambda: stop('eval'))()")
    exec("\n" * 5000 + "stop('large line number')", globals())


def long_function():
    body = "def far(x):\n" + "".join("    x = (x +\n%d)\n\n" % i for i in range(2000)) + "    stop('far into a function')\n"
    exec(body, globals())
    far(0)


def deep(n):
    return deep(n - 1) if n else stop("deep recursion")


def deep_in_c(n):
    return functools.reduce(lambda a, b: deep_in_c(n - 1), [1, 2]) if n else stop("deep recursion through C")


# Threads.

def waits_until_asleep(tid):
    """Until the thread sleeps, which for the functions below is where they are meant to be."""
    while True:
        with open("/proc/self/task/%d/stat" % tid) as f:
            if f.read().rpartition(")")[2].split()[0] == "S":
                return
        time.sleep(0.001)


def sleeper(started, pipe):
    native_ids[threading.get_ident()] = threading.get_native_id()
    os.write(started, b"x"), time.sleep(100000)


def reader(started, pipe):
    native_ids[threading.get_ident()] = threading.get_native_id()
    os.write(started, b"x"), os.read(pipe, 1)


def sleeps_in_generator(started, pipe):
    native_ids[threading.get_ident()] = threading.get_native_id()
    list(os.write(started, b"x") and [time.sleep(100000)] for _ in range(1))


def spinner(started, pipe):
    native_ids[threading.get_ident()] = threading.get_native_id()
    for _ in itertools.chain([os.write(started, b"x")], itertools.repeat("")): str(_)


def threads():
    ready, started = os.pipe()
    pipe, _ = os.pipe()
    for target in sleeper, reader, sleeps_in_generator:
        threading.Thread(target=target, args=(started, pipe), daemon=True).start()
        os.read(ready, 1)
    for tid in list(native_ids.values()):
        waits_until_asleep(tid)
    stop("threads without the GIL")
    threading.Thread(target=spinner, args=(started, pipe), daemon=True).start()
    os.read(ready, 1)
    stop("a thread that runs meanwhile")
    worker = threading.Thread(target=lambda: stop("a thread with the GIL"))
    worker.start()
    worker.join()


def main():
    outer(3)
    Thing().method()
    Thing.made()
    comprehensions()
    generators()
    throwing()
    asyncio.run(asynchronous())
    from_c()
    counted(2000)
    callbacks()
    traced()
    executed()
    long_function()
    deep(60)
    deep(400)
    deep_in_c(20)
    threads()


stop("module level")
if __name__ == "__main__":
    main()
    os.write(OUT, b'{"spot": "end"}\n')
    os.read(0, 1)
    os._exit(0)
