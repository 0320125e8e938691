#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The completion scripts that `make install` installs know what the program's help knows."""
import re
import shutil
import subprocess

import tap
from tap import PROGRAM, result, run


def output_of(*words):
    done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


def commands():
    return re.findall(r"^  ([a-z]+) ", run(PROGRAM, "--help"), re.MULTILINE)


def options_of(command):
    """By long name, or letter where there is none: its argument, or ""."""
    found = re.findall(r"^  (?:-(\w)(?:, )?|    )(?:--([a-z-]+))?(?:\[=(\S+)\]| ([][A-Z:|]+))?(?: |$)",
                       run(PROGRAM, command, "--help"), re.MULTILINE)
    return {"--" + name if name else "-" + letter: optional or argument for letter, name, optional, argument in found if letter or name}


def complete(*words):
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in ("xpuprof", *words))
    script = f'. ./bash; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _xpuprof 2>err; printf "%s\\n" "${{COMPREPLY[@]}}"'
    offered = subprocess.run(["bash", "--norc", "-c", script], stdout=subprocess.PIPE, text=True).stdout.split("\n")
    with open("err", encoding="utf-8") as errors:
        assert not errors.read(), (words, script)
    return sorted(word for word in offered if word)


def check_bash():
    result(complete("fl") == ["flame"] and "record" in complete(""), "bash completes commands", complete("fl"), complete(""))
    result(complete("help", "rec") == ["record"], "also behind help", complete("help", "rec"))
    for command in commands():
        missing = [name for name in options_of(command) if name not in complete(command, name)]
        result(not missing and len(options_of(command)) > 1, f"and all options of {command}", missing)
    result(complete("flame", "--view", "off") == ["off-cpu"], "and the words that an option takes", complete("flame", "--view", "off"))
    result(complete("flame", "--view", "=", "off") == ["off-cpu"], "behind an equals sign, too")
    open("one.xpu", "w").close()
    result(complete("report", "one") == ["one.xpu"] and complete("flame", "-o", "one") == ["one.xpu"], "and files")
    tools = [line.split()[0] for line in output_of("probe", "--list")[1].splitlines()]
    if tools:
        result(complete("probe", "") == sorted(tools) and complete("probe", "-i", "1", "blockt") == ["blocktime"], "and tools of probe", complete("probe", ""))
        result("sort" in complete("probe", "blocktime", "-i", "1", "sor") and "sort" in complete("probe", "blocktime", "--", "sor"), "then commands",
               complete("probe", "blocktime", "sor"))
        result("--rows" in complete("probe", "blocktime", "--ro") and complete("probe", "blocktime", "cat", "one") == ["one.xpu"], "options of probe stand there, too")
        result("sort" in complete("probe", "-e", "one.xpu", "sor") and "blocktime" not in complete("probe", "-e", "one.xpu", "blockt"), "but no tools behind -e")
        result("blocktime" not in complete("record", "blockt"), "record takes none as an operand", complete("record", "blockt"))
    result("sort" in complete("record", "-F", "99", "sor"), "and commands to record", complete("record", "-F", "99", "sor"))
    result(complete("record", "cat", "one") == ["one.xpu"], "and what follows these is theirs", complete("record", "cat", "one"))
    result(complete("report", "--top", "") == [], "and nothing where a number is due")
    names = run(PROGRAM, "monitor", "list")
    offered = complete("monitor", "")
    result("list" in offered and all(name in names for name in offered if name != "list"), "and monitors", offered)


def check_words():
    """Each word that is offered is one that the option takes. Nothing behind these options is ever run."""
    with open("bash", encoding="utf-8") as script:
        sections = re.findall(r"^\t([a-z]+)\)\n(.*?)\n\t\t;;$", script.read(), re.MULTILINE | re.DOTALL)
    for command, section in sections:
        for name, words in re.findall(r"^\t\t(?:-\w\|)?(--[a-z-]+)\) choices='([^']*)'", section, re.MULTILINE):
            errors = [output_of(command, name, word, "--no-such-option")[2] for word in words.split()]
            result(all("--no-such-option" in error for error in errors) and errors, f"{command} {name} takes what is offered", *errors)


def check_syntax():
    for shell in ("bash", "zsh", "fish"):
        with open(shell, "w", encoding="utf-8") as script:
            script.write(run(PROGRAM, "completion", shell))
        if not shutil.which(shell):
            result(True, f"the syntax for {shell} # SKIP no {shell} here")
            continue
        checked = subprocess.run([shell, "-n", shell], stderr=subprocess.PIPE, text=True)
        result(not checked.returncode, f"{shell} reads its script", checked.stderr)
    for shell in ("zsh", "fish"):
        with open(shell, encoding="utf-8") as script:
            text = script.read()
        prefix = "--" if shell == "zsh" else "-l "
        missing = [name for command in commands() for name in options_of(command)
                   if name.startswith("--") and not re.search(prefix + name[2:] + r"\b", text)]
        result(not missing, f"and it has all options for {shell}", missing)


def check_wrong():
    status, out, errors = output_of("completion", "csh")
    result(status == 2 and not out and "bash, zsh or fish, not 'csh'" in errors, "another shell has none", errors)


def main():
    check_syntax()
    if shutil.which("bash"):
        check_bash()
        check_words()
    check_wrong()


tap.main(main, lambda: "")
