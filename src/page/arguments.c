// SPDX-License-Identifier: MIT
#include "page/arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view/view.h"

#define LIST_ITEM_DIGITS 10

int argument_number(const struct http_request *q, const char *name, uint64_t most,
	uint64_t otherwise, uint64_t *ret)
{
	const char *text = http_argument(q, name);
	char *end;

	*ret = otherwise;
	if (!text)
		return 0;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || *ret > most)
		return error_set(
			-EINVAL, "'%s' is a whole number, %" PRIu64 " at most", name, most);
	return 0;
}

bool argument_flag(const struct http_request *q, const char *name)
{
	const char *text = http_argument(q, name);

	return text && !strcmp(text, "1");
}

static int add_items(const char *text, size_t count, bool *chosen)
{
	while (*text) {
		size_t digits = strspn(text, "0123456789");
		unsigned long long n = strtoull(text, NULL, 10);

		if (!digits || digits > LIST_ITEM_DIGITS || (text[digits] && text[digits] != ','))
			return error_set(-EINVAL, "a list is numbers with commas between them");
		if (n < count)
			chosen[n] = true;
		text += digits + (text[digits] == ',');
	}
	return 0;
}

int argument_list(const struct http_request *q, const char *name, size_t count, bool **ret)
{
	const char *text = http_argument(q, name);
	bool *chosen;
	int error;

	*ret = NULL;
	if (!text)
		return 0;
	chosen = calloc(count + 1, sizeof(*chosen));
	if (!chosen)
		return error_memory("what is asked for");
	error = add_items(text, count, chosen);
	if (error)
		free(chosen);
	else
		*ret = chosen;
	return error;
}

static int time_text(
	const struct http_request *q, const char *name, char text[32], const char **ret)
{
	uint64_t ns;
	int error;

	if (!http_argument(q, name))
		return 0;
	error = argument_number(q, name, INT64_MAX, 0, &ns);
	snprintf(text, 32, "%" PRIu64 "ns", ns);
	*ret = text;
	return error;
}

int argument_times(const struct http_request *q, const char *from, const char *to,
	struct argument_times *times, struct range_wanted *ret)
{
	int error = time_text(q, from, times->from, &ret->from);

	return error ?: time_text(q, to, times->to, &ret->to);
}

int argument_range(
	const struct http_request *q, struct argument_times *times, struct range_wanted *ret)
{
	int error = argument_times(q, "from", "to", times, ret);

	ret->thread = http_argument(q, "thread");
	ret->device = http_argument(q, "device");
	return error;
}

static int choose_view(const struct http_request *q, struct view_options *ret)
{
	const char *name = http_argument(q, "view");

	if (!name)
		return 0;
	ret->view = view_by_name(name);
	return ret->view ? 0 : error_set(-EINVAL, "there is no such view");
}

int argument_view(const struct http_request *q, struct view_options *ret)
{
	const char *by = http_argument(q, "by"), *graph = http_argument(q, "graph-stack");
	int error = choose_view(q, ret);

	if (!error && by && *by)
		error = view_parse_by(by, &ret->by);
	if (!error && graph)
		error = view_parse_graph_stack(graph, &ret->graph_stack);
	ret->reverse = argument_flag(q, "reverse");
	ret->lines = argument_flag(q, "lines");
	ret->inlines = argument_flag(q, "inline");
	ret->native_python = argument_flag(q, "native-python");
	ret->api_frames = argument_flag(q, "gpu-api-frames");
	return error;
}
