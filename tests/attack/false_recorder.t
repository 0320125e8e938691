#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger listens where a recorder did, when another user's program connects."""
import os
import sys

sys.dont_write_bytecode = True
import attack


def check():
    path = os.path.join(attack.folder(attack.STRANGER), "nvidia.sock")
    said = open("said", "w+b")
    stranger = attack.start(attack.STRANGER, *attack.python("false_recorder"), path, stdout=said, stderr=said)
    attack.wait_until(lambda: attack.read("said"))
    environment = dict(os.environ, XPUPROF_SOCKET=path, LD_LIBRARY_PATH=os.path.join(attack.OUR_BUILD, "sim"),
                       CUDA_INJECTION64_PATH=os.path.join(attack.BUILD, "libxpuprof-inject.so"))
    out, status = attack.run(None, os.path.join(attack.OUR_BUILD, "tests", "targets", "inject_target"), "slow", "1000",
                             env=environment)
    attack.result(status == 0 and "done" in out, "the program runs to its end", status, out)
    stranger.wait(10)
    attack.result("lost:" in attack.read("said"), "its library tells a stranger nothing", attack.read("said"))


attack.main(check)
