#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two recordings compared: `xpuprof flame --diff` and `xpuprof report --diff`, on recordings whose differences are known
(tests/helpers/diff_profile.c): of one program, or of one in which a function grew, one came and one went."""
import json
import os
import re
import subprocess
import sys
import xml.dom.minidom

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

HELPERS = os.path.join(tap.BUILD, "tests", "helpers")
PAIRS = 20
COLOURS = re.compile(r'class="((?:more|less)[1-4]) s')
FRAME = re.compile(r'<g><title>([^<]*)</title><rect class="(\w+) s')


def make(file, seed, seconds, *grown):
    tap.run(os.path.join(HELPERS, "diff_profile"), file, str(seed), str(seconds), *map(str, grown))


def xpuprof(*arguments):
    done = subprocess.run([tap.PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def picture(*arguments):
    status, out, err = xpuprof("flame", "--diff", "-o", "-", *arguments)
    if status:
        tap.result(False, f"flame --diff {' '.join(arguments)} succeeds", err)
    return out


def colours(svg):
    """Colours by name of the function, of frames that are drawn."""
    return {title.split(" (")[0]: colour for title, colour in FRAME.findall(svg)}


def functions(*arguments):
    status, out, err = xpuprof("report", "--diff", "--json", *arguments)
    report = json.loads(out)
    return status, {f["name"].split(" (")[0]: f for f in report["functions"]}, report


def check_same():
    make("a.xpu", 1, 10)
    svg = picture("a.xpu", "a.xpu")
    tap.result(svg and not COLOURS.search(svg), "a file and itself have no difference", *colours(svg).items())
    tap.result("no difference is more than the noise" in svg, "which the picture says")
    for view in ("cpu", "gpu", "wall", "calls"):
        status, by_name, report = functions("--view", view, "a.xpu", "a.xpu")
        tap.result(not report["any_real"] and all(f["total"]["points"] == 0 for f in by_name.values()), f"in the view {view}, too", report)
    coloured = []
    for seed in range(PAIRS):
        make("x.xpu", 100 + 2 * seed, 10)
        make("y.xpu", 101 + 2 * seed, 10)
        if COLOURS.search(picture("x.xpu", "y.xpu")):
            coloured.append(seed)
    tap.result(len(coloured) <= 1, f"of {PAIRS} pairs of recordings of one program at most one has a frame with colour", coloured)
    _, by_name, _ = functions("--view", "cpu", "x.xpu", "y.xpu")
    tap.result(by_name["[no sample]"]["total"]["standard_error"] > 0, "what no sample stands for is chance, too", by_name["[no sample]"])


def check_grown():
    for seed in range(5):
        make("g.xpu", 200 + seed, 10, 5)
        svg = picture("--view", "cpu", "a.xpu", "g.xpu")
        shown = colours(svg)
        tap.result(shown.get("function3") == "more2", f"a share grown from 15 to 20 % is red ({seed})", *shown.items())
        tap.result((shown.get("function12"), shown.get("function11")) == ("more4", "less4"), "what only one of them has is strongest", *shown.items())
        tap.result(shown.get("main") == "same" and shown.get("caller0", "").startswith("more"), "callers have the difference of what they call")
        shown = colours(picture("--view", "cpu", "g.xpu", "a.xpu"))
        tap.result((shown.get("function3"), shown.get("function12")) == ("less2", "less4"), "the other way round it is blue")
    xml.dom.minidom.parseString(svg)
    tap.result(re.search(r"<title>function12 \(app.py\), second [0-9.]+ ms \(\d\.\d\d %\)</title>", svg), "a frame says what it has on which side")
    status, by_name, _ = functions("--view", "cpu", "a.xpu", "g.xpu")
    grown = by_name["function3"]
    tap.result(abs(grown["total"]["points"] - 5) < 1 and grown["self"] == grown["total"], "the change is reported in points", grown)
    tap.result(by_name["function11"]["total"]["second"] == 0 and by_name["function12"]["total"]["first"] == 0, "also of what one side does not have")


def check_scales():
    make("long.xpu", 7, 30)
    _, by_elapsed, _ = functions("--view", "cpu", "a.xpu", "long.xpu")
    _, by_samples, _ = functions("--view", "cpu", "--scale", "samples", "a.xpu", "long.xpu")
    _, absolute, report = functions("--view", "cpu", "--scale", "none", "a.xpu", "long.xpu")
    near = lambda by, name, value: abs(by[name]["total"]["points"] - value) < 2
    tap.result(near(by_elapsed, "main", 0) and near(by_samples, "main", 0), "shares do not grow with the length of a recording")
    tap.result(near(absolute, "main", 200) and absolute["main"]["total"]["real"], "times do", absolute["main"])
    ran = [absolute[name]["total"]["second"] for name in ("main", "[no sample]") if name in absolute]
    tap.result(abs(sum(ran) - report["second_total_ns"]) < 1000, "and are not scaled", ran, report["second_total_ns"])
    _, out, _ = xpuprof("report", "--diff", "--view", "cpu", "--scale", "none", "a.xpu", "long.xpu")
    tap.result("changes in % of all of the first" in out and "points" not in out, "and what their changes are shares of is said", out)
    svg = picture("--view", "cpu", "a.xpu", "long.xpu")
    tap.result("times of the first are shown 3" in svg, "the picture says how it is scaled", svg[:3000])
    status, cut, report = functions("--view", "cpu", "--from", "1s", "--to", "+5s", "a.xpu", "long.xpu")
    tap.result(abs(report["first_elapsed_ns"] - 5e9) < 1000 and report["range"].startswith("1 s to 6 s of"), "parts can be compared", report["range"])


def check_threshold():
    make("g.xpu", 200, 10, 5)
    status, out, err = xpuprof("report", "--diff", "--view", "cpu", "--threshold", "3", "a.xpu", "g.xpu")
    tap.result(status == 3 and re.search(r"GREW +function3 ", out) and "functions grew by more than 3 points." in out, "a share that grew beyond the threshold ends with 3",
               status, out, err)
    status, out, err = xpuprof("report", "--diff", "--view", "cpu", "--threshold", "8", "a.xpu", "g.xpu")
    tap.result(status == 0 and "No function grew by more than 8 points." in out, "one that grew less does not", status, out, err)
    status, out, err = xpuprof("report", "--diff", "--view", "cpu", "--threshold", "0", "a.xpu", "a.xpu")
    tap.result(status == 0, "nor does noise", status, out, err)
    status, out, err = xpuprof("report", "--diff", "--view", "cpu", "--threshold", "6", "g.xpu", "a.xpu")
    tap.result(status == 0, "nor what shrank", status, out)


def check_wrong():
    open("t.folded", "w").write("a;b 3\n")
    for status, options, text in (
        (2, ("flame", "--diff", "a.xpu"), "--diff compares two recordings, and 1 is given"),
        (2, ("report", "--diff", "a.xpu", "a.xpu", "a.xpu"), "--diff compares two recordings, and 3 are given"),
        (2, ("report", "--threshold", "3", "a.xpu"), "--view, --scale and --threshold need --diff"),
        (2, ("report", "--diff", "--threshold", "much", "a.xpu", "a.xpu"), "takes a number of percent, not 'much'"),
        (2, ("flame", "--diff", "--scale", "time", "a.xpu", "a.xpu"), "takes elapsed, samples or none, not 'time'"),
        (1, ("report", "--diff", "a.xpu", "t.folded"), "cannot read 't.folded': it is not an xpuprof profile"),
        (1, ("report", "--diff", "-o", "a.xpu", "g.xpu", "a.xpu"), "a.xpu"),
    ):
        got, out, err = xpuprof(*options)
        tap.result(got == status and text in err and err.count("\n") == 1, f"{' '.join(options)} is refused in one line", got, err)


def check():
    check_same()
    check_grown()
    check_scales()
    check_threshold()
    check_wrong()


tap.main(check, lambda: "")
