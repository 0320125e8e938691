// SPDX-License-Identifier: MIT
#include "view/stalls/reasons.h"

#include <string.h>

#include "vendor/vendor.h"

static const struct {
	const char *key, *words;
} classes[STALL_CLASSES] = {
	[STALL_MEMORY] = {"memory", "memory"},
	[STALL_MATH] = {"math", "math and fixed latencies"},
	[STALL_SYNC] = {"sync", "barriers and fences"},
	[STALL_FETCH] = {"fetch", "instruction fetch"},
	[STALL_CONTROL] = {"control", "branches and sleep"},
	[STALL_ISSUING] = {"issuing", "issuing or ready to"},
	[STALL_OTHER] = {"other", "other"},
};

static size_t prefix_size(const struct stall_names *names, const char *text)
{
	for (const char *const *prefix = names->prefixes; prefix && *prefix; prefix++)
		if (!strncmp(text, *prefix, strlen(*prefix)))
			return strlen(*prefix);
	return 0;
}

static bool cut_mark(struct stall_name *n, const char *mark)
{
	size_t size = mark ? strlen(mark) : 0;

	if (!size || n->name_size <= size || strcmp(n->name + n->name_size - size, mark))
		return false;
	n->name_size -= size;
	return true;
}

/* As one vendor would have it. */
static struct stall_name parse(const struct stall_names *names, const char *text)
{
	struct stall_name n = {.name = text + prefix_size(names, text), .names = names};

	n.name_size = strlen(n.name);
	n.latency = cut_mark(&n, names->latency_mark);
	for (const struct stall_reason *r = names->reasons; r && r->name && !n.reason; r++)
		if (strlen(r->name) == n.name_size && !memcmp(r->name, n.name, n.name_size))
			n.reason = r;
	return n;
}

struct stall_name stall_name_parse(const char *text)
{
	vendors_foreach(v)
	{
		struct stall_name n = {0};

		if ((*v)->stalls)
			n = parse((*v)->stalls, text);
		if (n.reason || n.latency || (n.name && n.name != text))
			return n;
	}
	return (struct stall_name){.name = text, .name_size = strlen(text)};
}

const char *stall_words(const struct stall_name *n)
{
	return n->reason ? n->reason->words : n->name;
}

enum stall_class stall_class_of(const struct stall_name *n)
{
	return n->reason ? n->reason->class : STALL_OTHER;
}

bool stall_is_issuing(const struct stall_name *n)
{
	return n->reason && n->reason->issuing;
}

const struct stall_reason *stall_reason_at(size_t n)
{
	vendors_foreach(
		v) for (const struct stall_reason *r = (*v)->stalls ? (*v)->stalls->reasons : NULL;
			r && r->name; r++) if (!n--) return r;
	return NULL;
}

const char *stall_class_key(enum stall_class class)
{
	return classes[class < STALL_CLASSES ? class : STALL_OTHER].key;
}

const char *stall_class_words(enum stall_class class)
{
	return classes[class < STALL_CLASSES ? class : STALL_OTHER].words;
}
