// SPDX-License-Identifier: MIT
#include "probe/variables.h"

#include <string.h>

#include "probe/typed.h"

struct variable {
	const char *name;
	uint32_t type;
	uint64_t offset, bytes;
};

/* The section's type, which has its name; 0: there is none. */
static uint32_t find_section(const struct ebpf_object *o, const struct ebpf_map *m)
{
	for (uint32_t type = 1; m->is_section && type < ebpf_btf_count(&o->btf); type++)
		if (ebpf_btf_kind(&o->btf, type) == BTF_KIND_DATASEC &&
			!strcmp(ebpf_btf_name(&o->btf, type), m->name))
			return type;
	return 0;
}

/* The n-th of the section; false past the last. Compilers leave it to symbols where it is. */
static bool find(const struct ebpf_object *o, const struct ebpf_map *m, uint32_t section,
	uint32_t n, struct variable *ret)
{
	uint32_t variable;

	if (!ebpf_btf_variable(&o->btf, section, n, &variable))
		return false;
	ret->name = ebpf_btf_name(&o->btf, variable);
	ret->type = ebpf_btf_target(&o->btf, variable);
	if (!ebpf_object_variable(o, m, ret->name, strlen(ret->name), &ret->offset, &ret->bytes) ||
		ebpf_btf_size(&o->btf, ret->type) > ret->bytes)
		ret->bytes = 0;
	return true;
}

void variables_text(struct buf *out, const struct ebpf_object *o, const struct ebpf_map *m,
	const uint8_t *bytes)
{
	uint32_t section = find_section(o, m);
	bool any = false;
	struct variable v;

	if (!section) {
		typed_text(out, &o->btf, m->value_type, bytes, m->value_size);
		return;
	}
	for (uint32_t n = 0; find(o, m, section, n, &v); n++) {
		if (!v.bytes)
			continue;
		buf_printf(out, "%s%s=", any ? " " : "", v.name);
		typed_part(out, &o->btf, v.type, bytes + v.offset, v.bytes);
		any = true;
	}
}

void variables_json(struct json_writer *w, const struct ebpf_object *o, const struct ebpf_map *m,
	const uint8_t *bytes)
{
	uint32_t section = find_section(o, m);
	struct variable v;

	if (!section) {
		typed_json(w, "value", &o->btf, m->value_type, bytes, m->value_size);
		return;
	}
	json_begin(w, "value", '{');
	for (uint32_t n = 0; find(o, m, section, n, &v); n++)
		if (v.bytes)
			typed_json(w, v.name, &o->btf, v.type, bytes + v.offset, v.bytes);
	json_end(w, '}');
}
