// SPDX-License-Identifier: MIT
/* Reading goes in steps, each of which builds on the ones before: tables of the file, types, code,
 * functions, maps, relocations, lines. */
#include "ebpf/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/io.h"
#include "base/search.h"
#include "ebpf/object_internal.h"

static int read_types(struct ebpf_object *o)
{
	const struct ebpf_section *s = ebpf_image_section(o->image, ".BTF");

	return ebpf_btf_open(&o->btf, s ? s->data : NULL, s && s->has_bytes ? s->size : 0);
}

static int read_all(struct ebpf_object *o, size_t size)
{
	struct ebpf_code_map code = {0};
	int error = ebpf_image_open(o->image, o->data, size);

	if (error)
		return error;
	o->license = ebpf_image_text(o->image, "license");
	error = read_types(o);
	error = error ?: ebpf_read_code(o, &code);
	error = error ?: ebpf_read_functions(o, &code);
	error = error ?: ebpf_read_maps(o);
	error = error ?: ebpf_relocate(o, &code);
	error = error ?: ebpf_read_lines(o, &code);
	if (!error)
		ebpf_mark_cpu_maps(o);
	vec_release(&code.first);
	if (!error && !o->programs.count)
		error = error_set(-EINVAL,
			"an eBPF object has no program for a GPU (sections gpu/entry:GLOB, "
			"gpu/exit:GLOB, gpu/mem:GLOB)");
	return error == -ENOMEM ? error_memory("an eBPF object") : error;
}

/* Takes the bytes over. */
static int read_owned(struct ebpf_object **ret, uint8_t *data, size_t size)
{
	struct ebpf_object *o = calloc(1, sizeof(*o));
	int error;

	if (!o) {
		free(data);
		return error_memory("an eBPF object");
	}
	o->data = data;
	o->size = size;
	o->image = calloc(1, sizeof(*o->image));
	error = o->image ? read_all(o, size) : error_memory("an eBPF object");
	if (error)
		ebpf_object_close(o);
	else
		*ret = o;
	return error;
}

int ebpf_object_read(struct ebpf_object **ret, const void *data, size_t size)
{
	uint8_t *copy;

	if (size > EBPF_OBJECT_MAX_BYTES)
		return error_set(-EFBIG, "an eBPF object is larger than any real one");
	copy = malloc(size + 1);
	if (!copy)
		return error_memory("an eBPF object");
	memcpy(copy, data, size);
	return read_owned(ret, copy, size);
}

int ebpf_object_open(struct ebpf_object **ret, const char *path)
{
	struct buf file = BUF_INIT;
	int error = io_read_file(path, EBPF_OBJECT_MAX_BYTES, &file);

	if (error)
		error_errno(error, "cannot read '%s'", path);
	else
		error = ebpf_object_read(ret, file.data ? file.data : "", file.size);
	buf_release(&file);
	return error;
}

void ebpf_object_close(struct ebpf_object *o)
{
	if (!o)
		return;
	ebpf_btf_release(&o->btf);
	vec_release(&o->insns);
	vec_release(&o->functions);
	vec_release(&o->programs);
	vec_release(&o->maps);
	vec_release(&o->lines);
	if (o->image)
		ebpf_image_release(o->image);
	free(o->image);
	free(o->data);
	free(o);
}

const struct ebpf_line *ebpf_object_line(const struct ebpf_object *o, uint32_t insn)
{
	size_t behind = search_first(i, 0, o->lines.count, o->lines.items[i].insn > insn);

	return behind ? &o->lines.items[behind - 1] : NULL;
}

const struct ebpf_function *ebpf_object_function(const struct ebpf_object *o, uint32_t first)
{
	vec_foreach (f, &o->functions)
		if (f->first == first)
			return f;
	return NULL;
}

bool ebpf_object_variable(const struct ebpf_object *o, const struct ebpf_map *section,
	const char *name, size_t length, uint64_t *ret_offset, uint64_t *ret_bytes)
{
	if (!section->is_section)
		return false;
	vec_foreach (s, &o->image->symbols) {
		if (strncmp(s->name, name, length) != 0 || s->name[length] ||
			strcmp(o->image->sections.items[s->section].name, section->name) != 0 ||
			s->value > section->value_size || s->size > section->value_size - s->value)
			continue;
		*ret_offset = s->value;
		*ret_bytes = s->size;
		return true;
	}
	return false;
}
