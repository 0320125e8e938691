#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Colours that stand beside each other can be distinguished, also by those who see no green (deuteranopia) or no red
(protanopia), in light and in dark, and what is written on them can be read. Computed from the style sheets themselves: CIEDE2000
(Sharma, Wu, Dalal 2005) between colours as Machado, Oliveira and Fernandes (2009, severity 1) simulate them."""
import itertools
import math
import os
import re

import tap
from tap import result

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "export")

VISIONS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
}
TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1, 1.08883)

# What can be next to what: code that calls code, waits, and the groups that all of it stands on; work on a call, on a
# stream or on a wait for it; instructions on the sources of a kernel.
BESIDE = (("group", "python", "cxx", "c", "kernel", "api", "wait", "note"), ("group", "api", "gpu", "copy", "set"),
          ("wait", "gpu", "copy", "set"), ("gpu", "source", "code"))
DARK = "@media (prefers-color-scheme: dark)"
CLASSES = ("memory", "math", "sync", "fetch", "control", "issuing", "other")


def product(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def linear(colour):
    parts = [c / 255 for c in colour]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def lab(rgb):
    x, y, z = (c / w for c, w in zip(product(TO_XYZ, rgb), WHITE))
    x, y, z = (c ** (1 / 3) if c > 216 / 24389 else (24389 / 27 * c + 16) / 116 for c in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, other):
    """CIEDE2000."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 1.5 - 0.5 * math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7))
    c1, c2 = math.hypot(a1 * g, b1), math.hypot(a2 * g, b2)
    h1, h2 = (math.degrees(math.atan2(b, a * g)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0
    h = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    level, c = (l1 + l2) / 2, (c1 + c2) / 2
    t = (1 - 0.17 * math.cos(math.radians(h - 30)) + 0.24 * math.cos(math.radians(2 * h))
         + 0.32 * math.cos(math.radians(3 * h + 6)) - 0.2 * math.cos(math.radians(4 * h - 63)))
    dl = (l2 - l1) / (1 + 0.015 * (level - 50) ** 2 / math.sqrt(20 + (level - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * c)
    dh = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * c * t)
    rt = -2 * math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) * math.sin(math.radians(60 * math.exp(-((h - 275) / 25) ** 2)))
    return math.sqrt(dl ** 2 + dc ** 2 + dh ** 2 + rt * dc * dh)


def seen(colour, vision):
    return lab([min(max(c, 0), 1) for c in product(VISIONS[vision], linear(colour))])


def contrast(one, other):
    bright, dark = sorted((product(TO_XYZ, linear(c))[1] + 0.05 for c in (one, other)), reverse=True)
    return bright / dark


def parse(text):
    digits = text.lstrip("#")
    return tuple(int(digits[i:i + 2], 16) for i in (0, 2, 4))


def modes_of(file, pattern):
    """Light and dark: name -> colour. The dark ones are those of the media query, and what it leaves as it is."""
    with open(os.path.join(SOURCES, file)) as f:
        text = f.read()
    light, dark = text[:text.rindex(DARK)], text[text.rindex(DARK):]
    colours = {name: parse(value) for name, value in re.findall(pattern, light)}
    return {"light": colours, "dark": {**colours, **{name: parse(value) for name, value in re.findall(pattern, dark)}}}


def over(colour, opacity, below):
    return tuple(c * opacity + b * (1 - opacity) for c, b in zip(colour, below))


def least(pairs):
    """The smallest difference between colours of a pair, with their names and who sees it."""
    return min((difference(seen(a, vision), seen(b, vision)), names, vision) for names, a, b in pairs for vision in VISIONS)


def check_flame():
    with open(os.path.join(SOURCES, "flame/colours.css")) as f:
        opacities = [1] + [float(o) for o in re.findall(r"^\.s\d \{ fill-opacity: ([.\d]+)", f.read(), re.M)]
    beside = sorted({pair for group in BESIDE for pair in itertools.combinations(sorted(group), 2)})
    for mode, colours in modes_of("flame/colours.css", r"(?m)^\t?\.?(\w+) \{ (?:fill|background): (#\w{6})").items():
        shades = {name: [over(colours[name], o, colours["svg"]) for o in opacities] for pair in beside for name in pair}
        smallest = least((pair, colours[pair[0]], colours[pair[1]]) for pair in beside)
        result(smallest[0] >= 12, f"kinds of frames beside each other differ, {mode}", smallest)
        smallest = least((pair, a, b) for pair in beside for a in shades[pair[0]] for b in shades[pair[1]])
        result(smallest[0] >= 9, f"in whatever shade, {mode}", smallest)
        worst = min((contrast(c, colours["text"]), name) for name, all_of in shades.items() for c in all_of)
        result(worst[0] >= 4.5, f"and what is written on them can be read, {mode}", worst)
    result(len(opacities) == 3, "three shades", opacities)


def check_annotate():
    for mode, colours in modes_of("annotate.css", r"i\.(\w+) \{ background-color: (#\w{6})").items():
        smallest = least((pair, colours[pair[0]], colours[pair[1]]) for pair in itertools.combinations(CLASSES, 2))
        result(smallest[0] >= 12, f"reasons of different kinds differ, {mode}", smallest)
        below = parse("#fcfcfb" if mode == "light" else "#16181c")
        smallest = least((name, colours[name], over(colours[name], 0.45, below)) for name in CLASSES)
        result(smallest[0] >= 12, f"and the first two of one kind, {mode}", smallest)


def check():
    # From the paper's table of test data.
    result(abs(difference((50, 2.6772, -79.7751), (50, 0, -82.7485)) - 2.0425) < 1e-4 and
           abs(difference((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387)) - 1.2644) < 1e-4,
           "the differences are computed as published")
    check_flame()
    check_annotate()


tap.main(check, lambda: "")
