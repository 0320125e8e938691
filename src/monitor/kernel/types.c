// SPDX-License-Identifier: MIT
/*
 * A module's BTF extends the kernel's own. Both are kept, that of the module until another is asked
 * for. A struct's name may be there twice, when two source files mean different things by it: then
 * it is not clear which one an event has.
 */
#include "monitor/kernel/types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "monitor/kernel/kept.h"

#define DEPTH_MAX 16 /* of unnamed structs in structs */

struct types {
	struct btf *kernel;	 /* NULL: there is none */
	struct btf *module;	 /* so too */
	char module_name[64];	 /* "": not asked for yet */
	libbpf_print_fn_t print; /* libbpf's own while ours is set: we report errors ourselves */
};

/* ------------------------------------------------------------------ where types are */

void types_free(struct types *t)
{
	if (!t)
		return;
	btf__free(t->module);
	btf__free(t->kernel);
	free(t);
}

static struct btf *open_types(const struct monitor_kernel *k, const char *name, struct btf *base)
{
	struct buf path = BUF_INIT;
	struct btf *types = NULL;

	buf_printf(&path, "%s/sys/kernel/btf/%s", k->root, name);
	if (!path.failed)
		types = btf__parse_split(path.data, base);
	buf_release(&path);
	return libbpf_get_error(types) ? NULL : types;
}

/* ------------------------------------------------------------------ members */

static const struct btf_type *skip_names(const struct btf *types, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(types, id);

	for (int depth = 0; t && depth < DEPTH_MAX; depth++) {
		if (!btf_is_mod(t) && !btf_is_typedef(t))
			return t;
		t = btf__type_by_id(types, t->type);
	}
	return NULL;
}

/* Finds a member by name, also in the unnamed structs and unions among the members: adds where it
 * is. */
static const struct btf_member *find_member(const struct btf *types, const struct btf_type *t,
	const char *name, size_t length, int depth, uint32_t *offset)
{
	if (!t || !btf_is_composite(t) || depth > DEPTH_MAX)
		return NULL;
	for (unsigned int i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = btf_members(t) + i, *found;
		const char *its = btf__name_by_offset(types, m->name_off);
		uint32_t bits = btf_member_bit_offset(t, i), inside = 0;

		if (!its || bits % 8 || btf_member_bitfield_size(t, i))
			continue;
		if (strlen(its) == length && !memcmp(its, name, length)) {
			*offset += bits / 8;
			return m;
		}
		if (*its)
			continue;
		found = find_member(
			types, skip_names(types, m->type), name, length, depth + 1, &inside);
		if (found) {
			*offset += bits / 8 + inside;
			return found;
		}
	}
	return NULL;
}

/* Follows ".member.member" from a struct. */
static bool follow(
	const struct btf *types, const struct btf_type *t, const char *path, uint32_t *ret_offset)
{
	uint32_t offset = 0;

	while (*path == '.') {
		size_t length = strcspn(++path, ".");
		const struct btf_member *m =
			length ? find_member(types, t, path, length, 0, &offset) : NULL;

		if (!m)
			return false;
		t = skip_names(types, m->type);
		path += length;
	}
	*ret_offset = offset;
	return true;
}

/* In every struct of that name; they have to agree. */
static int search(const struct btf *types, const char *path, uint32_t *ret_offset)
{
	size_t length = strcspn(path, ".");
	uint32_t offset, last = 0;
	bool found = false;

	for (uint32_t id = 1; id < btf__type_cnt(types); id++) {
		const struct btf_type *t = btf__type_by_id(types, id);
		const char *name =
			btf_is_struct(t) ? btf__name_by_offset(types, t->name_off) : NULL;

		if (!name || strlen(name) != length || memcmp(name, path, length) ||
			!follow(types, t, path + length, &offset))
			continue;
		if (found && offset != last)
			return error_set(-ENOENT, "the kernel has several structs '%.*s'",
				(int)length, path);
		found = true;
		last = offset;
	}
	if (!found)
		return error_set(-ENOENT, "the kernel's type information has no '%s'", path);
	*ret_offset = last;
	return 0;
}

/* ------------------------------------------------------------------ functions */

static const struct btf_type *find_prototype(const struct btf *types, const char *function)
{
	int id = btf__find_by_name_kind(types, function, BTF_KIND_FUNC);
	const struct btf_type *t = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;

	t = t ? btf__type_by_id(types, t->type) : NULL;
	return t && btf_is_func_proto(t) ? t : NULL;
}

/* The size of a type that goes into one register; 0: it does not. */
static uint32_t register_size(const struct btf *types, uint32_t id)
{
	int64_t size = id ? btf__resolve_size(types, id) : 0;

	return size > 0 && size <= (int64_t)sizeof(uint64_t) ? (uint32_t)size : 0;
}

/* What goes into several registers, or none, moves the arguments behind it. */
static uint32_t argument_size(
	const struct btf *types, const struct btf_type *prototype, unsigned int number)
{
	uint32_t size = 0;

	for (unsigned int i = 0; i <= number; i++) {
		size = i < btf_vlen(prototype) ? register_size(types, btf_params(prototype)[i].type)
					       : 0;
		if (!size)
			return 0;
	}
	return size;
}

/* ------------------------------------------------------------------ questions */

/* The types of a module and the kernel, or NULL with error_text; types_close gives them back. */
static struct types *types_open(const struct monitor_kernel *k, const char *module)
{
	struct types *t = k->kept && k->kept->types ? k->kept->types : calloc(1, sizeof(*t));

	if (!t) {
		error_memory(NULL);
		return NULL;
	}
	if (k->kept)
		k->kept->types = t;
	t->print = libbpf_set_print(NULL);
	if (!t->kernel)
		t->kernel = open_types(k, "vmlinux", NULL);
	if (t->kernel && module && strcmp(t->module_name, module)) {
		btf__free(t->module);
		t->module = open_types(k, module, t->kernel);
		snprintf(t->module_name, sizeof(t->module_name), "%s", module);
	}
	return t;
}

static void types_close(const struct monitor_kernel *k, struct types *t)
{
	libbpf_set_print(t->print);
	if (!k->kept)
		types_free(t);
}

/* Where to search; NULL with error_text. */
static const struct btf *types_of(const struct types *t, const char *module)
{
	if (!t->kernel) {
		error_set(-ENOENT, "this kernel has no type information (CONFIG_DEBUG_INFO_BTF)");
		return NULL;
	}
	return module && t->module ? t->module : t->kernel;
}

/* A module without types has none of its own: that says more than what was not found. */
static int explain(int err, const struct types *t, const char *module)
{
	if (err != -ENOENT || !t->kernel || !module || t->module)
		return err;
	return error_set(
		err, "module %s has no type information (CONFIG_DEBUG_INFO_BTF_MODULES)", module);
}

#define RESULT UINT32_MAX /* instead of an argument's number */

static int function_size(
	const struct btf *types, const char *function, unsigned int number, uint32_t *ret_size)
{
	const struct btf_type *prototype = find_prototype(types, function);
	uint32_t size;

	if (!prototype)
		return error_set(-ENOENT, "the kernel's type information has no '%s'", function);
	if (number == RESULT)
		size = register_size(types, prototype->type);
	else
		size = argument_size(types, prototype, number);
	if (!size && number == RESULT)
		return error_set(-ERANGE, "the kernel's %s returns nothing", function);
	if (!size)
		return error_set(-ERANGE, "the kernel's %s has no argument %u", function, number);
	*ret_size = size;
	return 0;
}

/* What is asked of the types: where a member is, or how large an argument. */
struct question {
	const char *member; /* its path; NULL: the question is about a function */
	const char *function;
	unsigned int number; /* of the argument, or RESULT */
};

static int answer(
	const struct monitor_kernel *k, const char *module, const struct question *q, uint32_t *ret)
{
	struct types *t = types_open(k, module);
	const struct btf *types;
	int err = -ENOENT;

	if (!t)
		return -ENOMEM;
	types = types_of(t, module);
	if (types && q->member)
		err = search(types, q->member, ret);
	else if (types)
		err = function_size(types, q->function, q->number, ret);
	err = explain(err, t, module);
	types_close(k, t);
	return err;
}

int types_member(
	const struct monitor_kernel *k, const char *module, const char *path, uint32_t *ret_offset)
{
	return answer(k, module, &(struct question){.member = path}, ret_offset);
}

int types_argument(const struct monitor_kernel *k, const char *module, const char *function,
	unsigned int number, uint32_t *ret_size)
{
	return answer(
		k, module, &(struct question){.function = function, .number = number}, ret_size);
}

int types_result(const struct monitor_kernel *k, const char *module, const char *function,
	uint32_t *ret_size)
{
	return types_argument(k, module, function, RESULT, ret_size);
}
