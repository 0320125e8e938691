#!/bin/sh
# SPDX-License-Identifier: MIT
# What the recorder itself costs: bench/recorder.py. Arguments: sections of it.
exec "$(dirname "$0")/recorder.py" "$@"
