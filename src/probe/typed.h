/* SPDX-License-Identifier: MIT */
/* Bytes of a map as its types (BTF) say what they are. */
#pragma once

#include "base/json_writer.h"
#include "ebpf/btf.h"

/* "3", "sm=0 warp=4"; bytes whose type is not known are numbers of 8 bytes, in hexadecimal where
 * there are several. */
void typed_text(struct buf *out, const struct ebpf_btf *btf, uint32_t type, const uint8_t *bytes,
	uint64_t size);
/* The same of a part of something: a struct has braces. */
void typed_part(struct buf *out, const struct ebpf_btf *btf, uint32_t type, const uint8_t *bytes,
	uint64_t size);
/* The same as a member, or an item where `name` is NULL. */
void typed_json(struct json_writer *w, const char *name, const struct ebpf_btf *btf, uint32_t type,
	const uint8_t *bytes, uint64_t size);
/* The format with up to three numbers, as bpf_printk means it. */
void typed_print(struct buf *out, const char *format, const uint64_t arguments[3]);
