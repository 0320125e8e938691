// SPDX-License-Identifier: MIT
/*
 * The text of Intel GPU code: what is asked and what answers are believed, with a process of the
 * test's own; and, where there is a libiga64 ($XPUPROF_LIBIGA64, the one of tests/neo/fetch or the
 * system's), that its texts are the recorded ones of tests/data/zebin.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "gpucode/intel/format.h"
#include "gpucode/intel/iga.h"
#include "gpucode/intel/isa.h"
#include "gpucode/intel/text.h"
#include "gpucode/intel/zebin.h"
#include "tap.h"

#define DATA	 "tests/data/zebin/"
#define FILE_MAX (1u << 20)
#define FETCHED	 "build/neo/libraries/libiga64.so.2"

/* --- what is asked ---------------------------------------------------------------------------- */

#define LARGE (5000 * (size_t)ISA_WHOLE_BYTES)

/* An instruction of 16 bytes, one of 8, and half of one. */
static const uint8_t small_code[32] = {[0] = 0x61, [16] = 0x40, [19] = 0x20, [24] = 0x61};
static uint8_t large_code[LARGE];
static const struct gpucode_function functions[] = {
	{.target = 2001, .code = small_code, .size = sizeof(small_code)},
	{.target = 2001, .code = large_code, .size = sizeof(large_code)},
};

static struct process {
	unsigned int questions;
	size_t largest;
	int error;
	const char *answer; /* NULL: all of it */
	size_t answer_size;
} process;

static struct visited {
	size_t texts[2];
	uint64_t next[2];
	char last[IGA_TEXT_MAX];
} visited;

static int ask(void *context, const char *library, const struct buf *question, uint64_t limit_ns,
	struct buf *ret)
{
	const uint8_t *at = (const uint8_t *)question->data + sizeof(struct iga_question),
		      *end = (const uint8_t *)question->data + question->size;

	process.questions++;
	process.largest = question->size > process.largest ? question->size : process.largest;
	CHECK(!*library);
	CHECK(limit_ns > 0 && limit_ns <= 10 * NS_PER_SECOND);
	if (process.error)
		return process.error;
	if (process.answer)
		buf_append(ret, process.answer, process.answer_size);
	else
		for (; at < end; at += isa_size(at))
			buf_append(ret, *at == 0x40 ? "" : "mov r1", *at == 0x40 ? 1 : 7);
	return 0;
}

static int visit(void *context, size_t function, uint64_t offset, const char *text)
{
	CHECK(function < 2 && offset >= visited.next[function]);
	visited.texts[function]++;
	visited.next[function] = offset + ISA_COMPACTED_BYTES;
	snprintf(visited.last, sizeof(visited.last), "%s", text);
	return 0;
}

/* What there is to say. */
static const char *read_texts(void)
{
	static const struct gpucode_wanted wanted[] = {{&functions[0], 5}, {&functions[1], 2}};
	static struct buf failure;
	const struct gpucode_text_request r = {
		.functions = wanted,
		.count = 2,
		.deadline_ns = clock_now_ns() + 10 * NS_PER_SECOND,
		.visit = visit,
		.failure = &failure,
		.ask = ask,
	};

	unsetenv("XPUPROF_LIBIGA64");
	buf_reset(&failure);
	visited = (struct visited){0};
	process.questions = 0;
	CHECK(!zebin_text(&r));
	return buf_text(&failure);
}

static void each_instruction_is_asked_about_in_pieces_that_fit(void)
{
	process = (struct process){0};
	CHECK_TEXT(read_texts(), "");
	CHECK(visited.texts[0] == 1 && visited.texts[1] == 5000);
	CHECK(visited.next[1] == LARGE - ISA_COMPACTED_BYTES);
	CHECK(process.questions == 4);
	CHECK(process.largest < 60000);
	CHECK_TEXT(visited.last, "mov r1");
}

static void what_is_no_answer_is_not_believed(void)
{
	static char long_text[2 * IGA_TEXT_MAX];
	static const struct {
		const char *answer;
		size_t size;
	} answers[] = {{"", 0}, {"x", 1}, {"x\0y", 3}, {long_text, sizeof(long_text)}};

	memset(long_text, 'x', sizeof(long_text) - 1);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		process = (struct process){
			.answer = answers[i].answer, .answer_size = answers[i].size};
		CHECK_TEXT(read_texts(), "libiga64 fails");
		CHECK(process.questions == 2 && visited.texts[0] <= 1 && visited.texts[1] <= 1);
	}
}

static void what_is_the_matter_is_said_once(void)
{
	static const struct {
		int error;
		unsigned int questions;
		const char *failure;
	} cases[] = {
		{-ENOENT, 1, ""},
		{-EINTR, 1, ""},
		{-EIO, 2, "libiga64 fails"},
		{-ETIME, 2, "libiga64 takes too long"},
		{-ELIBBAD, 1, "libiga64 cannot be loaded"},
		{-EOPNOTSUPP, 2,
			"the libiga64 that is installed does not know GPUs of version 20.1"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		process = (struct process){.error = cases[i].error};
		CHECK_TEXT(read_texts(), cases[i].failure);
		CHECK(process.questions == cases[i].questions && !visited.texts[0]);
	}
}

/* --- the real one ----------------------------------------------------------------------------- */

/* The texts of a kernel, beside its lines of the record: how many are the same. */
static size_t compare_kernel(struct gpucode_library *l, const struct zebin *z,
	const struct zebin_function *f, char *record)
{
	const struct iga_question q = {.target = zebin_target(z)};
	struct buf question = BUF_INIT, answer = BUF_INIT;
	char *line, *save = NULL, *text;
	size_t size, same = 0;
	const void *code = zebin_code(z, f, &size);

	buf_append(&question, &q, sizeof(q));
	buf_append(&question, code, size);
	if (iga_writer.write(l, question.data, question.size, &answer))
		answer.size = 0;
	text = answer.data;
	for (line = strtok_r(record, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char name[16];
		int at = 0;

		if (sscanf(line, "%15s %*x %*u %n", name, &at) != 1 || strcmp(name, f->name))
			continue;
		if (!answer.size || text >= answer.data + answer.size)
			break;
		same += !strcmp(text, line + at);
		if (strcmp(text, line + at))
			printf("# '%s' is recorded as '%s'\n", text, line + at);
		text += strlen(text) + 1;
	}
	buf_release(&question);
	buf_release(&answer);
	return same;
}

static size_t compare_device(struct gpucode_library *l, const char *name)
{
	struct buf image = BUF_INIT, record = BUF_INIT;
	struct zebin *z = NULL;
	char path[256];
	size_t same = 0;

	snprintf(path, sizeof(path), DATA "%s.zebin", name);
	CHECK(!io_read_file(path, FILE_MAX, &image));
	CHECK(!zebin_open(image.data, image.size, &z));
	snprintf(path, sizeof(path), DATA "%s.iga", name);
	for (size_t i = 0; z && i < zebin_function_count(z); i++) {
		buf_reset(&record);
		CHECK(!io_read_file(path, FILE_MAX, &record));
		buf_putc(&record, 0);
		same += compare_kernel(l, z, zebin_function(z, i), record.data);
	}
	zebin_close(z);
	buf_release(&image);
	buf_release(&record);
	return same;
}

/* Whether it is one that knows the newest of them. */
static bool knows_all(struct gpucode_library *l)
{
	const struct iga_question q = {.target = 3000};
	struct buf b = BUF_INIT;
	bool knows = !iga_writer.write(l, &q, sizeof(q), &b);

	buf_release(&b);
	return knows;
}

static struct gpucode_library *installed; /* NULL: it is not */

static void the_texts_of_libiga64_are_the_recorded_ones(void)
{
	static const char *const names[] = {"bmg", "lnl", "ptl", "pvc"};
	size_t same = 0;

	if (!installed || !knows_all(installed)) {
		SKIP("no libiga64 that knows Xe3 ('tests/neo/fetch build/neo')");
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		same += compare_device(installed, names[i]);
	CHECK(same == 916);
}

int main(void)
{
	const char *chosen = getenv("XPUPROF_LIBIGA64");

	if (!chosen)
		chosen = access(FETCHED, R_OK) ? "" : FETCHED;
	(void)iga_writer.load(chosen, &installed);
	RUN(each_instruction_is_asked_about_in_pieces_that_fit);
	RUN(what_is_no_answer_is_not_believed);
	RUN(what_is_the_matter_is_said_once);
	RUN(the_texts_of_libiga64_are_the_recorded_ones);
	if (installed)
		iga_writer.unload(installed);
	return tap_end();
}
