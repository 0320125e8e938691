// SPDX-License-Identifier: MIT
/*
 * Code goes to the library's process in pieces, functions of most weight first. A piece at which
 * the process dies or hangs ends its function: the instructions behind it have their names only.
 * After several, no more is asked.
 *
 * The library: $XPUPROF_LIBIGA64 ("": do without it), else where the system has it.
 */
#include "gpucode/intel/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/trust.h"
#include "base/vec.h"
#include "gpucode/intel/iga.h"
#include "gpucode/intel/isa.h"

#define PIECE_BYTES    ((size_t)32 << 10)
#define PIECE_LIMIT_NS (2 * NS_PER_SECOND)
#define FAILURES_MAX   3
#define VARIABLE       "XPUPROF_LIBIGA64"

struct asking {
	const struct gpucode_text_request *r;
	const char *library;
	unsigned int failures;
	bool said; /* what is the matter */
	struct buf question, answer;
};

/* How much of [code, code + size) is whole instructions, of at most PIECE_BYTES. */
static size_t piece_of(const uint8_t *code, size_t size)
{
	size_t end = 0;

	while (size - end >= ISA_COMPACTED_BYTES && size - end >= isa_size(code + end) &&
		end + isa_size(code + end) <= PIECE_BYTES)
		end += isa_size(code + end);
	return end;
}

/* The answer is not trusted: texts that are not all there, are not. */
static int visit_piece(
	struct asking *a, size_t function, uint64_t offset, const uint8_t *code, size_t size)
{
	const char *at = a->answer.data, *end = at + a->answer.size, *text;
	int error = 0;

	for (size_t n = 0; !error && n < size; n += isa_size(code + n)) {
		text = at;
		at = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
		if (!at || at - text >= IGA_TEXT_MAX)
			return -EIO;
		at++;
		if (*text)
			error = a->r->visit(a->r->context, function, offset + n, text);
	}
	return error;
}

static int ask(struct asking *a, const struct gpucode_function *f, uint64_t offset, size_t size)
{
	const struct iga_question q = {.target = f->target};
	uint64_t now_ns = clock_now_ns(), left_ns = a->r->deadline_ns - now_ns;

	if (now_ns >= a->r->deadline_ns)
		return -ECANCELED;
	buf_reset(&a->question);
	buf_reset(&a->answer);
	buf_append(&a->question, &q, sizeof(q));
	buf_append(&a->question, f->code + offset, size);
	if (a->question.failed)
		return -ENOMEM;
	return a->r->ask(a->r->ask_context, a->library, &a->question,
		left_ns < PIECE_LIMIT_NS ? left_ns : PIECE_LIMIT_NS, &a->answer);
}

static int read_function(struct asking *a, const struct gpucode_wanted *w)
{
	const struct gpucode_function *f = w->function;
	size_t size;
	int error = 0;

	for (uint64_t at = 0; !error && (size = piece_of(f->code + at, f->size - at)); at += size) {
		error = ask(a, f, at, size);
		error = error
				?: visit_piece(a, (size_t)(w - a->r->functions), at, f->code + at,
					   size);
	}
	return error;
}

/* Why there is not all text, once. */
static void say(struct asking *a, const struct gpucode_function *f, int error)
{
	if (a->said)
		return;
	a->said = true;
	if (error == -EOPNOTSUPP)
		buf_printf(a->r->failure,
			"the " IGA_NAME " that is installed does not know GPUs of version %u.%u",
			f->target / 100, f->target % 100);
	else if (error == -ETIME)
		buf_puts(a->r->failure, IGA_NAME " takes too long");
	else if (error == -EIO)
		buf_puts(a->r->failure, IGA_NAME " fails");
	else if (error == -ELIBBAD)
		buf_puts(a->r->failure, IGA_NAME " cannot be loaded");
	else if (error == -EPERM)
		buf_puts(a->r->failure,
			"root does not load " IGA_NAME ", and cannot become nobody for it");
	else
		a->said = false;
}

/* 0: the next function may do better. */
static int handle_error(struct asking *a, const struct gpucode_function *f, int error)
{
	say(a, f, error);
	if (error == -EOPNOTSUPP)
		return 0;
	return (error == -EIO || error == -ETIME) && ++a->failures < FAILURES_MAX ? 0 : error;
}

static int by_weight(const void *left, const void *right)
{
	const struct gpucode_wanted *const *a = left, *const *b = right;

	if ((*a)->weight != (*b)->weight)
		return (*a)->weight > (*b)->weight ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static int read_all(struct asking *a)
{
	const struct gpucode_wanted **wanted = calloc(a->r->count, sizeof(*wanted));
	int error = 0;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < a->r->count; i++)
		wanted[i] = &a->r->functions[i];
	qsort(wanted, a->r->count, sizeof(*wanted), by_weight);
	for (size_t i = 0; !error && i < a->r->count; i++) {
		error = read_function(a, wanted[i]);
		error = error ? handle_error(a, wanted[i]->function, error) : 0;
	}
	free(wanted);
	return error;
}

/* Appends the library's path, nothing for the system's. False: do without. */
static bool find_library(struct buf *ret, struct buf *failure)
{
	const char *chosen = getenv(VARIABLE);
	int error;

	if (chosen && !*chosen)
		return false;
	if (chosen && !trust_is_due())
		buf_puts(ret, chosen);
	if (!chosen || !trust_is_due())
		return true;
	error = trust_file(chosen, ret);
	if (error == -EPERM)
		buf_printf(failure,
			"root does not load '%s' (" VARIABLE "), which others can change", chosen);
	else if (error)
		buf_printf(failure, "cannot load '%s' (" VARIABLE ")", chosen);
	return !error;
}

/* Whether it concerns the library alone, so that the rest of the work goes on. */
static bool is_harmless(int error)
{
	return error != -ENOMEM;
}

int zebin_text(const struct gpucode_text_request *request)
{
	struct asking a = {.r = request};
	struct buf library = BUF_INIT;
	int error = 0;

	if (request->ask && request->count && find_library(&library, request->failure)) {
		a.library = buf_text(&library);
		error = library.failed ? -ENOMEM : read_all(&a);
	}
	buf_release(&a.question);
	buf_release(&a.answer);
	buf_release(&library);
	return is_harmless(error) ? 0 : error;
}
