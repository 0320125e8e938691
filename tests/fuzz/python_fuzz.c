// SPDX-License-Identifier: MIT
/*
 * Python's memory with anything at all in it: finding the interpreter, walking its frames and
 * naming them. The input is a version, an address to begin at, and the contents of a memory that
 * repeats for ever, with holes, so that nearly every pointer leads somewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "python/code.h"
#include "python/interpreter.h"
#include "python/memory.h"
#include "python/remote.h"

#define HOLE_EVERY 8 /* pages */

struct input {
	uint8_t version; /* 3.8 and so many */
	uint8_t settings;
	uint16_t start;
	uint8_t memory[];
};

enum { WITH_HOLES = 1, DESCRIBED = 2, FREE_THREADED = 4 };

#define DESCRIPTION_WORDS 96
#define STRUCT_BYTES	  256 /* of everything that is described */

struct contents {
	const uint8_t *bytes;
	size_t size;
	bool with_holes;
};

static bool read_contents(const struct python_memory *m, uint64_t address, void *ret, size_t size)
{
	const struct contents *c = m->context;

	while (size) {
		size_t at = address % c->size, piece = c->size - at < size ? c->size - at : size;

		if (c->with_holes && (address >> 12) % HOLE_EVERY == HOLE_EVERY - 1)
			return false;
		memcpy(ret, c->bytes + at, piece);
		ret = (uint8_t *)ret + piece;
		address += piece;
		size -= piece;
	}
	return true;
}

/* A copy of what is there, some parts of it with any size. */
static void offer(struct python_code *code, const struct python_memory *m, uint64_t frame_code)
{
	struct walk_python_code copy;

	if (!python_read(m, frame_code & WALK_PYTHON_ADDRESS, &copy, sizeof(copy)))
		return;
	copy.code = frame_code;
	if (copy.header[0] & 1)
		copy.parts[0] = (struct walk_python_part){
			frame_code & WALK_PYTHON_ADDRESS, sizeof(copy.header)};
	if (python_code_offer(code, &copy))
		abort();
}

static void check_lines(
	const struct python_memory *m, const struct walk_python *p, const struct python_stack *s)
{
	struct python_code *code;
	struct python_line line;

	if (python_code_new(&code, p))
		return;
	for (uint32_t i = 0; i < s->depth; i++) {
		if (i % 2)
			offer(code, m, s->frames[i].code);
		(void)python_code_want(code, &s->frames[i]);
	}
	(void)python_code_read_here(code, m);
	for (uint32_t i = 0; i < s->depth; i++)
		if (!python_code_line(code, &s->frames[i], &line) && (!line.function || !line.file))
			abort();
	python_code_unref(code);
}

/* What may come from a process that reads, of one code object: its names, then its line table. */
static void check_reply(const struct walk_python *p, const void *reply, size_t size)
{
	const struct walk_python_frame frame = {1, 1};
	struct buf request = BUF_INIT;
	struct python_code *code;
	struct python_line line;

	if (python_code_new(&code, p))
		return;
	if (!python_code_want(code, &frame))
		abort();
	for (int turn = 0; turn < 2 && python_code_request(code, &request); turn++)
		(void)python_code_answer(code, reply, size);
	if (python_code_is_wanting(code))
		abort();
	(void)python_code_line(code, &frame, &line);
	buf_release(&request);
	python_code_unref(code);
}

static void check_stack(const struct python_memory *m, const struct walk_python *p, uint64_t state)
{
	struct python_stack s;
	uint32_t groups = 0;

	python_remote_walk(&s, m, p, state);
	if (s.depth > WALK_PYTHON_FRAMES_MAX || s.entry_count > WALK_PYTHON_ENTRIES_MAX)
		abort();
	for (uint32_t i = 0; i < s.depth; i++)
		groups += s.frames[i].at >> 63;
	if (p->layout != WALK_PYTHON_OBJECTS && groups != s.entry_count)
		abort();
	check_lines(m, p, &s);
}

/* A description as walkers get it from a recorder, whatever offsets are in it. */
static struct walk_python any_python(const struct input *in, uint32_t version)
{
	struct walk_python p;

	memset(&p, 0, sizeof(p));
	for (size_t i = 0; i < sizeof(p) && i < 64; i++)
		((uint8_t *)&p)[sizeof(p) - 1 - i] = in->memory[i];
	p.version = version;
	p.layout = WALK_PYTHON_OBJECTS + in->settings % 4;
	return p;
}

/* Small offsets, each of what the section's first word says is the size. */
static void describe(uint8_t *memory, const struct input *in, uint32_t version)
{
	uint64_t words[DESCRIPTION_WORDS];

	for (size_t i = 0; i < DESCRIPTION_WORDS; i++)
		words[i] = in->memory[i] ? in->memory[i] % 32 * 8 : STRUCT_BYTES;
	memcpy(words, "xdebugpy", 8);
	words[1] = (uint64_t)version << 16;
	words[2] = (in->settings & FREE_THREADED) != 0;
	memcpy(memory, words, sizeof(words));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct input *in = (const struct input *)data;
	struct python_file file = {0};
	struct walk_python p = {0};
	struct contents contents;
	struct python_memory m = {.read = read_contents, .context = &contents};

	uint8_t *bytes;

	if (size < sizeof(*in) + DESCRIPTION_WORDS * 8)
		return 0;
	bytes = malloc(size - sizeof(*in));
	if (!bytes)
		return 0;
	memcpy(bytes, in->memory, size - sizeof(*in));
	contents = (struct contents){bytes, size - sizeof(*in), in->settings & WITH_HOLES};
	file.version_hint = 0x0308 + in->version % 8;
	if (in->settings & DESCRIBED)
		describe(bytes, in, file.version_hint);
	file.runtime = in->settings & DESCRIBED ? contents.size : in->start;
	file.get_state = in->start;
	if (python_find(&m, &file, 0, &p) == PYTHON_FOUND)
		check_stack(&m, &p, in->start);
	p = any_python(in, file.version_hint);
	p.runtime = file.runtime;
	check_stack(&m, &p, in->start);
	python_remote_state(&m, &p, in->start);
	check_reply(&p, bytes, contents.size);
	free(bytes);
	return 0;
}
