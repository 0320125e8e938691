/* SPDX-License-Identifier: MIT */
/*
 * The text of every instruction of some functions: nvdisasm's, with operands, where that can be
 * had, else our own decoding (sass.h), without; and a note that says which it is.
 *
 * The code is copied from nowhere and needed only while the listing is made. Any thread may read a
 * listing.
 */
#pragma once

#include "cubin/nvdisasm.h"

struct sass_listing;

struct sass_listing_request {
	unsigned int sm; /* 10 * major + minor of the compute capability */
	const struct nvdisasm_code *functions;
	size_t count;
	bool own_only;			     /* does not look for nvdisasm */
	bool (*stopped)(void *stop_context); /* as in nvdisasm.h */
	void *stop_context;
	uint64_t limit_ns; /* for nvdisasm */
};

/* 0 or -ENOMEM with error_text. Trouble with nvdisasm is no error, only a note. */
int sass_listing_new(const struct sass_listing_request *r, struct sass_listing **ret);
void sass_listing_free(struct sass_listing *l);

/* The instruction at this offset of a function; "" where there is none. Good until the listing is
 * freed. *ret_full (may be NULL): whether it has the operands. */
const char *sass_listing_text(
	const struct sass_listing *l, size_t function, uint64_t offset, bool *ret_full);

/* Where the texts are from, for people: "nvdisasm", or "our own decoding, without operands", and
 * why. */
const char *sass_listing_note(const struct sass_listing *l);
