// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as the notes of probes of an ELF file, and as an operand of one: what is
 * read is sound. */
#include <stdlib.h>
#include <string.h>

#include "elf/usdt.h"
#include "elf_image.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAMES "a:b\0level_zero:launch_kernel"

static void read_notes(const uint8_t *data, size_t size)
{
	static struct usdt_site sites[USDT_SITES_MAX];
	struct elf_image image = {.code = 0x1000, .code_size = 0x100000, .section_count = 2};
	struct elf_file *f = NULL;
	size_t count = 0;

	image.sections[0] = (struct elf_image_section){".note.stapsdt", data, size, 0, false};
	image.sections[1] = (struct elf_image_section){".stapsdt.base", "", 1, 0x2000, false};
	if (!elf_image_open(&image, &f) && !usdt_find(f, NAMES, sizeof(NAMES), sites, &count))
		for (size_t i = 0; i < count; i++)
			require(sites[i].unknown || !sites[i].offset ||
				usdt_site_is_sound(&sites[i]));
	elf_file_close(f);
}

static void read_operand(const uint8_t *data, size_t size)
{
	char text[64];
	struct usdt_site site = {.offset = 1, .argument_count = 1};

	if (size >= sizeof(text))
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (usdt_read_operand(text, &site.arguments[0]))
		require(usdt_site_is_sound(&site));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_operand(data, size);
	if (size)
		read_notes(data, size);
	return 0;
}
