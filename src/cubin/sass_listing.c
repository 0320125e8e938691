// SPDX-License-Identifier: MIT
/*
 * Texts repeat, so they are interned. nvdisasm goes first; what it left out is decoded after it.
 */
#include "cubin/sass_listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "cubin/sass.h"

struct entry {
	uint32_t full; /* id in `full`; 0: nvdisasm has none */
	uint32_t own;  /* id in `own`; 0 when there is a full text */
};

struct sass_listing {
	struct entry *entries;
	size_t *starts; /* the first entry of each function, and one more behind the last */
	size_t count;	/* of functions */
	size_t missing; /* instructions without a full text */
	struct interner *full, *own;
	struct buf note;
};

void sass_listing_free(struct sass_listing *l)
{
	if (!l)
		return;
	free(l->entries);
	free(l->starts);
	interner_free(l->full);
	interner_free(l->own);
	buf_release(&l->note);
	free(l);
}

static int make_room(struct sass_listing *l, const struct sass_listing_request *r)
{
	size_t total = 0;
	int error;

	l->starts = calloc(r->count + 1, sizeof(*l->starts));
	if (!l->starts)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++) {
		l->starts[i] = total;
		total += r->functions[i].size / SASS_INSTRUCTION_BYTES;
	}
	l->starts[r->count] = total;
	l->count = r->count;
	l->entries = calloc(total + 1, sizeof(*l->entries));
	if (!l->entries)
		return -ENOMEM;
	error = interner_new(&l->full);
	return error ? error : interner_new(&l->own);
}

/* The entry of an instruction, or NULL. */
static struct entry *entry_at(const struct sass_listing *l, size_t function, uint64_t offset)
{
	uint64_t n = offset / SASS_INSTRUCTION_BYTES;

	if (function >= l->count || offset % SASS_INSTRUCTION_BYTES)
		return NULL;
	if (n >= l->starts[function + 1] - l->starts[function])
		return NULL;
	return &l->entries[l->starts[function] + n];
}

static int take_full(void *context, size_t function, uint64_t offset, const char *text)
{
	struct sass_listing *l = context;
	struct entry *e = entry_at(l, function, offset);

	return e ? interner_add(l->full, text, strlen(text), &e->full, NULL) : 0;
}

/* 0 when nvdisasm has run, or -errno with error_text. */
static int ask_nvdisasm(struct sass_listing *l, const struct sass_listing_request *r)
{
	struct nvdisasm_request request = {
		.sm = r->sm,
		.functions = r->functions,
		.count = r->count,
		.visit = take_full,
		.context = l,
		.stopped = r->stopped,
		.stop_context = r->stop_context,
		.limit_ns = r->limit_ns,
	};
	struct buf program = BUF_INIT;
	int error;

	if (r->own_only)
		return error_set(-ENOENT, "nvdisasm was not asked for");
	error = nvdisasm_find(&program);
	if (!error) {
		request.program = buf_text(&program);
		error = nvdisasm_run(&request);
	}
	buf_release(&program);
	return error;
}

static int decode_rest(struct sass_listing *l, const struct sass_listing_request *r)
{
	for (size_t f = 0; f < r->count; f++) {
		const uint8_t *code = r->functions[f].bytes;

		for (size_t i = l->starts[f]; i < l->starts[f + 1]; i++) {
			const uint8_t *at = code + (i - l->starts[f]) * SASS_INSTRUCTION_BYTES;
			char text[SASS_TEXT_MAX];
			int error;

			if (l->entries[i].full)
				continue;
			sass_text(r->sm, at, text, sizeof(text));
			error = interner_add(l->own, text, strlen(text), &l->entries[i].own, NULL);
			if (error)
				return error;
			l->missing++;
		}
	}
	return 0;
}

static void write_note(struct sass_listing *l, int error, const char *reason)
{
	size_t total = l->starts[l->count];

	if (!l->missing && total)
		buf_puts(&l->note, "nvdisasm");
	else if (l->missing == total)
		buf_puts(&l->note, "our own decoding, without operands");
	else
		buf_printf(&l->note,
			"nvdisasm, but %zu of %zu instructions are our own decoding, without "
			"operands",
			l->missing, total);
	if (l->missing)
		buf_printf(
			&l->note, ": %s", error ? reason : "nvdisasm does not know an instruction");
}

int sass_listing_new(const struct sass_listing_request *r, struct sass_listing **ret)
{
	struct sass_listing *l = calloc(1, sizeof(*l));
	struct buf reason = BUF_INIT;
	int error = l ? make_room(l, r) : -ENOMEM, trouble;

	if (!error) {
		trouble = ask_nvdisasm(l, r);
		if (trouble)
			buf_puts(&reason, error_text());
		error = decode_rest(l, r);
		if (!error)
			write_note(l, trouble, buf_text(&reason));
		if (!error && l->note.failed)
			error = -ENOMEM;
		buf_release(&reason);
	}
	if (error) {
		sass_listing_free(l);
		return error_errno(error, "cannot list instructions");
	}
	*ret = l;
	return 0;
}

const char *sass_listing_text(
	const struct sass_listing *l, size_t function, uint64_t offset, bool *ret_full)
{
	const struct entry *e = entry_at(l, function, offset);

	if (ret_full)
		*ret_full = e && e->full;
	if (!e)
		return "";
	return e->full ? interner_get(l->full, e->full, NULL) : interner_get(l->own, e->own, NULL);
}

const char *sass_listing_note(const struct sass_listing *l)
{
	return buf_text(&l->note);
}
