// SPDX-License-Identifier: MIT
/* Guesses of callers, where there is no unwind information (walk_guess). */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

#define WALK_INLINE static inline
#define WALK_HOME_CODE
#include "walk/walk.h"

#define CODE  0x400000
#define STACK 0x7f0000001000
#define WORDS 64

static uint8_t code[256];
static uint64_t stack[WORDS];

static bool walk_home_mapping(struct walk *w, uint64_t address, struct walk_mapping *ret)
{
	static const struct walk_mapping only = {.start = CODE, .end = CODE + 128};

	(void)w;
	return walk_search_mappings(&only, 1, address, ret);
}

static bool walk_home_words(struct walk *w, uint32_t at, uint32_t *ret, uint32_t count)
{
	(void)w;
	(void)at;
	memset(ret, 0, count * sizeof(*ret));
	return false;
}

static bool walk_home_read(struct walk *w, uint64_t address, uint64_t *ret)
{
	if (address < w->sp || address < STACK || address > STACK + sizeof(stack) - sizeof(*ret))
		return false;
	memcpy(ret, (const uint8_t *)stack + (address - STACK), sizeof(*ret));
	return true;
}

static bool walk_home_code(struct walk *w, uint64_t address, uint64_t *ret)
{
	(void)w;
	if (address < CODE || address > CODE + sizeof(code) - sizeof(*ret))
		return false;
	memcpy(ret, code + (address - CODE), sizeof(*ret));
	return true;
}

/* A call of `size` bytes ends at this offset of the code; its address. */
static uint64_t call(uint32_t end, const char *bytes, uint32_t size)
{
	memcpy(code + end - size, bytes, size);
	return CODE + end;
}

static void begin(struct walk *w)
{
	memset(code, 0x90, sizeof(code));
	memset(stack, 0, sizeof(stack));
	*w = (struct walk){
		.pc = CODE + 8, .sp = STACK, .guess_left = WALK_GUESS_WORDS, .end = WALK_NO_RULE};
}

/* As homes do. */
static bool guess(struct walk *w)
{
	bool drop, found = false;

	if (!walk_may_guess(w) || !walk_begin_guess(w, &drop))
		return false;
	while (!found && w->guess_left)
		found = walk_guess(w);
	return found;
}

static void every_form_of_a_call_is_recognized(void)
{
	static const struct {
		const char *bytes;
		uint32_t size;
		bool is_call;
	} forms[] = {
		{"\xe8\x01\x02\x03\x04", 5, true},
		{"\xff\xd0", 2, true},			   /* call *%rax */
		{"\x41\xff\xd7", 3, true},		   /* call *%r15 */
		{"\xff\x13", 2, true},			   /* call *(%rbx) */
		{"\xff\x14\xc3", 3, true},		   /* call *(%rbx,%rax,8) */
		{"\xff\x50\x18", 3, true},		   /* call *0x18(%rax) */
		{"\xff\x54\x24\x10", 4, true},		   /* call *0x10(%rsp) */
		{"\xff\x15\x01\x02\x03\x04", 6, true},	   /* call *0x4030201(%rip) */
		{"\xff\x90\x01\x02\x03\x04", 6, true},	   /* call *0x4030201(%rax) */
		{"\xff\x94\xc3\x01\x02\x03\x04", 7, true}, /* call *0x4030201(%rbx,%rax,8) */
		{"\xff\xe0", 2, false},			   /* jmp *%rax */
		{"\xff\x25\x01\x02\x03\x04", 6, false},	   /* jmp *0x4030201(%rip) */
		{"\xff\x70\x18", 3, false},		   /* push 0x18(%rax) */
		{"\xe9\x01\x02\x03\x04", 5, false},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct walk w;
		uint64_t bytes;

		begin(&w);
		CHECK(walk_home_code(&w, call(64, forms[i].bytes, forms[i].size) - 8, &bytes));
		CHECK(walk_is_call(bytes) == forms[i].is_call);
	}
}

static void the_first_word_behind_a_call_is_the_caller(void)
{
	struct walk w;

	begin(&w);
	stack[1] = CODE + 20; /* no call is there */
	stack[2] = 12345;
	stack[30] = call(64, "\xe8\0\0\0\0", 5);
	stack[31] = call(80, "\xe8\0\0\0\0", 5);
	CHECK(guess(&w));
	CHECK(w.pc == CODE + 64 && w.sp == STACK + 31 * 8 && !w.exact && w.end == WALK_DEPTH);
	CHECK(walk_frame(&w) == ((CODE + 64) | WALK_FRAME_GUESSED));
}

static void the_frame_pointer_shows_it_where_it_can(void)
{
	struct walk w;

	begin(&w);
	w.fp = STACK + 80;
	stack[3] = call(64, "\xe8\0\0\0\0", 5); /* left there by others */
	stack[10] = STACK + 200;
	stack[11] = call(80, "\xe8\0\0\0\0", 5);
	CHECK(guess(&w));
	CHECK(w.pc == CODE + 80 && w.sp == STACK + 96 && w.fp == STACK + 200);
}

static void a_function_interrupted_before_it_has_a_frame_is_left_first(void)
{
	struct walk w;

	begin(&w);
	w.exact = 1;
	w.fp = STACK + 80;
	stack[0] = call(64, "\xe8\0\0\0\0", 5);
	stack[11] = call(80, "\xe8\0\0\0\0", 5);
	CHECK(guess(&w));
	CHECK(w.pc == CODE + 64 && w.sp == STACK + 8 && w.fp == STACK + 80);
}

static void the_callers_frame_pointer_is_what_was_saved_below(void)
{
	struct walk w;

	begin(&w);
	stack[4] = STACK + 160;
	stack[5] = call(64, "\xe8\0\0\0\0", 5);
	CHECK(guess(&w));
	CHECK(w.pc == CODE + 64 && w.fp == STACK + 160);
	begin(&w);
	w.fp = 77;
	stack[4] = STACK - 8; /* would be below */
	stack[5] = call(64, "\xe8\0\0\0\0", 5);
	CHECK(guess(&w));
	CHECK(w.pc == CODE + 64 && w.fp == 77);
}

static void what_is_not_mapped_as_code_is_no_caller(void)
{
	struct walk w;

	begin(&w);
	stack[2] = call(200, "\xe8\0\0\0\0", 5); /* behind the mapping */
	stack[20] = call(64, "\xe8\0\0\0\0", 5);
	CHECK(guess(&w));
	CHECK(w.pc == CODE + 64);
}

static void an_address_without_a_call_is_no_frame(void)
{
	struct walk w;
	bool drop = false;

	begin(&w);
	w.end = WALK_NO_MAPPING;
	w.pc = 0x123456789;
	w.sp = STACK + 200;
	w.callee_sp = STACK + 16;
	CHECK(walk_begin_guess(&w, &drop) && drop);
	CHECK(w.sp == STACK + 16 && !w.fp);
	begin(&w);
	w.end = WALK_NO_MAPPING; /* code that may be known soon */
	w.pc = call(200, "\xe8\0\0\0\0", 5);
	CHECK(!walk_begin_guess(&w, &drop) && !drop);
}

static void guesses_have_an_end(void)
{
	static const uint32_t ends[] = {
		WALK_COMPLETE, WALK_ZERO, WALK_PENDING, WALK_DEPTH, WALK_UNKNOWN, WALK_STALE};
	struct walk w;
	int turns = 0;

	begin(&w);
	while (w.guess_left && !walk_guess(&w))
		turns++;
	CHECK(turns == WALK_GUESS_GAP / WALK_GUESS_TURN + 1);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		begin(&w);
		w.end = ends[i];
		stack[2] = call(64, "\xe8\0\0\0\0", 5);
		CHECK(!guess(&w));
	}
}

int main(void)
{
	RUN(every_form_of_a_call_is_recognized);
	RUN(the_first_word_behind_a_call_is_the_caller);
	RUN(the_frame_pointer_shows_it_where_it_can);
	RUN(a_function_interrupted_before_it_has_a_frame_is_left_first);
	RUN(the_callers_frame_pointer_is_what_was_saved_below);
	RUN(what_is_not_mapped_as_code_is_no_caller);
	RUN(an_address_without_a_call_is_no_frame);
	RUN(guesses_have_an_end);
	return tap_end();
}
