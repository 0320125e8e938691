/* SPDX-License-Identifier: MIT */
/* Linker names as people write them. */
#pragma once

#include "base/buf.h"

/* A readable name longer than this is left mangled. */
#define DEMANGLED_MAX_BYTES ((size_t)64 << 10)

/* Appends the C++ or Rust name that `name` stands for, or `name` itself when it is not mangled. */
void demangle(const char *name, struct buf *b);
