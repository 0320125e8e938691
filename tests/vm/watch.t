#!/bin/sh
# SPDX-License-Identifier: MIT
# The generic program of monitors in this kernel, over events that the test itself makes.
. "$(dirname "$0")/tap.sh"
exec "$build/tests/unit/monitor_watch_test.t"
