// SPDX-License-Identifier: MIT
/*
 * A second format of GPU code is one row in a table: here is one of our own, beside NVIDIA's. Its
 * images are "TOY", a byte with the number of instructions, and 4 bytes for each of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "folder.h"
#include "gpucode/answers.h"
#include "gpucode/format.h"
#include "gpucode/nvidia/format.h"
#include "profile/reader.h"
#include "profile/writer.h"
#include "symbolize/gpu_code.h"
#include "symbolize/gpu_image.h"
#include "tap.h"

#define TOY "TOY\3AAAABBBBCCCC"
/* Functions that are asked about together, but not all: */
#define PARTS	    5
#define PART	    1000 /* instructions */
#define CALLED_PART 3

struct gpucode_image {
	const uint8_t *data;
	size_t size;
};

static unsigned int open_count;

static int toy_open(const void *data, size_t size, struct gpucode_image **ret)
{
	if (size < 4 || memcmp(data, "TOY", 3))
		return error_set(-ENOEXEC, "no toy");
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	**ret = (struct gpucode_image){data, size};
	open_count++;
	return 0;
}

static void toy_close(struct gpucode_image *image)
{
	free(image);
	open_count--;
}

static bool toy_find(const struct gpucode_image *image, const char *name, uint32_t index,
	struct gpucode_function *ret)
{
	if (!name || (strcmp(name, "play") && strcmp(name, "part")))
		return false;
	*ret = (struct gpucode_function){
		.number = index, .code = image->data + 4, .size = image->size - 4};
	if (!strcmp(name, "part"))
		ret->size = PART * 4;
	return true;
}

static size_t toy_frames(struct gpucode_image *image, const struct gpucode_function *f,
	uint64_t offset, struct gpucode_frame ret[GPUCODE_FRAMES_MAX], bool *ret_called)
{
	ret[0] = (struct gpucode_frame){
		.function = "play", .path = "toy.c", .line = 10 + (uint32_t)offset / 4};
	*ret_called = f->number == CALLED_PART;
	return 1;
}

static void toy_name(const struct gpucode_function *f, uint64_t offset, char *ret, size_t size)
{
	snprintf(ret, size, "%c", f->code[offset]);
}

/* Of the second instruction only. */
static int toy_text(const struct gpucode_text_request *r)
{
	return r->visit(r->context, 0, 4, "B r1, r2");
}

static const struct gpucode_format toy_format = {
	.name = "toy",
	.text_writer = "toydis",
	.instruction_bytes = 4,
	.open = toy_open,
	.close = toy_close,
	.find = toy_find,
	.frames = toy_frames,
	.instruction_name = toy_name,
	.text = toy_text,
};

const struct gpucode_format *const gpucode_formats[] = {&cubin_format, &toy_format, NULL};

static void the_name_of_a_module_says_its_format(void)
{
	struct gpucode g = {0};

	CHECK(!gpucode_open(&g, "toy:12", TOY, sizeof(TOY) - 1) && g.format == &toy_format &&
		open_count == 1);
	gpucode_close(&g);
	gpucode_close(&g);
	CHECK(!g.image && !open_count);
	CHECK(gpucode_open(&g, "cubin:12", TOY, sizeof(TOY) - 1) == -ENOEXEC);
	CHECK(gpucode_open(&g, "toy:12", "LEGO", 4) == -ENOEXEC);
	CHECK_TEXT(error_text(), "no toy");
	CHECK(!g.image);
}

static void other_names_are_of_no_format(void)
{
	static const char *const names[] = {
		"", "toy", ":", "to:12", "toys:12", "/lib/libtoy.so", "[toy:12]"};
	struct gpucode g;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(gpucode_open(&g, names[i], TOY, sizeof(TOY) - 1) == -ENOEXEC);
	CHECK_TEXT(error_text(), "GPU code of an unknown format: '[toy:12]'");
}

/* Writes a profile with a sample at an instruction of a module of this name, and describes it. */
static struct profile_reader *describe(const char *module, struct gpu_code_stats *ret)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = 8};
	struct kept_images *images = kept_images_new(1 << 20);
	const struct gpu_code_options options = {.images = images, .text_limit_ns = 1000000000};
	struct profile_gpu_function f = {.index = 7};
	struct profile_instruction i = {.offset = 8};
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct profile_reader *r = NULL;
	struct profile_writer *w;
	struct profile_event e;
	uint32_t id;

	CHECK(write(fd, TOY, sizeof(TOY) - 1) == sizeof(TOY) - 1);
	CHECK(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE));
	CHECK(!profile_writer_open(&w, in_folder("p.xpu")));
	CHECK(!profile_add_string(w, module, strlen(module), &m.path) &&
		!profile_add_module(w, &m, &f.module));
	CHECK(!kept_images_add(images, f.module, fd, sizeof(TOY) - 1));
	CHECK(!profile_add_string(w, "play", 4, &f.name) &&
		!profile_add_gpu_function(w, &f, &i.function));
	CHECK(!profile_add_instruction(w, &i, &id));
	CHECK(!symbolize_gpu_code(w, &options, ret));
	CHECK(!profile_writer_close(w) && !open_count);
	kept_images_free(images);
	close(fd);
	CHECK(!profile_reader_open(&r, in_folder("p.xpu")) && !profile_reader_next(r, &e));
	return r;
}

static void its_instructions_are_described_by_its_own_functions(void)
{
	static const char *const texts[] = {"A", "B r1, r2", "C"};
	struct gpu_code_stats stats = {0};
	struct profile_reader *r = describe("toy:12", &stats);

	CHECK(stats.described == 1 && stats.instructions == 3 && stats.decoded == 2 &&
		!stats.without_lines);
	CHECK(profile_counts(r).instructions == 3);
	for (uint32_t id = 1; id <= 3; id++) {
		const struct profile_instruction *i = profile_instruction(r, id);

		CHECK_TEXT(profile_string(r, i->text, NULL), texts[i->offset / 4]);
		CHECK_TEXT(profile_string(r, i->file, NULL), "toy.c");
		CHECK(i->line == 10 + i->offset / 4);
	}
	CHECK_TEXT(profile_meta(r, META_GPU_TEXT), "toydis, decoded");
	profile_reader_close(r);
}

static void code_of_an_unknown_format_is_counted_as_not_found(void)
{
	struct gpu_code_stats stats = {0};
	struct profile_reader *r = describe("brick:12", &stats);

	CHECK(stats.functions == 1 && stats.not_found == 1 && !stats.described);
	CHECK(!profile_meta(r, META_GPU_TEXT));
	profile_reader_close(r);
}

static void check_source(struct gpu_image *i, const struct gpu_image_function *f, uint32_t n)
{
	struct gpucode_frame frames[GPUCODE_FRAMES_MAX];
	bool called;

	CHECK(gpu_image_frames(i, f, n * 4, frames, &called) == 1 && frames[0].line == 10 + n &&
		called == (f->index == CALLED_PART));
}

/* As far as a question has room, which ends within a function. */
static void functions_that_follow_each_other_are_asked_about_together(void)
{
	static uint8_t image[4 + PART * 4] = "TOY";
	struct gpu_image_function *functions = calloc(PARTS + 1, sizeof(*functions));
	struct name_files files = {0};
	struct gpu_image *i = NULL;

	name_files_init(&files, NULL, NULL);
	CHECK(!gpu_image_open(&i, &files, "toy:1", image, sizeof(image)));
	for (uint32_t n = 0; n <= PARTS; n++)
		functions[n] = (struct gpu_image_function){
			.name = n == 1 ? "missing" : "part", .index = n};
	CHECK(!gpu_image_find(i, functions, PARTS + 1));
	CHECK(!functions[1].found.code && functions[2].found.size == PART * 4);
	for (uint32_t n = 0; n <= PARTS; n++)
		for (uint32_t at = 0; n != 1 && at < PART; at++)
			check_source(i, &functions[n], at);
	for (uint32_t n = PARTS; n > 1; n--)
		for (uint32_t at = PART; at; at -= 125)
			check_source(i, &functions[n], at - 1);
	gpu_image_close(i);
	name_files_release(&files);
}

static void put_play(struct buf *question, uint32_t offset, uint32_t count)
{
	gpucode_put_part(question, &(struct gpucode_part){offset, count});
	gpucode_put_function(question, "play", 0);
}

static void a_question_about_too_many_instructions_is_refused(void)
{
	struct buf question = BUF_INIT, answer = BUF_INIT;
	struct gpucode g = {0};

	CHECK(!gpucode_open(&g, "toy:12", TOY, sizeof(TOY) - 1));
	put_play(&question, 0, GPUCODE_PART_MAX - 2);
	put_play(&question, 4, 2);
	CHECK(!gpucode_write_frames(&g, question.data, question.size, &answer));
	CHECK(gpucode_write_frames(&g, question.data, question.size - 1, &answer) == -EINVAL);
	put_play(&question, 0, 1);
	CHECK(gpucode_write_frames(&g, question.data, question.size, &answer) == -EINVAL);
	gpucode_close(&g);
	buf_release(&question);
	buf_release(&answer);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(the_name_of_a_module_says_its_format);
	RUN(other_names_are_of_no_format);
	RUN(its_instructions_are_described_by_its_own_functions);
	RUN(code_of_an_unknown_format_is_counted_as_not_found);
	RUN(functions_that_follow_each_other_are_asked_about_together);
	RUN(a_question_about_too_many_instructions_is_refused);
	shell("rm -rf /tmp/${PWD##*/}");
	return tap_end();
}
