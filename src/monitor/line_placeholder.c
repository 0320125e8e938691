// SPDX-License-Identifier: MIT
#include "monitor/line_placeholder.h"

#include <string.h>

const char *line_placeholder_read(const char *text, struct line_placeholder *ret)
{
	size_t length = strcspn(text, "}"), name = strcspn(text, ":}");

	if (!text[length])
		return NULL;
	ret->name = text;
	ret->name_length = (int)name;
	ret->format = text + name + (name < length);
	ret->format_length = (int)(text + length - ret->format);
	return text + length + 1;
}

bool line_word_is(const char *text, int length, const char *word)
{
	return (size_t)length == strlen(word) && !memcmp(text, word, (size_t)length);
}

int line_field_number(const struct monitor_source *s, const char *name, int length)
{
	for (int i = 0; i < MONITOR_FIELDS && s->fields[i].name; i++)
		if (line_word_is(name, length, s->fields[i].name))
			return i;
	return -1;
}

int line_count_number(const char *name, int length)
{
	return length == 2 && name[0] == '#' && name[1] >= '0' && name[1] < '0' + MONITOR_COUNTS
		       ? name[1] - '0'
		       : -1;
}

bool line_placeholder_is_yes(const struct line_placeholder *p)
{
	return p->format_length > 4 && !memcmp(p->format, "yes ", 4);
}
