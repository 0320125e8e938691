#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`xpuprof record --stalls` in difficult situations, on a real NVIDIA GPU: does it harm nothing and lose nothing silently?

    tests/gpu/situations.py [--keep FOLDER] [SITUATION...]

As root, or some things cannot be tried. Programs are those of tests/programs/situations.c and, when $PYTHON has it,
PyTorch. Programs that hang are killed and counted as failures. Prints TAP and takes a minute or so; with the simulated
GPU (LD_LIBRARY_PATH=build/sim) it tests itself. $XPUPROF_BUILD as tests/gpu/run has it.
"""
import argparse
import collections
import json
import os
import shutil
import signal
import sys
import tempfile
import time

from gpu_tap import BUILD, HERE, PYTHON, XPUPROF, end, folder, note, result, run, skip
from started import HANG_S, Started

PROGRAM = os.path.join(BUILD, "tests/programs/situations")
ON_NVIDIAS_RUNTIME = os.path.join(BUILD, "tests/gpu/situations_static")
NOBODY = 65534
EXIT_HANG_S = 60
EXITS_ALONE = 8
EXITS_RECORDED = 3

TORCH_LAUNCHES = """
import torch
x = torch.ones(1 << 20, device="cuda")
for _ in range(400):
    x = x * 1.0 + 1.0
torch.cuda.synchronize()
print("sum", int(x.sum().item()))
"""
TORCH_SUM = 401 << 20
DATALOADER_TOTAL = 2 * 2 * 64 * sum(range(256))

# What a report of losses also counts, though nothing is lost by it but parts of stacks.
INCOMPLETE_STACKS = ("stacks_incomplete", "walk_", "python_")


class Place:
    """Where the files of one situation are: names of profiles, and a folder for each command's output."""

    def __init__(self, path):
        self.path, self.commands = path, 0
        os.makedirs(path, exist_ok=True)

    def start(self, *command):
        self.commands += 1
        path = os.path.join(self.path, str(self.commands))
        os.makedirs(path, exist_ok=True)
        return Started(path, *command)

    def file(self, name):
        return os.path.join(self.path, name)

    def record(self, profile, *command, options=("--stalls",)):
        """Starts a recorder."""
        if os.path.exists(profile):
            os.unlink(profile)
        return self.start(XPUPROF, "record", *options, "-o", profile, "--", *command)


def program(mode, program_path=PROGRAM, **options):
    return [program_path, mode, *(word for key, value in options.items() for word in ("--" + key, str(value)))]


def told(out):
    """What each of the programs of situations.c said at its end."""
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def ends_as_alone(what, started, count=1, status=0):
    """The launches of each kernel by `count` programs; None when they did not end as they should."""
    all_told = told(started.out)
    good = started.status == status and len(all_told) == count and all(t["right"] for t in all_told)
    result(good, f"{what}: ends as alone, with the right sums", f"{started.seconds:.1f} s",
           *([] if good else [started.seen()]))
    if not good:
        return None
    return {name: sum(t[name] for t in all_told) for name in ("steady_us50", "brief_us20")}


def report_of(what, profile, started):
    shown = run("timeout", str(HANG_S), XPUPROF, "report", "--stalls", "--json", "--top", "1000", profile)
    if shown.returncode:
        result(False, f"{what}: the profile can be read", shown.returncode, shown.stderr, started.seen())
        return None
    r = json.loads(shown.stdout)
    stalls = {k: v for k, v in r["stalls"].items() if not isinstance(v, list)}
    note(f"{what}: {r['works']} works, launches without work {r['launches_without_work']}, {stalls}")
    note("losses " + str({k: v for k, v in r["losses"].items() if v}))
    return r


def kept_to_administrators(r):
    return "administrators" in (r["stalls"]["refused"] or "")


def nothing_lost(what, r, started, cut=False, allowed=()):
    """cut: it ended before the program, whose last launches then have no work. On a simulated GPU, which runs where others do,
    the recorder may be kept from its CPU for as long as the ring has room."""
    without = {k: r["launches_without_work"][k] for k in ("forgotten", *(() if cut else ("unfinished", "no_exit")), "lost")}
    allowed = [*allowed, *(["stalls_refused"] if kept_to_administrators(r) else []),
               *(["gpu_ring_full"] if r["simulated"] else [])]
    lost = {k: n for k, n in r["losses"].items()
            if n and not k.startswith(INCOMPLETE_STACKS) and k not in allowed}
    amiss = [text for text, bad in (
        (f"incomplete: {r['incomplete']}", r["incomplete"]),
        (f"launches without work: {without}", any(without.values())),
        (f"works without stack: {r['works_without_stack']}", any(r["works_without_stack"].values())),
        (f"losses: {lost}", lost),
        (f"GPU time {r['gpu_ns']}, reported {r['meta'].get('gpu_reported_ns')}",
         str(r["gpu_ns"]) != r["meta"].get("gpu_reported_ns"))) if bad]
    result(not amiss, f"{what}: the profile is whole, and nothing is lost", *amiss, *([started.seen()] if amiss else []))


def every_launch_told(what, r, works=1):
    """Of a program whose last launches have no work (at least so many have; 0: if CUPTI ended before the first, no launch is
    known), and which launches no graphs."""
    launches = sum(p["launches"] for p in r["processes"])
    accounted = r["works"] + sum(r["launches_without_work"].values())
    result(r["works"] >= works and accounted == launches >= works,
           f"{what}: every launch in the profile has its work, or is known to have none", f"{accounted} of {launches}")


def as_many_kernels(what, r, launched):
    counts = {k["linker_name"]: k["count"] for k in r["kernels"]}
    expected = {name: count for name, count in launched.items() if count}
    result(counts == expected, f"{what}: the profile has every kernel that the program launched", counts,
           *([] if counts == expected else [f"launched: {expected}"]))


def stacks_whole(what, r):
    """Where the GPU is simulated the machine may be slow: then unwind tables take their time."""
    s = r["stacks"]
    late = sum(why["count"] for why in s["launches_reasons"] if why["reason"] == "unwind table not ready")
    good = s["source"] == "inprocess" and s["launches"] and \
        s["launches_incomplete"] - (late if r["simulated"] else 0) + s["launches_without"] <= s["launches"] / 200
    result(good, f"{what}: at least 99.5 % of the launches have whole stacks, taken in the process",
           {k: v for k, v in s.items() if k == "source" or "launches" in k})


def sampled(what, r):
    """Unless the driver permits it to administrators only, and that is said."""
    s = r["stalls"]
    if kept_to_administrators(r):
        skip(f"{what}: instructions were sampled", s["refused"])
    else:
        result(s["samples"] > 0 and not s["dropped"], f"{what}: instructions were sampled, and no sample was dropped",
               *([] if s["samples"] else [s["refused"]]))


def has_torch(*before):
    look = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"
    return run(*before, PYTHON, "-c", look).returncode == 0


def exact(place):
    """Each sample with its launch."""
    profile = place.file("exact.xpu")
    ran = place.record(profile, *program("threads", threads=2, launches=400), options=["--stalls=exact"]).wait()
    launched = ends_as_alone("exact", ran)
    r = launched and report_of("exact", profile, ran)
    if not r:
        return
    as_many_kernels("exact", r, launched)
    nothing_lost("exact", r, ran)
    sampled("exact", r)
    s = r["stalls"]
    result(s["windows_exact"] == s["windows"] and not s["apportioned"] and not s["not_sampled"] or not s["taken"],
           "exact: every sample names its launch, and nothing is apportioned",
           {k: s[k] for k in ("windows", "windows_exact", "taken", "apportioned", "not_sampled")})


def as_user(home):
    """The words before a command that make it an ordinary user's, whose home that is."""
    identity = []
    if os.geteuid() == 0:
        os.chown(home, NOBODY, NOBODY)
        identity = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return [*identity, "env", "-C", home, "HOME=" + home, "XDG_CACHE_HOME=" + home, "CUDA_CACHE_PATH=" + home,
            "PYTHONDONTWRITEBYTECODE=1"]


def check_user(what, r, ran):
    nothing_lost(what, r, ran)
    stacks_whole(what, r)
    sampled(what, r)


def user_launches(place, before, record, profile, plain):
    ran = place.start(*before, *record, *program("threads", plain, threads=2, launches=400)).wait()
    launched = ends_as_alone("user", ran)
    r = launched and report_of("user", profile, ran)
    if r:
        as_many_kernels("user", r, launched)
        check_user("user", r, ran)


def user_torch(place, before, record, profile):
    what = "user, PyTorch"
    if not has_torch(*before):
        skip(what, f"{PYTHON} has no torch for an ordinary user")
        return
    ran = place.start(*before, *record, PYTHON, "-c", TORCH_LAUNCHES).wait()
    good = ran.status == 0 and f"sum {TORCH_SUM}" in ran.out
    result(good, f"{what}: ends as alone, with the right sum", *([] if good else [ran.seen()]))
    r = good and report_of(what, profile, ran)
    if r:
        result(r["works"] >= 800, f"{what}: its kernels are in the profile", r["works"])
        check_user(what, r, ran)


def user(place):
    """Everything by an ordinary user, who has copies, as folders of root's may be closed."""
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        for path in (XPUPROF, os.path.join(BUILD, "libxpuprof-inject.so"), PROGRAM):
            os.chmod(shutil.copy(path, home), 0o755)
        before, profile = as_user(home), os.path.join(home, "user.xpu")
        record = [os.path.join(home, "xpuprof"), "record", "--stalls", "-o", profile, "--"]
        user_launches(place, before, record, profile, os.path.join(home, "situations"))
        user_torch(place, before, record, profile)


def duration(place):
    """A recording that ends before the program."""
    profile = place.file("duration.xpu")
    ran = place.record(profile, *program("threads", seconds=4.5), options=["--stalls", "-d", "2"]).wait()
    launched = ends_as_alone("duration", ran)
    r = launched and report_of("duration", profile, ran)
    if not r:
        return
    nothing_lost("duration", r, ran, cut=True)
    sampled("duration", r)
    every_launch_told("duration", r)
    count = sum(k["count"] for k in r["kernels"])
    result(0 < count < launched["steady_us50"] and 2e9 <= r["elapsed_ns"] < 4e9,
           "duration: what was launched in two seconds is recorded, and no more",
           f"{count} of {launched['steady_us50']}, {r['elapsed_ns'] / 1e9:.2f} s")


def exit_alone(place, path):
    """The statuses of a program that calls exit() while it launches: it may not be able to, whoever looks."""
    statuses = collections.Counter()
    for _ in range(EXITS_ALONE // 4):
        for started in [place.start(*program("exit", path, threads=3, seconds=0.2)) for _ in range(4)]:
            statuses[started.wait(EXIT_HANG_S).status] += 1
    return statuses


def exit_recorded(place, what, path):
    alone, recorded, amiss, profile = exit_alone(place, path), collections.Counter(), [], place.file("exit.xpu")
    for _ in range(EXITS_RECORDED):
        ran = place.record(profile, *program("exit", path, threads=3, seconds=0.2)).wait(EXIT_HANG_S)
        recorded[ran.status] += 1
        if ran.status is None or ran.status not in alone:
            amiss.append(ran.seen())
        if ran.hung:
            break
    note(f"{what}: statuses alone {dict(alone)}, recorded {dict(recorded)} (None: it hung)")
    result(None not in recorded, f"{what}: never hangs", *amiss)
    result(set(recorded) <= set(alone), f"{what}: ends as it may end alone", *amiss)
    r = not ran.hung and report_of(what, profile, ran)
    if r:
        # Kernels that have not ended when the program does have no times.
        nothing_lost(what, r, ran, cut=True, allowed=["gpu_invalid"])
        every_launch_told(what, r)


def exits(place):
    """exit() while other threads launch."""
    exit_recorded(place, "exit", PROGRAM)
    if os.access(ON_NVIDIAS_RUNTIME, os.X_OK) and "build/sim" not in os.environ.get("LD_LIBRARY_PATH", ""):
        exit_recorded(place, "exit, on NVIDIA's runtime", ON_NVIDIAS_RUNTIME)
    else:
        skip("exit, on NVIDIA's runtime", "not built (tests/gpu/build_runtime.sh), or the GPU is simulated")


def fork(place):
    """Workers forked after CUDA began."""
    if not has_torch():
        skip("fork: a DataLoader", f"{PYTHON} has no torch")
        return
    profile = place.file("fork.xpu")
    ran = place.record(profile, PYTHON, os.path.join(HERE, "torch_dataloader.py")).wait()
    good = ran.status == 0 and ran.out.split()[:2] == ["total", str(float(DATALOADER_TOTAL))]
    result(good, "fork: a DataLoader ends as alone, with the right total", *([] if good else [ran.seen()]))
    r = good and report_of("fork", profile, ran)
    if r:
        nothing_lost("fork", r, ran)  # samples: perhaps none, of so little GPU time


def contexts(place):
    """Contexts come and go beside a thread that launches."""
    alone = place.start(*program("contexts", threads=1, contexts=5)).wait()
    ends_as_alone("contexts, not recorded", alone)
    profile = place.file("contexts.xpu")
    ran = place.record(profile, *program("contexts", threads=1, contexts=50, seconds=12)).wait()
    launched = ends_as_alone("contexts", ran)
    note(f"contexts: {[t['contexts'] for t in told(ran.out)]} in {ran.seconds:.1f} s, 5 alone in {alone.seconds:.1f} s")
    r = launched and report_of("contexts", profile, ran)
    if r:
        as_many_kernels("contexts", r, launched)
        nothing_lost("contexts", r, ran, allowed=["stalls_refused"])
        says_who_was_not_sampled("contexts", "more than one context", r)


def says_who_was_not_sampled(what, why, *reports):
    """One context of one process at a time can sample a GPU."""
    if any(kept_to_administrators(r) for r in reports):
        skip(f"{what}: who was not sampled", "only administrators may sample")
        return
    refused = [r["stalls"]["refused"] for r in reports if r["losses"]["stalls_refused"]]
    result(len(refused) == 1 and why in refused[0], f"{what}: who was not sampled is said",
           *(r["stalls"]["refused"] for r in reports))
    result(any(r["stalls"]["taken"] for r in reports), f"{what}: somebody was sampled",
           *(r["stalls"]["taken"] for r in reports))


def processes(place):
    """Two processes on one GPU, below one recorder."""
    profile = place.file("processes.xpu")
    two = ["sh", "-c", '"$0" threads --seconds 60 >"$1" & first=$!; until grep -q launching "$1"; do sleep 0.1; done; '
           '"$0" threads --seconds 1; second=$?; kill -INT $first; wait $first; status=$?; cat "$1"; '
           "exit $((second + status))", PROGRAM, place.file("first")]
    ran = place.record(profile, *two).wait()
    launched = ends_as_alone("processes", ran, count=2)
    r = launched and report_of("processes", profile, ran)
    if r:
        as_many_kernels("processes", r, launched)
        nothing_lost("processes", r, ran, allowed=["stalls_refused"])
        says_who_was_not_sampled("processes", "another process", r)


def recorders(place):
    """A second recorder beside the first."""
    profiles = [place.file(name) for name in ("first.xpu", "second.xpu")]
    first = place.record(profiles[0], *program("threads", seconds=60))
    first.says("launching")
    time.sleep(1)
    second = place.record(profiles[1], *program("threads", seconds=1)).wait()
    os.kill(first.process.pid, signal.SIGINT)
    first.wait()
    reports = []
    for what, profile, ran in (("recorders, first", profiles[0], first), ("recorders, second", profiles[1], second)):
        launched = ends_as_alone(what, ran)
        r = launched and report_of(what, profile, ran)
        if r:
            as_many_kernels(what, r, launched)
            nothing_lost(what, r, ran, allowed=["stalls_refused"])
            reports.append(r)
    if len(reports) == 2:
        says_who_was_not_sampled("recorders", "another process", *reports)


def tells_of_end(what, r, ran, launched):
    """CUPTI may have ended, and then that is said, and all launches that are known are accounted for."""
    if r["losses"]["gpu_cupti_ended"]:
        said = [line for line in ran.err.splitlines() if "CUPTI ended in process" in line]
        result(len(said) == 1 and "everything else" not in ran.err, f"{what}: that CUPTI ended is said", *said)
    else:
        nothing_lost(what, r, ran, cut=True, allowed=["stalls_refused"])
        result(sum(k["count"] for k in r["kernels"]) > launched["steady_us50"] / 3, f"{what}: its kernels are in the profile")
    every_launch_told(what, r, works=0)


def apart(place):
    """Recorders that cannot see the first's claim, from another network namespace: the GPU is sampled by two."""
    if run("unshare", "-n", "true").returncode:
        skip("apart", "no network namespace can be made")
        return
    profiles = [place.file(name) for name in ("first.xpu", "stopped.xpu", "ended.xpu")]
    first = place.record(profiles[0], *program("threads", seconds=8))
    first.says("launching")
    time.sleep(1)
    others = [place.start("unshare", "-n", XPUPROF, "record", "--stalls", *options, "-o", profile, "--",
                          *program("threads", seconds=2)).wait()
              for profile, options in ((profiles[1], ["-d", "1.5"]), (profiles[2], []))]
    first.wait()
    for what, profile, ran in zip(("first", "stopped", "ended"), profiles, (first, *others)):
        what = "apart, " + what
        launched = ends_as_alone(what, ran)
        r = launched and report_of(what, profile, ran)
        if r:
            tells_of_end(what, r, ran, launched)


def killed(place):
    """The recorder dies."""
    profile = place.file("killed.xpu")
    ran = place.record(profile, "sh", "-c", '"$@"; echo "ended $?"', "sh", *program("threads", seconds=3.5))
    begun = ran.says("launching")
    time.sleep(1.7)
    os.kill(ran.process.pid, signal.SIGKILL)
    ended = ran.says("ended ")
    ran.hung = "" if ended else ran.where()
    ran.wait()
    good = begun and ended and "ended 0" in ran.out and [t["right"] for t in told(ran.out)] == [True]
    result(good, "killed: the program goes on to its end, with the right sums", *([] if good else [ran.seen()]))
    r = report_of("killed", profile, ran)
    if r:
        result(r["incomplete"] and r["works"] > 0, "killed: what there was is in the profile, which says that it was cut",
               r["incomplete"], r["works"])


def interrupted(place):
    """SIGINT to the recorder, which passes it on, while threads launch."""
    profile = place.file("interrupted.xpu")
    ran = place.record(profile, *program("threads", seconds=2 * HANG_S))
    ran.says("launching")
    time.sleep(1.5)
    os.kill(ran.process.pid, signal.SIGINT)
    ran.wait()
    launched = ends_as_alone("interrupted", ran)
    r = launched and report_of("interrupted", profile, ran)
    if r:
        as_many_kernels("interrupted", r, launched)
        nothing_lost("interrupted", r, ran)
        stacks_whole("interrupted", r)
        sampled("interrupted", r)


SITUATIONS = {f.__name__: f for f in (exact, user, duration, exits, fork, contexts, processes, recorders, apart, killed,
                                      interrupted)}


def options():
    parser = argparse.ArgumentParser(usage="situations.py [--keep FOLDER] [SITUATION...]")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("situations", nargs="*", metavar="SITUATION", help=" ".join(SITUATIONS))
    asked = parser.parse_args()
    unknown = set(asked.situations) - set(SITUATIONS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}: {' '.join(SITUATIONS)}")
    return asked


def main():
    asked = options()
    os.environ.pop("CUDA_INJECTION64_PATH", None)
    with folder(asked.keep) as path:
        alone = Place(os.path.join(path, "alone")).start(*program("threads", launches=100)).wait()
        if alone.status and "no CUDA driver" in alone.err:
            print("1..0 # SKIP no CUDA driver")
            return 0
        ends_as_alone("a program that is not recorded", alone)
        for name in asked.situations or SITUATIONS:
            begun = time.monotonic()
            SITUATIONS[name](Place(os.path.join(path, name)))
            note(f"{name}: {time.monotonic() - begun:.1f} s")
    return end()


sys.exit(main())
