#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Go programs, stripped or not: their own tables give whole stacks and names."""
import os
import platform
import shutil
import subprocess

import tap
from tap import PROGRAM, can_record, result, run

# Most of its time is in inner, which has no frame of its own; the rest in the collector of garbage.
SPIN = """
package main

import "fmt"

//go:noinline
func inner(n int) int {
	s := 0
	for i := 0; i < n; i++ {
		s += i % 7
	}
	return s
}

//go:noinline
func outer(n int) int {
	s := 0
	for i := 0; i < n; i++ {
		s += inner(1000)
	}
	return s
}

//go:noinline
func garbage(n int) (a []*[64]int) {
	for i := 0; i < n; i++ {
		a = append(a, new([64]int))
	}
	return a
}

func main() {
	done := make(chan int)
	for g := 0; g < 2; g++ {
		go func() {
			s := 0
			for i := 0; i < 200; i++ {
				s += outer(1000) + len(garbage(500))
			}
			done <- s
		}()
	}
	fmt.Println(<-done + <-done > 0)
}
"""

WHOLE = "main.main.func1;main.outer;main.inner"
CHANGES = "[incomplete stack: unwind information of an unusual kind];runtime."


def goes_whole(stack):
    """Without the kernel's frames."""
    frames = [frame for frame in stack.split(";") if not frame.endswith("_[k]")]
    return ";".join(frames) in (f"runtime.goexit;{WHOLE}", f"runtime.goexit.abi0;{WHOLE}")


def check_program(name, *options):
    built = subprocess.run(["go", "build", *options, "-o", "spin", "spin.go"], stderr=subprocess.PIPE, text=True,
                           env={**os.environ, "HOME": os.getcwd(), "GOFLAGS": "-mod=mod", "GO111MODULE": "off"})
    if built.returncode:
        result(False, f"it is built: {name}", built.stderr)
        return
    run(PROGRAM, "record", "-q", "--cpu-only", "-F", "499", "-o", "go.xpu", "./spin")
    stacks = [line.split(" ", 5)[5] for line in
              run(PROGRAM, "export", "--to", "extended-folded", "-o", "-", "go.xpu").splitlines()]
    inner = [stack for stack in stacks if "main.inner" in stack]
    whole = sum(map(goes_whole, inner)) / (len(inner) or 1)
    result(len(inner) > 50 and whole > 0.97, f"stacks are whole, and named: {name}", whole, len(inner), *set(inner))
    guessed = [stack for stack in stacks if "[callers guessed]" in stack and "runtime." in stack]
    result(len(guessed) <= len(stacks) / 50, f"nothing is guessed: {name}", *set(guessed))
    changed = [stack for stack in stacks if ";runtime.systemstack" in stack]
    result(all(stack.startswith(CHANGES) for stack in changed),
           f"one that was changed to within the program is not called whole: {name}", *set(changed))
    result("\nno names" not in run(PROGRAM, "report", "go.xpu"), f"no names are asked for: {name}")


def check():
    with open("spin.go", "w") as f:
        f.write(SPIN)
    check_program("with symbols")
    check_program("stripped", "-ldflags", "-s -w")
    check_program("stripped, to be loaded anywhere", "-buildmode=pie", "-ldflags", "-s -w")


def why_not():
    if platform.machine() != "x86_64" or not shutil.which("go"):
        return "needs Go on x86-64"
    return "" if can_record("--cpu-only") else "nothing can be recorded here"


tap.main(check, why_not)
