#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof view` as a server: who is answered, and that what it says of any range is what `report` and `flame` say.
tests/browser/view.js uses its page."""
import html
import json
import os
import pwd
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from viewer import Viewer, why_not

HELPERS = os.path.join(tap.BUILD, "tests", "helpers")
SECOND = 10**9
UNSEEN = ("[no sample]", "[kernel, not sampled]")


def report(file, *options):
    return json.loads(tap.run(tap.PROGRAM, "report", "--json", *options, file))


def range_of(begin, end):
    return ["--from", f"{begin}ns", "--to", f"{end}ns"]


def check_access(viewer):
    here, secret = f"127.0.0.1:{viewer.port}", viewer.secret
    wrong = secret[:-2] + ("0" if secret[-2] != "0" else "1") + "/"
    for path, headers, what in ((secret, {}, "the page"), (secret, {"Host": f"localhost:{viewer.port}"}, "the page, by the name localhost"),
                                (secret + "about.json", {"Origin": f"http://{here}"}, "what the page itself asks")):
        status, text, got = viewer.ask("", path=path, headers=headers)
        tap.result(status == 200 and text, f"{what} is answered", status, text[:200])
        policy = got.get("Content-Security-Policy", "")
        tap.result("default-src 'none'" in policy and got.get("Cache-Control") == "no-store" and got.get("Referrer-Policy") == "no-referrer",
                   f"{what}: nothing is kept, and nothing loaded from elsewhere", got)
    for path, headers, what in (("/", {}, "no secret"), ("/about.json", {}, "no secret before a name"), (wrong, {}, "a wrong secret"),
                                (secret[:-1], {}, "a part of the secret"), (wrong + "about.json", {}, "a wrong secret before a name"),
                                (secret, {"Host": f"evil.example:{viewer.port}"}, "another host's name"),
                                (secret, {"Origin": "http://evil.example"}, "another site's script"),
                                (secret, {"Origin": "http://127.0.0.1:1"}, "the script of another port"), (secret, {"Origin": "null"}, "no origin")):
        status, text, _ = viewer.ask("", path=path, headers=headers)
        tap.result(status == 403 and b"<" not in text, f"{what} is refused", status, text[:200])
    tap.result(viewer.ask("", method="POST")[0] == 405, "nothing can be sent")
    tap.result(viewer.ask("../../etc/passwd")[0] == 404 and viewer.ask("else")[0] == 404, "nothing else is there")


def sums_of(answer, kind):
    cells = answer["cells"].get(kind, [])
    return sum(cells[1::3]), sum(cells[2::3])


def seen_ns(file, *options):
    """CPU time that samples stand for. What a thread ran without one is of no moment, and so on no axis."""
    lines = tap.run(tap.PROGRAM, "export", "--to", "folded", "--view", "cpu", "--unit", "ns", *options, file).splitlines()
    return sum(int(line.rsplit(" ", 1)[1]) for line in lines if not line.rsplit(" ", 1)[0].endswith(UNSEEN))


def expected(file, begin, end):
    j = report(file, *range_of(begin, end))
    return {"run": (seen_ns(file, *range_of(begin, end)), j["samples"]), "work": (j["gpu_ns"], j["works"])}


def check_sums(viewer, file):
    """Each column of the axis has what the report has of its time."""
    wrong, unit = [], viewer.json("about.json")["column_ns"]
    for _ in range(10):
        begin, end = sorted(random.sample(range(SECOND), 2))
        columns = random.choice((1, 3, 7))
        if random.random() < 0.5:  # made up of the columns that are kept
            begin, end = begin // unit * unit, begin // unit * unit + columns * unit * random.randrange(1, SECOND // (8 * unit))
        answer = viewer.json("sums.json", **{"from": begin, "to": end, "columns": columns})
        for column in range(columns):
            edges = [begin + (end - begin) * n // columns for n in (column, column + 1)]
            if edges[0] == edges[1]:
                continue
            for kind, (time, count) in expected(file, *edges).items():
                cells = answer["cells"].get(kind, [])
                got = [tuple(cells[i + 1:i + 3]) for i in range(0, len(cells), 3) if cells[i] == column] or [(0, 0)]
                if got[0] != (time, count):
                    wrong.append(f"{kind} of {edges}: {got[0]}, the report has {(time, count)}")
    tap.result(not wrong, f"{file}: sums of columns are those of the report, to the nanosecond", *wrong[:10])


def check_rows(viewer, file, about):
    """What boxes and cells have of the rows is all of it, however fine the axis."""
    wrong = []
    work = [n for n, row in enumerate(about["rows"]) if row["kind"] == "work"]
    for _ in range(8):
        begin, end = sorted(random.sample(range(SECOND), 2))
        answer = viewer.json("timeline.json", **{"from": begin, "to": end, "columns": random.choice((1, 40, 3000)), "rows": ",".join(map(str, work))})
        boxes = answer["boxes"]
        time = sum(min(boxes[i + 1] + boxes[i + 2], end) - max(boxes[i + 1], begin) for i in range(0, len(boxes), 4))
        time += sum(sum(cells[1::3]) for cells in answer["cells"].values())
        whole = report(file, *range_of(begin, end))["gpu_ns"]
        if time != whole or set(answer["cells"]) - set(map(str, work)):
            wrong.append(f"{begin} to {end}: {time}, the report has {whole}")
    tap.result(work and not wrong, f"{file}: boxes and cells of rows add up to the report, too", *wrong[:10])
    answer = viewer.json("timeline.json", columns=20000, rows=",".join(map(str, work)))
    longest = max(answer["boxes"][2::4], default=0)
    tap.result(longest and all(name for name in answer["names"]), f"{file}: boxes have names", answer["names"][:5])


PICTURES = (("merge", {}), ("merge", {"by": "process,thread"}), ("merge", {"graph-stack": "both"}), ("merge", {"graph-stack": "capture", "lines": 1}),
            ("gpu", {"by": "device,stream"}), ("gpu", {"graph-stack": "capture"}), ("gpu", {"device": "0"}), ("cpu", {}), ("cpu", {"by": "thread", "reverse": 1}),
            ("calls", {}), ("calls", {"by": "thread"}), ("off-cpu", {}), ("off-cpu", {"by": "process"}), ("off-cpu", {"device": "0"}), ("stall", {}),
            ("stall", {"by": "thread,device,stream", "lines": 1}), ("stall", {"graph-stack": "both"}), ("stall", {"device": "0", "reverse": 1}), ("wall", {}),
            ("wall", {"by": "thread", "graph-stack": "both", "lines": 1}), ("wall", {"by": "process", "graph-stack": "capture"}), ("wall", {"reverse": 1}))
KEPT = ("merge", "gpu", "cpu", "calls", "off-cpu", "stall", "wall")  # views whose ranges are answered from memory


def compare_picture(viewer, file, view, words, part):
    options = [text for name, value in words.items() for text in ([f"--{name}", value] if isinstance(value, str) else [f"--{name}"])]
    times = {"from": part[0], "to": part[1]} if part else {}
    status, picture, got = viewer.ask("flame.svg", view=view, **words, **times)
    done = subprocess.run([tap.PROGRAM, "flame", "-o", "alone.svg", "--view", view, *options, *(range_of(*part) if part else []), file], capture_output=True, text=True)
    if done.returncode:  # nothing to draw
        return status == 200 and got["Content-Type"].startswith("text/html")
    with open("alone.svg", "rb") as f: # the page's runs scripts, and needs no frames but those in the data
        alone = re.sub(rb'<g><title>.*?</g>\n', b"", f.read(), flags=re.S)
        return status == 200 and picture == alone and b"metadata" in alone and got["Content-Type"] == "image/svg+xml"


def check_pictures(viewer, file):
    threads = [row["thread"].rsplit(" (", 1)[0] for row in viewer.json("about.json")["rows"] if row["kind"] == "run"]
    for view, words in (*PICTURES, *((view, {"thread": random.choice(threads)}) for view in ("merge", "off-cpu", "stall", "wall"))):
        parts = [None, (0, SECOND), *(sorted(random.sample(range(SECOND), 2)) for _ in range(6 if view in KEPT else 1))]
        wrong = [f"{part}" for part in parts if not compare_picture(viewer, file, view, words, part)]
        tap.result(not wrong, f"{file}: flame graphs of ranges are those of xpuprof flame ({view} {words})", *wrong)


def check_report(viewer, file):
    begin, end = sorted(random.sample(range(SECOND), 2))
    _, text, _ = viewer.ask("report.txt", **{"from": begin, "to": end, "width": 100})
    alone = tap.run(tap.PROGRAM, "report", "--top", "20", *range_of(begin, end), file)
    first = lambda s: [line.split() for line in s.splitlines()[:8]]
    tap.result(first(text.decode()) == first(alone), f"{file}: so is the report", text.decode()[:600], alone[:600])


def check_kernel():
    """A kernel's page is that of annotate."""
    tap.run(os.path.join(HELPERS, "stall_profile"), "small", "stalls.xpu", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/stalls"))
    tap.run(tap.PROGRAM, "annotate", "-o", "alone.html", "matmul", "stalls.xpu")
    with Viewer("stalls.xpu") as viewer, open("alone.html", "rb") as f:
        svg = viewer.ask("flame.svg", view="gpu")[1].decode()
        names = [html.unescape(line[1:]) for line in re.search(r'class="names">(.*?)<', svg, re.S)[1].split("\n") if "matmul" in line]
        status, text, got = viewer.ask("kernel.html", kernel=names[0] if names else "")
        tap.result(status == 200 and got["Content-Type"].startswith("text/html") and text == f.read(), "a kernel's page is that of annotate", status, names, text[:300])
        for words, what in (({"kernel": "matmu"}, "no such kernel"), ({}, "no kernel")):
            status, text, _ = viewer.ask("kernel.html", **words)
            tap.result(status == 400 and text.count(b"\n") == 1, f"{what} is said", status, text[:300])


def check_library():
    """Frames of a library are those of which the report has nothing elsewhere."""
    tap.run(os.path.join(HELPERS, "sample_profile"), "small", "small.xpu")
    functions, wrong = report("small.xpu")["functions"], []
    with Viewer("small.xpu") as viewer:
        for text in ("app", "LIB", "libcuda.", "kernel", "train.py", "opt", "nowhere"):
            inside = lambda f: text.lower() in os.path.basename(f.get("module") or f.get("file") or "").lower()
            wanted = {f["name"] for f in functions if all(inside(other) for other in functions if other["name"] == f["name"])}
            frames = {frame[1:] for frame in viewer.json("library.json", text=text)["frames"]}
            if frames & {f["name"] for f in functions} != wanted:
                wrong.append(f"{text}: {frames}, the report has {wanted}")
        tap.result(not wrong and len(functions) > 8, "functions of a library are those that the report has of it", *wrong)
        status, text, _ = viewer.ask("library.json")
        tap.result(status == 400 and text.count(b"\n") == 1, "without a name of it, that is said", status, text)


def check_stalls():
    """Rows by reason have all samples of instructions; those of kernels are the report's."""
    tap.run(os.path.join(HELPERS, "stall_profile"), "small", "stalls.xpu", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/stalls"))
    with Viewer("stalls.xpu") as viewer:
        heat = viewer.json("heat.json", of="stalls", columns=40)
    stalls = json.loads(tap.run(tap.PROGRAM, "report", "--json", "--stalls", "stalls.xpu"))["stalls"]
    got = {row["name"]: row["time_ns"] for row in heat["rows"]}
    least = {reason["words"]: sum(r["samples"] for k in stalls["kernels"] for r in k["reasons"] if r["words"] == reason["words"])
             for kernel in stalls["kernels"] for reason in kernel["reasons"]}
    tap.result(heat["counts"] and sum(got.values()) == stalls["samples"] and all(got[words] >= samples for words, samples in least.items()),
               "rows by reason have all samples of instructions", got, least)


def check_repeats(viewer, file):
    """Launches of each kernel as a histogram: as many, as long, as the report has."""
    wrong = []
    for kernel in report(file)["kernels"]:
        all_of = viewer.json("repeats.json", of="launches", which=kernel["name"])
        got = tuple(all_of[key] for key in ("count", "total_ns", "min_ns", "max_ns"))
        if got != tuple(kernel[key] for key in ("count", "total_ns", "min_ns", "max_ns")) or sum(all_of["bars"][2::3]) != kernel["count"]:
            wrong.append(f"{kernel}: {all_of}")
        least = all_of["median_ns"]
        long = viewer.json("repeats.json", of="launches", which=kernel["name"], **{"at-least": least})
        if long["matching"] != sum(length >= least for length in all_of["longest"][1::2]) or long["longest"][1::2] != sorted(long["longest"][1::2], reverse=True):
            wrong.append(f"{kernel}: {long['matching']} of at least {least}")
    begin, end = sorted(random.sample(range(SECOND), 2))
    counts = {name["text"]: name["count"] for name in viewer.json("repeats.json", **{"from": begin, "to": end})["names"] if not name["marker"]}
    of_report = {kernel["name"]: kernel["count"] for kernel in report(file, *range_of(begin, end))["kernels"] if kernel["count"]}
    tap.result(not wrong and counts == of_report, f"{file}: launches of kernels are those of the report", counts, of_report, *wrong[:5])


def check_links(viewer, about):
    """What a call asked for leads back to it, and so does each of a launch of many."""
    kinds = [row["kind"] for row in about["rows"]]
    rows = ",".join(str(n) for n, kind in enumerate(kinds) if kind in ("calls", "work"))
    boxes = viewer.json("timeline.json", columns=20000, rows=rows)["boxes"]
    boxes = [tuple(boxes[i:i + 3]) for i in range(0, len(boxes), 4)]
    wrong, found, words = [], 0, lambda box: dict(zip(("row", "begin", "length"), box))
    for call in random.sample([box for box in boxes if kinds[box[0]] == "calls"], 20):
        links = viewer.json("links.json", **words(call))
        works = [tuple(links["works"][i:i + 3]) for i in range(0, len(links["works"]), 3)]
        found += len(works)
        if links["work_count"] != len(works) or tuple(links["call"]) != call or any(kinds[work[0]] != "work" for work in works):
            wrong.append(f"{call}: {links}")
        wrong += [f"{work} of {call}: {back}" for work in works for back in [viewer.json("links.json", **words(work))]
                  if tuple(back["call"]) != call or back["works"] != links["works"]]
    tap.result(not wrong and found, "calls lead to their work, and back", found, *wrong[:5])
    nothing = viewer.json("links.json", row=0, begin=1, length=1)
    tap.result(not nothing["call"] and not nothing["works"], "what is no box leads nowhere", nothing)


def folded_by(pattern, view, by, file, begin, end):
    """Sums of stacks by what is found in them."""
    sums = {}
    for line in tap.run(tap.PROGRAM, "export", "--to", "folded", "--view", view, "--by", by, "--unit", "ns", *range_of(begin, end), file).splitlines():
        stack, ns = line.rsplit(" ", 1)
        if int(ns):
            key = re.search(pattern, stack).groups()
            sums[key] = sums.get(key, 0) + int(ns)
    return sums


def heat_wanted(file, of, begin, end, function):
    """What the report has of each row."""
    j = report(file, *range_of(begin, end))
    threads = {f"{row['name']} ({row['tid']})" if row.get("name") else "thread not known": row for row in j["threads"]}
    if of == "threads-cpu":
        return {name: row["cpu_ns"] for name, row in threads.items() if row["cpu_ns"]}
    if of == "threads-gpu":
        return {name: row["gpu_ns"] for name, row in threads.items() if row["gpu_ns"]}
    if of == "reasons":
        return {name: ns for name, ns in j["waits"]["reasons_ns"].items() if ns}
    if of == "threads-waits":
        return {f"{name} ({tid})": ns for (name, tid), ns in folded_by(r"^(thread\d)-(\d+);", "off-cpu", "thread", file, begin, end).items()}
    if of == "streams":
        return folded_by(r"stream (\d+);\[GPU(\d+)_", "gpu", "device,stream", file, begin, end)
    return {"cpu": next((row["total_ns"] for row in j["functions"] if row["name"] == function), 0)}


def heat_got(heat, of, first, end):
    got = {}
    for row in heat["rows"]:
        ns = sum(value for column, value in zip(row["cells"][::2], row["cells"][1::2]) if first <= column < end)
        key = tuple(re.search(r"GPU (\d+), stream (\d+)", row["name"]).group(2, 1)) if of == "streams" else row["name"]
        if of == "function":
            if row["gpu"]:
                continue
            key = "cpu"
        got[key] = got.get(key, 0) + ns
    return got if of == "function" else {name: ns for name, ns in got.items() if ns}


def check_heat(viewer, file):
    """Rows of the heatmap have in each range what the report has of it."""
    names = [row["name"] for row in report(file)["functions"]]
    for of in ("threads-cpu", "threads-waits", "threads-gpu", "streams", "reasons", "function"):
        wrong = []
        for _ in range(6):
            function = random.choice(names)
            heat = viewer.json("heat.json", of=of, columns=random.choice((7, 40, 400)), **({"function": function} if of == "function" else {}))
            first, end = sorted(random.sample(range(heat["columns"] + 1), 2))
            begin, until = (min(heat["from"] + n * heat["step_ns"], SECOND) for n in (first, end))
            got, wanted = heat_got(heat, of, first, end), heat_wanted(file, of, begin, until, function)
            if (got or {"cpu": 0} if of == "function" else got) != wanted or any(row["time_ns"] != sum(row["cells"][1::2]) for row in heat["rows"]):
                wrong.append(f"{begin} to {until} {function}: {got}, the report has {wanted}")
        tap.result(not wrong, f"{file}: rows of the heatmap add up to the report ({of})", *wrong[:5])
    whole = viewer.json("heat.json", of="threads-waits", columns=50)
    few = viewer.json("heat.json", of="threads-waits", columns=50, rows=1)
    rest = [sum(dict(zip(row["cells"][::2], row["cells"][1::2])).get(column, 0) for row in whole["rows"][1:]) for column in range(50)]
    last = dict(zip(few["rows"][1]["cells"][::2], few["rows"][1]["cells"][1::2]))
    tap.result(few["others"] == 2 and [last.get(column, 0) for column in range(50)] == rest and few["rows"][0] == whole["rows"][0],
               f"{file}: what has no row of its own is in the last", few["others"], few["rows"][1])
    several = viewer.json("heat.json", of="function", columns=5, function="FUNCTION")
    tap.result(several["functions"] == 6 and viewer.json("heat.json", of="function", columns=5, function="nowhere")["rows"] == [],
               f"{file}: a part of a name stands for all functions that have it", several["functions"])


def check_markers():
    """Markers are rows of their threads, named, as deep as they are nested, and found by name; metrics are counters of no device."""
    tap.run(os.path.join(HELPERS, "marker_profile"), "markers.xpu")
    with Viewer("markers.xpu") as viewer:
        rows = viewer.json("about.json")["rows"]
        of = {row["thread"]: (n, row["depth"]) for n, row in enumerate(rows) if row["kind"] == "marker"}
        tap.result({thread: depth for thread, (_, depth) in of.items()} == {"trainer (200)": 3, "loader (201)": 1}, "threads have rows of markers", rows)
        metric = [row for row in rows if row["kind"] == "counter"]
        tap.result([(row["name"], row["device"]) for row in metric] == [("loss", None)], "metrics are counters of no device", metric)
        trainer, loader = of["trainer (200)"][0], of["loader (201)"][0]
        axis = viewer.json("timeline.json", columns=100, rows=f"{trainer},{loader}")
        boxes = {(axis["boxes"][i], axis["names"][axis["boxes"][i + 3]], axis["boxes"][i + 1], axis["boxes"][i + 2]) for i in range(0, len(axis["boxes"]), 4)}
        steps = {(trainer, name, n * SECOND + begin * SECOND // 1000, length * SECOND // 1000) for n in range(10)
                 for name, begin, length in (("step", 0, 800), ("forward", 0, 300), ("backward", 350, 400))}
        others = {(loader, "request A", SECOND, 2 * SECOND), (loader, "request B", 2 * SECOND, 2 * SECOND), (loader, "epoch (data)", 5 * SECOND, 5 * SECOND)}
        tap.result(boxes == steps | others, "markers of two columns and more are boxes with names", boxes ^ (steps | others))
        cells = axis["cells"][str(trainer)]
        got = {cells[i]: tuple(cells[i + 1:i + 3]) for i in range(0, len(cells), 3)}
        named = {column: axis["names"][name] for column, name in zip(axis["alike"][str(trainer)][::2], axis["alike"][str(trainer)][1::2])}
        tap.result(got[45] == (0, 1) and named[45] == "checkpoint" and got[79] == (1000, 1) and named[79] == "tiny" and named[1] == "attention",
                   "a moment and a range of a microsecond are there, and named", got, named)
        coarse = viewer.json("timeline.json", columns=1, rows=str(trainer))
        tap.result(coarse["cells"][str(trainer)][2] == 42 and not coarse["alike"][str(trainer)], "what has several names has none", coarse)
        for words, names, count, before in ((dict(text="CHECK"), ["checkpoint"], 1, 0), (dict(text="step"), ["step"] * 10, 10, 0),
                                            ({"text": "step", "from": 3 * SECOND}, ["step"] * 7, 10, 3),
                                            ({"text": "step", "from": 3 * SECOND, "back": 1}, ["step"] * 3, 10, 3),
                                            (dict(text="(data)"), ["epoch (data)"], 1, 0), (dict(text="nowhere"), [], 0, 0)):
            found = viewer.json("find.json", **words)
            got = [found["names"][name] for name in found["found"][3::4]]
            begins = found["found"][1::4]
            tap.result((got, found["count"], found["before"]) == (names, count, before) and begins == sorted(begins, reverse="back" in words),
                       f"search for {words} finds what has the name, in order", found)
        alone = tap.run(tap.PROGRAM, "flame", "-o", "alone.svg", "--thread", "201", *range_of(SECOND, 3 * SECOND), "markers.xpu")
        tap.result(compare_picture(viewer, "markers.xpu", "merge", {"thread": "201"}, (SECOND, 3 * SECOND)), "the flame graph of a marker is that of its range and thread", alone)
    tap.run(os.path.join(HELPERS, "marker_profile"), "deep.xpu", "hostile")
    with Viewer("deep.xpu") as viewer:
        rows = viewer.json("about.json")["rows"]
        tap.result(max(row.get("depth", 0) for row in rows) == 64, "nesting ends somewhere", rows)
        found = viewer.json("find.json", text="onerror")
        tap.result(found["count"] == 1 and "\\x1b" in found["names"][0] and "\\xe2\\x80\\xae" in found["names"][0], "names that lie are text", found)


def check_wrong(viewer):
    for name, words, what in (("sums.json", {"from": 5, "to": 5}, "an empty range"), ("sums.json", {"from": "x"}, "no number"),
                              ("sums.json", {"from": -1}, "a negative time"), ("sums.json", {"columns": 0}, "no columns"),
                              ("sums.json", {"columns": 10**9}, "too many columns"), ("timeline.json", {"columns": 10}, "no rows"),
                              ("timeline.json", {"rows": "1;2"}, "a list that is none"), ("find.json", {}, "nothing to look for"), ("find.json", {"text": ""}, "no text"),
                              ("heat.json", {}, "no heatmap"), ("heat.json", {"of": "x"}, "no such heatmap"), ("heat.json", {"of": "function"}, "no function"),
                              ("heat.json", {"of": "reasons", "columns": 0}, "a heatmap without columns"), ("flame.svg", {"view": "x"}, "no view"),
                              ("flame.svg", {"by": "x"}, "no group"), ("repeats.json", {"of": "x"}, "nothing that repeats"), ("differences.txt", {}, "nothing to compare with"),
                              ("flame.svg", {"base-from": 9 * SECOND, "base-to": 10 * SECOND}, "a range to compare with behind the end"),
                              ("flame.svg", {"from": 9 * SECOND}, "a range behind the end"),
                              ("report.txt", {"thread": "nobody"}, "no thread")):
        status, text, got = viewer.ask(name, **words)
        tap.result(status == 400 and text.count(b"\n") == 1 and got["Content-Type"].startswith("text/plain"), f"{name}: {what} is said", status, text[:300])
    status, text, _ = viewer.ask("timeline.json", rows="99999", columns=10)
    tap.result(status == 200 and not json.loads(text)["boxes"], "rows that are not there have nothing", status, text[:200])
    status, text, _ = viewer.ask("flame.svg", view="off-cpu", **{"from": 0, "to": 1})
    tap.result(status == 200 and text.startswith(b"<"), "where there is nothing to draw a page says so", text[:300])


def sum_of(about):
    return sum(row["count"] for row in about["rows"] if row["kind"] == "work")


def check_more_rows(viewer, about):
    """What is not listed can be asked for, by its place, its number or its name."""
    listed = {row["number"] for row in about["rows"]}
    more = [row for skip in range(500, about["lanes"]["threads"], 500) for row in viewer.json("rows.json", of="threads", skip=skip)["rows"]]
    numbers = [row["number"] for row in more]
    tap.result(not listed & set(numbers) and len(set(numbers)) == len(numbers), "more rows are others", len(listed), len(numbers))
    for kind, of in about["all"].items():
        if kind in ("run", "waits", "calls"):
            rows = [row for row in about["rows"] + more if row["kind"] == kind]
            tap.result((len(rows), sum(row["count"] for row in rows), sum(row["time_ns"] for row in rows)) == (of["rows"], of["count"], of["time_ns"]),
                       f"all of them are all there is ({kind})", len(rows), of)
    last = more[-1]
    for words in {"rows": str(last["number"])}, {"text": last["thread"].upper()}:
        rows = viewer.json("rows.json", **words)["rows"]
        tap.result(last in rows and all(row["thread"] == last["thread"] for row in rows), f"a row is found ({list(words)[0]})", rows)
    nothing = viewer.json("rows.json", text="no such name")
    tap.result(nothing["rows"] == [] and set(nothing["lanes"].values()) == {0}, "what is not there is not found", nothing)
    for words in {"of": "people"}, {"of": "threads", "skip": "-1"}, {"rows": "1;2"}:
        tap.result(viewer.ask("rows.json", **words)[0] == 400, f"other questions for rows are refused ({words})")


def check_crowd():
    """A recording of many threads: what the page asks for is answered, and nothing that would take all memory."""
    tap.run(os.path.join(HELPERS, "burst_profile"), "crowd.xpu", "2000")
    with Viewer("crowd.xpu") as viewer:
        about = viewer.json("about.json")
        rows = len(about["rows"])
        status, text, _ = viewer.ask("timeline.json", columns=1000, rows=",".join(map(str, range(300))))
        tap.result(rows < 2002 and about["lanes"]["threads"] > 500 and status == 200, "of many threads as many as a screen holds are shown", rows, about["lanes"],
                   status, text[:200])
        check_more_rows(viewer, about)
        status, text, _ = viewer.ask("timeline.json", columns=20000, rows=",".join(map(str, range(600))))
        tap.result(status == 400 and b"too many" in text, "more than memory should hold is refused", status, text[:200])


def check_growth():
    """A recording that goes on, breaks, and goes away."""
    with open("random.xpu", "rb") as f:
        whole = f.read()
    with open("growing.xpu", "wb") as f:
        f.write(whole[:len(whole) // 2])
    with Viewer("growing.xpu") as viewer:
        before = viewer.json("about.json")
        with open("growing.xpu", "ab") as f:
            f.write(whole[len(whole) // 2:])
        after = viewer.json("about.json")
        tap.result(before["incomplete"] and not after["incomplete"] and sum_of(before) < sum_of(after) and after["elapsed_ns"] == SECOND,
                   "a recording that grows is shown as far as it is there", before["incomplete"], sum_of(before), sum_of(after))
        tap.result(sum_of(after) == report("random.xpu")["works"], "and whole in the end", sum_of(after))
        os.unlink("growing.xpu")
        status, text, _ = viewer.ask("about.json")
        tap.result(status in (400, 500) and b"growing.xpu" in text, "when it has gone, that is said", status, text)
        with open("growing.xpu", "wb") as f:
            f.write(os.urandom(100000))
        status, text, _ = viewer.ask("about.json")
        tap.result(status in (400, 500), "so is what is no recording any more", status, text)
        shutil.copy("random.xpu", "growing.xpu")
        tap.result(viewer.ask("about.json")[0] == 200, "it serves on")
    tap.result(viewer.status == 0, "Ctrl-C ends it", viewer.status)


def await_file(path):
    for _ in range(500):
        if os.path.exists(path):
            break
        time.sleep(0.01)


def check_sudo():
    """Under sudo the browser is the caller's, at home there."""
    if os.getuid():
        return print("# not as root: nothing to check under sudo")
    nobody = pwd.getpwnam("nobody")
    os.makedirs("open", exist_ok=True)
    os.chmod("open", 0o777)
    os.chmod(".", 0o755)
    shutil.copy("random.xpu", "open/random.xpu")
    os.chmod("open/random.xpu", 0o644)
    with open("bin/xdg-open", "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\necho "$(id -u) $HOME $USER $SUDO_USER." >open/part; mv open/part open/whose\n')
    environment = {**os.environ, "DISPLAY": ":1", "PATH": os.path.abspath("bin") + ":" + os.environ["PATH"], "HOME": "/root", "USER": "root",
                   "SUDO_UID": str(nobody.pw_uid), "SUDO_GID": str(nobody.pw_gid), "SUDO_USER": "nobody"}
    environment.pop("XDG_RUNTIME_DIR", None)
    with subprocess.Popen([tap.PROGRAM, "view", "open/random.xpu"], stdout=subprocess.DEVNULL, env=environment) as process:
        await_file("open/whose")
        process.send_signal(signal.SIGTERM)
    with open("open/whose", encoding="utf-8") as f:
        whose = f.read()
    tap.result(whose == f"{nobody.pw_uid} {nobody.pw_dir} nobody .\n", "under sudo the browser is the caller's, at home there", whose)


def check_command():
    for arguments, words in ((["none.xpu"], "none.xpu"), (["notes.txt"], "notes.txt"), (["--port", "0", "random.xpu"], "--port"),
                             (["random.xpu", "none.xpu"], "none.xpu"), (["random.xpu", "notes.txt"], "notes.txt"),
                             (["random.xpu"] * 3, "one recording, or two")):
        with open("notes.txt", "w", encoding="utf-8") as f:
            f.write("not a recording")
        done = subprocess.run([tap.PROGRAM, "view", "--no-browser", *arguments], capture_output=True, text=True, timeout=20)
        tap.result(done.returncode and words in done.stderr and not done.stdout, f"{' '.join(arguments)}: is refused with a line", done)
    with Viewer("random.xpu") as viewer:
        done = subprocess.run([tap.PROGRAM, "view", "--no-browser", "--port", str(viewer.port), "random.xpu"], capture_output=True, text=True, timeout=20)
        tap.result(done.returncode and "already in use" in done.stderr, "a port that is taken is said", done)
    os.makedirs("bin", exist_ok=True)
    with open("bin/xdg-open", "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\n{ echo "$*"; stat -c %a "$1"; cat "$1"; } >opened.part; mv opened.part opened\n')
    os.chmod("bin/xdg-open", 0o755)
    environment = {**os.environ, "DISPLAY": ":1", "PATH": os.path.abspath("bin") + ":" + os.environ["PATH"], "XDG_RUNTIME_DIR": os.getcwd()}
    with subprocess.Popen([tap.PROGRAM, "view", "random.xpu"], stdout=subprocess.PIPE, text=True, env=environment) as process:
        address = process.stdout.readline().strip()
        await_file("opened")
        process.send_signal(signal.SIGTERM)
    with open("opened", encoding="utf-8") as f:
        arguments, mode, page = f.read().split("\n", 2)
    secret = address.rstrip("/").rsplit("/", 1)[1]
    tap.result(secret not in arguments and address in page and mode == "600" and not os.path.exists(arguments),
               "the browser is told the secret by a file of the user's alone, which is gone afterwards", arguments, mode, page)
    check_sudo()
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    with subprocess.Popen([tap.PROGRAM, "view", "random.xpu"], stdout=subprocess.PIPE, text=True, env=environment) as process:
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
    tap.result("ssh -L" in lines[1] and process.returncode == 0, "without a screen it says how to look from another machine", lines)


def check():
    random.seed(int(os.environ.get("VIEW_SEED", "1")))
    tap.run(os.path.join(HELPERS, "range_profile"), "random.xpu", "7")
    with Viewer("random.xpu") as viewer:
        about = viewer.json("about.json")
        tap.result(about["elapsed_ns"] == SECOND and {row["kind"] for row in about["rows"]} == {"run", "waits", "calls", "work", "counter", "driver"},
                   "it says what the recording is, and its rows", about)
        check_access(viewer)
        check_sums(viewer, "random.xpu")
        check_rows(viewer, "random.xpu", about)
        check_pictures(viewer, "random.xpu")
        check_report(viewer, "random.xpu")
        check_heat(viewer, "random.xpu")
        check_repeats(viewer, "random.xpu")
        check_links(viewer, about)
        check_wrong(viewer)
    check_markers()
    check_kernel()
    check_library()
    check_stalls()
    check_crowd()
    check_growth()
    check_command()
    tap.run(os.path.join(HELPERS, "sample_profile"), "hostile", "hostile.xpu")
    with Viewer("hostile.xpu") as viewer:
        _, page, _ = viewer.ask("")
        names = json.dumps(viewer.json("about.json")["rows"])
        tap.result(len(names) > 100 and b"<script>" in page and len(page) < 150000, "names that lie are text, and the page is small", len(page))


tap.main(check, why_not)
