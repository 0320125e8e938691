/* SPDX-License-Identifier: MIT */
/*
 * Keeps the files of modules open for the time when their code is named (elf/kept_files.h).
 *
 * That happens when the first frame of a module gets into the profile, while a process that maps it
 * usually lives: so a file that is deleted, replaced or out of our sight by the end is still found.
 * Without the right to look into the process there is the file of that name, if it is the same.
 */
#pragma once

#include "capture/modules.h"
#include "elf/kept_files.h"

/* Keeps the file of MODULE_FILE, or what tells the names of MODULE_ANON. What cannot be kept is left
 * to be found by name later. */
void keep_module(struct kept_files *k, const struct module *module);
/* Whether a mapping of nameless memory that looks like a file is that of an ELF file. */
bool keep_is_elf(uint32_t pid, const struct mapped_file *f);
