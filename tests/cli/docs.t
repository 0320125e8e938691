#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the documents say is what the program does: options, links, paths, the table of rooms."""
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("XPUPROF_BUILD", os.path.join(ROOT, "build")))
PROGRAM = os.path.join(BUILD, "xpuprof")
results = []


def result(ok, name, notes=()):
    results.append(ok)
    print(f"{'ok' if ok else 'not ok'} {len(results)} - {name}")
    for note in notes if not ok else ():
        print(f"# {note}")


def skip(name, reason):
    results.append(True)
    print(f"ok {len(results)} - {name} # SKIP {reason}")


def same(got, expected, name):
    result(got == expected, name, [f"only here:  {sorted(got - expected)}", f"only there: {sorted(expected - got)}"])


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def help_text(*command):
    return subprocess.run([PROGRAM, *command, "--help"], stdout=subprocess.PIPE, text=True, check=True,
                          stdin=subprocess.DEVNULL).stdout


def commands():
    section = re.search(r"^commands:\n((?:  .*\n)+)", help_text(), re.M).group(1)
    return re.findall(r"^  ([a-z]+) ", section, re.M)


def options_of_help(command):
    """{"-o", "--output", ...}: what stands before the description in the option lines."""
    section = help_text(command).split("\noptions:\n")[1]
    options = set()
    for line in re.findall(r"^  ( {4}|-\w, |-\w)(.*)$", section, re.M):
        options.update(re.findall(r"-\w\b", line[0]))
        options.update(re.match(r"(--[a-z0-9-]+)?", line[1]).group(0).split())
    return options


def plain_roff(text):
    """The text of a man page source, without fonts and escapes."""
    text = re.sub(r"\\f[BIRP]", "", text)
    return text.replace("\\-", "-").replace("\\ ", " ").replace('"', "")


def options_of_page(path):
    """Options that head an entry (.TP) of the section OPTIONS."""
    text = plain_roff(read(path))
    section = re.search(r"^\.SH OPTIONS\n(.*?)(?=^\.SH )", text, re.M | re.S)
    options = set()
    for tag in re.findall(r"^\.T[PQ].*\n(.*)$", section.group(1) if section else "", re.M):
        options.update(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*|-\w)\b", tag))
    return options


def documents():
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.md"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.split()
    return tracked or [os.path.relpath(f, ROOT) for f in glob.glob(f"{ROOT}/*.md") + glob.glob(f"{ROOT}/docs/*.md")]


def anchors(text):
    """The names that headings get on a page."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def broken_links(path):
    text = read(path)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        file = os.path.join(os.path.dirname(path), file) if file else path
        if not os.path.exists(os.path.join(ROOT, file)):
            yield f"{path}: {target}"
        elif anchor and file.endswith(".md") and anchor not in anchors(read(file)):
            yield f"{path}: {target}"


def missing_paths(path):
    """`src/...` and the like, in code quotes, that are not in the tree. A recipe says "Say it is `x`"."""
    text = re.sub(r"^.*\(reserved\).*$", "", read(path), flags=re.M)
    example = re.search(r"[Ss]ay it is `([\w-]+)`", text)
    for quoted in re.findall(r"`([^`\n]+)`", text):
        name = quoted.split(":")[0]
        if not re.match(r"(src|tests|tools|docs|man|sim|demo|bench)/[\w./*-]*$", name) or "NAME" in name:
            continue
        if not glob.glob(os.path.join(ROOT, name)) and not (example and example.group(1) in name.replace("_", "-")):
            yield f"{path}: {quoted}"


def defines(text, function):
    """Whether a C source defines the function: it stands in a line that begins at the margin and does not end with ';'."""
    return re.search(rf"^(?:[a-z_#].*\b)?{function}\((?:[^;{{]*)\n?{{", text, re.M) is not None


def missing_functions(path):
    """`src/x/file.c:function`, in code quotes, that the file does not define."""
    for file, function in re.findall(r"`((?:src|sim|tests|bench)/[\w./-]+):(\w+)`", read(path)):
        if not os.path.exists(os.path.join(ROOT, file)) or not defines(read(file), function):
            yield f"{path}: {file}:{function}"


def unknown_options(path, known):
    """Options typed to xpuprof in the examples of a document."""
    for line in re.findall(r"^.*\bxpuprof (?:record|flame|report|annotate|export|doctor)\b.*$", read(path), re.M):
        command = re.search(r"\bxpuprof ([a-z]+)\b([^`|#]*)", line)
        typed = command.group(2).split(" -- ")[0]
        for option in re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]+|-[a-zA-Z])(?![\w-])", typed):
            if option not in known[command.group(1)]:
                yield f"{path}: {line.strip()}"


def rooms_of_document():
    """{room: {what it may include}} from the table of docs/architecture.md."""
    rows = re.findall(r"^\| `src/([\w./]+?)/?` \|[^|\n]*\|([^|\n]*)\|$", read("docs/architecture.md"), re.M)
    return {f"{room}: {' '.join(sorted(re.findall('[a-z][a-z_/.]*', may.replace('`', ''))))}" for room, may in rows}


def rooms_of_tool():
    rows = re.findall(r'may\["([\w./]+)"\] = "([^"]*)"', read("tools/check-includes"))
    return {f"{room}: {' '.join(sorted(may.split()))}" for room, may in rows}


def reasons_of_document():
    """{"name: words: class"} from the tables of docs/stalls.md."""
    return {": ".join(row) for row in re.findall(r"^\| `(\w+)` \| ([^|]+) \| (\w+) \|", read("docs/stalls.md"), re.M)}


def reasons_of_program():
    rows = re.findall(r'^\t\{"(\w+)", "([^"]+)", STALL_(\w+), ', read("src/vendor/nvidia/stalls.c"), re.M)
    rows += re.findall(r'REASON\(\d+, (\w+), "([^"]+)", STALL_(\w+),', read("src/vendor/intel/stalls.h"))
    return {f"{name}: {words}: {kind.lower()}" for name, words, kind in rows}


def check_pages(names):
    for name in names:
        page = f"man/xpuprof-{name}.1"
        if not os.path.exists(os.path.join(ROOT, page)):
            result(False, f"{name} has a man page")
            continue
        same(options_of_page(page), options_of_help(name), f"{page} has the options of xpuprof {name} --help")
    pages = sorted(glob.glob(os.path.join(ROOT, "man/*.1")))
    overview = plain_roff(read("man/xpuprof.1"))
    result(all(f"xpuprof-{name}" in overview for name in names), "man/xpuprof.1 names every command's page")
    for page in pages:
        name = f"{os.path.relpath(page, ROOT)} is well-formed"
        if shutil.which("mandoc"):
            said = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], stdout=subprocess.PIPE, text=True).stdout
        elif shutil.which("groff"):
            said = subprocess.run(["groff", "-man", "-ww", "-z", page], stderr=subprocess.PIPE, text=True).stderr
        else:
            skip(name, "neither mandoc nor groff is installed")
            continue
        wrong = [line for line in said.splitlines() if "missing date" not in line]
        result(not wrong, name, wrong)


def metadata_of_document():
    section = read("docs/file-format.md").split("Keys of metadata.")[1].split("\nA file is complete")[0]
    return {key for row in re.findall(r"^\| (`.*?) \|", section, re.M) for key in re.findall(r"`(\w+)`", row)}


def metadata_of_program():
    text = read("src/profile/model.h").replace("\\\n", " ")
    return set(re.findall(r'^#define META_\w+\s+"(\w+)"', text, re.M))


def main():
    names = commands()
    check_pages(names)
    known = {name: options_of_help(name) for name in names}
    for path in documents():
        wrong = [*broken_links(path), *missing_paths(path), *missing_functions(path), *unknown_options(path, known)]
        result(not wrong, f"{path}: links, paths, functions and options are there", wrong)
    lines = read("docs/architecture.md").count("\n")
    result(lines < 140, "the map has less than 140 lines", [f"it has {lines}"])
    figures = subprocess.run([os.path.join(ROOT, "bench/figures"), "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    result(figures.returncode == 0, "docs/figures.md is what the script makes of the results", figures.stdout.splitlines())
    same(reasons_of_document(), reasons_of_program(), "docs/stalls.md has the reasons of src/vendor/nvidia/stalls.c and src/vendor/intel/stalls.h")
    same(metadata_of_document(), metadata_of_program(), "docs/file-format.md has the keys of metadata of src/profile/model.h")
    same(rooms_of_document(), rooms_of_tool(), "the rooms of docs/architecture.md are those of tools/check-includes")
    includes = subprocess.run([os.path.join(ROOT, "tools/check-includes")], stdout=subprocess.PIPE, text=True)
    result(includes.returncode == 0, "includes point down the table", includes.stdout.splitlines())
    words = subprocess.run([os.path.join(ROOT, "tools/check-vendor-words")], stdout=subprocess.PIPE, text=True)
    result(words.returncode == 0, "vendors' words are in their folders, and the list of others is up to date", words.stdout.splitlines())
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


sys.exit(main())
