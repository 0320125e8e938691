/* SPDX-License-Identifier: MIT */
/*
 * Files that modules of a profile were mapped from, kept open from that moment on. So their symbols
 * can be read at the end of a recording, even if the files were deleted or replaced meanwhile, or
 * their process and its mount namespace are gone. Also the folders in which perf maps appear
 * (perf_map.h).
 *
 * By the module's id in the profile. Bounded: beyond KEPT_FILES_MAX, or half the descriptors
 * that a process may have, nothing more is kept. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define KEPT_FILES_MAX 1024

struct kept_files;

struct kept_files *kept_files_new(void);
void kept_files_free(struct kept_files *k);

/* Keeps a file that is open, of a process: the caller has seen to it that it is the one that was
 * mapped. 0, or -errno when it cannot be kept (without text). */
int kept_files_add(struct kept_files *k, uint32_t module, const struct elf_file *f, uint32_t pid);
/* Keeps what is needed to find the perf map of a process later. */
int kept_files_add_process(struct kept_files *k, uint32_t module, uint32_t pid);

/* The module's file: a descriptor of ours, or -1 when it was not kept or was written to since. */
int kept_files_find(const struct kept_files *k, uint32_t module);
/* The root folder of the process that mapped it, a descriptor of ours; -1: it is our own. */
int kept_files_root(const struct kept_files *k, uint32_t module);
/* Opens the perf map of the module's process: a descriptor for the caller, or -errno. */
int kept_files_open_map(const struct kept_files *k, uint32_t module);
