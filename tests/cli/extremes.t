#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings that are extreme in one way (tests/helpers/extreme_profile.c): names of a megabyte, a minute of
nothing, and one that goes on for a day. All that shows them is whole, true, and takes no more time and memory than it should."""
import gzip
import html
import json
import os
import random
import re
import subprocess
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from extreme import CPU_SECONDS, HELPER, MIB, SANITIZED, SECOND, within_limits
from viewer import Viewer, why_not

NAME_BYTES = MIB
FORMATS = ("folded", "extended-folded", "iaprof", "chrome", "pprof", "speedscope", "firefox", "perfetto", "perf-script", "html")


def is_text(out):
    """UTF-8 without anything that is not to be seen."""
    return not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", out.decode())


def data_of(page):
    return json.loads(re.search(rb'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def frames_of_flame(svg):
    xml.etree.ElementTree.fromstring(svg)
    return html.unescape("".join(re.findall(r'class="names">(.*?)</metadata>', svg.decode(), re.S))).split("\n")


def fields(data):
    """[(field, value)] of a message in protobuf."""
    at, found = 0, []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return value
    while at < len(data):
        head = number()
        if head & 7 == 1:
            value, at = data[at:at + 8], at + 8
        else:
            value = number()
            if head & 7 == 2:
                value, at = data[at:at + value], at + value
        found.append((head >> 3, value))
    return found


# ---------------------------------------------------------------- names

def check_names():
    tap.run(HELPER, "names", "names.xpu")
    text = within_limits("long names", "names.xpu", "report")
    longest = max(map(len, text.decode().split("\n")))
    tap.result(is_text(text) and longest < 200 and text.count(b"\n") < 200, "a report of long names has lines that a terminal shows", longest, text.count(b"\n"))
    report = json.loads(within_limits("long names", "names.xpu", "report", "--json"))
    kernel = report["kernels"][0]["name"]
    tap.result(report["gpu_ns"] == 15 * 10**6 and kernel.startswith("kernel") and len(kernel) > NAME_BYTES, "in JSON they are whole", len(kernel))
    tap.result(is_text(within_limits("long names", "names.xpu", "report", "--wide")), "and printable where lines have no end")
    for view in "merge", "wall", "stall":
        names = frames_of_flame(within_limits("long names", "names.xpu", "flame", "--view", view, "-o", "-"))
        tap.result(any(name[1:].startswith("function") and len(name) > NAME_BYTES for name in names), f"a flame graph has all of a name ({view})", [n[:80] for n in names])
    out = {form: within_limits("long names", "names.xpu", "export", "--to", form, *(("--limit", "500") if form == "html" else ()), "-o", "-")
           for form in FORMATS}
    for form in "folded", "extended-folded", "iaprof", "perf-script":
        tap.result(is_text(out[form]) and kernel.replace(";", ":")[:1000] in out[form].decode().replace(";", ":"), f"{form} has them, as text", out[form][:200])
    names = {form: {} for form in ("chrome", "speedscope", "firefox")}
    names["chrome"] = {event["name"] for event in json.loads(out["chrome"])["traceEvents"]}
    names["speedscope"] = {frame["name"] for frame in json.loads(out["speedscope"])["shared"]["frames"]}
    names["firefox"] = set(json.loads(out["firefox"])["shared"]["stringArray"])
    profile = fields(gzip.decompress(out["pprof"]))
    names["pprof"] = {value.decode() for field, value in profile if field == 6}
    for form, found in names.items():
        tap.result(any(kernel in name for name in found), f"{form} has all of a kernel's name", [name[:80] for name in found][:9])
    tap.result(kernel in json.dumps(data_of(out["html"]), ensure_ascii=False).replace("\\\\", "\\").replace('\\"', '"'), "so has a page")
    within_limits("long names", "names.xpu", "annotate", "-o", "kernel.html", "kernel")
    with open("kernel.html", encoding="utf-8") as f:
        tap.result(kernel in html.unescape(f.read()), "so has a kernel's own page")
    with Viewer("names.xpu") as viewer:
        rows = viewer.json("about.json")["rows"]
        status, svg, _ = viewer.ask("flame.svg", view="gpu")
        tap.result(status == 200 and any(kernel in name for name in frames_of_flame(svg)), "view answers with them, too", status)
        answer = viewer.json("timeline.json", columns=1000, rows=",".join(map(str, range(len(rows)))))
        tap.result(kernel in answer["names"], "and its boxes have them", [name[:80] for name in answer["names"]])
        status, text, _ = viewer.ask("report.txt", width=100)
        tap.result(status == 200 and len(text) < 100000, "its report is short", status, len(text))


# ---------------------------------------------------------------- a minute of nothing

QUIET = (5 * SECOND + 50 * 10**6, 64 * SECOND)


def range_of(begin, end):
    return ["--from", f"{begin}ns", "--to", f"{end}ns"]


def total(*options):
    out = tap.run(tap.PROGRAM, "export", "--to", "folded", "--unit", "ns", *options, "pause.xpu")
    return sum(int(line.rsplit(" ", 1)[1]) for line in out.splitlines())


def check_pause():
    tap.run(HELPER, "pause", "pause.xpu")
    report = json.loads(tap.run(tap.PROGRAM, "report", "--json", "pause.xpu"))
    tap.result((report["elapsed_ns"], report["cpu_ns"], report["gpu_ns"]) == (70 * SECOND, 10 * SECOND, 5 * SECOND), "a minute of nothing is in the time, and in nothing else",
               report["elapsed_ns"], report["cpu_ns"], report["gpu_ns"])
    longest = max(gap["duration_ns"] for device in report["idle"]["devices"] for gap in device["gaps"])
    tap.result(60 * SECOND < longest < 61 * SECOND, "it is the longest gap of the GPU", longest)
    quiet = json.loads(tap.run(tap.PROGRAM, "report", "--json", *range_of(*QUIET), "pause.xpu"))
    tap.result((quiet["samples"], quiet["works"], quiet["cpu_ns"], quiet["gpu_ns"]) == (0, 0, 0, 0), "of it alone there is nothing", quiet["samples"], quiet["works"])
    done = subprocess.run([tap.PROGRAM, "flame", "-o", "quiet.svg", *range_of(*QUIET), "pause.xpu"], capture_output=True, text=True, check=False)
    tap.result(done.returncode == 1 and "nothing to draw" in done.stderr and not os.path.exists("quiet.svg"), "no picture of nothing is drawn, which is said", done)
    for view in "cpu", "gpu", "calls":
        parts = [total("--view", view, *options) for options in (["--to", f"{QUIET[0]}ns"], range_of(*QUIET), ["--from", f"{QUIET[1]}ns"])]
        tap.result(parts[1] == 0 and parts[0] == parts[2] and sum(parts) == total("--view", view), f"what is before and behind it is all ({view})", parts)
    check_pause_in_files()
    check_pause_in_view()


def inside(begin, end):
    return QUIET[0] < end and begin < QUIET[1]


def check_pause_in_files():
    events = json.loads(tap.run(tap.PROGRAM, "export", "--to", "chrome", "-o", "-", "pause.xpu"))["traceEvents"]
    timed = [(1000 * (e["ts"] - 10**9), 1000 * (e["ts"] + e.get("dur", 0) - 10**9)) for e in events if e["ph"] in "Xi"]
    tap.result(len(timed) > 2900 and not [span for span in timed if inside(*span) and span[1] > 0], "no event of a timeline lies in it", len(timed))
    profiles = json.loads(tap.run(tap.PROGRAM, "export", "--to", "speedscope", "-o", "-", "pause.xpu"))["profiles"]
    wrong, at = [], 0
    for profile in profiles:
        at = profile["startValue"]
        for stack, weight in zip(profile["samples"], profile["weights"]):
            if stack and inside(at, at + weight):
                wrong.append((profile["name"], at, weight))
            at += weight
    tap.result(profiles and not wrong and at > 69 * SECOND, "speedscope's rows have it as a stretch without a stack", wrong[:3], at)
    for thread in json.loads(tap.run(tap.PROGRAM, "export", "--to", "firefox", "-o", "-", "pause.xpu"))["threads"]:
        samples = thread["samples"]
        before = max(n for n, time in enumerate(samples["time"]) if time < QUIET[1] / 10**6)
        tap.result(samples["stack"][before] is None, f"so has Firefox Profiler's thread {thread['name']}", samples["time"][before - 1:before + 2])


def check_pause_in_view():
    with Viewer("pause.xpu") as viewer:
        sums = viewer.json("sums.json", columns=70)["cells"]
        seconds = {kind: {cells[n]: cells[n + 1] for n in range(0, len(cells), 3)} for kind, cells in sums.items()}
        busy = {kind: sorted(second for second, ns in columns.items() if ns) for kind, columns in seconds.items() if kind in ("run", "work")}
        near = {kind: [second for second in found if second not in (*range(5), *range(64, 70))] for kind, found in busy.items()}
        tap.result(busy.keys() == {"run", "work"} and not any(near.values()) and all(len(found) >= 10 for found in busy.values()),
                   "on the axis it is empty, and what is beside it stands where it was", busy)
        words = {"from": QUIET[0], "to": QUIET[1]}
        status, picture, got = viewer.ask("flame.svg", view="merge", **words)
        tap.result(status == 200 and got["Content-Type"].startswith("text/html") and b"metadata" not in picture, "a flame graph of it says that there is none", status, picture[:200])
        tap.result(viewer.ask("report.txt", **words)[0] == 200, "and its report can be had")


# ---------------------------------------------------------------- a day

def check_day():
    """A page that is open for a day: it looks again each three seconds, and what it looks at has mostly grown."""
    looks = 60 if SANITIZED else 300
    tap.run(HELPER, "hours", "day.xpu", "24")
    with open("day.xpu", "rb") as f:
        whole = f.read()
    grown = [len(whole) // 20 + (len(whole) - len(whole) // 20) * n // looks for n in range(looks + 1)]
    with open("now.xpu", "wb") as f:
        f.write(whole[:grown[0]])
    random.seed(1)
    with Viewer("now.xpu") as viewer, open("now.xpu", "ab", buffering=0) as file:
        lengths, counts, early = [], [], 0
        for n in range(looks):
            file.write(whole[grown[n]:grown[n + 1]])
            look(viewer, n, lengths, counts)
            early = viewer.memory() if n == looks // 4 else early
        tap.result(lengths == sorted(lengths) and counts == sorted(counts) and lengths[-1] > 20 * lengths[0] > 0, "a recording that grows for a day is shown as far as it has come",
                   lengths[:3], lengths[-3:])
        late = viewer.memory()
        begin = viewer.cpu_seconds()
        for n in range(looks):
            look(viewer, n, [], [])
        idle, seconds = viewer.memory(), viewer.cpu_seconds() - begin
        about = viewer.json("about.json")
        tap.result(about["elapsed_ns"] == 24 * 3600 * SECOND and works_of(about) == 24000 and not about["incomplete"], "and whole in the end", about["elapsed_ns"], works_of(about))
    with Viewer("day.xpu") as viewer:
        look(viewer, 0, [], [])
        viewer.ask("report.txt")
        fresh = viewer.memory()
    if not SANITIZED:  # which keep what is freed
        tap.result(late < fresh + 16 * MIB and idle < fresh + 16 * MIB, "the server then has no more memory than one that begins",
                   *(f"{bytes / MIB:.1f} MiB" for bytes in (early, late, idle, fresh)))
    tap.result(seconds < looks * (0.2 if SANITIZED else 0.05), "and looking again at what does not grow costs next to nothing", f"{seconds:.2f} s for {looks}")


def works_of(about):
    return sum(row["count"] for row in about["rows"] if row["kind"] == "work")


def look(viewer, n, lengths, counts):
    """What the page asks for each time."""
    about = viewer.json("about.json", **({} if n % 5 else {"partial": 1}))
    lengths.append(about["elapsed_ns"])
    counts.append(works_of(about))
    end = about["elapsed_ns"]
    viewer.json("sums.json", columns=200, partial=1)
    if n % 10 == 0:
        viewer.json("timeline.json", columns=500, rows=",".join(map(str, range(len(about["rows"])))), partial=1)
        viewer.ask("flame.svg", view=random.choice(("merge", "gpu", "cpu")), **{"from": end // 3, "to": end})
    if n % 100 == 0:
        viewer.ask("report.txt")


def check_busy_growth():
    """A page asks faster than all can be read, of a file that grows each time: the reading ends all the same."""
    tap.run(os.path.join(tap.BUILD, "tests", "helpers", "sample_profile"), "pairs", "large.xpu", "1500000")
    with open("large.xpu", "rb") as f:
        whole = f.read()
    half = len(whole) * 3 // 4
    with open("busy.xpu", "wb") as f:
        f.write(whole[:half])
    tap.result(half > 17 * MIB, "it is so large that a part is shown first", half)
    with Viewer("busy.xpu") as viewer, open("busy.xpu", "ab", buffering=0) as file:
        first, wholes, asked = viewer.json("about.json", partial=1), 0, 0
        while asked < 3000 and not wholes:
            file.write(whole[half:half + 16])
            half += 16
            wholes += viewer.json("about.json", partial=1)["whole"]
            asked += 1
        tap.result(not first["whole"] and wholes, "what grows while it is read is read to its end", first["whole"], asked)
        seconds, grown = viewer.cpu_seconds(), 0
        for _ in range(200):
            file.write(whole[half:half + 16])
            half += 16
            grown += not viewer.json("about.json", partial=1)["whole"]
        tap.result(grown < 200 and viewer.cpu_seconds() - seconds < CPU_SECONDS / 10, "and not again at once", grown, f"{viewer.cpu_seconds() - seconds:.2f} s")


def check():
    check_names()
    check_pause()
    check_day()
    check_busy_growth()


tap.main(check, why_not)
