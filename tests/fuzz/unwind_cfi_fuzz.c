// SPDX-License-Identifier: MIT
/*
 * Fuzz target: any bytes as call frame information. The first one says which section they are, of
 * which machine, the rest is put into an ELF file. Whatever table comes of it must be sound.
 */
#include <stdlib.h>

#include "../elf_image.h"
#include "unwind/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_image image = {
		.code = 0x1000,
		.code_size = 0x1ff000,
		.section_count = 1,
	};
	uint8_t kind = size ? data[size - 1] : 0;
	struct elf_file *file;
	uint32_t *words;

	if (!size)
		return 0;
	image.machine = kind & 1 ? EM_AARCH64 : EM_X86_64;
	image.entry = kind & 4 ? 0x2000 : 0;
	image.sections[0] = (struct elf_image_section){
		.name = kind & 2 ? ".debug_frame" : ".eh_frame",
		.data = data,
		.size = size - 1,
		.vaddr = 0x200000,
		.compressed = kind & 8,
	};
	if (elf_image_open(&image, &file))
		return 0;
	if (!unwind_build(file, &words, NULL)) {
		if (!unwind_table_is_sound(words, ((const struct walk_table_header *)words)->words))
			abort();
		free(words);
	}
	elf_file_close(file);
	return 0;
}
