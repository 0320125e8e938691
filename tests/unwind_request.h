/* SPDX-License-Identifier: MIT */
/* Asks for the unwind table of a file of ours. */
#pragma once

#include <string.h>
#include <sys/stat.h>

#include "elf/elf_file.h"
#include "unwind/tables.h"

/* As unwind_tables_request, of an open file; without its separate debug file. */
static inline int request_table_of(struct unwind_tables *t, struct elf_file *elf, uint32_t *ret_id)
{
	struct unwind_file file = {.fd = elf_file_fd(elf), .debug_fd = -1};
	struct stat st;
	int error = elf_file_stat(elf, &st);

	if (error)
		return error;
	file.build_id_size = elf_file_build_id(elf, file.build_id);
	file.identity = file_identity_of(&st);
	return unwind_tables_request(t, &file, ret_id);
}

static inline int request_table(struct unwind_tables *t, const char *path, uint32_t *ret_id)
{
	struct elf_file *elf = NULL;
	int error = elf_file_open(&elf, path);

	error = error ? error : request_table_of(t, elf, ret_id);
	elf_file_close(elf);
	return error;
}
