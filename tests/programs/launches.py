# SPDX-License-Identifier: MIT
"""Launches kernel axpy on the simulated CUDA from Python, by chains of calls that are known: through methods that
C calls back (__call__), a generator, and in a thread. Each is made often."""

import ctypes
import threading
import time

PTX = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry axpy(.param .u64 a) { ret; }\n"
ROUNDS = 100

cuda = ctypes.CDLL("libcuda.so.1")
context, function, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()


def check(result):
    if result:
        raise RuntimeError(f"CUDA said {result}")


def begin():
    module = ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"axpy"))
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(65536)))


def launch():
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, parameters, None))


class Layer:
    def __init__(self, inner):
        self.inner = inner

    def __call__(self):
        return self.forward()

    def forward(self):
        if self.inner:
            return self.inner()
        return launch()


def steps():
    for number in range(ROUNDS):
        Layer(Layer(None) if number % 2 else None)()
        yield number


def train():
    for _ in steps():
        launch()


def work():
    check(cuda.cuCtxSetCurrent(context))
    train()


begin()
train()
thread = threading.Thread(target=work)
thread.start()
thread.join()
check(cuda.cuCtxSynchronize())
time.sleep(2)  # names are read from the living process
print("done")
