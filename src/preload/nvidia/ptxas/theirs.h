/* SPDX-License-Identifier: MIT */
/* The compiler that is run in place of the program's. */
#pragma once

#include <stddef.h>

/*
 * The path of the ptxas that a program would have run without us: the one that the user has named,
 * else the one in the folder of the Triton that our parent has loaded, else the first in $PATH or
 * of the toolkit. `own_name` is what we were run as. NULL: there is none.
 */
const char *theirs_find(const char *own_name, char *path, size_t size);
