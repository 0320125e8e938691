/* SPDX-License-Identifier: MIT */
/*
 * Keeps the files of modules open for the time when their code is named (elf/kept_files.h).
 *
 * That happens when the first frame of a module gets into the profile. A process that maps it
 * usually lives then, so a file that is deleted, replaced or unreachable by the end is still found.
 * Without the right to look into the process, the file of that name is kept, if it is the same.
 */
#pragma once

#include "capture/modules.h"
#include "elf/kept_files.h"

/* Keeps the file of MODULE_FILE, or the source of names of MODULE_ANON. What cannot be kept is
 * searched by name later. */
void keep_module(struct kept_files *k, const struct module *module);
/* Whether a mapping of nameless memory that looks like a file is that of an ELF file. */
bool keep_is_elf(uint32_t pid, const struct mapped_file *f);
