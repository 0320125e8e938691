# SPDX-License-Identifier: MIT
"""Messages of Protocol Buffers, read field by field."""


def number(data, at):
    """A varint at this place, and the place behind it."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """[(field, number or bytes)] of a message that has no others."""
    at, found = 0, []
    while at < len(data):
        head, at = number(data, at)
        value, at = number(data, at)
        if head & 7 == 2:
            value, at = data[at:at + value], at + value
        found.append((head >> 3, value))
    return found
