// SPDX-License-Identifier: MIT
#include "view/fold/command_title.h"

#include <stdbool.h>
#include <string.h>

#define SPACES " \t\n\r"

static const char *next_word(const char *at)
{
	at += strcspn(at, SPACES);
	return at + strspn(at, SPACES);
}

/* Its last part: of "/usr/bin/env" "env". */
static const char *skip_folders(const char *word)
{
	const char *end = word + strcspn(word, SPACES),
		   *slash = memrchr(word, '/', (size_t)(end - word));

	return slash && slash + 1 < end ? slash + 1 : word;
}

static bool is_word(const char *at, const char *word)
{
	size_t size = strlen(word);

	return strcspn(at, SPACES) == size && !memcmp(at, word, size);
}

/* Options of env whose value is a word of its own. */
static bool has_value(const char *option)
{
	return is_word(option, "-u") || is_word(option, "-C") || is_word(option, "--unset") ||
	       is_word(option, "--chdir");
}

static const char *skip_env(const char *command)
{
	const char *at = command;

	if (!is_word(skip_folders(at), "env"))
		return command;
	at = next_word(at);
	while (*at == '-' || memchr(at, '=', strcspn(at, SPACES)))
		at = next_word(has_value(at) ? next_word(at) : at);
	return *at ? at : command;
}

void command_title(const char *command, struct buf *b)
{
	const char *at = command + strspn(command, SPACES);

	for (at = skip_folders(skip_env(at)); *at;) {
		size_t size = strcspn(at, SPACES);

		buf_append(b, at, size);
		at = next_word(at);
		if (*at)
			buf_putc(b, ' ');
	}
}
