/* SPDX-License-Identifier: MIT */
/*
 * A second opinion: what the kernel's verifier says of a program for GPUs. It is stricter than the
 * checks of ebpf/check, which leave to run time what they cannot prove, so its refusal is told and
 * stops nothing.
 *
 * A copy of the program is loaded as one for a raw tracepoint, which has as many arguments as a
 * body is given of a kernel. What only GPUs have are calls of functions that return anything. It is
 * attached to nothing, and gone when the answer is there.
 */
#pragma once

#include "base/buf.h"
#include "ebpf/object.h"

enum verdict {
	VERDICT_ACCEPTED,
	VERDICT_REFUSED,
	VERDICT_NOT_ALLOWED, /* the kernel does not let us ask */
	VERDICT_NOT_ASKED,   /* the program has what the copy cannot have */
};

/* `text`: why, in one line; of an accepted one nothing. 0 or -errno with error_text. */
int ebpf_ask_kernel(const struct ebpf_object *o, const struct ebpf_program *p, enum verdict *ret,
	struct buf *text);
