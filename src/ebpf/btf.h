/* SPDX-License-Identifier: MIT */
/*
 * The types of an eBPF object (.BTF), as far as maps and their contents need them. The bytes are
 * not trusted: each type is checked to be whole when it is indexed, and questions about types that
 * lead nowhere or round in circles are answered as if there were none.
 *
 * Layout: Documentation/bpf/btf.rst of Linux. Borrows the bytes.
 */
#pragma once

#include <linux/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct ebpf_btf {
	const uint8_t *types;
	const char *strings;
	uint32_t types_size, strings_size;
	struct vec(uint32_t) offsets; /* of each type; type 0 is void and has none */
};

struct ebpf_btf_member {
	const char *name;
	uint32_t type;
	uint32_t bit_offset, bit_size; /* bit_size 0: not a bit field */
};

/* 0 or -errno with error_text; no bytes are no types. */
int ebpf_btf_open(struct ebpf_btf *btf, const uint8_t *data, size_t size);
void ebpf_btf_release(struct ebpf_btf *btf);
/* The number behind the last type. */
uint32_t ebpf_btf_count(const struct ebpf_btf *btf);
/* BTF_KIND_*; BTF_KIND_UNKN where there is no such type. */
unsigned int ebpf_btf_kind(const struct ebpf_btf *btf, uint32_t type);
/* Its name, or "". */
const char *ebpf_btf_name(const struct ebpf_btf *btf, uint32_t type);
/* A string of the table, or "". */
const char *ebpf_btf_string(const struct ebpf_btf *btf, uint32_t offset);
/* What a pointer, typedef, const or variable is of; 0: nothing. */
uint32_t ebpf_btf_target(const struct ebpf_btf *btf, uint32_t type);
/* The type without typedefs, const and their like. */
uint32_t ebpf_btf_plain(const struct ebpf_btf *btf, uint32_t type);
/* Bytes of a value of this type; 0: not known. */
uint64_t ebpf_btf_size(const struct ebpf_btf *btf, uint32_t type);
/* The encoding of an integer (BTF_INT_SIGNED ...). */
unsigned int ebpf_btf_encoding(const struct ebpf_btf *btf, uint32_t type);
/* Elements of an array, and their type. */
uint32_t ebpf_btf_elements(const struct ebpf_btf *btf, uint32_t type, uint32_t *ret_element);
/* The n-th member of a struct or union, variable of a section; false past the last. */
bool ebpf_btf_member(
	const struct ebpf_btf *btf, uint32_t type, uint32_t n, struct ebpf_btf_member *ret);
bool ebpf_btf_variable(const struct ebpf_btf *btf, uint32_t type, uint32_t n, uint32_t *ret_type);
