/* SPDX-License-Identifier: MIT */
/*
 * Copies of code objects that threads run. A module's is freed when the module was imported, within
 * a millisecond maybe, and then nobody can read any more what it was called. Here it cannot go: the
 * thread is interrupted in it.
 */
#pragma once

#include "bpf/stack.h"

struct code_record {
	uint8_t head[sizeof(struct bpf_sample_event)];
	struct walk_python_code code;
};

/* Copies the beginning of an object: as much as is asked for, or up to the end of its page. */
static __always_inline void copy_part(
	struct walk_python_part *ret, void *to, const uint64_t size, uint64_t address)
{
	uint64_t left = PAGE_BYTES - address % PAGE_BYTES;

	ret->address = address;
	ret->size = size;
	if (!bpf_probe_read_user(to, size, (const void *)address))
		return;
	asm volatile("" : "+r"(left));
	if (left > size)
		left = size;
	ret->size = bpf_probe_read_user(to, left, (const void *)address) ? 0 : left;
}

/* The word of the header at an offset of the interpreter's layout. */
static __always_inline uint64_t header_word(const struct walk_python_code *c, uint64_t offset)
{
	asm volatile("" : "+r"(offset));
	if (offset > WALK_PYTHON_CODE_HEADER - sizeof(uint64_t))
		return 0;
	return *(const uint64_t *)(c->header + offset);
}

static __always_inline void copy_code(
	struct walk_python_code *c, uint64_t code, const struct walk_python *interpreter)
{
	c->code = code;
	copy_part(&c->parts[0], c->header, sizeof(c->header), code & WALK_PYTHON_ADDRESS);
	copy_part(&c->parts[1], c->name, sizeof(c->name), header_word(c, interpreter->code_name));
	copy_part(&c->parts[2], c->file, sizeof(c->file), header_word(c, interpreter->code_file));
	copy_part(
		&c->parts[3], c->lines, sizeof(c->lines), header_word(c, interpreter->code_lines));
}

/* Sends the i-th code object that is new: false when there is none, or no room. */
static __always_inline bool send_code(
	struct stack_buffer *b, const struct python_buffer *p, struct destination to, uint64_t i)
{
	struct code_record *r;
	struct bpf_stack *s;

	asm volatile("" : "+r"(i));
	if (i >= p->new_count || i >= NEW_CODES ||
		bpf_ringbuf_query(to.ring, BPF_RB_AVAIL_DATA) > to.ring_bytes / 2)
		return false;
	r = bpf_ringbuf_reserve(to.ring, sizeof(*r), 0);
	if (!r)
		return false;
	bpf_probe_read_kernel(r, to.head_size, to.head);
	s = (struct bpf_stack *)((uint8_t *)r + ((uint8_t *)stack_of(b) - (uint8_t *)to.head));
	*s = (struct bpf_stack){.more = 1, .code_size = sizeof(r->code)};
	copy_code((struct walk_python_code *)((uint8_t *)r + to.head_size), p->new_codes[i],
		&p->interpreter);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return true;
}
