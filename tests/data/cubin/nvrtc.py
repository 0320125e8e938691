# SPDX-License-Identifier: MIT
"""Compiles argv[2] with NVRTC (libnvrtc.so.13 is argv[1]) into the cubin argv[3]."""
import ctypes
import sys

library, source, output = sys.argv[1:]
nvrtc = ctypes.CDLL(library)
program = ctypes.c_void_p()
with open(source, "rb") as file:
    text = file.read()


def check(result):
    if result:
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(f"NVRTC: error {result}\n{log.value.decode()}")


check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kernels/scale.cu", 0, None, None))
options = [b"--gpu-architecture=sm_90", b"-lineinfo"]
check(nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)))
size = ctypes.c_size_t()
check(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
image = ctypes.create_string_buffer(size.value)
check(nvrtc.nvrtcGetCUBIN(program, image))
with open(output, "wb") as file:
    file.write(image.raw)
