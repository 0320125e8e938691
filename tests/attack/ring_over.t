#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that maps other memory over the ring that it shares with the recorder: what it launches from then on is
lost, and has to be counted (ring_over.py)."""
import os
import sys

sys.dont_write_bytecode = True
import attack

AFTER = 20000


def check_over(*arguments):
    name = " ".join(arguments)
    r = attack.Recorder("--gpu-only", command=["env", f"LD_LIBRARY_PATH={attack.BUILD}/sim",
                                               *attack.python("ring_over"), *arguments], wait=False)
    r.wait()
    report = r.report()
    counted = report.get("losses", {}).get("gpu_ring_replaced", 0)
    attack.note(f"{name}: {counted} counted")
    attack.result("launched" in r.said and counted >= AFTER, f"ring mapped over, {name}: what is lost is counted",
                  report.get("losses"), r.said)
    attack.result("mapped other memory over" in r.said, f"ring mapped over, {name}: and said", r.said)


def check():
    check_over("all")
    check_over("control")
    check_over("all", "killed")


attack.main(check)
