// SPDX-License-Identifier: MIT
/*
 * Compares our decoding of instructions with nvdisasm's:
 *
 *	sass_check CUBIN...              every instruction of these
 *	sass_check --sweep SM HIGH...    every opcode in every form, with the upper 64 bits HIGH (in
 *	                                 hexadecimal) and nothing else; of those that nvdisasm knows
 *
 * Guard and mnemonic are to be equal, and each modifier of ours among nvdisasm's, in its order.
 * Says what differs and how much was compared. Exits with 77 where there is no nvdisasm.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/vec.h"
#include "gpucode/nvidia/cubin.h"
#include "gpucode/nvidia/nvdisasm.h"
#include "gpucode/nvidia/sass.h"

#define SKIPPED	    77
#define IMAGE_MAX   (256u << 20)
#define SHOWN_MAX   20
#define LIMIT_NS    (600 * NS_PER_SECOND)
#define OPCODES	    4096
#define ALWAYS_BITS 0x7000 /* no guard */

/* What an nvdisasm says that is older than the architecture. */
#define TOO_OLD "is not defined for option"

struct check {
	const char *program;
	unsigned int sm;
	const struct nvdisasm_code *code;
	size_t compared, differ;
};

static size_t head_length(const char *text)
{
	size_t guard = *text == '@' ? strcspn(text, " ") + 1 : 0;

	return guard + strcspn(text + guard, ". ");
}

/* Whether the modifiers at `ours` are among those at `theirs`, in their order. */
static bool are_among(const char *ours, const char *theirs)
{
	const char *end = theirs + strcspn(theirs, " ");

	while (*ours == '.') {
		size_t length = strcspn(++ours, ".");

		do {
			theirs = memchr(theirs, '.', (size_t)(end - theirs));
			if (!theirs)
				return false;
			theirs++;
		} while (strcspn(theirs, ". ") != length || strncmp(theirs, ours, length));
		ours += length;
	}
	return true;
}

static bool agree(const char *ours, const char *theirs)
{
	size_t length = head_length(ours);

	if (length != head_length(theirs) || strncmp(ours, theirs, length))
		return false;
	/* What no hardware does may be called anything. */
	if (strstr(theirs, "INVALID") || strstr(theirs, "???"))
		return true;
	return are_among(ours + length, theirs + length);
}

static int compare(void *context, size_t function, uint64_t offset, const char *text)
{
	struct check *c = context;
	const uint8_t *bytes = (const uint8_t *)c->code[function].bytes + offset;
	char ours[SASS_TEXT_MAX];

	sass_text(c->sm, bytes, ours, sizeof(ours));
	c->compared++;
	if (agree(ours, text) || c->differ++ >= SHOWN_MAX)
		return 0;
	printf("sm_%u ", c->sm);
	for (size_t i = 0; i < SASS_INSTRUCTION_BYTES; i++)
		printf("%02x", bytes[i]);
	printf(" is '%s', nvdisasm says '%s'\n", ours, text);
	return 0;
}

static int run(struct check *c, const struct nvdisasm_code *code, size_t count)
{
	struct nvdisasm_request r = {
		.program = c->program,
		.sm = c->sm,
		.functions = code,
		.count = count,
		.visit = compare,
		.context = c,
		.limit_ns = LIMIT_NS,
	};

	c->code = code;
	return nvdisasm_run(&r);
}

static int check_image(struct check *c, const void *image, size_t size)
{
	struct vec(struct nvdisasm_code) code = {0};
	struct cubin *cubin;
	int error = cubin_open(image, size, &cubin);

	if (error)
		return error;
	c->sm = cubin_sm(cubin);
	for (size_t i = 0; !error && i < cubin_function_count(cubin); i++) {
		const struct cubin_function *f = cubin_function(cubin, i);
		struct nvdisasm_code one;

		if (f->outer != CUBIN_NONE)
			continue;
		one.bytes = cubin_code(cubin, f, &one.size);
		error = vec_push(&code, one);
	}
	error = error ?: run(c, code.items, code.count);
	vec_release(&code);
	cubin_close(cubin);
	return error;
}

static int check_file(struct check *c, const char *path)
{
	struct buf image = BUF_INIT;
	int error = io_read_file(path, IMAGE_MAX, &image);

	error = error ? error_errno(error, "cannot read '%s'", path)
		      : check_image(c, image.data, image.size);
	buf_release(&image);
	if (error != -EIO || !strstr(error_text(), TOO_OLD))
		return error;
	printf("not compared: '%s' (%s)\n", path, error_text());
	return 0;
}

static int sweep(struct check *c, uint64_t high)
{
	for (uint64_t opcode = 0; opcode < OPCODES; opcode++) {
		uint64_t words[2] = {opcode | ALWAYS_BITS, high};
		struct nvdisasm_code one = {words, sizeof(words)};
		int error = run(c, &one, 1);

		if (error)
			return error;
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool sweeps = argc > 3 && !strcmp(argv[1], "--sweep");
	struct buf program = BUF_INIT;
	struct check c = {0};
	int error = nvdisasm_find(&program, true);

	if (error) {
		printf("%s\n", error_text());
		buf_release(&program);
		return SKIPPED;
	}
	c.program = buf_text(&program);
	if (sweeps)
		c.sm = (unsigned int)atoi(argv[2]);
	for (int i = sweeps ? 3 : 1; !error && i < argc; i++)
		error = sweeps ? sweep(&c, strtoull(argv[i], NULL, 16)) : check_file(&c, argv[i]);
	if (error)
		printf("%s\n", error_text());
	printf("%zu instructions compared, %zu differ\n", c.compared, c.differ);
	buf_release(&program);
	return error || c.differ || !c.compared;
}
