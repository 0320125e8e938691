// SPDX-License-Identifier: MIT
#include "elf/kernel_id.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"

#define NOTES_MAX_BYTES 65536

static size_t aligned(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

size_t kernel_build_id(uint8_t ret_id[ELF_BUILD_ID_MAX])
{
	struct buf notes = BUF_INIT;
	size_t at = 0, found = 0;
	Elf64_Nhdr note;

	if (io_read_file("/sys/kernel/notes", NOTES_MAX_BYTES, &notes))
		notes.size = 0;
	while (!found && at + sizeof(note) <= notes.size) {
		memcpy(&note, notes.data + at, sizeof(note));
		at += sizeof(note);
		if (note.n_namesz > notes.size || note.n_descsz > notes.size ||
			aligned(note.n_namesz) + aligned(note.n_descsz) > notes.size - at)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
			!memcmp(notes.data + at, "GNU", sizeof("GNU")) &&
			note.n_descsz <= ELF_BUILD_ID_MAX) {
			found = note.n_descsz;
			memcpy(ret_id, notes.data + at + aligned(note.n_namesz), found);
		}
		at += aligned(note.n_namesz) + aligned(note.n_descsz);
	}
	buf_release(&notes);
	return found;
}

void kernel_boot_id(char ret_id[40])
{
	struct buf id = BUF_INIT;

	ret_id[0] = '\0';
	if (!io_read_file("/proc/sys/kernel/random/boot_id", 64, &id) && id.size >= 36)
		snprintf(ret_id, 40, "%.36s", id.data);
	buf_release(&id);
}
