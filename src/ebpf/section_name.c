// SPDX-License-Identifier: MIT
#include "ebpf/section_name.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "ebpf/nvidia/names.h"

#define OURS "gpu/"

static const struct {
	const char *name;
	enum ebpf_where where;
} places[] = {
	{"entry", EBPF_AT_ENTRY},
	{"exit", EBPF_AT_EXIT},
	{"mem", EBPF_AT_ACCESS},
	{"mem.load", EBPF_AT_LOAD},
	{"mem.store", EBPF_AT_STORE},
};

const char *ebpf_where_name(enum ebpf_where where)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].where == where)
			return places[i].name;
	return "kernel";
}

/* What is left of a text behind its beginning, or NULL. */
static const char *behind(const char *text, const char *beginning)
{
	size_t size = strlen(beginning);

	return strncmp(text, beginning, size) ? NULL : text + size;
}

static bool ends_with(const char *text, size_t *size, const char *suffix)
{
	size_t length = strlen(suffix);

	if (*size < length || memcmp(text + *size - length, suffix, length))
		return false;
	*size -= length;
	return true;
}

static int parse_ours(const char *section, const char *rest, struct ebpf_site *ret)
{
	const char *colon = strchr(rest, ':');
	size_t size = colon ? (size_t)(colon - rest) : strlen(rest);
	bool per_thread = ends_with(rest, &size, ".thread");

	if (!per_thread)
		(void)ends_with(rest, &size, ".warp");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (strlen(places[i].name) != size || memcmp(places[i].name, rest, size))
			continue;
		if (colon && !colon[1])
			return error_set(-EINVAL, "section '%s' names no kernel", section);
		*ret = (struct ebpf_site){
			.where = places[i].where,
			.per_thread = per_thread,
			.has_context = true,
			.pattern = colon ? colon + 1 : "*",
		};
		return 1;
	}
	return error_set(-EINVAL,
		"section '%s' is none of gpu/entry, gpu/exit, gpu/mem, gpu/mem.load, gpu/mem.store "
		"with .warp or .thread",
		section);
}

static int parse_bpftime(const char *kernel, bool at_exit, bool named, struct ebpf_site *ret)
{
	const char *inner = behind(kernel, EBPF_KERNEL_PREFIX);

	if (!inner && !named)
		return 0;
	*ret = (struct ebpf_site){
		.where = at_exit ? EBPF_AT_EXIT : EBPF_AT_ENTRY,
		.per_thread = true,
		.is_literal = true,
		.pattern = inner ? inner : kernel,
	};
	if (!strcmp(kernel, "__memcapture") || !strcmp(kernel, "__directly_run")) {
		ret->where = kernel[2] == 'm' ? EBPF_AT_ACCESS : EBPF_ALONE;
		ret->is_literal = false;
		ret->pattern = "*";
	}
	return 1;
}

int ebpf_section_parse(const char *section, const char *function, struct ebpf_site *ret)
{
	bool named = behind(function, EBPF_FUNCTION_PREFIX);
	const char *rest = behind(section, OURS);

	if (rest)
		return parse_ours(section, rest, ret);
	rest = behind(section, "kprobe/");
	if (rest)
		return parse_bpftime(rest, false, named, ret);
	rest = behind(section, "kretprobe/");
	return rest ? parse_bpftime(rest, true, named, ret) : 0;
}
