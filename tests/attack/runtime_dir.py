#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""runtime_dir.py FOLDER: puts a link to FOLDER in the place of the folder that holds the recorder's socket, which is
its own where the recorder gave it away."""
import os
import sys

folder = os.path.dirname(os.environ["XPUPROF_SOCKET"])
try:
    os.rename(folder, folder + ".moved")
    os.symlink(sys.argv[1], folder)
except OSError as error:
    print(f"not replaced: {error}", flush=True)
