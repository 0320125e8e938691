#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording of very many threads, each with a stream: all that shows it is whole, and takes no more time and memory than it should."""
import gzip
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from extreme import CPU_SECONDS, HELPER, MEMORY_BYTES, MIB, SANITIZED, SECOND, measured, within_limits
from viewer import Viewer, why_not

# What each thread has in files, and how often. These are not read whole here: that would take more than writing them.
FILES_OF_THREADS = (("chrome", b'"cat":"GPU_Kernel"', 1), ("speedscope", b' on CPU"', 1), ("firefox", b'"isMainThread"', 2), ("pprof", b"worker ", 1),
                    ("perf-script", b"cpu-clock", 1), ("perfetto", b"", 0), ("extended-folded", b" worker_", 3))


def check_threads():
    count = 5000 if SANITIZED else int(os.environ.get("EXTREME_THREADS", 20000))
    tap.run(HELPER, "threads", "threads.xpu", str(count))
    what = f"{count:,} threads"
    text = within_limits(what, "threads.xpu", "report")
    tap.result(text.count(b"\n") < 400, f"{what}: a report is short", text.count(b"\n"))
    report = json.loads(within_limits(what, "threads.xpu", "report", "--json"))
    tap.result((report["samples"], report["works"]) == (count, count) and len(report["threads"]) == count, f"{what}: its JSON has all of them",
               report["samples"], len(report["threads"]))
    for view in "merge", "wall", "off-cpu":
        svg = within_limits(what, "threads.xpu", "flame", "--view", view, "-o", "-")
        tap.result(len(svg) < 50 * MIB, f"{what}: a flame graph is small ({view})", len(svg))
    within_limits(what, "threads.xpu", "flame", "--view", "merge", "--by", "thread", "-o", "-")
    folded = within_limits(what, "threads.xpu", "export", "--to", "folded", "--unit", "ns", "--by", "thread", "--view", "cpu", "-o", "-").decode()
    tap.result(len(folded.splitlines()) == count and sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == report["cpu_ns"],
               f"{what}: folded stacks have each", len(folded.splitlines()))
    for form, word, times in FILES_OF_THREADS:
        out = within_limits(what, "threads.xpu", "export", "--to", form, "-o", "-")
        out = gzip.decompress(out) if form == "pprof" else out
        tap.result(not word or out.count(word) == times * count, f"{what}: {form} has each", out.count(word))
    status, _, err, seconds, memory = measured("export", "--to", "html", "-o", "threads.html", "threads.xpu")
    tap.result((status == 0 and os.path.getsize("threads.html") <= 50 * 10**6 or status == 1 and "--limit" in err) and seconds < CPU_SECONDS and memory < 2 * MEMORY_BYTES,
               f"{what}: a page keeps its limit, or is refused soon", status, err, f"{seconds:.1f} s", f"{memory / MIB:.0f} MiB")
    check_view_of_threads(what, count, report)


def check_listed(viewer, what, count, report):
    """Some rows come at once, with sums of all; each of the others can be asked for."""
    status, text, _ = viewer.ask("about.json")
    about = json.loads(text)
    tap.result(status == 200 and len(text) < 10**6, f"{what}: view lists rows in less than a megabyte", status, len(text))
    tap.result(about["lanes"]["threads"] == count and sum(row["kind"] == "run" for row in about["rows"]) == 500,
               f"{what}: view counts all, and has a row for some", about["lanes"], len(about["rows"]))
    sums = about["all"]
    tap.result((sums["run"]["rows"], sums["run"]["time_ns"], sums["work"]["count"]) == (count, report["cpu_ns"], report["works"]),
               f"{what}: all rows together have what the report has", sums)
    got = {row["number"]: row for row in about["rows"]}
    for skip in range(500, count, 500):
        more = viewer.json("rows.json", of="threads", skip=skip)["rows"]
        got.update((row["number"], row) for row in more)
    for kind in "run", "waits", "calls":
        of_kind = [row for row in got.values() if row["kind"] == kind]
        tap.result({key: sum(row[key] for row in of_kind) for key in ("count", "time_ns")} == {key: sums[kind][key] for key in ("count", "time_ns")} and
                   len(of_kind) == count, f"{what}: row after row, all of them come ({kind})", len(of_kind), sums[kind])


def check_view_of_threads(what, count, report):
    with Viewer("threads.xpu") as viewer:
        begin = viewer.cpu_seconds()
        check_listed(viewer, what, count, report)
        answer = viewer.json("timeline.json", columns=1500, rows=",".join(map(str, range(60))))
        tap.result(len(answer["boxes"]) + sum(map(len, answer["cells"].values())) > 0, f"{what}: rows of a screen are answered")
        sums = viewer.json("sums.json", columns=1)
        tap.result(sums["cells"]["work"][1:3] == [count * 10**6, count], f"{what}: and all of them, added up", sums["cells"]["work"][:3])
        for words in {"view": "merge"}, {"view": "gpu", "by": "thread"}, {"view": "off-cpu", "from": SECOND // 4, "to": SECOND // 2}:
            tap.result(viewer.ask("flame.svg", **words)[0] == 200, f"{what}: flame graphs are answered ({words})")
        tap.result(viewer.ask("report.txt")[0] == 200, f"{what}: so is the report")
        seconds, memory = viewer.cpu_seconds() - begin, viewer.memory()
        tap.result(seconds < 2 * CPU_SECONDS and memory < MEMORY_BYTES, f"{what}: all that in time, and in memory", f"{seconds:.1f} s", f"{memory / MIB:.0f} MiB")


tap.main(check_threads, why_not)
