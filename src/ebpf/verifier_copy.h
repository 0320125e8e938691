/* SPDX-License-Identifier: MIT */
/* A program for GPUs as one that the kernel's verifier understands. */
#pragma once

#include "base/vec.h"
#include "ebpf/object.h"

#define COPY_STUBS 64

struct verifier_copy {
	const struct ebpf_object *object;
	struct vec(struct bpf_insn) insns;
	struct vec(uint32_t) functions; /* that are in it, by their number in the object */
	uint32_t *starts;		/* by function of the object: where it is; UINT32_MAX */
	uint32_t stubs[COPY_STUBS];	/* by stub_of: where it is; UINT32_MAX */
	int maps[EBPF_MAPS_MAX];	/* descriptors; -1 */
	const char *lacks;		/* why the kernel cannot be asked; NULL */
	int denied;			/* -errno of the kernel, which makes none of its maps */
};

/* 0 or -errno with error_text; release it in either case. Without `lacks` and `denied` the
 * instructions can be loaded. */
int verifier_copy_make(
	struct verifier_copy *c, const struct ebpf_object *o, const struct ebpf_program *p);
void verifier_copy_release(struct verifier_copy *c);

/* The system call: what it returns, or -errno. */
int kernel_bpf(enum bpf_cmd command, union bpf_attr *attr);
