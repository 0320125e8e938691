// SPDX-License-Identifier: MIT
/*
 * The table's offsets are those that the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1 give
 * on a 64-bit machine (offsetof); tests/python/ checks them against running interpreters.
 *
 * _Py_DebugOffsets is an array of 64-bit words in sections, each of which begins with the size of
 * the struct that its other words are offsets in. Sections grow from version to version, so for
 * each version there is where each begins:
 *
 *	words 0..2  cookie "xdebugpy", PY_VERSION_HEX, free-threaded
 *	words 3..   runtime_state, interpreter_state, thread_state, interpreter_frame,
 *	            code_object, pyobject, and more
 *
 * Source: Include/internal/pycore_runtime.h of 3.13, pycore_debug_offsets.h of 3.14 and 3.15.
 */
#include "python/layout.h"

#include <errno.h>
#include <string.h>

#define COOKIE	   "xdebugpy"
#define WORDS	   96
#define OFFSET_MAX (1u << 24) /* no struct of an interpreter is larger */

/* What 3.8 to 3.10 have in common. */
#define OBJECT_FRAMES                                                                              \
	.finalizing = 16, .interpreters_head = 32, .interpreter_next = 0, .threads_head = 8,       \
	.state_next = 8, .state_interpreter = 16, .state_thread_id = 176, .state_frame = 24,       \
	.frame_code = 32, .frame_previous = 24, .code_filename = 104, .code_name = 112,            \
	.code_linetable = 120, .code_firstlineno = 40
/* What all versions of the table have in common. */
#define OBJECTS                                                                                    \
	.object_type = 8, .type_name = 24, .text_length = 16, .text_state = 32,                    \
	.text_kind_shift = 2, .bytes_size = 16, .bytes_data = 32
#define TEXT_WITH_WCHAR .text_ascii = 48, .text_compact = 72

static const struct python_layout layouts[] = {
	[0] = {OBJECT_FRAMES, OBJECTS, TEXT_WITH_WCHAR, .lines = PYTHON_LINES_LNOTAB, .tss = 1392,
		.frame_at = 104},
	[1] = {OBJECT_FRAMES, OBJECTS, TEXT_WITH_WCHAR, .lines = PYTHON_LINES_LNOTAB, .tss = 584,
		.frame_at = 104},
	[2] = {OBJECT_FRAMES, OBJECTS, TEXT_WITH_WCHAR, .lines = PYTHON_LINES_RANGES, .tss = 584,
		.frame_at = 96},
	[3] = {OBJECTS, TEXT_WITH_WCHAR, .lines = PYTHON_LINES_LOCATIONS, .finalizing = 24,
		.interpreters_head = 40, .tss = 592, .interpreter_next = 0, .threads_head = 16,
		.state_next = 8, .state_interpreter = 16, .state_thread_id = 152, .state_frame = 56,
		.cframe_frame = 8, .cframe_previous = 16, .frame_bytes = 80, .frame_code = 32,
		.frame_at = 56, .frame_previous = 48, .frame_owner = 68, .code_filename = 112,
		.code_name = 120, .code_qualname = 128, .code_linetable = 136,
		.code_firstlineno = 72, .code_firsttraceable = 168, .code_bytecode = 184},
	[4] = {OBJECTS, .text_ascii = 40, .text_compact = 56, .lines = PYTHON_LINES_LOCATIONS,
		.finalizing = 24, .interpreters_head = 40, .tss = 1544, .interpreter_next = 0,
		.threads_head = 72, .state_next = 8, .state_interpreter = 16,
		.state_thread_id = 136, .state_frame = 56, .cframe_frame = 0, .cframe_previous = 8,
		.frame_bytes = 80, .frame_code = 0, .frame_at = 56, .frame_previous = 8,
		.frame_owner = 70, .code_filename = 112, .code_name = 120, .code_qualname = 128,
		.code_linetable = 136, .code_firstlineno = 68, .code_firsttraceable = 176,
		.code_bytecode = 192},
};

/* Where the sections of _Py_DebugOffsets begin, and words in them whose index differs. */
struct sections {
	uint8_t runtime, interpreter, thread, frame, code, object, type, bytes, text;
	uint8_t thread_id;
	bool has_tlbc;
	uint16_t tss; /* autoTSSkey, which is not described: as in 3.13.0, 3.13.5 and 3.14.10 */
};

#define DESCRIBED_FROM 0x030d

static const struct sections described[] = {
	[0] = {3, 6, 19, 28, 34, 44, 46, 64, 67, .thread_id = 5, .tss = 2160},
	[1] = {3, 6, 22, 31, 39, 50, 52, 74, 77, .thread_id = 5, .has_tlbc = true, .tss = 2336},
	[2] = {3, 6, 22, 39, 47, 58, 60, 86, 89, .thread_id = 8, .has_tlbc = true},
};

/* Offset `index` of the section that begins at `section`; sets *bad when it does not lie in the
 * struct. */
static uint32_t offset_at(const uint64_t *words, size_t section, size_t index, bool *bad)
{
	uint64_t size = words[section], offset = words[section + index];

	if (size > OFFSET_MAX || offset >= size)
		*bad = true;
	return (uint32_t)offset;
}

static void read_states(
	struct python_layout *l, const uint64_t *w, const struct sections *s, bool *bad)
{
	l->finalizing = offset_at(w, s->runtime, 1, bad);
	l->interpreters_head = offset_at(w, s->runtime, 2, bad);
	l->interpreter_next = offset_at(w, s->interpreter, 2, bad);
	l->threads_head = offset_at(w, s->interpreter, 3, bad);
	l->state_next = offset_at(w, s->thread, 2, bad);
	l->state_interpreter = offset_at(w, s->thread, 3, bad);
	l->state_frame = offset_at(w, s->thread, 4, bad);
	l->state_thread_id = offset_at(w, s->thread, s->thread_id, bad);
	l->frame_bytes = (uint32_t)w[s->frame];
	l->frame_previous = offset_at(w, s->frame, 1, bad);
	l->frame_code = offset_at(w, s->frame, 2, bad);
	l->frame_at = offset_at(w, s->frame, 3, bad);
	l->frame_owner = offset_at(w, s->frame, 5, bad);
}

/*
 * _co_firsttraceable is not described; in all described versions it comes 16 bytes before the
 * bytecode (co_extra is between them), or before co_tlbc where there is one.
 */
static void read_code(
	struct python_layout *l, const uint64_t *w, const struct sections *s, bool *bad)
{
	uint32_t end;

	l->code_filename = offset_at(w, s->code, 1, bad);
	l->code_name = offset_at(w, s->code, 2, bad);
	l->code_qualname = offset_at(w, s->code, 3, bad);
	l->code_linetable = offset_at(w, s->code, 4, bad);
	l->code_firstlineno = offset_at(w, s->code, 5, bad);
	l->code_bytecode = offset_at(w, s->code, 9, bad);
	l->code_tlbc = s->has_tlbc ? offset_at(w, s->code, 10, bad) : 0;
	end = l->code_tlbc ? l->code_tlbc : l->code_bytecode;
	if (end < 16)
		*bad = true;
	l->code_firsttraceable = end - 16;
}

/* In builds without a GIL the byte that says whether text is interned stands alone (3.14 and
 * later), and the characters of text that is not ASCII always begin 16 bytes later than those of
 * ASCII. */
static void read_objects(
	struct python_layout *l, const uint64_t *w, const struct sections *s, bool *bad)
{
	l->object_type = offset_at(w, s->object, 1, bad);
	l->type_name = offset_at(w, s->type, 1, bad);
	l->bytes_size = offset_at(w, s->bytes, 1, bad);
	l->bytes_data = offset_at(w, s->bytes, 2, bad);
	l->text_state = offset_at(w, s->text, 1, bad);
	l->text_length = offset_at(w, s->text, 2, bad);
	l->text_ascii = offset_at(w, s->text, 3, bad);
	l->text_compact = l->text_ascii + 16;
	l->text_kind_shift = l->free_threaded && s->has_tlbc ? 8 : 2;
}

static int load_described(struct python_layout *ret, const struct python_memory *m,
	uint64_t runtime, uint32_t version)
{
	const struct sections *s = &described[version - DESCRIBED_FROM];
	struct python_layout l = {.lines = PYTHON_LINES_LOCATIONS, .tss = s->tss};
	uint64_t words[WORDS];
	bool bad = false;

	if (!python_read(m, runtime, words, sizeof(words)))
		return -EIO;
	if (memcmp(words, COOKIE, 8) || words[1] >> 16 != version || words[2] > 1)
		return -ENOTSUP;
	l.free_threaded = (uint32_t)words[2];
	read_states(&l, words, s, &bad);
	read_code(&l, words, s, &bad);
	read_objects(&l, words, s, &bad);
	if (bad)
		return -ENOTSUP;
	*ret = l;
	return 0;
}

int python_layout_load(struct python_layout *ret, const struct python_memory *m, uint64_t runtime,
	uint32_t version)
{
	if (version < PYTHON_VERSION_MIN || version > PYTHON_VERSION_MAX)
		return -ENOTSUP;
	if (version >= DESCRIBED_FROM)
		return load_described(ret, m, runtime, version);
	*ret = layouts[version - PYTHON_VERSION_MIN];
	return 0;
}

uint32_t python_lines_of(uint32_t version)
{
	if (version < PYTHON_VERSION_MIN || version > PYTHON_VERSION_MAX)
		return 0;
	return version >= DESCRIBED_FROM ? PYTHON_LINES_LOCATIONS
					 : layouts[version - PYTHON_VERSION_MIN].lines;
}

uint32_t python_layout_version(const struct python_memory *m, uint64_t runtime)
{
	uint64_t words[2];

	if (!python_read(m, runtime, words, sizeof(words)) || memcmp(words, COOKIE, 8))
		return 0;
	return (uint32_t)(words[1] >> 16);
}
