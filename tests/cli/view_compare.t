#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `xpuprof view` compares: two recordings, as `flame --diff` and `report --diff` do, and the iterations that take long with the others, whose
sums are those of `flame --marker NAME#N`."""
import html
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from viewer import Viewer, why_not

HELPER = os.path.join(tap.BUILD, "tests", "helpers", "diff_profile")
MS, SECOND = 10**6, 10**9
LONG = 100 * MS
DIGITS = {digit: n for n, digit in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")}


def part(picture, name):
    return html.unescape("".join(re.findall(rf'class="{name}">(.*?)<', picture, re.S)))


def numbers(text):
    value, scale = 0, 1
    for digit in text:
        value += DIGITS[digit] % 32 * scale
        scale *= 32
        if DIGITS[digit] < 32:
            yield value
            value, scale = 0, 1


def stacks(picture):
    """By stack of frames: [time, samples], as they are in the data of a picture."""
    info, names, found = json.loads(part(picture, "info")), part(picture, "names").split("\n"), {}
    each, path, first = numbers(part(picture, "nodes")), [], True
    for head in each:
        if not first:
            path = path[:len(path) - next(each) - 1] if head & 2 else path
        name = names[head >> 2]
        path = [*path, name]
        first = False
        time = next(each) if head & 1 else 0
        samples = next(each) if time and info.get("sampled") else 0
        if time:
            at = found.setdefault(";".join(path), [0, 0])
            at[0] += time
            at[1] += samples
    return found, info


def data_of(picture):
    return [part(picture, name) for name in ("info", "names", "nodes")]


def alone(*words):
    tap.run(tap.PROGRAM, "flame", "-o", "alone.svg", *words)
    with open("alone.svg", encoding="utf-8") as f:
        return f.read()


def check_pair():
    """The picture is that of flame --diff, to the byte of its data."""
    tap.run(HELPER, "first.xpu", "1", "10")
    tap.run(HELPER, "second.xpu", "3", "12", "5")
    part_of = {"from": 2 * SECOND, "to": 7 * SECOND}
    with Viewer("first.xpu", "second.xpu") as viewer:
        abouts = [viewer.json("about.json", file=n) for n in (1, 2)]
        files = abouts[0]["recordings"]
        tap.result([file["file"] for file in files] == ["first.xpu", "second.xpu"] and not any(file["error"] or file["incomplete"] for file in files)
                   and [file["elapsed_ns"] for file in files] == [about["elapsed_ns"] for about in abouts] and files[0] != files[1], "both recordings are there", files)
        for words, options in (({}, []), ({"view": "cpu", "by": "thread"}, ["--view", "cpu", "--by", "thread"]), ({"view": "gpu", "reverse": 1}, ["--view", "gpu", "--reverse"]),
                               ({**part_of, "base-from": part_of["from"], "base-to": part_of["to"]}, ["--from", "2s", "--to", "7s"])):
            for file, base in ((2, 1), (1, 2)):
                names = ["first.xpu", "second.xpu"]
                status, picture, _ = viewer.ask("flame.svg", file=file, **{"base-file": base}, **words)
                expected = alone("--diff", *options, names[base - 1], names[file - 1])
                got, wanted = data_of(picture.decode()), data_of(expected)
                if options[-1:] == ["7s"]:  # a range of each: what that is of both is said in other words
                    got[0], wanted[0] = (json.loads(info)["facts"] for info in (got[0], wanted[0]))
                tap.result(status == 200 and got == wanted, f"{names[base - 1]}, and then {names[file - 1]}: as flame --diff has it {options}",
                           status, got[0], wanted[0])
        picture = viewer.ask("flame.svg", file=2, **{"base-file": 1, "base-from": 3 * SECOND, "base-to": 4 * SECOND}, **part_of)[1].decode()
        info = json.loads(part(picture, "info"))
        tap.result(info["facts"][0][1].endswith("in 1.00 s") and info["facts"][1][1].endswith("in 5.00 s") and "first.xpu, and then second.xpu" in picture,
                   "a range of one is compared with another one of the other", info)
        report = viewer.ask("differences.txt", file=2, **{"base-file": 1})[1].decode()
        expected = tap.run(tap.PROGRAM, "report", "--diff", "first.xpu", "second.xpu")
        tap.result(report.split("\n\n")[0] == expected.split("\n\n")[0] and set(expected.splitlines()) <= set(report.splitlines()), "and the table is that of report --diff", report,
                   expected)
        info = stacks(viewer.ask("flame.svg", file=2, **{"base-file": 2, "base-from": 0, "base-to": 10**15})[1].decode())[1]
        tap.result(any("no difference" in remark for remark in info["remarks"]), "a recording and itself have no difference", info)
        for words, what in (({"file": 3}, "no such recording"), ({"file": 0}, "recording 0"), ({"file": 2, "base-file": 3}, "nothing to compare with"),
                            ({"file": 2, "base-file": 1, "base-from": 10**11, "base-to": 10**12}, "a range behind the end")):
            status, text, _ = viewer.ask("flame.svg", **words)
            tap.result(status == 400 and text.count(b"\n") == 1, f"{what} is said", status, text[:200])
    with Viewer("first.xpu") as viewer:
        tap.result(viewer.ask("flame.svg", **{"base-file": 2})[0] == 400, "of one recording there is no second")


def check_bad_luck():
    """The other recording grows, breaks, goes away, and comes back."""
    with open("second.xpu", "rb") as f:
        whole = f.read()
    with open("other.xpu", "wb") as f:
        f.write(whole[:len(whole) // 2])
    with Viewer("other.xpu", "first.xpu") as viewer:
        before = viewer.json("about.json", file=2)["recordings"][0]
        half = viewer.ask("flame.svg", file=2, **{"base-file": 1})[1].decode()
        with open("other.xpu", "ab") as f:
            f.write(whole[len(whole) // 2:])
        after = viewer.json("about.json", file=2)["recordings"][0]
        picture = viewer.ask("flame.svg", file=2, **{"base-file": 1})[1].decode()
        tap.result(before["incomplete"] and not after["incomplete"] and before["elapsed_ns"] < after["elapsed_ns"] and data_of(half) != data_of(picture) and
                   data_of(picture) == data_of(alone("--diff", "second.xpu", "first.xpu")) or data_of(picture)[1:] == data_of(alone("--diff", "second.xpu", "first.xpu"))[1:],
                   "what grows is compared as far as it is there, and whole in the end", before, after)
        os.unlink("other.xpu")
        about = viewer.json("about.json", file=2)
        status, text, _ = viewer.ask("flame.svg", file=2, **{"base-file": 1})
        tap.result("other.xpu" in (about["recordings"][0]["error"] or "") and not about["recordings"][1]["error"] and status in (400, 500) and b"other.xpu" in text,
                   "when it has gone that is said, and the other one is shown", about["recordings"], status, text[:200])
        with open("other.xpu", "wb") as f:
            f.write(os.urandom(100000))
        status, text, _ = viewer.ask("flame.svg", file=2, **{"base-file": 1})
        tap.result(status in (400, 500) and b"other.xpu" in text and viewer.ask("flame.svg", file=2)[0] == 200, "so is what is no recording any more", status, text[:200])
        shutil.copy("second.xpu", "other.xpu")
        tap.result(viewer.ask("flame.svg", file=2, **{"base-file": 1})[0] == 200 and not viewer.json("about.json", file=2)["recordings"][0]["error"], "it serves on")
        wrong = [viewer.ask("flame.svg", file=2, **{"base-file": number})[0] for number in (3, 10**6, 2**63)]
        tap.result(wrong == [400] * 3, "there is no third recording", wrong)
    tap.result(viewer.status == 0, "Ctrl-C ends it", viewer.status)


def folded(file, *options):
    lines = tap.run(tap.PROGRAM, "export", "--to", "folded", "--unit", "ns", *options, file).splitlines()
    return {stack: int(time) for stack, time in (line.rsplit(" ", 1) for line in lines)}


def added(many):
    sums = {}
    for one in many:
        for stack, time in one.items():
            sums[stack] = sums.get(stack, 0) + time
    return sums


def same(picture, of_folded, column=0):
    got = sorted(times[column] for times in stacks(picture)[0].values() if times[column])
    return got and got == sorted(time for time in of_folded.values() if time)


def check_iterations():
    """Those that take long are one flame graph: the sum of that of each."""
    tap.run(HELPER, "steps.xpu", "4", "10", "0", "7")
    step = {"iterations": 1, "of": "markers", "which": "step"}
    with Viewer("steps.xpu") as viewer:
        lengths = viewer.json("repeats.json", of="markers", which="step")
        starts = lengths["longest"][0::2]
        long_ones = [start for start, length in zip(starts, lengths["longest"][1::2]) if length >= LONG]
        numbers_of = {start: n + 1 for n, start in enumerate(sorted(starts))}
        tap.result(10 < len(long_ones) < len(starts) == lengths["count"], "every seventh step takes long", len(long_ones), lengths["count"])
        for view in ("merge", "cpu", "gpu"):
            each = added(folded("steps.xpu", "--view", view, "--marker", f"step#{numbers_of[start]}") for start in long_ones)
            picture = viewer.ask("flame.svg", view=view, **step, **{"at-least": LONG})[1].decode()
            tap.result(same(picture, each), f"the flame graph of those that take long has the sums of flame --marker step#N ({view})",
                       sum(times[0] for times in stacks(picture)[0].values()), sum(each.values()))
            compared = viewer.ask("flame.svg", view=view, others=1, **step, **{"at-least": LONG})[1].decode()
            tap.result(same(compared, each, 1), f"so has the second side of the comparison with the others ({view})", *stacks(compared)[1]["facts"])
            others = viewer.ask("flame.svg", view=view, **step, below=LONG)[1].decode()
            both = added({stack: times[0] for stack, times in stacks(text)[0].items()} for text in (picture, others))
            whole = folded("steps.xpu", "--view", view, "--marker", "step")
            tap.result(sorted(both.values()) == sorted(time for time in whole.values() if time), f"the two are all of the marker ({view})", both, whole)
        info = stacks(compared)[1]
        tap.result(["compared by", "elapsed time"] in info["facts"] and any("22 markers 'step' of at least 100 ms" in remark for remark in info["remarks"]), "it is said what is compared", info)
        table = viewer.ask("differences.txt", others=1, **step, **{"at-least": LONG})[1].decode()
        tap.result(re.search(r"^\s+0\.00 % .* function12 ", table, re.M), "and the table says which function only those have that take long", table)
        report = viewer.ask("report.txt", **step, **{"at-least": LONG})[1].decode()
        times = dict(re.findall(r"^(CPU time|GPU time)\s+([\d.,]+ \w+)", report, re.M))
        tap.result(re.search(r"22 markers 'step'", report) and times, "the report is of them, too", report[:600])
        launches = viewer.ask("flame.svg", iterations=1, of="launches", which="kernel", view="gpu", **{"at-least": 1})[1].decode()
        tap.result(same(launches, folded("steps.xpu", "--view", "gpu")), "of all launches of the only kernel it has all GPU time")
        two = sorted(starts)[1]
        first = viewer.ask("flame.svg", **step, to=two)[1].decode()
        tap.result(same(first, folded("steps.xpu", "--marker", "step#1")), "of a range those count that begin in it")
        for words, what in (({**step, "at-least": 10**12}, "that there are none"), ({**step, "at-least": 1, "others": 1}, "that there are no others"), ({"iterations": 1}, "no name"),
                            ({"others": 1}, "the others of nothing"), ({**step, "which": "stop"}, "another name"), ({**step, "of": "x"}, "nothing that repeats")):
            status, text, _ = viewer.ask("flame.svg", **words)
            tap.result(status == 400 and text.count(b"\n") == 1, f"{what} is said", status, text[:200])


def check():
    check_pair()
    check_bad_luck()
    check_iterations()


tap.main(check, why_not)
