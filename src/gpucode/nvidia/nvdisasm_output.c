// SPDX-License-Identifier: MIT
#include "gpucode/nvidia/nvdisasm_output.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define UNKNOWN "Unrecognized operation"
#define ADDRESS " at address 0x"

/* Hexadecimal digits, at least one and no more than fit; NULL when there are none. */
static const char *read_hex(const char *at, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;
	const char *begin = at, *digit;

	for (; *at && (digit = strchr(digits, tolower((unsigned char)*at))); at++) {
		if (at - begin == 16)
			return NULL;
		value = value << 4 | (uint64_t)(digit - digits);
	}
	if (at == begin)
		return NULL;
	*ret = value;
	return at;
}

static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = *text == '\t' ? ' ' : '?';
}

bool nvdisasm_output_instruction(char *line, uint64_t *ret_offset, char **ret_text)
{
	char *text = line + strspn(line, " \t"), *end;
	const char *behind;
	uint64_t offset;

	if (strncmp(text, "/*", 2))
		return false;
	behind = read_hex(text + 2, &offset);
	if (!behind || strncmp(behind, "*/", 2))
		return false;
	text += (behind - text) + 2;
	text += strspn(text, " \t");
	end = strstr(text, "/*");
	if (!end)
		end = text + strlen(text);
	while (end > text && strchr(" \t\r\n;", end[-1]))
		end--;
	if (end == text)
		return false;
	*end = 0;
	make_printable(text);
	*ret_offset = offset;
	*ret_text = text;
	return true;
}

bool nvdisasm_output_unknown(const char *line, uint64_t *ret_offset)
{
	const char *at = strstr(line, UNKNOWN);

	at = at ? strstr(at, ADDRESS) : NULL;
	return at && read_hex(at + strlen(ADDRESS), ret_offset);
}
