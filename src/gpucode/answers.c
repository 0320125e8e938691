// SPDX-License-Identifier: MIT
/*
 * A question: for each function
 *
 *	u32 index, u32 size of the name and 1 (0: the name is not known), the name
 *
 * and in one about frames before each of them
 *
 *	u32 offset of an instruction, u32 how many from there on
 *
 * The answer about functions: for each of them
 *
 *	u32 found, u32 target, u64 where its code is in the image, u64 size of that
 *
 * and about frames: for each instruction
 *
 *	u32 frames; SAME: what the one before it has; with CALLED; then for each frame
 *	u32 function, u32 path, u32 line
 *
 * where a text is a number, and behind one that is new (they count from 0) u32 size and the text.
 */
#include "gpucode/answers.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "base/reader.h"

#define SAME   0xffffu
#define CALLED 0x10000u
/* A longer text is left out, and a longer answer is none. */
#define TEXT_MAX_BYTES	 65536u
#define ANSWER_MAX_BYTES ((size_t)64 << 20)

static void put_u32(struct buf *b, uint32_t value)
{
	buf_append(b, &value, sizeof(value));
}

/* --- functions -------------------------------------------------------------------------------- */

void gpucode_put_function(struct buf *question, const char *name, uint32_t index)
{
	size_t size = name ? strlen(name) : 0;

	put_u32(question, index);
	put_u32(question, name ? (uint32_t)size + 1 : 0);
	buf_append(question, name, size);
}

void gpucode_put_part(struct buf *question, const struct gpucode_part *part)
{
	buf_append(question, part, sizeof(*part));
}

/* The next function of a question: whether the image has it; or -EINVAL. */
static int find_next(
	const struct gpucode *g, struct reader *r, struct buf *name, struct gpucode_function *ret)
{
	uint32_t index = reader_u32(r), size = reader_u32(r);
	const void *bytes = size ? reader_take(r, size - 1) : NULL;

	buf_reset(name);
	buf_append(name, bytes, bytes ? size - 1 : 0);
	if (r->failed || name->failed)
		return -EINVAL;
	return g->format->find(g->image, size ? buf_text(name) : NULL, index, ret);
}

static void put_found(struct buf *b, const void *image, const struct gpucode_function *f)
{
	uint64_t place[2] = {f->size ? (uint64_t)(f->code - (const uint8_t *)image) : 0, f->size};

	put_u32(b, 1);
	put_u32(b, f->target);
	buf_append(b, place, sizeof(place));
}

int gpucode_write_functions(const struct gpucode *g, const void *image, const void *question,
	size_t size, struct buf *ret)
{
	static const uint8_t none[24];
	struct reader r = {question, (const uint8_t *)question + size, false};
	struct buf name = BUF_INIT;
	int found = 0;

	while (found >= 0 && reader_left(&r)) {
		struct gpucode_function f = {0};

		found = find_next(g, &r, &name, &f);
		if (found > 0)
			put_found(ret, image, &f);
		else
			buf_append(ret, none, sizeof(none));
	}
	buf_release(&name);
	return found < 0 ? found : ret->failed ? -ENOMEM : 0;
}

int gpucode_read_functions(const struct buf *answer, const void *image, size_t image_size,
	struct gpucode_function *ret, size_t count)
{
	struct reader r = {
		(const uint8_t *)answer->data, (const uint8_t *)answer->data + answer->size, false};

	for (size_t n = 0; n < count; n++) {
		bool found = reader_u32(&r);
		uint32_t target = reader_u32(&r);
		uint64_t at = reader_u64(&r), size = reader_u64(&r);

		if (r.failed || at > image_size || size > image_size - at)
			return -EPROTO;
		ret[n] = (struct gpucode_function){.target = target,
			.code = found ? (const uint8_t *)image + at : NULL,
			.size = size};
	}
	return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

struct frames_writer {
	struct buf *out;
	struct map texts; /* their numbers, by where they are */
	struct gpucode_frame last[GPUCODE_FRAMES_MAX];
	size_t last_count;
	bool last_called;
};

static int put_text(struct frames_writer *w, const char *text)
{
	const uint64_t *known = map_get(&w->texts, (uint64_t)(uintptr_t)text);
	uint32_t number = known ? (uint32_t)*known : (uint32_t)w->texts.count;
	size_t size;

	put_u32(w->out, number);
	if (known)
		return 0;
	size = strnlen(text, TEXT_MAX_BYTES + 1);
	if (size > TEXT_MAX_BYTES)
		size = 0;
	put_u32(w->out, (uint32_t)size);
	buf_append(w->out, text, size);
	return map_put(&w->texts, (uint64_t)(uintptr_t)text, number);
}

static bool is_as_last(const struct frames_writer *w, const struct gpucode_frame *frames,
	size_t count, bool called)
{
	if (count != w->last_count || called != w->last_called)
		return false;
	for (size_t n = 0; n < count; n++)
		if (frames[n].function != w->last[n].function ||
			frames[n].path != w->last[n].path || frames[n].line != w->last[n].line)
			return false;
	return true;
}

static int put_frames(
	struct frames_writer *w, const struct gpucode_frame *frames, size_t count, bool called)
{
	int error = 0;

	if (is_as_last(w, frames, count, called)) {
		put_u32(w->out, SAME);
		return 0;
	}
	put_u32(w->out, (uint32_t)count | (called ? CALLED : 0));
	for (size_t n = 0; !error && n < count; n++) {
		error = put_text(w, frames[n].function);
		error = error ?: put_text(w, frames[n].path);
		put_u32(w->out, frames[n].line);
	}
	memcpy(w->last, frames, count * sizeof(*frames));
	w->last_count = count;
	w->last_called = called;
	return error ?: w->out->size > ANSWER_MAX_BYTES ? -EFBIG : 0;
}

/* The part of the function that follows in the question. */
static int write_part(const struct gpucode *g, const struct gpucode_part *part, struct reader *r,
	struct buf *name, struct frames_writer *w)
{
	struct gpucode_frame frames[GPUCODE_FRAMES_MAX];
	struct gpucode_function f = {0};
	uint64_t offset = part->offset;
	int found = find_next(g, r, name, &f), error = found > 0 ? 0 : -EINVAL;

	for (uint32_t n = 0; !error && n < part->count; n++) {
		bool called = false;
		size_t count = offset < f.size
				       ? g->format->frames(g->image, &f, offset, frames, &called)
				       : 0;

		error = put_frames(w, frames, count, called);
		offset += g->format->instruction_bytes;
	}
	return error;
}

int gpucode_write_frames(
	const struct gpucode *g, const void *question, size_t size, struct buf *ret)
{
	struct reader r = {question, (const uint8_t *)question + size, false};
	struct frames_writer w = {.out = ret};
	struct buf name = BUF_INIT;
	uint32_t left = GPUCODE_PART_MAX;
	int error = 0;

	while (!error && reader_left(&r)) {
		struct gpucode_part part = {.offset = reader_u32(&r)};

		part.count = reader_u32(&r);
		if (part.count > left)
			error = -EINVAL;
		error = error ?: write_part(g, &part, &r, &name, &w);
		left -= part.count;
	}
	map_release(&w.texts);
	buf_release(&name);
	return error ?: ret->failed ? -ENOMEM : 0;
}

/* --- frames that came ------------------------------------------------------------------------- */

struct frames_reader {
	struct reader from;
	struct interner *texts;
	struct vec(uint32_t) ids; /* in the interner, by their numbers */
	int error;
};

static const char *take_text(struct frames_reader *r)
{
	uint32_t number = reader_u32(&r->from), size, id = 0;
	const void *bytes;

	if (number < r->ids.count)
		return interner_get(r->texts, r->ids.items[number], NULL);
	size = reader_u32(&r->from);
	bytes = reader_take(&r->from, size);
	if (number > r->ids.count || size > TEXT_MAX_BYTES || r->from.failed) {
		reader_fail(&r->from);
		return "";
	}
	r->error = r->error ?: interner_add(r->texts, bytes, size, &id, NULL);
	r->error = r->error ?: vec_push(&r->ids, id);
	return interner_get(r->texts, id, NULL);
}

static int take_frames(struct frames_reader *r, uint32_t count, struct gpucode_sources *ret)
{
	int error = count > GPUCODE_FRAMES_MAX ? -EPROTO : 0;

	for (uint32_t n = 0; !error && n < count; n++) {
		struct gpucode_frame f = {.function = take_text(r)};

		f.path = take_text(r);
		f.line = reader_u32(&r->from);
		error = r->error ?: r->from.failed ? -EPROTO : vec_push(&ret->frames, f);
	}
	return error;
}

static int take_instruction(struct frames_reader *r, struct gpucode_sources *ret)
{
	uint32_t head = reader_u32(&r->from), count = head & 0xffffu;
	struct gpucode_source s = {(uint32_t)ret->frames.count, count, (head & CALLED) != 0};
	int error = 0;

	if (r->from.failed)
		return -EPROTO;
	if (head != SAME)
		error = take_frames(r, count, ret);
	else
		s = ret->instructions.count ? ret->instructions.items[ret->instructions.count - 1]
					    : (struct gpucode_source){0};
	return error ?: vec_push(&ret->instructions, s);
}

int gpucode_read_frames(
	const struct buf *answer, size_t count, struct interner *texts, struct gpucode_sources *ret)
{
	struct frames_reader r = {.from = {(const uint8_t *)answer->data,
					  (const uint8_t *)answer->data + answer->size, false},
		.texts = texts};
	int error = 0;

	ret->instructions.count = ret->frames.count = 0;
	for (size_t n = 0; !error && n < count; n++)
		error = take_instruction(&r, ret);
	vec_release(&r.ids);
	if (error)
		ret->instructions.count = 0;
	return error;
}

void gpucode_sources_release(struct gpucode_sources *s)
{
	vec_release(&s->instructions);
	vec_release(&s->frames);
}
