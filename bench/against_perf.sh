#!/bin/sh
# SPDX-License-Identifier: MIT
# CPU sampling beside perf: bench/against_perf.py. Needs root and perf. Arguments: its own.
exec "$(dirname "$0")/against_perf.py" "$@"
