#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stranger's library in the place of CUPTI, where --counters and `doctor` search as root (library/library.c)."""
import glob
import os
import shutil
import sys

sys.dont_write_bytecode = True
import attack

MAJORS = (12, 13)
PLACES = 4000 # that are searched while names are exchanged
NOBODY = attack.User(65534) # has an account


def library(folder, name, owner=attack.STRANGER):
    source = os.path.join(attack.OUR_BUILD, "tests", "attack", "library.so")
    return attack.give(shutil.copy(source, os.path.join(folder, name)), owner)


def folder_of(parent, name, owner):
    path = os.path.join(parent, name)
    os.mkdir(path)
    return attack.give(path, owner)


def simulation():
    """The simulated driver, without a CUPTI, where only root can write."""
    folder = "/run/sim"
    os.mkdir(folder)
    shutil.copy(os.path.join(attack.BUILD, "sim", "libcuda.so.1"), folder)
    return folder


def environment(**variables):
    kept = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "SUDO_UID")}
    return dict(kept, XPUPROF_SIM_BOARD="/run/board", **variables)


def fake_sudo():
    """A shell under sudo's name: like sudo's process it shows in /proc the environment of who called it."""
    path = os.path.join(attack.folder(), "sudo")
    return shutil.copy("/bin/sh", path)


def record(driver, name, caller=None, **variables):
    """A recording by root, with these variables set by the caller of sudo, or by root."""
    folder = attack.folder(caller or attack.STRANGER)
    command = [attack.XPUPROF, "record", "-q", "--gpu-only", "--counters", "-o", os.path.join(folder, "p.xpu"), "--", "true"]
    if caller:
        path = variables.pop("LD_LIBRARY_PATH", "")
        inner = f'SUDO_UID={caller.uid} LD_LIBRARY_PATH={driver} "$@"; exit $?'
        said, status = attack.run(None, fake_sudo(), "-c", inner, "-", *command,
                                  env=environment(LD_LIBRARY_PATH=path, **variables))
    else:
        path = ":".join(filter(None, (driver, variables.pop("LD_LIBRARY_PATH", ""))))
        said, status = attack.run(None, *command, env=environment(LD_LIBRARY_PATH=path, **variables))
    attack.result(status == 0, f"{name}: the recording is made", said)
    check_nothing_ran(name, said)


def check_nothing_ran(name, said):
    ran = os.path.exists("/tmp/ran_as_0")
    attack.result(not ran, f"{name}: nothing of the stranger's runs as root", said)
    if ran:
        os.remove("/tmp/ran_as_0")


def attack_by_name(driver):
    theirs = attack.folder(attack.STRANGER)
    for major in MAJORS:
        library(theirs, f"libcupti.so.{major}")
    record(driver, "by name", LD_LIBRARY_PATH=theirs)


def exchange(folder, name):
    """The stranger's file or folder and root's have the name in turn."""
    swap = attack.start(attack.STRANGER, attack.program("swap"), os.path.join(folder, name), os.path.join(folder, "other"))
    return [folder if name.startswith("lib") else os.path.join(folder, name)] * PLACES, swap


def attack_by_exchange(driver):
    """Between the check of a file and its use the name becomes another's: of a link, and of a folder of root's in one of
    the stranger's."""
    links = attack.folder(attack.STRANGER)
    os.symlink("/etc/os-release", f"{links}/libcupti.so.13")
    library(links, "other")
    folders = attack.folder(attack.STRANGER)
    attack.write(os.path.join(folder_of(folders, "roots", None), "libcupti.so.13"), b"none")
    library(folder_of(folders, "other", attack.STRANGER), "libcupti.so.13")
    for folder, name, what in ((links, "libcupti.so.13", "a link"), (folders, "roots", "a folder")):
        places, swap = exchange(folder, name)
        record(driver, f"{what} that changes", caller=NOBODY, LD_LIBRARY_PATH=":".join(places))
        attack.end(swap)


def attack_doctor(driver):
    theirs = attack.folder(attack.STRANGER)
    home = os.path.join(theirs, "lib")
    os.mkdir(home)
    for major in MAJORS:
        library(home, f"libcupti.so.{major}")
    said, _ = attack.run(None, attack.XPUPROF, "doctor", env=environment(LD_LIBRARY_PATH=driver, CUDA_HOME=theirs))
    check_nothing_ran("doctor", said)


def hide_installed():
    """What is installed here is not to be found before what the stranger has."""
    empty = attack.write("/run/empty", b"")
    attack.mount(empty, "/etc/ld.so.cache", "none", attack.MS_BIND)
    attack.mount("tmpfs", "/usr/local", "tmpfs", 0, "mode=755")


def check():
    hide_installed()
    driver = simulation()
    for one in (attack_by_name, attack_by_exchange, attack_doctor):
        one(driver)


attack.main(check)
