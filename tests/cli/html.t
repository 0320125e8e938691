#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof export --to html`: a page as one file. That its data, added up, are what `report` and `folded` say of any range of slices, and that it
keeps its limit. tests/browser/view_file.js uses it."""
import json
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from viewer import Viewer

HELPERS = os.path.join(tap.BUILD, "tests", "helpers")
SECOND = 10**9
GPU = "".join(chr(ord("a") + kind) for kind in (10, 11, 12, 13, 14, 15))  # enum tree_kind: TREE_GPU_KERNEL to TREE_GPU_CODE


def export(file, out, *options):
    return subprocess.run([tap.PROGRAM, "export", "-o", out, *options, file], capture_output=True, text=True, timeout=300)


def read(out):
    with open(out, encoding="utf-8") as f:
        page = f.read()
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return page, json.loads(found[1])


def edges(steps, count):
    """Where each of the steps begins that are at hand, and where the last ends: several stand together in older parts."""
    all_edges, at = [], 0
    ages = list(zip(steps[0::2], steps[1::2]))
    while at < count:
        all_edges.append(at)
        at += next((min(many, end - at) for end, many in ages if at < end), 1)
    return [*all_edges, count]


def stacks(data, first, end):
    """Times by node of slices, the CPU's and the GPU's."""
    at = edges(data["sums"]["ages"], data["sums"]["count"])
    sums, times = data["sums"], {}
    for part in sums["slices"][first:end]:
        for i in range(0, len(part), 3):
            times[part[i]] = times.get(part[i], 0) + part[i + 1]
    for i in range(0, len(sums["spreads"]), 3):
        node, until, time = sums["spreads"][i:i + 3]
        share = lambda n: time * min(at[n] * sums["slice_ns"], until) // until if until else time
        times[node] = times.get(node, 0) + share(end) - share(first)
    parents, frames = sums["nodes"][0::2], sums["nodes"][1::2]
    gpu = [False]
    for parent, frame in zip(parents, frames):
        gpu.append(gpu[parent] or sums["frames"][frame][0] in GPU)
    return sorted(time for node, time in times.items() if time and not gpu[node]), sorted(time for node, time in times.items() if time and gpu[node])


def folded(file, view, begin, end):
    lines = tap.run(tap.PROGRAM, "export", "--to", "folded", "--unit", "ns", "--view", view, "--by", "process,thread,device,stream", "--from", f"{begin}ns", "--to",
                    f"{end}ns", file).splitlines()
    return sorted(time for time in (int(line.rsplit(" ", 1)[1]) for line in lines) if time)


def check_sums(file, data):
    width, count = data["sums"]["slice_ns"], len(data["sums"]["slices"])
    at, wrong = edges(data["sums"]["ages"], data["sums"]["count"]), []
    tap.result(len(at) == count + 1, f"{file}: there are as many slices as it says", len(at), count)
    for _ in range(10):
        first, end = sorted(random.sample(range(count + 1), 2))
        got = stacks(data, first, end)
        expected = tuple(folded(file, view, at[first] * width, at[end] * width) for view in ("cpu", "gpu"))
        if got != expected:
            wrong.append(f"{first} to {end}: {sum(got[0])} and {sum(got[1])}, export has {sum(expected[0])} and {sum(expected[1])}")
    tap.result(count > 10 and not wrong, f"{file}: sums of slices are those of the same ranges, stack by stack", *wrong)


def check_axis(file, data):
    work = [n for n, row in enumerate(data["about"]["rows"]) if row["kind"] == "work"]
    boxes, cells = data["axis"]["boxes"], data["axis"]["cells"]
    inside = lambda begin, length: min(begin + length, SECOND) - max(begin, 0)
    time = sum(inside(*boxes[i + 1:i + 3]) for i in range(0, len(boxes), 4) if boxes[i] in work) + sum(sum(cells.get(str(row), [])[1::3]) for row in work)
    report = json.loads(tap.run(tap.PROGRAM, "report", "--json", "--from", "0s", "--to", "1s", file))["gpu_ns"]
    tap.result(time == report, f"{file}: the time axis has all work", time, report)


def check_events(file, data):
    """What happens again is all there is, and links are those that a server has."""
    report = json.loads(tap.run(tap.PROGRAM, "report", "--json", file))["kernels"]
    of_report = {kernel["name"]: (kernel["count"], kernel["total_ns"]) for kernel in report}
    repeats = [one for one in data["events"]["repeats"] if not one["marker"]]
    tap.result({one["text"]: (len(one["items"]) // 3, sum(one["items"][2::3])) for one in repeats} == of_report and all(one["count"] * 3 == len(one["items"]) for one in repeats),
               f"{file}: launches of each kernel are those of the report", repeats[:3], of_report)
    wrong, links = [], data["events"]["links"]
    with Viewer(file) as viewer:
        for link in random.sample(links, min(20, len(links))):
            boxes = [link[i:i + 3] for i in range(1, len(link), 3)]
            box = boxes[0] if boxes[0][0] >= 0 else boxes[1]
            if box[1] < 0:
                continue
            got = viewer.json("links.json", row=box[0], begin=box[1], length=box[2])
            works = sorted(got["works"][i:i + 3] for i in range(0, len(got["works"]), 3))
            if got["call"] != (boxes[0] if boxes[0][0] >= 0 else []) or works != sorted(boxes[1:]) or got["work_count"] != link[0]:
                wrong.append(f"{link}: {got}")
    tap.result(len(links) > 10 and not data["events"]["links_left_out"] and not wrong, f"{file}: calls lead to the work that a server shows", len(links), *wrong[:3])


def check_limit():
    tap.run(os.path.join(HELPERS, "range_profile"), "random.xpu", "3")
    done = export("random.xpu", "random.html")
    _, data = read("random.html")
    tap.result(done.returncode == 0 and not done.stderr, "a page is written", done)
    check_sums("random.xpu", data)
    check_axis("random.xpu", data)
    check_events("random.xpu", data)
    sizes = {}
    tap.run(os.path.join(HELPERS, "burst_profile"), "threads.xpu", "3000")
    for limit in (50, 1):
        done = export("threads.xpu", "limited.html", "--limit", str(limit))
        page, data = read("limited.html")
        sizes[limit] = len(page.encode()), data["sums"]["slice_ns"], data["about"]["column_ns"]
        tap.result(done.returncode == 0 and sizes[limit][0] <= limit * 10**6, f"a page keeps its limit ({limit} MB)", done, sizes)
        heats = len(json.dumps(data["heats"], separators=(",", ":")))
        tap.result(2 <= heats <= limit * 10**6 / 64, f"and heatmaps by row their part of it ({limit} MB)", heats)
    tap.result(sizes[1][0] < 10**6 < sizes[50][0], "what does not fit gets coarser", sizes)
    time = sum(part[i] for slices in (data["sums"]["slices"], [data["sums"]["before"], data["sums"]["behind"]]) for part in slices for i in range(1, len(part), 3))
    time += sum(data["sums"]["spreads"][2::3])
    whole = json.loads(tap.run(tap.PROGRAM, "report", "--json", "threads.xpu"))
    tap.result(time == whole["cpu_ns"] + whole["gpu_ns"], "but nothing is missing", time, whole["cpu_ns"], whole["gpu_ns"])
    tap.run(os.path.join(HELPERS, "burst_profile"), "crowd.xpu", "20000")
    done = export("crowd.xpu", "crowd.html", "--limit", "1")
    tap.result(done.returncode and "--limit" in done.stderr and not os.path.exists("crowd.html"), "what cannot be small enough is refused, and there is no file", done)


def check_ages():
    """What is older is coarser, and all of it is there."""
    tap.run(os.path.join(HELPERS, "range_profile"), "many.xpu", "5", "many")
    export("many.xpu", "many.html")
    page, whole = read("many.html")
    done = export("many.xpu", "aged.html", "--limit", "1")
    aged, data = read("aged.html")
    tap.result(done.returncode == 0 and len(aged) < 10**6 < len(page) and not whole["sums"]["ages"] and not whole["axis"]["ages"], "only a page that is too large gets coarser",
               len(page), len(aged))
    for part, count in (("sums", data["sums"]["count"]), ("axis", data["about"]["elapsed_ns"] // data["about"]["column_ns"])):
        ends, together = data[part]["ages"][0::2], data[part]["ages"][1::2]
        tap.result(together and together == sorted(together, reverse=True) and together[-1] > 1 and ends == sorted(ends) and ends[-1] < count,
                   f"the older the coarser, and the newest is the finest ({part})", data[part]["ages"], count)
    check_sums("many.xpu", data)
    check_axis("many.xpu", data)
    count = lambda axis: sum(sum(cells[2::3]) for cells in axis["cells"].values()) + sum(begin >= 0 for begin in axis["boxes"][1::4])
    tap.result(count(data["axis"]) == count(whole["axis"]), "as many events begin", count(data["axis"]), count(whole["axis"]))


def check_listed():
    """Of very many threads some are in it, and the sums of all."""
    tap.run(os.path.join(HELPERS, "extreme_profile"), "threads", "extreme.xpu", "3000")
    done = export("extreme.xpu", "extreme.html")
    page, data = read("extreme.html")
    about, kinds = data["about"], data["axis"]["kinds"]
    tap.result(done.returncode == 0 and len({row["id"] for row in about["rows"] if "id" in row}) == 1000 == sum(row["kind"] == "work" for row in about["rows"])
               and about["lanes"]["threads"] == about["lanes"]["streams"] == 3000, "of 3,000 threads and streams 1,000 are in a page", about["lanes"], len(about["rows"]))
    tap.result({int(row) for row in data["axis"]["cells"]} | set(data["axis"]["boxes"][0::4]) <= {row["number"] for row in about["rows"]}, "and only their cells and boxes")
    wrong = [kind for kind, of_all in about["all"].items() if (sum(kinds.get(kind, [])[1::3]), sum(kinds.get(kind, [])[2::3])) != (of_all["time_ns"], of_all["count"])]
    tap.result("work" in kinds and not wrong, "the heatmap is that of all", *wrong)
    report = json.loads(tap.run(tap.PROGRAM, "report", "--json", "extreme.xpu"))
    time = sum(sum(part[1::3]) for part in (*data["sums"]["slices"], data["sums"]["before"], data["sums"]["behind"])) + sum(data["sums"]["spreads"][2::3])
    tap.result(time == report["cpu_ns"] + report["gpu_ns"], "and so are flame graphs", time, report["cpu_ns"] + report["gpu_ns"])
    rows = {link[i] for link in data["events"]["links"] for i in range(1, len(link), 3)} - {-1}
    tap.result(rows <= {row["number"] for row in about["rows"]}, "arrows lead to what is in it", len(rows))


def check_hostile():
    tap.run(os.path.join(HELPERS, "sample_profile"), "hostile", "hostile.xpu")
    export("hostile.xpu", "hostile.html")
    page, data = read("hostile.html")
    tap.result(page.count("</script>") == 2 and "default-src 'none'" in page, "names end no script, and the page may load nothing", page.count("</script>"))
    own = len(page) - len(page.split('id="data">', 1)[1].split("</script>", 1)[0])
    tap.result(data["about"]["title"] and own < 150000, "without its data it is small", own)


def check_wrong():
    for options, words in ((["--to", "html", "--by", "thread"], "--by"), (["--to", "html", "--from", "1ms"], "ranges"), (["--to", "html", "--view", "gpu"], "--view"),
                           (["--to", "html", "--reverse"], "--reverse"), (["--to", "html", "--limit", "0"], "--limit"), (["--to", "folded", "--limit", "5"], "--limit")):
        done = export("random.xpu", "wrong.html" if "html" in options else "wrong.folded", *options)
        tap.result(done.returncode == 2 and words in done.stderr, f"{' '.join(options)}: is wrong use", done)
    with open("half.xpu", "wb") as half, open("random.xpu", "rb") as whole:
        half.write(whole.read()[:os.path.getsize("random.xpu") // 2])
    done = export("half.xpu", "half.html")
    page, data = read("half.html")
    tap.result(done.returncode == 0 and "half.xpu" in done.stderr and data["about"]["incomplete"], "of a recording that was cut short it has what there is, and says so", done)
    done = export("notes.txt", "none.html")
    tap.result(done.returncode == 1 and "notes.txt" in done.stderr and not os.path.exists("none.html"), "what is no recording is refused", done)


def check():
    random.seed(int(os.environ.get("VIEW_SEED", "1")))
    with open("notes.txt", "w", encoding="utf-8") as f:
        f.write("main;work 5\n")
    check_limit()
    check_ages()
    check_listed()
    check_hostile()
    check_wrong()


tap.main(check, lambda: "")
