/* SPDX-License-Identifier: MIT */
/* Functions of CPython's that run Python code or call it, and do nothing else for the program. */
#pragma once

#include <stdbool.h>

/* Whether `name` is one of them; what the compiler put behind a name (".isra.0", ".cold") is no
 * part of it. */
bool python_calls_has(const char *name);
