/* SPDX-License-Identifier: MIT */
/*
 * Pages of files in memory that copies of the library have mapped before, found again by the names
 * of these files. Whoever else in the program makes such a page is the program itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The first mapping of so many bytes with these rights ("rw-s") and this name (memfd_create) that is
 * the one that is looked for; NULL: there is none. */
void *own_page_find(
	const char *rights, const char *name, size_t bytes, bool (*is_it)(const void *page));
