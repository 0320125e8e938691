// SPDX-License-Identifier: MIT
/*
 * The copy: the program's function, those it calls, and a stub for each helper that only GPUs have.
 * Rings are the kernel's ring buffers; bpf_perf_event_output, which takes any context here, writes
 * into them, too.
 *
 * The kernel tells constants of read-only sections from numbers that may change, so such a map gets
 * its contents and is frozen.
 */
#include "ebpf/verifier_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "ebpf/helpers.h"

#define SUBJECT	  "a program for the kernel"
#define PAGE	  4096u
#define OF_GPUS	  HELPER_PUTS /* helpers from here on are stubs, in this order */
#define PERF_STUB (COPY_STUBS - 1)
#define NOWHERE	  UINT32_MAX

int kernel_bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	int result = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));

	return result < 0 ? -errno : result;
}

static uint32_t map_type(const struct ebpf_map *m)
{
	switch (m->kind->shape) {
	case EBPF_HASH:
		return BPF_MAP_TYPE_HASH;
	case EBPF_SM_ARRAY:
		return BPF_MAP_TYPE_PERCPU_ARRAY;
	case EBPF_RING:
		return BPF_MAP_TYPE_RINGBUF;
	default:
		return BPF_MAP_TYPE_ARRAY;
	}
}

/* How many values there are does not matter to the verifier. Those by access have no key in
 * programs. */
static void describe_map(const struct ebpf_map *m, union bpf_attr *attr)
{
	attr->map_type = map_type(m);
	attr->max_entries = 1;
	if (attr->map_type == BPF_MAP_TYPE_RINGBUF) {
		attr->max_entries = PAGE;
		return;
	}
	attr->key_size = m->kind->shape == EBPF_SITES ? sizeof(uint32_t) : m->key_size;
	attr->value_size = m->value_size;
	if (m->is_readonly)
		attr->map_flags = BPF_F_RDONLY_PROG;
}

static int fill_map(int fd, const struct ebpf_map *m)
{
	uint32_t key = 0;
	union bpf_attr set = {.map_fd = (uint32_t)fd};
	union bpf_attr freeze = {.map_fd = (uint32_t)fd};
	int error;

	set.key = (uint64_t)(uintptr_t)&key;
	set.value = (uint64_t)(uintptr_t)m->initial;
	error = kernel_bpf(BPF_MAP_UPDATE_ELEM, &set);
	return error ?: kernel_bpf(BPF_MAP_FREEZE, &freeze);
}

/* The descriptor of a map, or -1. */
static int use_map(struct verifier_copy *c, int32_t number)
{
	const struct ebpf_map *m = &c->object->maps.items[number];
	union bpf_attr attr = {0};
	int fd;

	if (c->maps[number] >= 0)
		return c->maps[number];
	describe_map(m, &attr);
	fd = kernel_bpf(BPF_MAP_CREATE, &attr);
	if (fd < 0) {
		c->denied = fd;
		return -1;
	}
	c->maps[number] = fd;
	if (m->is_readonly && m->initial)
		c->denied = fill_map(fd, m);
	return fd;
}

static int put(struct verifier_copy *c, struct bpf_insn i)
{
	return vec_push(&c->insns, i) ? error_memory(SUBJECT) : 0;
}

static int add_function(struct verifier_copy *c, uint32_t first)
{
	const struct ebpf_function *f = ebpf_object_function(c->object, first);
	uint32_t number;

	if (!f) {
		c->lacks = "it calls a function that is not in the object";
		return 0;
	}
	number = (uint32_t)(f - c->object->functions.items);
	vec_foreach (known, &c->functions)
		if (*known == number)
			return 0;
	return vec_push(&c->functions, number) ? error_memory(SUBJECT) : 0;
}

/* Of a call of what is a stub in the copy: which one; -1: of anything else. */
static int stub_of(const struct bpf_insn *i)
{
	if (i->code != INSN_CALL || i->src_reg)
		return -1;
	if (i->imm == HELPER_PERF_OUTPUT)
		return PERF_STUB;
	return i->imm >= OF_GPUS && i->imm < OF_GPUS + PERF_STUB ? i->imm - OF_GPUS : -1;
}

/* Calls have the number that the object gives them until all is there. */
static int copy_insn(struct verifier_copy *c, const struct bpf_insn *from)
{
	struct bpf_insn i = *from;
	int error = 0;

	if (insn_refers_to_map(&i)) {
		i.imm = use_map(c, from->imm);
	} else if (insn_is_wide(&i) && i.src_reg) {
		c->lacks = "it hands a function to bpf_loop";
	} else if (insn_is_function_call(&i)) {
		error = add_function(c, (uint32_t)i.imm);
	}
	error = error ?: put(c, i);
	return error ?: insn_is_wide(from) ? put(c, from[1]) : 0;
}

static int copy_function(struct verifier_copy *c, uint32_t number)
{
	const struct ebpf_function *f = &c->object->functions.items[number];
	int error = 0;

	c->starts[number] = (uint32_t)c->insns.count;
	for (uint32_t i = 0; !error && i < f->count; i++) {
		const struct bpf_insn *from = &c->object->insns.items[f->first + i];

		error = copy_insn(c, from);
		i += insn_is_wide(from);
	}
	return error;
}

static int put_move(struct verifier_copy *c, unsigned int to, unsigned int from)
{
	return put(c, (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_X,
			      .dst_reg = to & 15,
			      .src_reg = from & 15});
}

static int put_call(struct verifier_copy *c, enum helper id)
{
	return put(c, (struct bpf_insn){.code = INSN_CALL, .imm = id});
}

/* (any, map, flags, data, size) as bpf_ringbuf_output(map, data, size, flags). */
static int put_perf_stub(struct verifier_copy *c)
{
	static const unsigned int moves[][2] = {{1, 2}, {2, 4}, {4, 3}, {3, 5}};
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(moves) / sizeof(*moves); i++)
		error = put_move(c, moves[i][0], moves[i][1]);
	return error ?: put_call(c, HELPER_RING_OUTPUT);
}

/* Something that nobody knows goes into r0, and to where arguments point that get results. */
static int put_unknown_stub(struct verifier_copy *c, const struct ebpf_helper *h)
{
	unsigned int to = 6;
	int error = 0;

	for (unsigned int a = 0; h && !error && a < HELPER_ARGUMENTS; a++)
		if (h->arguments[a] == ARGUMENT_RESULT)
			error = put_move(c, to++, a + 1);
	error = error ?: put_call(c, HELPER_KTIME);
	while (!error && to > 6)
		error = put(c, (struct bpf_insn){
				       .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = --to & 15});
	return error;
}

/* (map) as bpf_map_lookup_elem(map, &key), with some key. */
static int put_access_stub(struct verifier_copy *c)
{
	int error =
		put(c, (struct bpf_insn){
			       .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4});

	error = error ?: put_move(c, BPF_REG_2, BPF_REG_10);
	error = error
			?: put(c, (struct bpf_insn){.code = BPF_ALU64 | BPF_ADD | BPF_K,
					  .dst_reg = BPF_REG_2,
					  .imm = -4});
	return error ?: put_call(c, HELPER_LOOKUP);
}

static int put_stub(struct verifier_copy *c, int stub)
{
	int error;

	c->stubs[stub] = (uint32_t)c->insns.count;
	if (stub == PERF_STUB)
		error = put_perf_stub(c);
	else if (OF_GPUS + stub == HELPER_OF_ACCESS)
		error = put_access_stub(c);
	else
		error = put_unknown_stub(c, ebpf_helper(OF_GPUS + stub));
	return error ?: put(c, (struct bpf_insn){.code = INSN_EXIT});
}

static int put_stubs(struct verifier_copy *c)
{
	uint32_t end = (uint32_t)c->insns.count;
	int error = 0;

	for (uint32_t i = 0; !error && i < end; i++) {
		int stub = stub_of(&c->insns.items[i]);

		if (stub >= 0 && c->stubs[stub] == NOWHERE)
			error = put_stub(c, stub);
		i += insn_is_wide(&c->insns.items[i]);
	}
	return error;
}

static uint32_t target_of(const struct verifier_copy *c, const struct bpf_insn *i)
{
	const struct ebpf_function *f;

	if (stub_of(i) >= 0)
		return c->stubs[stub_of(i)];
	f = insn_is_function_call(i) ? ebpf_object_function(c->object, (uint32_t)i->imm) : NULL;
	return f ? c->starts[f - c->object->functions.items] : NOWHERE;
}

static void settle_calls(struct verifier_copy *c)
{
	for (uint32_t i = 0; i < c->insns.count; i++) {
		struct bpf_insn *insn = &c->insns.items[i];
		uint32_t target = target_of(c, insn);

		if (target != NOWHERE) {
			insn->src_reg = BPF_PSEUDO_CALL;
			insn->imm = (int32_t)(target - i - 1);
		}
		i += insn_is_wide(insn);
	}
}

static int init(struct verifier_copy *c, const struct ebpf_object *o)
{
	size_t count = o->functions.count;

	*c = (struct verifier_copy){.object = o};
	memset(c->maps, 0xff, sizeof(c->maps));
	memset(c->stubs, 0xff, sizeof(c->stubs));
	c->starts = malloc((count ? count : 1) * sizeof(*c->starts));
	if (!c->starts)
		return error_memory(SUBJECT);
	memset(c->starts, 0xff, count * sizeof(*c->starts));
	return 0;
}

int verifier_copy_make(
	struct verifier_copy *c, const struct ebpf_object *o, const struct ebpf_program *p)
{
	int error = init(c, o);

	if (!error && vec_push(&c->functions, p->function))
		error = error_memory(SUBJECT);
	for (size_t i = 0; !error && !c->lacks && !c->denied && i < c->functions.count; i++)
		error = copy_function(c, c->functions.items[i]);
	error = error ?: put_stubs(c);
	if (!error)
		settle_calls(c);
	return error;
}

void verifier_copy_release(struct verifier_copy *c)
{
	for (int i = 0; i < EBPF_MAPS_MAX; i++)
		if (c->maps[i] >= 0)
			close(c->maps[i]);
	free(c->starts);
	vec_release(&c->functions);
	vec_release(&c->insns);
}
