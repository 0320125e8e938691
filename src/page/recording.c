// SPDX-License-Identifier: MIT
#include "page/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"

#define STEP_EVENTS   50000
#define SMALL_BYTES   ((off_t)16 << 20) /* read at once */
#define GLANCE_PART   16
#define GLANCE_STRIDE ((uint64_t)256 << 10)
#define GLANCE_END    ((uint64_t)1 << 20)
#define REST	      9 /* times as long as a reading took, before the next one */

struct recording {
	const char *path;
	struct stat file;		    /* that `now` is of, and `next` */
	struct recording_reading now, next; /* the latter's reader is NULL: nothing to read */
	uint64_t begun_ns, read_ns;	    /* by our clock: the latest reading, and its end */
};

static void release(struct recording_reading *g)
{
	profile_reader_close(g->reader);
	chunk_times_release(&g->chunks);
	slice_sums_release(&g->sums);
	code_tree_release(&g->codes);
	stalls_kept_release(&g->stalls);
	wall_kept_release(&g->wall);
	calls_kept_release(&g->calls);
	timeline_kept_release(&g->axis);
	timeline_named_release(&g->named);
	*g = (struct recording_reading){0};
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	release(&r->now);
	release(&r->next);
	free(r);
}

const char *recording_path(const struct recording *r)
{
	return r->path;
}

struct recording_reading *recording_now(struct recording *r)
{
	return &r->now;
}

bool recording_has_more(const struct recording *r)
{
	return r->next.reader;
}

double recording_progress(const struct recording *r)
{
	uint64_t at = r->next.reader ? profile_reader_chunk(r->next.reader) : 0;

	return !r->next.reader ? 1 : r->file.st_size > 0 ? (double)at / (double)r->file.st_size : 0;
}

/* ------------------------------------------------------------------ when it was */

static bool skips_all(const void *arg, uint64_t chunk)
{
	(void)arg;
	(void)chunk;
	return true;
}

/* Stretches all over the file, and its end. */
static bool skips_most(const void *arg, uint64_t chunk)
{
	const struct recording *r = arg;

	return chunk / GLANCE_STRIDE % GLANCE_PART &&
	       chunk + GLANCE_END < (uint64_t)r->file.st_size;
}

/* Of a recording that goes on, whose end is not written: its last events are at the file's end. */
static int find_last(const struct recording *r, uint64_t *first_ns, uint64_t *last_ns)
{
	struct timeline_kept seen;
	struct profile_reader *reader;
	struct profile_event e;
	int more, error = profile_reader_open(&reader, r->path);

	if (error)
		return error;
	profile_reader_skip(reader, skips_most, r);
	timeline_kept_init(&seen, 0, UINT64_MAX);
	while (!error && (more = profile_reader_next(reader, &e)))
		error = more < 0 ? more : timeline_kept_add(&seen, reader, &e);
	*first_ns = seen.first_ns == UINT64_MAX ? 0 : seen.first_ns;
	*last_ns = seen.last_ns;
	timeline_kept_release(&seen);
	profile_reader_close(reader);
	return error;
}

static int find_extent(const struct recording *r, uint64_t *start_ns, uint64_t *end_ns)
{
	uint64_t first_ns = 0, last_ns = 0;
	struct profile_reader *reader;
	struct profile_event e;
	int error = profile_reader_open(&reader, r->path);

	if (error)
		return error;
	profile_reader_skip(reader, skips_all, NULL);
	while ((error = profile_reader_next(reader, &e)) > 0)
		;
	if (!error && !(profile_meta(reader, META_START_NS) && profile_meta(reader, META_END_NS)))
		error = find_last(r, &first_ns, &last_ns);
	*start_ns = profile_meta_number(reader, META_START_NS, first_ns);
	*end_ns = profile_meta_number(reader, META_END_NS, last_ns);
	if (*end_ns <= *start_ns)
		*end_ns = *start_ns + 1;
	profile_reader_close(reader);
	return error;
}

/* ------------------------------------------------------------------ reading */

static int begin(
	const struct recording *r, struct recording_reading *g, uint64_t start_ns, uint64_t end_ns)
{
	int error = profile_reader_open(&g->reader, r->path);

	g->start_ns = start_ns;
	g->end_ns = end_ns;
	timeline_kept_init(&g->axis, start_ns, end_ns);
	timeline_named_init(&g->named, start_ns, end_ns);
	return error ?: slice_sums_init(&g->sums, start_ns, end_ns);
}

/* 1, or 0 after the last event. */
static int read_event(struct recording_reading *g)
{
	struct profile_event e;
	int more = profile_reader_next(g->reader, &e), error = 0;

	if (!more && g->whole)
		return slice_sums_finish(&g->sums, g->reader);
	if (more <= 0)
		return more;
	g->known.events++;
	if (g->whole && chunk_times_add(&g->chunks, g->reader, &e))
		error = error_memory("the recording");
	if (!error && g->whole)
		error = slice_sums_add(&g->sums, g->reader, &e);
	if (!error && g->whole)
		error = timeline_named_add(&g->named, g->reader, &e);
	error = error ?: timeline_kept_add(&g->axis, g->reader, &e);
	return error ?: 1;
}

static int begin_whole(struct recording *r, uint64_t start_ns, uint64_t end_ns)
{
	int error = begin(r, &r->next, start_ns, end_ns);

	r->next.whole = true;
	if (!error)
		profile_reader_clip(r->next.reader, &slice_sums_clip);
	return error;
}

/* What goes on has ended, for now, with its last event. */
static void note_end(struct recording_reading *g)
{
	const struct timeline_kept *axis = &g->axis;

	if (!profile_meta(g->reader, META_END_NS) && axis->last_ns > g->start_ns)
		g->end_ns = axis->last_ns;
}

static void take_over(struct recording *r)
{
	struct recording_reading *g = &r->now;

	note_end(&r->next);
	r->read_ns = clock_now_ns();
	release(g);
	*g = r->next;
	r->next = (struct recording_reading){0};
	profile_reader_clip(g->reader, NULL);
	g->sums.chunks = &g->chunks;
	g->known.done = g->reader;
	g->known.chunks = &g->chunks;
	g->known.first_ns = g->axis.first_ns == UINT64_MAX ? 0 : g->axis.first_ns;
	g->known.last_ns = g->axis.last_ns;
}

static bool has_sums(const struct recording_reading *g)
{
	return !g->sums.overflow && !g->sums.stackless && !profile_is_estimated(g->reader);
}

/* As the page asks for flame graphs at first. */
static int make_codes(struct recording_reading *g)
{
	const struct view_options first = {.brief_waits = true};

	return has_sums(g) ? code_tree_make(&g->codes, g->reader, &first, &g->sums.all.keys.codes)
			   : 0;
}

/* The next look begins anew. */
static void give_up(struct recording *r)
{
	release(&r->next);
	r->file = (struct stat){0};
}

int recording_step(struct recording *r)
{
	int more = 1;

	for (size_t n = 0; r->next.reader && n < STEP_EVENTS && more > 0; n++)
		more = read_event(&r->next);
	if (more > 0)
		return 0;
	if (!more && r->next.reader)
		more = make_codes(&r->next);
	if (more < 0)
		give_up(r);
	else
		take_over(r);
	return more;
}

int recording_finish(struct recording *r)
{
	int error = 0;

	while (!error && recording_has_more(r))
		error = recording_step(r);
	return error;
}

static int glance(struct recording *r, uint64_t start_ns, uint64_t end_ns)
{
	int more, error = begin(r, &r->now, start_ns, end_ns);

	if (error)
		return error;
	profile_reader_skip(r->now.reader, skips_most, r);
	while ((more = read_event(&r->now)) > 0)
		;
	return more;
}

static int look_at_file(struct recording *r)
{
	return stat(r->path, &r->file) ? error_errno(-errno, "cannot open '%s'", r->path) : 0;
}

static int start(struct recording *r, bool first)
{
	uint64_t start_ns = 0, end_ns = 0;
	int error = look_at_file(r);

	r->begun_ns = clock_now_ns();
	error = error ?: find_extent(r, &start_ns, &end_ns);
	if (!error && first && r->file.st_size > SMALL_BYTES)
		error = glance(r, start_ns, end_ns);
	error = error ?: begin_whole(r, start_ns, end_ns);
	if (error) {
		give_up(r);
		return error;
	}
	return r->now.reader ? 0 : recording_finish(r);
}

int recording_open(struct recording **ret, const char *path)
{
	struct recording *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return error_memory("the recording");
	r->path = path;
	error = start(r, true);
	if (error) {
		recording_close(r);
		return error;
	}
	*ret = r;
	return 0;
}

static bool is_longer(const struct stat *now, const struct stat *before)
{
	return now->st_size != before->st_size || now->st_mtim.tv_sec != before->st_mtim.tv_sec ||
	       now->st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

/* What is being read is not begun anew again and again: of a recording that goes on nothing would
 * ever be read to its end. */
static bool is_due(const struct recording *r, enum recording_growth growth)
{
	if (growth != GROWTH_SOON)
		return growth == GROWTH_NOW;
	return !r->next.reader && clock_now_ns() - r->read_ns >= REST * (r->read_ns - r->begun_ns);
}

int recording_look(struct recording *r, enum recording_growth growth)
{
	struct stat before = r->file, now;
	bool same;

	if (stat(r->path, &now))
		return error_errno(-errno, "cannot open '%s'", r->path);
	same = now.st_dev == before.st_dev && now.st_ino == before.st_ino &&
	       now.st_size >= before.st_size;
	if (same && !(is_longer(&now, &before) && is_due(r, growth)))
		return 0;
	release(&r->next);
	return start(r, false);
}

/* ------------------------------------------------------------------ answers */

void recording_known(
	struct recording *r, struct range_wanted *range, struct view_options *ret_options)
{
	struct recording_reading *g = &r->now;

	range->known = &g->known;
	if (!ret_options || !has_sums(g))
		return;
	ret_options->sums = &g->sums;
	ret_options->codes = &g->codes;
	ret_options->stalls = &g->stalls;
	ret_options->wall = &g->wall;
	ret_options->calls = &g->calls;
}

/* Events that are at least in part in a stretch of time, whole, and some more. */
struct stretch {
	struct profile_span span;
	struct profile_clip clip;
	struct profile_reader *reader; /* to be closed */
};

static int stretch_open(
	struct stretch *s, const struct recording_reading *g, uint64_t from_ns, uint64_t to_ns)
{
	int error = profile_reader_open_again(&s->reader, g->reader);

	s->span = (struct profile_span){from_ns, to_ns};
	s->clip = (struct profile_clip){
		.spans = &s->span, .span_count = 1, .chunks = &g->chunks, .uncut = true};
	if (!error)
		profile_reader_clip(s->reader, &s->clip);
	return error;
}

int recording_axis(struct recording *r, struct timeline *t, const struct timeline_wanted *wanted)
{
	struct recording_reading *g = &r->now;
	struct stretch s;
	int error;

	if (!g->whole || timeline_kept_fits(&g->axis, wanted))
		return timeline_kept_read(t, &g->axis, wanted);
	error = stretch_open(&s, g, wanted->from_ns, wanted->to_ns);
	if (error)
		return error;
	error = timeline_read(t, &g->axis.rows, s.reader, wanted);
	profile_reader_close(s.reader);
	return error;
}

int recording_find(
	struct recording *r, struct timeline_find *ret, const struct timeline_find_wanted *wanted)
{
	struct recording_reading *g = &r->now;
	struct timeline_find_wanted known = *wanted;

	known.named = &g->named;
	return timeline_find_read(ret, &g->axis.rows, g->reader, &known);
}

/* What belongs to a work lies between its launch and its end; what to a call may come long after,
 * but in a part of the file that has its time. */
int recording_links(struct recording *r, struct links *ret, const struct links_wanted *wanted)
{
	struct recording_reading *g = &r->now;
	uint64_t begin_ns = wanted->box.begin_ns, end_ns = wanted->box.end_ns;
	struct stretch s;
	int error = stretch_open(&s, g, begin_ns, end_ns > begin_ns ? end_ns : begin_ns + 1);

	if (error)
		return error;
	error = links_find(ret, &g->axis.rows, s.reader, wanted);
	profile_reader_close(s.reader);
	if (error || !ret->found)
		return error;
	if (ret->launch_ns && ret->launch_ns < begin_ns)
		begin_ns = ret->launch_ns;
	error = stretch_open(&s, g, begin_ns, end_ns > begin_ns ? end_ns : begin_ns + 1);
	if (error)
		return error;
	error = links_read(ret, &g->axis.rows, s.reader, wanted);
	profile_reader_close(s.reader);
	return error;
}

int recording_repeats(struct recording *r, struct repeats *ret, const struct repeats_wanted *wanted)
{
	struct recording_reading *g = &r->now;
	struct stretch s;
	int error = stretch_open(&s, g, wanted->from_ns, wanted->to_ns);

	if (error)
		return error;
	error = repeats_read(ret, s.reader, g->reader, wanted);
	profile_reader_close(s.reader);
	return error;
}
