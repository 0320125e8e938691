# SPDX-License-Identifier: MIT
"""Compares recorded stacks with what the program said of itself (truth.h).

    differences, counts = check(xpuprof, recording, truth)

A recording of a Python program is looked at twice, with the frames of the interpreter and without.

Every stack must be a known one, frame by frame, by the names of functions. A launch, known by its kernel, must have
exactly its list of functions. A CPU sample may also be anywhere on the way there: with the first functions of a list,
and behind the last of them nothing, the operating system's kernel, what notes down the truth, or, where that
function calls others (name!), functions of others. Functions of others are nowhere else, and all must have a name
where the program has symbols. Stacks without any function of the program (loader, exit, threads of the
driver) have to be complete."""

import collections
import re
import subprocess

GLUE_MAX = 30

LIBC = r"libc\.so\.6\+0x\w+|ld-linux-x86-64\.so\.2\+0x\w+"
# What stands in for functions of others: how the first of them is called, and how all are.
GLUE = {
    "~start": (r"_start|" + LIBC,
               r"_start|__libc_start_\w+|__libc_csu_init|call_init(\.\w+)*|_GLOBAL__sub_I_[\w.]+|_dl_call_fini|_dl_fini|"
               r"__static_initialization_and_destruction_0.*|global constructors keyed to .*|(__)?(GI_)?exit|"
               r"__run_exit_handlers|__cxa_finalize|__do_global_dtors_aux|__cxx_global_var_init.*|" + LIBC),
    "~thread": (r"(__)?clone3?|" + LIBC, r"(__)?clone3?|start_thread|" + LIBC),
    # Its return address is its first one, so that a nameless one less is shown.
    "~context": (r"__start_context|\S+\+0x\w+", r"(?!)"),
    "~signal": (r"__restore_rt|" + LIBC + r"|\S+\+0x\w+", r"__restore_rt|" + LIBC + r"|\S+\+0x\w+"),
    "~glue": (r".*", r".*"),
}
# The same where Python runs: how the interpreter's own frames are shown, and how they are hidden.
PYTHON_THREAD = r"(Thread\.)?(_bootstrap|_bootstrap_inner|run) \(threading\.py\)"
NOTHING = (r"(?!)", r"(?!)")
GLUE_NATIVE = dict(GLUE, **{"~pystart": GLUE["~glue"], "~py": GLUE["~glue"],
                            "~pythread": (GLUE["~thread"][0], r".*")})
# What is always hidden between Python's frames. What the interpreter does for the program may stand there (sort, for a key).
INTERPRETER = (r"_?Py(Eval_(Eval|Vector)|Run_)\w*(\.\w+)*|Py_\w*Main|(lib)?python3[\d.]*(\.so[\d.]*)?\+0x\w+|"
               r"_?PyObject_(Call(?!oc)|Vectorcall|FastCall|MakeTpCall)\w*(\.\w+)*|_PyFunction_Vectorcall|type_call|object_vacall|gen_send\w*|"
               r"(cfunction_|method_vectorcall|slot_)\w+(\.\w+)*")
WORK = rf"(?!({INTERPRETER})$).*"
GLUE_HIDDEN = dict(GLUE, **{"~pystart": NOTHING, "~py": (WORK, WORK), "~pythread": (PYTHON_THREAD, PYTHON_THREAD)})
HELPERS = {"truth_enter", "truth_leave", "truth_calls", "truth_depth", "truth_unwind", "number_of", "join_names",
           "__tls_get_addr", "core::ptr::drop_in_place<chains::Truth>"}
HELPERS |= {f"{c}{f} (pychains.py)" for c in ("", "Known.") for f in ("__init__", "__enter__", "__exit__")}
HELPERS.add("enter_lambda (pychains.py)")


def plain(name):
    """A function's name without what the compiler added to it."""
    name = re.sub(r"(\s*\[clone [^\]]*\])+$", "", name)
    name = re.sub(r"(\.(cold|constprop|isra|part|lto_priv|llvm)(\.\d+)*)+$", "", name)
    return re.sub(r"::h[0-9a-f]{16}$", "", name)


def is_kernel(frame):
    return frame.endswith("_[k]")


def names_of(token):
    return token.lstrip("?").rstrip("!").split("|")


class Truth:
    def __init__(self, path, glue=None):
        self.glue = glue or GLUE
        self.launches = {}
        self.chains = set()
        with open(path) as lines:
            for line in lines:
                kind, rest = line.rstrip("\n").split(" ", 1)
                if kind == "launch":
                    kernel, rest = rest.split(" ", 1)
                    self.launches[kernel] = rest.split(";")
                self.chains.add(tuple(rest.split(";")))
        self.known = {n for c in self.chains for t in c if t[0] != "~" for n in names_of(t)}
        self.memory = {}

    def foreign(self, frames):
        return not any(plain(f) in self.known or f.startswith("[incomplete") for f in frames)

    def may_end(self, last, frames):
        """Whether a sample may have these frames behind the function (or "~glue") `last`."""
        if not frames or all(is_kernel(f) for f in frames):
            return True
        if not self.foreign(frames):
            return False
        return last.endswith("!") or last[0] == "~" or plain(frames[0].removesuffix("@plt")) in HELPERS

    def matches(self, chain, frames, whole):
        """Whether frames are the chain, or (not whole) begin like it and then may end."""
        if not chain:
            return not frames
        token, rest = chain[0], chain[1:]
        if token[0] == "~":
            return self.matches_glue(token, rest, frames, whole)
        if token[0] == "?" and self.matches(rest, frames, whole):
            return True
        if not frames or plain(frames[0]) not in names_of(token):
            return False
        if not whole and self.may_end(token, frames[1:]):
            return True
        return self.matches(rest, frames[1:], whole)

    def matches_glue(self, token, rest, frames, whole):
        first, others = self.glue[token]
        least = 1 if token in ("~start", "~thread", "~context", "~signal", "~pythread") else 0
        most = 1 if token == "~signal" else GLUE_MAX
        for n in range(0, min(most, len(frames)) + 1):
            if n and (not re.fullmatch(first if n == 1 else others, frames[n - 1]) or
                      not self.foreign(frames[n - 1:n])):
                break
            if n >= least and self.matches(rest, frames[n:], whole):
                return True
        return not whole and least <= len(frames) and self.may_end(token, frames)

    def has_sample(self, frames):
        key = tuple(frames)
        if key not in self.memory:
            self.memory[key] = any(self.matches(c, frames, False) for c in self.chains)
        return self.memory[key]


def events(xpuprof, recording, *options):
    out = subprocess.run([xpuprof, "export", "--to", "extended-folded", *options, recording], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    for line in out.splitlines():
        _, comm, pid, tid, cpu, frames = line.split(" ", 5)
        yield comm, int(cpu), [f for f in frames.split(";") if f != "[simulated GPU]"]


def is_python(frame):
    return frame == "[unknown Python function]" or frame.endswith(")") and (".py)" in frame or " (<" in frame)


def is_misplaced(frames, native):
    """Whether Python's frames are not where they belong: on the root's side of each group stands the interpreter's
    loop when that is shown; and else nothing that runs Python."""
    if not any(is_python(f) for f in frames):
        return False
    if not native:
        return any(re.fullmatch(INTERPRETER, f) for f in frames)
    return any(is_python(f) and not (i and (is_python(frames[i - 1]) or "EvalFrame" in frames[i - 1]))
               for i, f in enumerate(frames))


def compare(truth, xpuprof, recording, native, counts, differences):
    seen = set()
    for comm, cpu, frames in events(xpuprof, recording, *(["--native-python"] if native else [])):
        kernel = frames[-1][len("[GPU_Kernel]"):] if frames[-1].startswith("[GPU_Kernel]") else None
        misplaced = is_misplaced(frames, native)
        text = ";".join(frames[:-2] if kernel else frames)
        if kernel:
            counts["launches"] += 1
            seen.add(kernel)
            if misplaced or not truth.matches(truth.launches[kernel], frames[:-2], True):
                differences["launch", ";".join(truth.launches[kernel]), text] += 1
        elif cpu >= 0 and any(plain(f) in truth.known for f in frames):
            counts["samples"] += 1
            if misplaced or not truth.has_sample(frames):
                differences["sample", "", text] += 1
        elif cpu >= 0:
            counts["others"] += 1
            if misplaced or frames[0].startswith("[incomplete"):
                differences["other", "", text] += 1
    for kernel in set(truth.launches) - seen:
        differences["launch", ";".join(truth.launches[kernel]), "(never recorded)"] += 1


def check(xpuprof, recording, truth_path):
    counts, differences = collections.Counter(), collections.Counter()
    truth = Truth(truth_path)
    if any(c[0].startswith("~py") for c in truth.chains):
        truth = Truth(truth_path, GLUE_NATIVE)
        compare(Truth(truth_path, GLUE_HIDDEN), xpuprof, recording, False, collections.Counter(), differences)
    compare(truth, xpuprof, recording, True, counts, differences)
    return differences, counts
