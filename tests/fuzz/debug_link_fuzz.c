// SPDX-License-Identifier: MIT
/*
 * Fuzz target: any bytes as a debug link. The first one says whether they are unwind information,
 * too. The file "x.debug" is there: a link to this program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../elf_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/debug-link-fuzz-XXXXXX", path[64], target[64];

static void remove_folder(void)
{
	unlink(target);
	rmdir(folder);
}

static void make_folder(void)
{
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/x", folder);
	snprintf(target, sizeof(target), "%s/x.debug", folder);
	if (symlink("/proc/self/exe", target))
		abort();
	atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct debug_search search = {.path = path};
	struct elf_image image = {.code = 0x1000, .code_size = 0x1000, .section_count = 1};
	struct elf_file *f;
	uint64_t start;

	if (!path[0])
		make_folder();
	if (!size)
		return 0;
	image.sections[0] = (struct elf_image_section){
		.name = ".gnu_debuglink", .data = data + 1, .size = size - 1};
	image.sections[1] = (struct elf_image_section){
		.name = ".eh_frame", .data = data + 1, .size = size - 1, .vaddr = 0x4000};
	image.section_count += data[0] & 1;
	if (elf_image_open(&image, &f))
		return 0;
	elf_file_search(f, &search);
	(void)elf_file_has_symtab(f);
	(void)elf_file_dwarf_fd(f);
	(void)elf_file_function_at(f, 0x1000, &start);
	elf_file_close(f);
	return 0;
}
