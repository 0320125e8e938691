// SPDX-License-Identifier: MIT
#include "view/range/choose.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "view/names/device.h"

#define SUBJECT "the range"
#define NAMED	8  /* that there are, in a message */
#define COLUMNS 40 /* of each */

static bool parse_id(const char *text, uint32_t *ret)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || number > UINT32_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* Names in a list, each once, until there are enough. */
struct names {
	struct buf list;
	const char *seen[NAMED];
	size_t count;
};

static void add_name(struct names *n, const char *name)
{
	if (!*name)
		return;
	for (size_t i = 0; i < n->count && i < NAMED; i++)
		if (!strcmp(n->seen[i], name))
			return;
	if (n->count < NAMED) {
		n->seen[n->count] = name;
		buf_puts(&n->list, n->count ? ", '" : "'");
		text_fit(&n->list, name, COLUMNS);
		buf_putc(&n->list, '\'');
	} else if (n->count == NAMED) {
		buf_puts(&n->list, ", ...");
	}
	n->count++;
}

static int not_there(struct names *n, const char *what, const char *text)
{
	struct buf shown = BUF_INIT;
	int error;

	text_fit(&shown, text, COLUMNS);
	error = n->count ? error_set(-ENOENT, "no %s '%s' in the recording: it has %s", what,
				   buf_text(&shown), buf_text(&n->list))
			 : error_set(-ENOENT, "no %s '%s' in the recording: it has none", what,
				   buf_text(&shown));
	buf_release(&shown);
	buf_release(&n->list);
	return error;
}

static int no_thread(const struct profile_reader *r, const char *text)
{
	struct names names = {.list = BUF_INIT};

	for (uint32_t id = 1; id <= profile_counts(r).threads; id++)
		add_name(&names, profile_thread_name(r, profile_thread(r, id), NULL));
	return not_there(&names, "thread", text);
}

int range_choose_threads(const struct profile_reader *r, const char *text, bool **ret)
{
	uint32_t count = profile_counts(r).threads, number = 0;
	bool *chosen = calloc((size_t)count + 1, sizeof(*chosen)), any = false;
	bool by_id = parse_id(text, &number);

	if (!chosen)
		return error_memory(SUBJECT);
	chosen[0] = by_id && !number;
	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_thread *t = profile_thread(r, id);

		chosen[id] = (by_id && t->tid == number) ||
			     !strcmp(profile_thread_name(r, t, NULL), text);
		any |= chosen[id];
	}
	if (!any && !chosen[0]) {
		free(chosen);
		return no_thread(r, text);
	}
	*ret = chosen;
	return 0;
}

static int no_device(
	const struct profile_reader *r, const struct device_numbers *numbers, const char *text)
{
	struct names names = {.list = BUF_INIT};
	char *titles[NAMED + 1] = {0};
	int error = 0;

	for (uint32_t id = 1; id <= profile_counts(r).devices && id <= NAMED + 1; id++) {
		if (asprintf(&titles[id - 1], "%u: %s", device_number(numbers, r, id),
			    profile_string(r, profile_device(r, id)->name, NULL)) < 0) {
			titles[id - 1] = NULL;
			error = error_memory(SUBJECT);
			break;
		}
		add_name(&names, titles[id - 1]);
	}
	if (error)
		buf_release(&names.list);
	error = error ?: not_there(&names, "device", text);
	for (size_t i = 0; i <= NAMED; i++)
		free(titles[i]);
	return error;
}

int range_choose_devices(const struct profile_reader *r, const char *text, bool **ret)
{
	uint32_t count = profile_counts(r).devices, number = 0;
	bool *chosen = calloc((size_t)count + 1, sizeof(*chosen)), any = false;
	bool by_number = parse_id(text, &number);
	struct device_numbers numbers;
	int error = chosen ? device_numbers_init(&numbers, r) : error_memory(SUBJECT);

	for (uint32_t id = 1; !error && id <= count; id++) {
		chosen[id] = (by_number && device_number(&numbers, r, id) == number) ||
			     !strcmp(profile_string(r, profile_device(r, id)->name, NULL), text);
		any |= chosen[id];
	}
	if (!error && !any)
		error = no_device(r, &numbers, text);
	if (error)
		free(chosen);
	else
		*ret = chosen;
	return error;
}
