// SPDX-License-Identifier: MIT
/*
 * The instructions of the profile are those that samples fell on; they are put in the order of
 * module, function and offset. All images are opened, and the full text of all functions is asked
 * for (gpu_text.h). Then each function is described from its first instruction to the last,
 * together with the sampled ones.
 *
 * Device functions that were not inlined stand behind their kernel, inside its bounds, and samples
 * in them count as the kernel's. They become frames of their own below the kernel, as inlined ones
 * do. The line that called them is unknown.
 *
 * Images are parsed in the sandbox (gpu_image.h). What they may cost here is bounded by WHOLE_MAX.
 */
#include "symbolize/gpu_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "gpucode/format.h"
#include "sandbox/child.h"
#include "sandbox/sandbox.h"
#include "symbolize/gpu_image.h"
#include "symbolize/gpu_text.h"

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

/* A function of the profile, found in its image. */
struct function {
	struct run run;
	struct gpu_image *image;
	struct gpu_image_function *in_image; /* the image's */
	struct gpu_text
		*text; /* its code; without weight only its sampled instructions are described */
};

struct describer {
	struct profile_writer *w;
	const struct gpu_code_options *o;
	struct gpu_code_stats stats;
	struct vec(struct sampled) sampled;
	struct child *own_reader; /* NULL: there is another, or none */
	struct name_files files;
	struct vec(struct gpu_image *) images;
	uint64_t unreadable;		       /* images */
	struct vec(struct function) functions; /* those of one image next to each other */
	struct vec(struct gpu_text) texts;     /* of the same */
	uint64_t whole; /* instructions of the functions that are gone through whole */

	struct gpu_image *image; /* the present one; NULL: none */
	struct map strings;	 /* ids of its texts, by where they are */
	/* What the last instruction was made from, as the next one often is, too. */
	struct gpucode_frame frames[GPUCODE_FRAMES_MAX];
	size_t frame_count;
	bool set_called_source; /* in a device function that was not inlined */
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

static int by_position(const void *left, const void *right)
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

/* From what is next to the function itself (the last of these frames) to the innermost one. */
static int add_inlines(struct describer *d, const struct gpucode_frame *frames, size_t count)
{
	struct profile_inline in = {0};
	int error = 0;

	for (size_t n = count; !error && n--;) {
		in.line = frames[n].line;
		error = string_of(d, frames[n].function, &in.name);
		error = error ?: string_of(d, frames[n].path, &in.file);
		error = error ?: profile_add_inline(d->w, &in, &in.caller);
	}
	d->inlined = in.caller;
	return error;
}

static bool is_as_last(
	const struct describer *d, const struct gpucode_frame *frames, size_t count, bool called)
{
	if (count != d->frame_count || called != d->set_called_source)
		return false;
	for (size_t n = 0; n < count; n++)
		if (frames[n].function != d->frames[n].function ||
			frames[n].path != d->frames[n].path || frames[n].line != d->frames[n].line)
			return false;
	return true;
}

/* The source of an instruction of the function itself. */
static int set_own_source(struct describer *d, const struct gpucode_frame *frames, size_t count)
{
	int error = string_of(d, frames[count - 1].path, &d->file);

	d->line = frames[count - 1].line;
	if (!d->own_file)
		d->own_file = d->file;
	return error ?: add_inlines(d, frames, count - 1);
}

static int set_called_source(struct describer *d, const struct gpucode_frame *frames, size_t count)
{
	d->file = d->own_file;
	d->line = 0;
	return add_inlines(d, frames, count);
}

/* Finds out what source an instruction is from, into d->file and so on. */
static int find_source(struct describer *d, const struct function *f, uint32_t offset)
{
	struct gpucode_frame frames[GPUCODE_FRAMES_MAX];
	bool called = false;
	size_t count = gpu_image_frames(f->image, f->in_image, offset, frames, &called);
	int error;

	if (count && is_as_last(d, frames, count, called))
		return 0;
	d->frame_count = 0;
	d->file = d->line = d->inlined = 0;
	if (!count)
		return 0;
	error = called ? set_called_source(d, frames, count) : set_own_source(d, frames, count);
	memcpy(d->frames, frames, count * sizeof(*frames));
	d->frame_count = error ? 0 : count;
	d->set_called_source = called;
	return error;
}

/* `id`: of the instruction, or 0 when no sample fell on it. */
static int describe_instruction(
	struct describer *d, const struct function *f, uint32_t offset, uint32_t id)
{
	struct profile_instruction i = {.function = f->run.first->function, .offset = offset};
	int error = find_source(d, f, offset);
	bool decoded;

	error = error ?: gpu_text_add(d->w, f->text, offset, &i.text, &decoded);
	if (error)
		return error;
	i.file = d->file;
	i.line = d->line;
	i.inlined = d->inlined;
	d->has_lines |= d->frame_count && d->frames[0].line;
	d->stats.instructions++;
	d->stats.decoded += decoded;
	return id ? profile_describe_instruction(d->w, id, &i)
		  : profile_add_instruction(d->w, &i, &id);
}

static size_t instruction_size(const struct gpu_text *t, size_t offset)
{
	return t->format->instruction_size ? t->format->instruction_size(&t->function, offset)
					   : t->format->instruction_bytes;
}

static int describe_whole(struct describer *d, const struct function *f)
{
	const struct sampled *next = f->run.first, *end = next + f->run.count;
	int error = 0;

	for (size_t at = 0; !error && at < f->text->function.size;
		at += instruction_size(f->text, at)) {
		while (next < end && next->offset < at)
			next++;
		error = describe_instruction(
			d, f, (uint32_t)at, next < end && next->offset == at ? next->id : 0);
	}
	return error;
}

static int describe_sampled(struct describer *d, const struct function *f)
{
	const struct run *run = &f->run;
	size_t size = f->text->function.size;
	int error = 0;

	for (size_t n = 0; !error && n < run->count && run->first[n].offset < size; n++)
		if (run->first[n].offset % f->text->format->instruction_bytes == 0)
			error = describe_instruction(d, f, run->first[n].offset, run->first[n].id);
	return error;
}

static int describe_function(struct describer *d, const struct function *f)
{
	int error;

	d->has_lines = false;
	d->own_file = 0;
	d->frame_count = 0;
	error = f->text->weight ? describe_whole(d, f) : describe_sampled(d, f);
	d->stats.described++;
	d->stats.without_lines += !d->has_lines;
	return error;
}

/* --- finding functions in images --- */

static int add_function(struct describer *d, struct gpu_image *image, const struct run *run,
	struct gpu_image_function *in_image)
{
	struct function f = {.run = *run, .image = image, .in_image = in_image};
	struct gpu_text text = {.format = gpu_image_format(image), .function = in_image->found};
	unsigned int step = text.format->instruction_bytes;
	size_t *size = &text.function.size;
	uint64_t count;

	if (!text.function.code) {
		d->stats.not_found++;
		return 0;
	}
	if (*size > UINT32_MAX)
		*size = UINT32_MAX;
	*size -= *size % step;
	count = *size / step;
	if (d->whole + count <= (d->o->whole_max ? d->o->whole_max : WHOLE_MAX)) {
		d->whole += count;
		text.weight = run->count;
	}
	in_image->found.size = *size;
	if (vec_push(&d->functions, f) || vec_push(&d->texts, text))
		return -ENOMEM;
	return 0;
}

static struct gpu_image_function *list_functions(const struct describer *d, struct run left)
{
	struct gpu_image_function *list = calloc(count_functions(left), sizeof(*list));

	for (size_t n = 0; list && left.count; n++) {
		struct run run = function_of(&left);
		const struct profile_gpu_function *g =
			profile_writer_gpu_function(d->w, run.first->function);

		list[n].name = profile_writer_string(d->w, g->name);
		list[n].index = g->index;
		skip(&left, &run);
	}
	return list;
}

/* What an image that cannot be read has is not found. */
static int add_functions(struct describer *d, struct gpu_image *image, struct run left)
{
	struct gpu_image_function *list = list_functions(d, left);
	int error = list ? gpu_image_find(image, list, count_functions(left)) : -ENOMEM;

	if (error != -ENOMEM)
		error = 0;
	for (size_t n = 0; !error && left.count; n++) {
		struct run run = function_of(&left);

		error = add_function(d, image, &run, &list[n]);
		skip(&left, &run);
	}
	gpu_image_rest(image);
	return error;
}

/* "" when it has no name. */
static const char *name_of_module(const struct describer *d, uint32_t id)
{
	const struct profile_module *m = profile_writer_module(d->w, id);
	const char *name = m ? profile_writer_string(d->w, m->path) : NULL;

	return name ? name : "";
}

/* The image of a run's module; NULL when there is none, which is counted. 0 or -errno. */
static int open_image(struct describer *d, const struct run *run, struct gpu_image **ret)
{
	uint32_t module = run->first->module;
	size_t size = 0;
	const void *image = d->o->images ? kept_images_find(d->o->images, module, &size) : NULL;
	int error;

	*ret = NULL;
	if (!image) {
		d->stats.without_image += count_functions(*run);
		return d->o->images && kept_images_lost(d->o->images, module)
			       ? profile_count_loss(d->w, LOSS_IMAGES_LOST, 1)
			       : 0;
	}
	error = *d->stats.unread
			? -EIO
			: gpu_image_open(ret, &d->files, name_of_module(d, module), image, size);
	if (error) {
		d->stats.not_found += count_functions(*run);
		return error == -ENOMEM ? error : 0;
	}
	error = vec_push(&d->images, *ret);
	if (error)
		gpu_image_close(*ret);
	return error;
}

static int find_all(struct describer *d)
{
	struct run left = {.first = d->sampled.items, .count = d->sampled.count};
	int error = 0;

	d->stats.functions = count_functions(left);
	while (!error && left.count && !is_stopped(d)) {
		struct run run = image_of(&left);
		struct gpu_image *image;

		error = open_image(d, &run, &image);
		if (!error && image)
			error = add_functions(d, image, run);
		skip(&left, &run);
	}
	return error;
}

/* --- all of them --- */

static void show(const struct describer *d, const char *what)
{
	if (d->o->progress)
		d->o->progress(d->o->context, what);
}

/* A user who does not wait for full text gets the rest. */
static int read_texts(struct describer *d)
{
	const struct gpu_text_options options = {
		.limit_ns = d->o->text_limit_ns,
		.user = d->o->text_user,
		.program = d->o->program,
		.stopped = d->o->stopped,
		.context = d->o->context,
	};
	struct buf failure = BUF_INIT;
	int error;

	if (!d->functions.count)
		return 0;
	show(d, "reading GPU code");
	error = gpu_text_read(d->w, d->texts.items, d->texts.count, &options, &failure);
	snprintf(d->stats.text_failure, sizeof(d->stats.text_failure), "%s", buf_text(&failure));
	buf_release(&failure);
	return error;
}

static void close_image(struct describer *d, struct gpu_image **image)
{
	d->unreadable += *image && gpu_image_failed(*image);
	gpu_image_close(*image);
	*image = NULL;
}

/* Of the present image nothing more is needed: its line tables may be large. */
static void end_image(struct describer *d)
{
	map_release(&d->strings);
	vec_foreach (image, &d->images)
		if (*image && *image == d->image)
			close_image(d, image);
	d->image = NULL;
}

static int describe_all(struct describer *d)
{
	char what[80];
	int error = 0;

	for (size_t n = 0; !error && n < d->functions.count && !is_stopped(d); n++) {
		struct function *f = &d->functions.items[n];

		f->text = &d->texts.items[n];
		if (d->image != f->image)
			end_image(d);
		d->image = f->image;
		if (n % 64 == 0) {
			snprintf(what, sizeof(what), "reading GPU code, function %zu of %zu", n + 1,
				d->functions.count);
			show(d, what);
		}
		error = describe_function(d, f);
	}
	return error;
}

static bool has_text_of(const struct describer *d, const struct gpucode_format *format)
{
	if (d->stats.decoded == d->stats.instructions)
		return false;
	vec_foreach (t, &d->texts)
		if (t->format == format && t->ids)
			return true;
	return false;
}

/* What wrote the text of instructions: the formats' writers, "decoded", or all of these. */
static int note_text(const struct describer *d)
{
	struct buf writers = BUF_INIT;
	int error;

	if (!d->stats.instructions)
		return 0;
	for (size_t i = 0; gpucode_formats[i]; i++)
		if (has_text_of(d, gpucode_formats[i]))
			buf_printf(&writers, "%s%s", writers.size ? ", " : "",
				gpucode_formats[i]->text_writer);
	if (d->stats.decoded)
		buf_printf(&writers, "%sdecoded", writers.size ? ", " : "");
	error = writers.failed ? -ENOMEM
			       : profile_set_meta(d->w, META_GPU_TEXT, buf_text(&writers));
	buf_release(&writers);
	return error;
}

static void release(struct describer *d)
{
	map_release(&d->strings);
	vec_foreach (t, &d->texts)
		gpu_text_release(t);
	vec_foreach (image, &d->images)
		close_image(d, image);
	name_files_release(&d->files);
	child_free(d->own_reader);
	vec_release(&d->texts);
	vec_release(&d->functions);
	vec_release(&d->images);
	vec_release(&d->sampled);
}

/* Images are a stranger's: with our rights they are not read. */
static int begin_reader(struct describer *d)
{
	struct child *reader = d->o->reader;
	int error = 0;

	if (!reader && d->o->program && d->sampled.count) {
		reader = d->own_reader = child_new(d->o->program, SANDBOX_READER, -1);
		if (!reader)
			return -ENOMEM;
		error = child_greet(reader);
	}
	if (error)
		snprintf(d->stats.unread, sizeof(d->stats.unread),
			"the process that reads GPU code cannot begin: %s", strerror(-error));
	name_files_init(&d->files, NULL, reader);
	d->files.stopped = d->o->stopped;
	d->files.context = d->o->context;
	return 0;
}

int symbolize_gpu_code(
	struct profile_writer *w, const struct gpu_code_options *o, struct gpu_code_stats *ret)
{
	struct describer d = {.w = w, .o = o};
	int error = gather(&d);

	if (!error && d.sampled.count)
		qsort(d.sampled.items, d.sampled.count, sizeof(*d.sampled.items), by_position);
	error = error ?: begin_reader(&d);
	error = error ?: find_all(&d);
	error = error ?: read_texts(&d);
	error = error ?: describe_all(&d);
	error = error ?: note_text(&d);
	release(&d);
	if (!error && d.unreadable)
		error = profile_count_loss(w, LOSS_FILES_UNREADABLE, d.unreadable);
	if (error == -ENOMEM)
		return error_errno(error, "cannot describe the GPU code of the profile");
	if (error)
		return error;
	*ret = d.stats;
	return 0;
}
