#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger's nvdisasm where root's recorder of GPU code searches: by path, by a link of root's, by a link that changes."""
import os
import sys

sys.dont_write_bytecode = True
import attack

SCRIPT = b'#!/bin/sh\n: >"/tmp/ran_as_$(id -u)"\n'
PLACES = 200 # in which it is searched while names are exchanged


def theirs(folder):
    os.makedirs(folder, exist_ok=True)
    attack.give(folder, attack.STRANGER)
    attack.write(f"{folder}/nvdisasm", SCRIPT, attack.STRANGER, 0o755)
    return folder


def said():
    """What the simulated GPU says: it executes code of which the program has an image."""
    folder = attack.folder()
    with open(os.path.join(attack.ROOT, "tests", "data", "cubin", "inline.cubin"), "rb") as f:
        attack.write(f"{folder}/inline.cubin", f.read())
    attack.write(f"{folder}/a.stalls", b"image inline.cubin\nkernel count_a_us5\n0x0010 wait 5\nfunction _Z7climberPf\n0x0020 wait 9\n")
    return folder


def check():
    code, home, of_roots, swapped = said(), *[attack.folder(u) for u in (attack.STRANGER, None, attack.STRANGER)]
    own = theirs(f"{home}/bin")
    os.symlink(f"{own}/nvdisasm", f"{of_roots}/nvdisasm")
    os.symlink("/bin/true", f"{swapped}/nvdisasm")
    attack.write(f"{swapped}/other", SCRIPT, attack.STRANGER, 0o755)
    attack.start(attack.STRANGER, attack.program("swap"), f"{swapped}/nvdisasm", f"{swapped}/other")
    launches = os.path.join(attack.BUILD, "tests", "programs", "launches")
    r = attack.Recorder("--stalls", command=[launches, "--repeat", "20"], wait=False, environment={
        "PATH": ":".join([own, of_roots, *[swapped] * PLACES, os.environ["PATH"]]), "CUDA_HOME": home,
        "LD_LIBRARY_PATH": os.path.join(attack.BUILD, "sim"), "XPUPROF_SIM_STALLS": code})
    r.wait()
    attack.check_lived(r, "a stranger's nvdisasm")
    attack.result("0x0020" in attack.run(None, attack.XPUPROF, "report", "--stalls", r.profile)[0], "GPU code is read")
    ran = [name for name in os.listdir("/tmp") if name.startswith("ran_as_")]
    attack.result(not ran, "nothing of the stranger's runs", *ran)
    attack.result("root runs no nvdisasm that others can change" in r.said, "it is said", r.said[-600:])


attack.main(check)
