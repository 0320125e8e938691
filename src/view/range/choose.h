/* SPDX-License-Identifier: MIT */
/* Threads and devices by what people call them. */
#pragma once

#include "profile/reader.h"

/*
 * Of a profile that was read to its end: allocates, by id, which threads have this name or this id;
 * id 0: what is of no thread that is known. -ENOENT with error_text that names some that there are.
 */
int range_choose_threads(const struct profile_reader *r, const char *text, bool **ret);
/* So too devices, by number or name. */
int range_choose_devices(const struct profile_reader *r, const char *text, bool **ret);
