// SPDX-License-Identifier: MIT
#include "ebpf/btf.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

#define DEPTH_MAX 32 /* types that lead to types */
#define TYPES_MAX (1u << 20)

static int damaged(const char *what)
{
	return error_set(-EINVAL, "the BTF of an eBPF object is damaged: %s", what);
}

/* Bytes behind struct btf_type, or -1: not a kind that we know. */
static int64_t tail_size(const struct btf_type *t)
{
	uint64_t count = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (int64_t)(count * sizeof(struct btf_member));
	case BTF_KIND_ENUM:
		return (int64_t)(count * sizeof(struct btf_enum));
	case BTF_KIND_ENUM64:
		return (int64_t)(count * 12);
	case BTF_KIND_FUNC_PROTO:
		return (int64_t)(count * sizeof(struct btf_param));
	case BTF_KIND_DATASEC:
		return (int64_t)(count * sizeof(struct btf_var_secinfo));
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	}
	return -1;
}

static int index_types(struct ebpf_btf *btf)
{
	uint32_t at = 0;

	while (at < btf->types_size) {
		struct btf_type t;
		int64_t tail;

		if (btf->types_size - at < sizeof(t) || btf->offsets.count >= TYPES_MAX)
			return damaged("it ends in a type");
		memcpy(&t, btf->types + at, sizeof(t));
		tail = tail_size(&t);
		if (tail < 0)
			return damaged("a type of unknown kind");
		if ((uint64_t)tail > btf->types_size - at - sizeof(t))
			return damaged("it ends in a type");
		if (vec_push(&btf->offsets, at))
			return error_memory("the types of an eBPF object");
		at += (uint32_t)(sizeof(t) + (uint64_t)tail);
	}
	return 0;
}

static bool is_within(uint32_t offset, uint32_t part, size_t whole)
{
	return offset <= whole && part <= whole - offset;
}

int ebpf_btf_open(struct ebpf_btf *btf, const uint8_t *data, size_t size)
{
	struct btf_header h;
	int error;

	*btf = (struct ebpf_btf){.strings = ""};
	if (!size)
		return 0;
	if (size < sizeof(h))
		return damaged("it is shorter than its header");
	memcpy(&h, data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION)
		return damaged("it does not begin like BTF");
	if (h.hdr_len < sizeof(h) || h.hdr_len > size ||
		!is_within(h.type_off, h.type_len, size - h.hdr_len) ||
		!is_within(h.str_off, h.str_len, size - h.hdr_len))
		return damaged("its parts lie outside it");
	if (h.str_len && data[h.hdr_len + h.str_off + h.str_len - 1])
		return damaged("its strings do not end");
	btf->types = data + h.hdr_len + h.type_off;
	btf->types_size = h.type_len;
	btf->strings = (const char *)data + h.hdr_len + h.str_off;
	btf->strings_size = h.str_len;
	error = index_types(btf);
	if (error)
		ebpf_btf_release(btf);
	return error;
}

void ebpf_btf_release(struct ebpf_btf *btf)
{
	vec_release(&btf->offsets);
}

uint32_t ebpf_btf_count(const struct ebpf_btf *btf)
{
	return (uint32_t)btf->offsets.count + 1;
}

const char *ebpf_btf_string(const struct ebpf_btf *btf, uint32_t offset)
{
	return offset < btf->strings_size ? btf->strings + offset : "";
}

static bool get(const struct ebpf_btf *btf, uint32_t type, struct btf_type *ret)
{
	if (!type || type > btf->offsets.count)
		return false;
	memcpy(ret, btf->types + btf->offsets.items[type - 1], sizeof(*ret));
	return true;
}

/* The n-th of the parts behind a type; the caller knows that there are so many. */
static void get_part(
	const struct ebpf_btf *btf, uint32_t type, uint32_t n, void *ret, size_t part_size)
{
	memcpy(ret,
		btf->types + btf->offsets.items[type - 1] + sizeof(struct btf_type) + n * part_size,
		part_size);
}

unsigned int ebpf_btf_kind(const struct ebpf_btf *btf, uint32_t type)
{
	struct btf_type t;

	return get(btf, type, &t) ? BTF_INFO_KIND(t.info) : BTF_KIND_UNKN;
}

const char *ebpf_btf_name(const struct ebpf_btf *btf, uint32_t type)
{
	struct btf_type t;

	return get(btf, type, &t) ? ebpf_btf_string(btf, t.name_off) : "";
}

static bool is_modifier(unsigned int kind)
{
	return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE ||
	       kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG;
}

uint32_t ebpf_btf_target(const struct ebpf_btf *btf, uint32_t type)
{
	struct btf_type t;

	if (!get(btf, type, &t))
		return 0;
	switch (BTF_INFO_KIND(t.info)) {
	case BTF_KIND_PTR:
	case BTF_KIND_VAR:
	case BTF_KIND_FUNC:
		return t.type;
	}
	return is_modifier(BTF_INFO_KIND(t.info)) ? t.type : 0;
}

uint32_t ebpf_btf_plain(const struct ebpf_btf *btf, uint32_t type)
{
	for (int depth = 0; is_modifier(ebpf_btf_kind(btf, type)); depth++) {
		if (depth == DEPTH_MAX)
			return 0;
		type = ebpf_btf_target(btf, type);
	}
	return type;
}

uint32_t ebpf_btf_elements(const struct ebpf_btf *btf, uint32_t type, uint32_t *ret_element)
{
	struct btf_array array;

	if (ebpf_btf_kind(btf, type) != BTF_KIND_ARRAY)
		return 0;
	get_part(btf, type, 0, &array, sizeof(array));
	*ret_element = array.type;
	return array.nelems;
}

uint64_t ebpf_btf_size(const struct ebpf_btf *btf, uint32_t type)
{
	uint64_t count = 1;
	struct btf_type t;

	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		uint32_t element;

		type = ebpf_btf_plain(btf, type);
		if (!get(btf, type, &t))
			return 0;
		switch (BTF_INFO_KIND(t.info)) {
		case BTF_KIND_ARRAY:
			if (__builtin_mul_overflow(
				    count, ebpf_btf_elements(btf, type, &element), &count))
				return 0;
			type = element;
			continue;
		case BTF_KIND_PTR:
			t.size = 8;
			break;
		case BTF_KIND_INT:
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
		case BTF_KIND_ENUM:
		case BTF_KIND_ENUM64:
		case BTF_KIND_FLOAT:
			break;
		default:
			return 0;
		}
		return __builtin_mul_overflow(count, (uint64_t)t.size, &count) ? 0 : count;
	}
	return 0;
}

unsigned int ebpf_btf_encoding(const struct ebpf_btf *btf, uint32_t type)
{
	uint32_t word;

	if (ebpf_btf_kind(btf, type) != BTF_KIND_INT)
		return 0;
	get_part(btf, type, 0, &word, sizeof(word));
	return BTF_INT_ENCODING(word);
}

bool ebpf_btf_member(
	const struct ebpf_btf *btf, uint32_t type, uint32_t n, struct ebpf_btf_member *ret)
{
	struct btf_member m;
	struct btf_type t;

	if (!get(btf, type, &t) || n >= BTF_INFO_VLEN(t.info) ||
		(BTF_INFO_KIND(t.info) != BTF_KIND_STRUCT &&
			BTF_INFO_KIND(t.info) != BTF_KIND_UNION))
		return false;
	get_part(btf, type, n, &m, sizeof(m));
	*ret = (struct ebpf_btf_member){
		.name = ebpf_btf_string(btf, m.name_off),
		.type = m.type,
		.bit_offset = BTF_INFO_KFLAG(t.info) ? BTF_MEMBER_BIT_OFFSET(m.offset) : m.offset,
		.bit_size = BTF_INFO_KFLAG(t.info) ? BTF_MEMBER_BITFIELD_SIZE(m.offset) : 0,
	};
	return true;
}

bool ebpf_btf_variable(const struct ebpf_btf *btf, uint32_t type, uint32_t n, uint32_t *ret_type)
{
	struct btf_var_secinfo v;
	struct btf_type t;

	if (!get(btf, type, &t) || n >= BTF_INFO_VLEN(t.info) ||
		BTF_INFO_KIND(t.info) != BTF_KIND_DATASEC)
		return false;
	get_part(btf, type, n, &v, sizeof(v));
	*ret_type = v.type;
	return true;
}
