// SPDX-License-Identifier: MIT
/*
 * Fuzz target: any bytes as the lines that nvdisasm prints, and as instructions of every
 * architecture.
 */
#include <stdlib.h>
#include <string.h>

#include "gpucode/nvidia/nvdisasm_output.h"
#include "gpucode/nvidia/sass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_lines(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save)) {
		uint64_t offset;
		char *instruction;

		nvdisasm_output_unknown(line, &offset);
		if (!nvdisasm_output_instruction(line, &offset, &instruction))
			continue;
		for (const char *c = instruction; *c; c++)
			if (*c < ' ' || *c > '~')
				__builtin_trap();
		if (!*instruction)
			__builtin_trap();
	}
	free(text);
}

static void decode(unsigned int sm, const uint8_t *bytes)
{
	char text[SASS_TEXT_MAX];
	bool known = sass_text(sm, bytes, text, sizeof(text));

	if (!*text || strlen(text) >= SASS_TEXT_MAX - 1 || known != !strstr(text, "[unknown "))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_lines(data, size);
	for (size_t at = 0; size - at >= SASS_INSTRUCTION_BYTES; at += SASS_INSTRUCTION_BYTES)
		for (unsigned int sm = 70; sm < 130; sm++)
			if (sass_has_sm(sm) || sm == 70)
				decode(sm, data + at);
	return 0;
}
