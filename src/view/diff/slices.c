// SPDX-License-Identifier: MIT
/* The view is built once for the whole and once for each slice, of another reader. */
#include "view/diff/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "view/tree/reverse.h"

#define SUBJECT "the comparison"

struct spans vec(struct profile_span);

/* What a reader shows of the whole, and of a slice of it. */
struct slicing {
	const struct view_options *options;
	struct profile_reader *done;
	const struct profile_clip *clip; /* of the whole; NULL: everything */
	uint64_t start_ns, end_ns;	 /* what is shown lies between */
	struct chunk_times chunks;
};

void diff_slices_release(struct diff_slices *s)
{
	view_result_release(&s->whole);
	for (size_t n = 0; n < DIFF_SLICES; n++)
		view_result_release(&s->slices[n]);
}

static int build(const struct slicing *s, struct profile_reader *r, struct view_result *ret)
{
	const struct view *view = view_of(s->options);
	struct tree_reversed reversed;
	int error;

	ret->shows = view->shows;
	error = tree_new(&ret->tree);
	error = error ?: view->build(r, s->options, ret);
	if (error || !s->options->reverse)
		return error;
	error = tree_reverse(ret->tree, 0, &reversed);
	if (!error) {
		tree_free(ret->tree);
		ret->tree = reversed.tree;
	}
	return error;
}

/* The part of a span that is in a slice, of which the first and the last have no end. */
static int add_part(
	const struct slicing *s, size_t number, struct profile_span span, struct spans *spans)
{
	uint64_t length = s->end_ns - s->start_ns;
	uint64_t from_ns = number ? s->start_ns + length / DIFF_SLICES * number : 0;
	uint64_t to_ns = number + 1 < DIFF_SLICES
				 ? s->start_ns + length / DIFF_SLICES * (number + 1)
				 : UINT64_MAX;

	span.from_ns = span.from_ns > from_ns ? span.from_ns : from_ns;
	span.to_ns = span.to_ns < to_ns ? span.to_ns : to_ns;
	if (span.from_ns >= span.to_ns)
		return 0;
	return vec_push(spans, span) ? error_memory(SUBJECT) : 0;
}

static int read_slice(
	const struct slicing *s, size_t number, struct view_result *ret, uint64_t *ret_ns)
{
	static const struct profile_span all = {0, UINT64_MAX};
	struct profile_clip clip = s->clip ? *s->clip : (struct profile_clip){0};
	const struct profile_span *whole = s->clip ? s->clip->spans : &all;
	struct spans spans = {0};
	struct profile_reader *r = NULL;
	int error = 0;

	for (size_t n = 0; !error && n < (s->clip ? s->clip->span_count : 1); n++)
		error = add_part(s, number, whole[n], &spans);
	clip.chunks = s->clip ? s->clip->chunks : &s->chunks;
	clip.spans = spans.items;
	clip.span_count = spans.count;
	*ret_ns = clip_inside(&clip, s->start_ns, s->end_ns);
	error = error ?: profile_reader_open_again(&r, s->done);
	if (!error) {
		profile_reader_clip(r, &clip);
		error = build(s, r, ret);
	}
	profile_reader_close(r);
	vec_release(&spans);
	return error;
}

/* A reading that is worth it: then each slice reads its part of the file only. */
static int find_chunks(struct slicing *s)
{
	struct profile_reader *r = NULL;
	struct profile_event e;
	int more = 0, error = s->clip ? 0 : profile_reader_open_again(&r, s->done);

	while (!error && r && (more = profile_reader_next(r, &e)) > 0)
		if (chunk_times_add(&s->chunks, r, &e))
			error = error_memory(SUBJECT);
	profile_reader_close(r);
	return error ? error : more;
}

static int find_times(struct slicing *s, const char *path)
{
	s->start_ns = profile_meta_number(s->done, META_START_NS, 0);
	s->end_ns = profile_meta_number(s->done, META_END_NS, 0);
	if (s->end_ns <= s->start_ns)
		return error_set(-EINVAL,
			"cannot compare '%s': how long its recording lasted is not in it", path);
	if (s->clip)
		clip_hull(s->clip, &s->start_ns, &s->end_ns);
	return 0;
}

static int read_all(struct diff_slices *d, struct slicing *s, const char *path)
{
	int error = build(s, s->done, &d->whole);

	error = error ?: find_times(s, path);
	error = error ?: find_chunks(s);
	for (size_t n = 0; !error && n < DIFF_SLICES; n++) {
		error = read_slice(s, n, &d->slices[n], &d->slice_ns[n]);
		d->whole.elapsed_ns += error ? 0 : d->slice_ns[n];
	}
	return error;
}

static int describe(struct diff_slices *d, const struct slicing *s, const struct range *range)
{
	const char *incomplete = profile_reader_incomplete(s->done);

	d->whole.simulated = view_is_simulated(s->done);
	d->whole.range = range ? strdup(range->text) : NULL;
	d->whole.incomplete = incomplete ? strdup(incomplete) : NULL;
	return (range && !d->whole.range) || (incomplete && !d->whole.incomplete)
		       ? error_memory(SUBJECT)
		       : 0;
}

int diff_slices_read(struct diff_slices *d, const char *path, const struct view_options *o)
{
	struct slicing s = {.options = o};
	struct range *range = NULL;
	int error = range_open(&range, &s.done, path, &o->range);

	if (error)
		return error;
	s.clip = profile_reader_clip_of(s.done);
	error = read_all(d, &s, path);
	error = error ?: describe(d, &s, range);
	profile_reader_close(s.done);
	range_free(range);
	chunk_times_release(&s.chunks);
	return error;
}
