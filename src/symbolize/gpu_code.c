// SPDX-License-Identifier: MIT
/*
 * The instructions of the profile are those that samples fell on; they are put in the order of
 * module, function and offset. One image after the other is opened, and its functions are gone
 * through from their first instruction to the last, beside what is there already.
 *
 * Device functions that were not inlined stand behind their kernel, inside its bounds, and samples
 * in them are told as the kernel's (seen with CUPTI 13.0 on an H200). They become frames of their
 * own below the kernel, as inlined ones do; from which line they were called nobody knows.
 *
 * Images are parsed in this process: src/cubin/ checks every size, and is fuzzed. What they may
 * cost is bounded by WHOLE_MAX.
 */
#include "symbolize/gpu_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "cubin/cubin.h"
#include "cubin/sass.h"

/* Functions are gone through whole up to that many instructions in all: some 20 MiB of profile. */
#define WHOLE_MAX (1u << 21)

struct sampled {
	uint32_t module, function, offset;
	uint32_t id; /* of the instruction */
};

/* The instructions of one function, or of all of one image. */
struct run {
	const struct sampled *first;
	size_t count;
};

struct describer {
	struct profile_writer *w;
	const struct gpu_code_options *o;
	struct gpu_code_stats stats;
	struct vec(struct sampled) sampled;
	uint64_t whole; /* instructions of the functions that were gone through whole */

	struct cubin *cubin; /* the open one */
	struct map strings;  /* ids of its texts, by where they are */
	/* What the last instruction was made from, as the next one often is, too. */
	struct cubin_place places[CUBIN_PLACES_MAX];
	size_t place_count;
	bool place_called; /* in a device function that was not inlined */
	uint32_t file, line, inlined;
	uint32_t own_file; /* of the present function */
	bool has_lines;
};

static bool is_stopped(struct describer *d)
{
	if (!d->stats.stopped && d->o->stopped && d->o->stopped(d->o->context))
		d->stats.stopped = true;
	return d->stats.stopped;
}

static uint64_t whole_max(const struct describer *d)
{
	return d->o->whole_max ? d->o->whole_max : WHOLE_MAX;
}

/* --- which --- */

static int gather(struct describer *d)
{
	uint32_t count = profile_writer_instruction_count(d->w);

	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_instruction *i = profile_writer_instruction(d->w, id);
		struct sampled s = {.function = i->function,
			.offset = i->offset,
			.id = id,
			.module = profile_writer_gpu_function(d->w, i->function)->module};

		if (!i->text && vec_push(&d->sampled, s))
			return -ENOMEM;
	}
	return 0;
}

static int by_place(const void *left, const void *right)
{
	const struct sampled *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return 0;
}

/* The first instructions of what is left that are of one function. */
static struct run function_of(const struct run *left)
{
	struct run run = {.first = left->first, .count = 1};

	while (run.count < left->count && run.first[run.count].function == run.first->function)
		run.count++;
	return run;
}

static struct run image_of(const struct run *left)
{
	struct run run = {.first = left->first, .count = 1};

	while (run.count < left->count && run.first[run.count].module == run.first->module)
		run.count++;
	return run;
}

static void skip(struct run *left, const struct run *run)
{
	left->first += run->count;
	left->count -= run->count;
}

static uint64_t count_functions(struct run left)
{
	uint64_t count = 0;

	while (left.count) {
		struct run run = function_of(&left);

		skip(&left, &run);
		count++;
	}
	return count;
}

static uint64_t count_images(struct run left)
{
	uint64_t count = 0;

	while (left.count) {
		struct run run = image_of(&left);

		skip(&left, &run);
		count++;
	}
	return count;
}

/* --- what one is --- */

/* The id of a text of the image, which is looked up once. */
static int string_of(struct describer *d, const char *text, uint32_t *ret_id)
{
	const uint64_t *known = map_get(&d->strings, (uint64_t)(uintptr_t)text);
	int error;

	if (known) {
		*ret_id = (uint32_t)*known;
		return 0;
	}
	*ret_id = 0;
	error = *text ? profile_add_string(d->w, text, strlen(text), ret_id) : 0;
	if (!error && map_put(&d->strings, (uint64_t)(uintptr_t)text, *ret_id))
		error = -ENOMEM;
	return error;
}

/* From what is next to the function itself (the last of these places) to the innermost one. */
static int add_inlines(struct describer *d, const struct cubin_place *places, size_t count)
{
	struct profile_inline in = {0};
	int error = 0;

	for (size_t n = count; !error && n--;) {
		in.line = places[n].line;
		error = string_of(d, places[n].function, &in.name);
		error = error ?: string_of(d, places[n].path, &in.file);
		error = error ?: profile_add_inline(d->w, &in, &in.caller);
	}
	d->inlined = in.caller;
	return error;
}

static bool is_as_last(
	const struct describer *d, const struct cubin_place *places, size_t count, bool called)
{
	if (count != d->place_count || called != d->place_called)
		return false;
	for (size_t n = 0; n < count; n++)
		if (places[n].function != d->places[n].function ||
			places[n].path != d->places[n].path || places[n].line != d->places[n].line)
			return false;
	return true;
}

/* Whether the code there is that of a device function that stands inside this one. */
static bool is_called(const struct describer *d, const struct cubin_function *f, uint64_t offset)
{
	const struct cubin_function *inner =
		cubin_function_at(d->cubin, f->section, f->offset + offset);

	return inner && inner->offset != f->offset;
}

/* The source of an instruction of the function itself. */
static int place_own(struct describer *d, const struct cubin_place *places, size_t count)
{
	int error = string_of(d, places[count - 1].path, &d->file);

	d->line = places[count - 1].line;
	if (!d->own_file)
		d->own_file = d->file;
	return error ?: add_inlines(d, places, count - 1);
}

static int place_called(struct describer *d, const struct cubin_place *places, size_t count)
{
	d->file = d->own_file;
	d->line = 0;
	return add_inlines(d, places, count);
}

/* Finds out what source an instruction is from, into d->file and so on. */
static int find_places(struct describer *d, const struct cubin_function *f, uint64_t offset)
{
	struct cubin_place places[CUBIN_PLACES_MAX];
	enum cubin_line_kind kind = CUBIN_LINES_NONE;
	size_t count = cubin_places(d->cubin, f, offset, places, &kind);
	bool called = is_called(d, f, offset);
	int error;

	/* Instead of the section that has its text, of which the profile has nothing. */
	for (size_t n = 0; kind == CUBIN_LINES_PTX && n < count; n++)
		places[n].path = "[PTX]";
	if (count && is_as_last(d, places, count, called))
		return 0;
	d->place_count = 0;
	d->file = d->line = d->inlined = 0;
	if (!count)
		return 0;
	error = called ? place_called(d, places, count) : place_own(d, places, count);
	memcpy(d->places, places, count * sizeof(*places));
	d->place_count = error ? 0 : count;
	d->place_called = called;
	return error;
}

static int add_text(
	struct describer *d, const struct cubin_function *f, uint64_t offset, uint32_t *ret_id)
{
	char text[SASS_TEXT_MAX];
	size_t size;
	const uint8_t *code = cubin_code(d->cubin, f, &size);

	if (!code || size < SASS_INSTRUCTION_BYTES || offset > size - SASS_INSTRUCTION_BYTES)
		return 0;
	(void)sass_text(cubin_sm(d->cubin), code + offset, text, sizeof(text));
	return profile_add_string(d->w, text, strlen(text), ret_id);
}

/* `id`: of the instruction, or 0 when no sample fell on it. */
static int describe_instruction(struct describer *d, const struct cubin_function *f,
	uint32_t function, uint32_t offset, uint32_t id)
{
	struct profile_instruction i = {.function = function, .offset = offset};
	int error = find_places(d, f, offset);

	error = error ?: add_text(d, f, offset, &i.text);
	if (error)
		return error;
	i.file = d->file;
	i.line = d->line;
	i.inlined = d->inlined;
	d->has_lines |= d->place_count && d->places[0].line;
	d->stats.instructions++;
	return id ? profile_describe_instruction(d->w, id, &i)
		  : profile_add_instruction(d->w, &i, &id);
}

/* --- functions and images --- */

static int describe_whole(
	struct describer *d, const struct cubin_function *f, const struct run *run, size_t size)
{
	const struct sampled *next = run->first, *end = next + run->count;
	int error = 0;

	for (uint64_t at = 0; !error && at < size && at <= UINT32_MAX;
		at += SASS_INSTRUCTION_BYTES) {
		while (next < end && next->offset < at)
			next++;
		error = describe_instruction(d, f, run->first->function, (uint32_t)at,
			next < end && next->offset == at ? next->id : 0);
	}
	return error;
}

static int describe_sampled(
	struct describer *d, const struct cubin_function *f, const struct run *run, size_t size)
{
	int error = 0;

	for (size_t n = 0; !error && n < run->count && run->first[n].offset < size; n++)
		error = describe_instruction(
			d, f, run->first->function, run->first[n].offset, run->first[n].id);
	return error;
}

static int describe_function(
	struct describer *d, const struct cubin_function *f, const struct run *run)
{
	size_t size = 0;
	int error;

	d->has_lines = false;
	d->own_file = 0;
	d->place_count = 0;
	(void)cubin_code(d->cubin, f, &size);
	if (d->whole + size / SASS_INSTRUCTION_BYTES <= whole_max(d)) {
		d->whole += size / SASS_INSTRUCTION_BYTES;
		error = describe_whole(d, f, run, size);
	} else {
		error = describe_sampled(d, f, run, size);
	}
	d->stats.described++;
	d->stats.without_lines += !d->has_lines;
	return error;
}

/* Names are compared, too, since whoever told them is not trusted. */
static const struct cubin_function *find_function(
	const struct describer *d, const struct profile_gpu_function *g)
{
	const struct cubin_function *f = cubin_function_of_symbol(d->cubin, g->index);
	const char *name = profile_writer_string(d->w, g->name);

	if (!name)
		return f;
	if (f && (!strcmp(f->name, name) || !strcmp(f->linkage_name, name)))
		return f;
	return cubin_function_named(d->cubin, name);
}

static int describe_functions(struct describer *d, struct run left)
{
	int error = 0;

	while (!error && left.count && !is_stopped(d)) {
		struct run run = function_of(&left);
		const struct profile_gpu_function *g =
			profile_writer_gpu_function(d->w, run.first->function);
		const struct cubin_function *f = find_function(d, g);

		skip(&left, &run);
		if (f)
			error = describe_function(d, f, &run);
		else
			d->stats.not_found++;
	}
	return error;
}

static int describe_open_image(struct describer *d, const struct run *run)
{
	int error = describe_functions(d, *run);

	d->place_count = 0;
	map_release(&d->strings);
	return error;
}

static int describe_image(struct describer *d, const struct run *run)
{
	uint32_t module = run->first->module;
	size_t size = 0;
	const void *image = d->o->images ? kept_images_find(d->o->images, module, &size) : NULL;
	int error;

	if (!image) {
		d->stats.without_image += count_functions(*run);
		return d->o->images && kept_images_lost(d->o->images, module)
			       ? profile_count_loss(d->w, LOSS_IMAGES_LOST, 1)
			       : 0;
	}
	error = cubin_open(image, size, &d->cubin);
	if (error) {
		d->stats.not_found += count_functions(*run);
		return error == -ENOMEM ? error : 0;
	}
	error = describe_open_image(d, run);
	cubin_close(d->cubin);
	return error;
}

static int describe_all(struct describer *d)
{
	struct run left = {.first = d->sampled.items, .count = d->sampled.count};
	uint64_t images = count_images(left), n = 0;
	char what[80];
	int error = 0;

	d->stats.functions = count_functions(left);
	while (!error && left.count && !is_stopped(d)) {
		struct run run = image_of(&left);

		snprintf(what, sizeof(what), "reading GPU code, %llu of %llu images",
			(unsigned long long)++n, (unsigned long long)images);
		if (d->o->progress)
			d->o->progress(d->o->context, what);
		error = describe_image(d, &run);
		skip(&left, &run);
	}
	return error;
}

int symbolize_gpu_code(
	struct profile_writer *w, const struct gpu_code_options *o, struct gpu_code_stats *ret)
{
	struct describer d = {.w = w, .o = o};
	int error = gather(&d);

	if (!error && d.sampled.count) {
		qsort(d.sampled.items, d.sampled.count, sizeof(*d.sampled.items), by_place);
		error = describe_all(&d);
		if (!error && d.stats.instructions)
			error = profile_set_meta(w, META_GPU_TEXT, "decoded");
	}
	vec_release(&d.sampled);
	if (error == -ENOMEM)
		return error_errno(error, "cannot describe the GPU code of the profile");
	if (error)
		return error;
	*ret = d.stats;
	return 0;
}
