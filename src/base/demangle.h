/* SPDX-License-Identifier: MIT */
/* Linker names as people write them. */
#pragma once

#include "base/buf.h"

/* Appends the C++ or Rust name that `name` stands for, or `name` itself when it is not mangled. */
void demangle(const char *name, struct buf *b);
