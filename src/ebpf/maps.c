// SPDX-License-Identifier: MIT
/*
 * Maps are variables of the section .maps, whose types say what they are (libbpf's __uint and
 * __type), or of .maps' predecessor "maps", whose contents do. Sections of variables are maps of
 * one value each.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "wire/arena.h"
#include "ebpf/object_internal.h"

#define VALUE_MAX_BYTES	  (1u << 20)
#define SECTION_MAX_BYTES (1u << 20)
#define KEY_MAX_BYTES	  64
#define ENTRIES_MAX	  (1u << 28)

static int add_map(struct ebpf_object *o, const struct ebpf_map *m)
{
	if (o->maps.count >= EBPF_MAPS_MAX)
		return error_set(-E2BIG, "an eBPF object has more than %d maps", EBPF_MAPS_MAX);
	return vec_push(&o->maps, *m);
}

/* What the loader of the kernel's maps would refuse is refused only where a GPU program uses it. */
static int check_map(const struct ebpf_map *m)
{
	bool is_ring = m->kind && m->kind->shape == EBPF_RING;

	if (!m->kind)
		return 0;
	if (!m->max_entries || m->max_entries > ENTRIES_MAX)
		return error_set(-EINVAL, "map '%s' has %u entries, which is not 1 to %u", m->name,
			m->max_entries, ENTRIES_MAX);
	if (m->value_size > VALUE_MAX_BYTES || (!m->value_size && !is_ring))
		return error_set(
			-EINVAL, "map '%s' has values of %u bytes", m->name, m->value_size);
	if (m->kind->shape == EBPF_HASH && (!m->key_size || m->key_size > KEY_MAX_BYTES))
		return error_set(-EINVAL, "map '%s' has keys of %u bytes", m->name, m->key_size);
	if (m->kind->shape == EBPF_SITES && m->key_size != sizeof(struct ebpf_site_key))
		return error_set(-EINVAL, "map '%s' has keys of %u bytes, and not of %zu", m->name,
			m->key_size, sizeof(struct ebpf_site_key));
	if (m->kind->shape == EBPF_SITES && m->value_size > ARENA_SITE_BYTES)
		return error_set(-EINVAL, "map '%s' has values of %u bytes, of at most %u", m->name,
			m->value_size, ARENA_SITE_BYTES);
	if (m->kind->shape != EBPF_HASH && m->kind->shape != EBPF_SITES && !is_ring &&
		m->key_size != 4)
		return error_set(-EINVAL, "map '%s' has keys of %u bytes, and not of 4", m->name,
			m->key_size);
	return 0;
}

/* __uint(name, N): a pointer to an array of N elements. */
static uint32_t number_of(const struct ebpf_btf *btf, uint32_t type)
{
	uint32_t element;

	return ebpf_btf_elements(btf, ebpf_btf_target(btf, ebpf_btf_plain(btf, type)), &element);
}

/* __type(name, T): a pointer to T. */
static uint32_t size_of(const struct ebpf_btf *btf, uint32_t type, uint32_t *ret_type)
{
	uint64_t size;

	*ret_type = ebpf_btf_target(btf, ebpf_btf_plain(btf, type));
	size = ebpf_btf_size(btf, *ret_type);
	return size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
}

static void set_property(
	const struct ebpf_btf *btf, const struct ebpf_btf_member *member, struct ebpf_map *m)
{
	if (!strcmp(member->name, "type"))
		m->type = number_of(btf, member->type);
	else if (!strcmp(member->name, "max_entries"))
		m->max_entries = number_of(btf, member->type);
	else if (!strcmp(member->name, "map_flags"))
		m->flags = number_of(btf, member->type);
	else if (!strcmp(member->name, "key_size"))
		m->key_size = number_of(btf, member->type);
	else if (!strcmp(member->name, "value_size"))
		m->value_size = number_of(btf, member->type);
	else if (!strcmp(member->name, "key"))
		m->key_size = size_of(btf, member->type, &m->key_type);
	else if (!strcmp(member->name, "value"))
		m->value_size = size_of(btf, member->type, &m->value_type);
}

static int add_typed_map(struct ebpf_object *o, uint32_t variable)
{
	struct ebpf_map m = {.name = ebpf_btf_name(&o->btf, variable)};
	uint32_t type = ebpf_btf_plain(&o->btf, ebpf_btf_target(&o->btf, variable));
	struct ebpf_btf_member member;

	if (ebpf_btf_kind(&o->btf, type) != BTF_KIND_STRUCT)
		return error_set(-EINVAL, "map '%s' has no type that describes it", m.name);
	for (uint32_t i = 0; ebpf_btf_member(&o->btf, type, i, &member); i++)
		set_property(&o->btf, &member, &m);
	m.kind = ebpf_map_kind(m.type);
	return check_map(&m) ?: add_map(o, &m);
}

static int read_typed_maps(struct ebpf_object *o)
{
	for (uint32_t type = 1; type < ebpf_btf_count(&o->btf); type++) {
		uint32_t variable;
		int error = 0;

		if (ebpf_btf_kind(&o->btf, type) != BTF_KIND_DATASEC ||
			strcmp(ebpf_btf_name(&o->btf, type), ".maps"))
			continue;
		for (uint32_t i = 0; !error && ebpf_btf_variable(&o->btf, type, i, &variable); i++)
			error = add_typed_map(o, variable);
		return error;
	}
	return 0;
}

/* struct bpf_map_def of old libbpf: type, key_size, value_size, max_entries, map_flags. */
static int add_old_map(
	struct ebpf_object *o, const struct ebpf_section *section, const struct ebpf_symbol *s)
{
	struct ebpf_map m = {.name = s->name};
	uint32_t words[5];

	if (!section->has_bytes || s->value > section->size ||
		section->size - s->value < sizeof(words))
		return error_set(-EINVAL, "map '%s' lies outside its section", s->name);
	memcpy(words, section->data + s->value, sizeof(words));
	m.type = words[0];
	m.key_size = words[1];
	m.value_size = words[2];
	m.max_entries = words[3];
	m.flags = words[4];
	m.kind = ebpf_map_kind(m.type);
	return check_map(&m) ?: add_map(o, &m);
}

static int read_old_maps(struct ebpf_object *o)
{
	const struct ebpf_section *section = ebpf_image_section(o->image, "maps");
	int error = 0;

	if (!section)
		return 0;
	vec_foreach (s, &o->image->symbols) {
		if (&o->image->sections.items[s->section] == section && s->type == STT_OBJECT)
			error = add_old_map(o, section, s);
		if (error)
			return error;
	}
	return 0;
}

static bool is_variables(const char *name)
{
	return !strncmp(name, ".rodata", 7) || !strncmp(name, ".data", 5) ||
	       !strncmp(name, ".bss", 4);
}

static int read_sections(struct ebpf_object *o)
{
	vec_foreach (s, &o->image->sections) {
		struct ebpf_map m = {
			.name = s->name,
			.kind = ebpf_map_kind(BPF_MAP_TYPE_ARRAY),
			.type = BPF_MAP_TYPE_ARRAY,
			.key_size = 4,
			.value_size = (uint32_t)s->size,
			.max_entries = 1,
			.is_section = true,
			.is_readonly = !strncmp(s->name, ".rodata", 7),
			.initial = s->has_bytes ? s->data : NULL,
		};
		int error;

		if (!s->size || !is_variables(s->name) ||
			(s->type != SHT_PROGBITS && s->type != SHT_NOBITS))
			continue;
		if (s->size > SECTION_MAX_BYTES)
			return error_set(-E2BIG, "section '%s' is larger than %u bytes", s->name,
				SECTION_MAX_BYTES);
		error = add_map(o, &m);
		if (error)
			return error;
	}
	return 0;
}

int ebpf_read_maps(struct ebpf_object *o)
{
	int error = read_typed_maps(o);

	error = error ?: read_old_maps(o);
	return error ?: read_sections(o);
}

int ebpf_map_of_symbol(
	const struct ebpf_object *o, const struct ebpf_symbol *symbol, uint64_t *ret_offset)
{
	const char *section = o->image->sections.items[symbol->section].name;
	bool is_section = is_variables(section);
	const char *name = is_section ? section : symbol->name;

	if (!symbol->section ||
		(!is_section && strcmp(section, ".maps") && strcmp(section, "maps")))
		return -1;
	vec_foreach (m, &o->maps)
		if (m->is_section == is_section && !strcmp(m->name, name)) {
			*ret_offset = symbol->value;
			return (int)(m - o->maps.items);
		}
	return -1;
}
