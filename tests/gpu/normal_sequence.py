#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Brings what cupti_sequence.c printed into a form in which drivers can be compared.

usage: normal_sequence.py < SEQUENCE > NORMAL

Left out is what a driver does for itself and what no tool of ours looks at:
  modules                   when code gets to the device (NVIDIA's loads kernels lazily)
  cuCtxSetCurrent           a runtime sets contexts as it likes
  announcements             "graph node create starting"; "graph node created" follows
  dependencies of nodes     NVIDIA's driver rewires its copy of a graph when it instantiates it
  graphs and nodes within   the driver's own: graphs without any created node, and in copies of
                            graphs the nodes that are nobody's clone
Types of nodes and the version in cuCtxSynchronize_v2 are cut off. Graphs and nodes are numbered
anew by their first appearance."""
import re
import sys


def drop_calls(lines, name):
    """Without the calls of one function, and what happened in them that is not indented more."""
    kept, inside = [], None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if inside is not None:
            if depth == inside and line.lstrip().startswith("return"):
                inside = None
            continue
        if line.split()[:2] == ["driver", name]:
            inside = depth
            continue
        kept.append(line)
    return kept


def inner_ids(lines):
    """Ids of graphs and nodes that only the driver knows."""
    graphs = set(re.findall(r"graph created graph (g\d+)", "\n".join(lines)))
    created = re.findall(r"graph node created graph (g\d+) node (n\d+)", "\n".join(lines))
    cloned = re.findall(r"graph node cloned graph (g\d+) node (n\d+)", "\n".join(lines))
    copies = {graph for graph, _ in cloned}
    clones = {node for _, node in cloned}
    inner = {node for graph, node in created if graph in copies and node not in clones}
    return inner | graphs - {graph for graph, _ in created}


def is_left_out(line, inner):
    return ("- module " in line or "graph node create starting" in line
            or "graph node dependency" in line or inner & set(re.findall(r"\b[gn]\d+\b", line)))


def renumber(lines):
    numbers, counts = {}, {"g": 0, "n": 0}

    def new(match):
        name = match.group()
        if name not in numbers:
            counts[name[0]] += 1
            numbers[name] = f"{name[0]}{counts[name[0]]}"
        return numbers[name]

    return [re.sub(r"\b[gn]\d+\b", new, line) for line in lines]


def main():
    lines = sys.stdin.read().splitlines()
    inner = inner_ids(lines)
    lines = drop_calls([line for line in lines if not is_left_out(line, inner)], "cuCtxSetCurrent")
    lines = [re.sub(r"(- graph node .*) type \d+$", r"\1", line) for line in lines]
    lines = [line.replace("cuCtxSynchronize_v2", "cuCtxSynchronize") for line in lines]
    print("\n".join(renumber(lines)))


main()
