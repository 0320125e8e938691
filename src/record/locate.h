/* SPDX-License-Identifier: MIT */
/* Finds the files that belong to this installation. */
#pragma once

#include "base/buf.h"

#define LOCATE_LIBRARY_NAME "libxpuprof-inject.so"
#define LOCATE_LIBRARY_ENV  "XPUPROF_LIBRARY"

#define LOCATE_PROBE_LIBRARY_NAME "libxpuprof-probe.so"

/*
 * The library that lives in the profiled process: beside this program (where it is built), then in
 * ../lib/xpuprof/ from there (where it is installed), then the file that $XPUPROF_LIBRARY names.
 * Appends its absolute path; 0, or -ENOENT with error_text that names the folders searched.
 */
int locate_library(struct buf *ret_path);
/* The one that is preloaded where programs are to run inside GPU kernels; it is in the same
 * folders. */
int locate_probe_library(struct buf *ret_path);
/* Another file in these folders, by the name it has there, which may be a link. Sets the path. */
int locate_beside_libraries(const char *name, struct buf *ret_path);
