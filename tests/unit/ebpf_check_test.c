// SPDX-License-Identifier: MIT
/* What the checker lets pass, and what it refuses with which words. */
#include <errno.h>

#include "base/error.h"
#include "ebpf/check/check.h"
#include "ebpf/layout.h"
#include "ebpf_program.h"
#include "tap.h"

#define LENGTH_MAX 24

struct row {
	const char *what;
	const char *refusal; /* part of the text; NULL: passes */
	struct bpf_insn insns[LENGTH_MAX];
	uint32_t function; /* where a second one begins; 0: nowhere */
	enum ebpf_where where;
	struct check_options options;
	bool splits_calls, once_per_warp;
};

/* r2 = a key of 4 bytes, 0, on the stack; r1 = the map; look up. */
#define LOOK_UP(map) PUT(BPF_W, 10, -4, 0), MOVX(2, 10), ALU(BPF_ADD, 2, -4), MAP(1, map), CALL(1)
/* The same with a key that is not known. */
#define LOOK_UP_ANY(map)                                                                           \
	CALL(502), STORE(BPF_W, 10, -4, 0), MOVX(2, 10), ALU(BPF_ADD, 2, -4), MAP(1, map), CALL(1)
#define RETURN MOV(0, 0), EXIT

static uint32_t length_of(const struct row *row)
{
	uint32_t n = LENGTH_MAX;
	static const struct bpf_insn none;

	while (n && !memcmp(&row->insns[n - 1], &none, sizeof(none)))
		n--;
	return n;
}

static int check_row(const struct row *row, struct analysis *ret)
{
	uint32_t length = length_of(row);
	uint32_t lengths[3] = {row->function ? row->function : length,
		row->function ? length - row->function : 0, 0};
	struct ebpf_object o;
	struct flow f;
	int error;

	program_make(&o, row->where, row->insns, lengths);
	o.programs.items[0].site.per_thread = !row->once_per_warp;
	error = flow_build(&f, &o, &o.programs.items[0], row->splits_calls);
	if (!error) {
		error = ebpf_check(ret, &f, &row->options);
		flow_release(&f);
	}
	program_release(&o);
	return error;
}

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct analysis a;
		int error = check_row(&rows[i], &a);
		bool as_expected =
			rows[i].refusal ? error && strstr(error_text(), rows[i].refusal) : !error;

		if (!as_expected)
			printf("# %s: %s\n", rows[i].what, error ? error_text() : "passed");
		CHECK(as_expected);
		if (!error)
			analysis_release(&a);
	}
}

#define ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

// clang-format off
static void registers_are_set_before_they_are_used(void)
{
	static const struct row rows[] = {
		{"empty", NULL, {RETURN}},
		{"no result", "ends without a number in r0", {EXIT}},
		{"unset", "uses r3, which nothing set", {MOVX(0, 3), EXIT}},
		{"set on one way", "uses r3, which nothing set", {CALL(502), JUMP(BPF_JEQ, 0, 0, 1), MOV(3, 1), MOVX(0, 3), EXIT}},
		{"set on both", NULL, {CALL(502), JUMP(BPF_JEQ, 0, 0, 2), MOV(3, 1), GOTO(1), MOV(3, 2), MOVX(0, 3), EXIT}},
		{"gone after a call", "uses r2, which nothing set", {MOV(2, 1), CALL(502), MOVX(0, 2), EXIT}},
		{"kept over a call", NULL, {MOV(6, 1), CALL(502), MOVX(0, 6), EXIT}},
		{"argument unset", "uses r2, which nothing set", {MAP(1, COUNTS), CALL(1), RETURN}},
		{"r10", "changes r10", {MOV(10, 0), RETURN}},
		{"dead code is not looked at", NULL, {MOV(0, 0), GOTO(1), MOVX(0, 9), EXIT}},
		{"a way that cannot be", NULL, {MOV(0, 5), JUMP(BPF_JEQ, 0, 5, 1), MOVX(0, 9), EXIT}},
	};

	ROWS(rows);
}

static void the_stack_is_written_before_it_is_read(void)
{
	static const struct row rows[] = {
		{"read first", "where nothing was written", {LOAD(BPF_DW, 0, 10, -8), EXIT}},
		{"written", NULL, {PUT(BPF_DW, 10, -8, 1), LOAD(BPF_DW, 0, 10, -8), EXIT}},
		{"on one way", "where nothing was written",
			{CALL(502), JUMP(BPF_JEQ, 0, 0, 1), PUT(BPF_DW, 10, -8, 1), LOAD(BPF_DW, 0, 10, -8), EXIT}},
		{"below it", "outside of its 512 bytes", {PUT(BPF_DW, 10, -520, 1), RETURN}},
		{"above it", "outside of its 512 bytes", {PUT(BPF_W, 10, -2, 1), RETURN}},
		{"a pointer kept there", NULL, {STORE(BPF_DW, 10, -8, 10), LOAD(BPF_DW, 1, 10, -8), PUT(BPF_DW, 1, -16, 3), RETURN}},
		{"a pointer in parts", "as data", {STORE(BPF_DW, 10, -8, 10), LOAD(BPF_W, 0, 10, -8), EXIT}},
		{"half a pointer", "cannot be kept", {STORE(BPF_W, 10, -8, 10), RETURN}},
		{"what overwrote a pointer", "that is neither map nor stack",
			{STORE(BPF_DW, 10, -8, 10), PUT(BPF_B, 10, -8, 0), LOAD(BPF_DW, 1, 10, -8), PUT(BPF_DW, 1, -16, 3), RETURN}},
		{"what is left of a pointer", "where nothing was written",
			{STORE(BPF_DW, 10, -8, 10), PUT(BPF_B, 10, -8, 0), LOAD(BPF_W, 0, 10, -4), EXIT}},
		{"an atomic", NULL, {PUT(BPF_DW, 10, -8, 1), MOV(1, 1), ATOM(BPF_DW, 10, -8, 1, BPF_ADD), LOAD(BPF_DW, 0, 10, -8), EXIT}},
	};

	ROWS(rows);
}

static void lookups_are_compared_with_null(void)
{
	static const struct row rows[] = {
		{"not compared", "was not compared with NULL", {LOOK_UP_ANY(COUNTS), LOAD(BPF_DW, 0, 0, 0), EXIT}},
		{"compared", NULL, {LOOK_UP_ANY(COUNTS), JUMP(BPF_JEQ, 0, 0, 1), LOAD(BPF_DW, 0, 0, 0), RETURN}},
		{"the wrong way", "that is neither map", {LOOK_UP_ANY(COUNTS), JUMP(BPF_JNE, 0, 0, 1), LOAD(BPF_DW, 0, 0, 0), RETURN}},
		{"the copy is compared", NULL, {LOOK_UP_ANY(COUNTS), MOVX(6, 0), JUMP(BPF_JEQ, 6, 0, 1), LOAD(BPF_DW, 0, 0, 0), RETURN}},
		{"another look-up is compared", "was not compared with NULL",
			{LOOK_UP_ANY(COUNTS), MOVX(6, 0), LOOK_UP_ANY(COUNTS), JUMP(BPF_JEQ, 0, 0, 1), LOAD(BPF_DW, 0, 6, 0), RETURN}},
		/* i = 2; do { old = r0; r0 = look up; } while (--i); if (r0) *old */
		{"that of an earlier round", "was not compared with NULL", {
			MOV(8, 2), MOV(7, 0), MOV(6, 0),
			MOVX(6, 7), LOOK_UP_ANY(COUNTS), MOVX(7, 0), ALU(BPF_SUB, 8, 1), JUMP(BPF_JNE, 8, 0, -11),
			JUMP(BPF_JEQ, 7, 0, 1), LOAD(BPF_DW, 0, 6, 0), RETURN}},
		{"of a key that is there in any case", NULL, {LOOK_UP(COUNTS), LOAD(BPF_DW, 0, 0, 0), EXIT}},
		{"of a key in its bounds", NULL, {
			CALL(502), JUMP(BPF_JGT, 0, 2, 7), STORE(BPF_W, 10, -4, 0), MOVX(2, 10), ALU(BPF_ADD, 2, -4),
			MAP(1, THREE), CALL(1), LOAD(BPF_DW, 0, 0, 0), RETURN}},
		{"of one that may be beyond them", "was not compared with NULL", {
			CALL(502), JUMP(BPF_JGT, 0, 3, 7), STORE(BPF_W, 10, -4, 0), MOVX(2, 10), ALU(BPF_ADD, 2, -4),
			MAP(1, THREE), CALL(1), LOAD(BPF_DW, 0, 0, 0), RETURN}},
		{"of one beside another in its bounds", NULL, {
			CALL(502), JUMP(BPF_JGT, 0, 2, 8), STORE(BPF_W, 10, -8, 0), STORE(BPF_W, 10, -4, 0), MOVX(2, 10),
			ALU(BPF_ADD, 2, -8), MAP(1, THREE), CALL(1), LOAD(BPF_DW, 0, 0, 0), RETURN}},
		{"of one that was changed since", "was not compared with NULL", {
			CALL(502), JUMP(BPF_JGT, 0, 2, 8), STORE(BPF_W, 10, -4, 0), PUT(BPF_B, 10, -3, 1), MOVX(2, 10),
			ALU(BPF_ADD, 2, -4), MAP(1, THREE), CALL(1), LOAD(BPF_DW, 0, 0, 0), RETURN}},
		{"of one that is larger on another way", "was not compared with NULL", {
			CALL(502), PUT(BPF_W, 10, -4, 2), JUMP(BPF_JNE, 0, 0, 1), PUT(BPF_W, 10, -4, 3), MOVX(2, 10),
			ALU(BPF_ADD, 2, -4), MAP(1, THREE), CALL(1), LOAD(BPF_DW, 0, 0, 0), RETURN}},
		{"of one that grows", "was not compared with NULL", {
			MOV(8, 0), STORE(BPF_W, 10, -4, 8), MOVX(2, 10), ALU(BPF_ADD, 2, -4), MAP(1, THREE), CALL(1),
			LOAD(BPF_DW, 0, 0, 0), ALU(BPF_ADD, 8, 1), CALL(502), JUMP(BPF_JNE, 0, 0, -10), RETURN}},
		{"found or made", NULL, {
			LOOK_UP_ANY(COUNTS), JUMP(BPF_JNE, 0, 0, 5), MOVX(2, 10), ALU(BPF_ADD, 2, -4), MAP(1, COUNTS),
			CALL(1), JUMP(BPF_JEQ, 0, 0, 1), LOAD(BPF_DW, 0, 0, 0), RETURN}},
	};

	ROWS(rows);
}

static void accesses_stay_in_bounds(void)
{
	static const struct row rows[] = {
		{"behind a value", "outside of its 8 bytes", {LOOK_UP(COUNTS), LOAD(BPF_DW, 0, 0, 8), EXIT}},
		{"before it", "outside of its 8 bytes", {LOOK_UP(COUNTS), LOAD(BPF_B, 0, 0, -1), EXIT}},
		{"its last byte", NULL, {LOOK_UP(COUNTS), LOAD(BPF_B, 0, 0, 7), EXIT}},
		{"variables", "outside of its 32 bytes", {VARIABLE(1, VARIABLES, 28), LOAD(BPF_DW, 0, 1, 0), EXIT}},
		{"constants are not written", "only for reading", {VARIABLE(1, CONSTANTS, 0), PUT(BPF_B, 1, 0, 1), RETURN}},
		{"a key that is too short", "outside of its 512 bytes",
			{PUT(BPF_W, 10, -4, 0), MOVX(2, 10), ALU(BPF_ADD, 2, -4), MAP(1, PAIRS), CALL(1), RETURN}},
		{"an atomic not aligned", "not aligned", {VARIABLE(1, VARIABLES, 2), MOV(2, 1), ATOM(BPF_W, 1, 0, 2, BPF_ADD), RETURN}},
		{"the context", NULL, {LOAD(BPF_DW, 0, 1, 88), EXIT}},
		{"behind the context", "where there is no field", {LOAD(BPF_DW, 0, 1, 96), EXIT}},
		{"the context is not written", "writes to its context", {PUT(BPF_DW, 1, 0, 1), RETURN}},
		{"address of an access", NULL, {LOAD(BPF_DW, 0, 1, 0), EXIT}, 0, EBPF_AT_LOAD},
		{"between its fields", "where there is no field", {LOAD(BPF_DW, 0, 1, 8), EXIT}, 0, EBPF_AT_LOAD},
	};

	ROWS(rows);
}

static void other_memory_is_left_alone(void)
{
	static const struct row rows[] = {
		{"read", "--allow-reads", {LOAD(BPF_DW, 2, 1, 0), LOAD(BPF_W, 0, 2, 0), EXIT}},
		{"read, which is allowed", NULL, {LOAD(BPF_DW, 2, 1, 0), LOAD(BPF_W, 0, 2, 0), EXIT}, 0, 0, {.allow_reads = true}},
		{"written", "writes to memory that is neither", {LOAD(BPF_DW, 2, 1, 0), PUT(BPF_W, 2, 0, 1), RETURN}, 0, 0, {.allow_reads = true}},
		{"by an atomic", "writes to memory that is neither",
			{LOAD(BPF_DW, 2, 1, 0), MOV(3, 1), ATOM(BPF_W, 2, 0, 3, BPF_ADD), RETURN}, 0, 0, {.allow_reads = true}},
		{"a pointer in a map", "puts a pointer into a map", {LOOK_UP(COUNTS), STORE(BPF_DW, 0, 0, 10), RETURN}},
		{"a pointer as result", "ends without a number", {MOVX(0, 10), EXIT}},
		{"a pointer as number", "calculates with a pointer", {MOVX(0, 10), ALU(BPF_MUL, 0, 2), EXIT}},
		{"two pointers", "nothing set on some way",
			{CALL(502), MOVX(1, 10), JUMP(BPF_JEQ, 0, 0, 2), VARIABLE(1, VARIABLES, 0), PUT(BPF_B, 1, -1, 0), RETURN}},
	};

	ROWS(rows);
}

static void calls_are_those_that_the_place_has(void)
{
	static const struct row rows[] = {
		{"unknown", "calls helper 4, which is unknown", {CALL(4), EXIT}},
		{"tail call", "calls another program", {MAP(2, COUNTS), MOV(3, 0), CALL(12), RETURN}},
		{"exit", "--allow-exit", {CALL(507), RETURN}},
		{"exit, which is allowed", NULL, {CALL(507), RETURN}, 0, 0, {.allow_exit = true}},
		{"exit of one lane", "one lane cannot end", {CALL(507), RETURN}, .options = {.allow_exit = true}, .once_per_warp = true},
		{"exit at the exit", "cannot end a thread that is ending", {CALL(507), RETURN}, 0, EBPF_AT_EXIT, {.allow_exit = true}},
		{"cookie on entry", "only exit programs have a cookie", {CALL(520), EXIT}},
		{"cookie at the exit", NULL, {CALL(520), EXIT}, 0, EBPF_AT_EXIT},
		{"lines on entry", "only programs for accesses", {CALL(523), EXIT}},
		{"lines", NULL, {CALL(523), EXIT}, 0, EBPF_AT_LOAD},
		{"a map that GPUs do not have", "of type 9", {LOOK_UP(NO_GPU_MAP), RETURN}},
		{"a ring looked up", "is not for map 'ring'", {LOOK_UP(RING), RETURN}},
		{"deleted from an array", "cannot be deleted", {PUT(BPF_W, 10, -4, 0), MOVX(2, 10), ALU(BPF_ADD, 2, -4), MAP(1, COUNTS), CALL(3), EXIT}},
		{"no map", "is no map", {MOV(1, 5), MOVX(2, 10), CALL(1), RETURN}},
		{"results", NULL, {MOVX(1, 10), ALU(BPF_ADD, 1, -8), MOVX(2, 10), ALU(BPF_ADD, 2, -16), MOVX(3, 10), ALU(BPF_ADD, 3, -24),
			CALL(503), LOAD(BPF_DW, 0, 10, -24), EXIT}},
		{"sent with no size", "no size that is the same", {PUT(BPF_DW, 10, -8, 0), CALL(502), MOVX(5, 0), MOV(1, 0), MAP(2, RING), MOV(3, 0),
			MOVX(4, 10), ALU(BPF_ADD, 4, -8), CALL(25), EXIT}},
		{"sent", NULL, {PUT(BPF_DW, 10, -8, 0), MOV(5, 8), MOV(1, 0), MAP(2, RING), MOV(3, 0), MOVX(4, 10), ALU(BPF_ADD, 4, -8), CALL(25), EXIT}},
		{"a record", NULL, {MAP(1, RING), MOV(2, 12), MOV(3, 0), CALL(131), JUMP(BPF_JEQ, 0, 0, 3), PUT(BPF_W, 0, 8, 7), MOVX(1, 0), MOV(2, 0), CALL(132), RETURN}},
		{"a record behind its end", "outside of its 16 bytes", {MAP(1, RING), MOV(2, 12), MOV(3, 0), CALL(131), PUT(BPF_DW, 0, 16, 7), RETURN}},
		{"a record after it was sent", "nothing set on some way",
			{MAP(1, RING), MOV(2, 12), MOV(3, 0), CALL(131), MOVX(6, 0), PUT(BPF_W, 6, 0, 7), MOVX(1, 0), MOV(2, 0), CALL(132), PUT(BPF_W, 6, 8, 7), RETURN}},
		{"no record", "no record that", {PUT(BPF_DW, 10, -8, 0), MOVX(1, 10), ALU(BPF_ADD, 1, -8), MOV(2, 0), CALL(132), RETURN}},
		{"a text", NULL, {VARIABLE(1, CONSTANTS, 0), CALL(501), RETURN}},
		{"a text for texts", "a text with %s: GPU programs print numbers only", {VARIABLE(1, CONSTANTS, 0), MOV(2, 13), MOV(3, 1), CALL(6), RETURN}},
		{"many numbers", "prints more than 3 numbers at once", {CALL(177), RETURN}},
		{"a text that is not known", "no text that is known", {VARIABLE(1, VARIABLES, 0), CALL(501), RETURN}},
	};

	ROWS(rows);
}

#define MERGED                                                                                     \
	CALL(502), STORE(BPF_W, 10, -4, 0), STORE(BPF_DW, 10, -16, 0), MOVX(2, 10),                \
		ALU(BPF_ADD, 2, -4), MAP(1, COUNTS), JUMP(BPF_JEQ, 0, 0, 3), MOVX(3, 10),          \
		ALU(BPF_ADD, 3, -16), GOTO(2), VARIABLE(3, VARIABLES, 0), MOV(4, 0), CALL(2), EXIT

static void functions_are_put_in_where_they_are_called(void)
{
	static const struct row rows[] = {
		{"called", NULL, {MOV(1, 3), CALL_AT(3), EXIT, MOVX(0, 1), EXIT}, 3},
		{"its arguments", "uses r1, which nothing set", {MOV(1, 3), CALL(502), CALL_AT(4), EXIT, MOVX(0, 1), EXIT}, 4},
		{"our registers are kept", NULL, {MOV(6, 1), CALL_AT(4), MOVX(0, 6), EXIT, MOV(6, 2), MOV(0, 0), EXIT}, 4},
		{"its registers are its own", "uses r6, which nothing set", {MOV(6, 1), CALL_AT(3), EXIT, MOVX(0, 6), EXIT}, 3},
		{"our stack by a pointer", NULL, {PUT(BPF_DW, 10, -8, 0), MOVX(1, 10), CALL_AT(4), EXIT, LOAD(BPF_DW, 0, 1, -8), EXIT}, 4},
		{"its stack is gone", "nothing set on some way", {CALL_AT(3), LOAD(BPF_DW, 0, 0, -8), EXIT, PUT(BPF_DW, 10, -8, 0), MOVX(0, 10), EXIT}, 3},
		{"calls itself", "too deep", {CALL_AT(2), EXIT, CALL_AT(2), EXIT}, 2},
		/* r3 is a variable, or on the stack; then r4 = 0, call 2 */
		{"a call that was merged", "uses r3, which nothing set", {MERGED}},
		{"and is split", NULL, {MERGED}, .splits_calls = true},
		{"runs off", "runs off the end", {CALL_AT(2), EXIT, MOV(0, 0)}, 2},
		{"a jump of cpu v4", NULL, {MOV(0, 0), I(INSN_JA32, 0, 0, 0, 1), MOVX(0, 9), EXIT}},
		{"ends with a call", "runs off the end", {MOV(0, 0), CALL(502)}},
		{"jumps out", "jumps out of its function", {MOV(0, 0), GOTO(1), EXIT}},
		{"jumps into an instruction", "jumps into an instruction", {GOTO(1), WIDE(0, 1, 2), EXIT}},
		{"a loop of calls", NULL, {MOV(1, 9), FUNCTION(2, 7), MOV(3, 0), MOV(4, 0), CALL(181), EXIT, MOVX(0, 1), EXIT}, 7},
		{"by no function", "not called with a function by its name", {MOV(1, 9), MOV(2, 7), MOV(3, 0), MOV(4, 0), CALL(181), EXIT}},
		{"one of two functions", "the same function on all ways", {CALL(502), FUNCTION(2, 0), JUMP(BPF_JEQ, 0, 0, 2), FUNCTION(2, 11), MOV(1, 9), MOV(3, 0), MOV(4, 0),
			CALL(181), EXIT, MOVX(0, 1), EXIT}, 11},
		{"another function in the end", "the same function on all ways", {FUNCTION(5, 0), FUNCTION(2, 10), MOVX(2, 5), MOV(1, 9), MOV(3, 0), MOV(4, 0),
			CALL(181), EXIT, MOVX(0, 1), EXIT}, 10},
		{"its function returns nothing", "returns no number", {MOV(1, 9), FUNCTION(2, 7), MOV(3, 0), MOV(4, 0), CALL(181), EXIT, EXIT}, 7},
	};

	ROWS(rows);
}

static void loops_come_to_an_end(void)
{
	static const struct row rows[] = {
		{"without end", NULL, {MOV(0, 0), ALU(BPF_ADD, 0, 1), GOTO(-2), EXIT}},
		{"counted", NULL, {MOV(0, 0), ALU(BPF_ADD, 0, 1), JUMP(BPF_JLT, 0, 100, -2), EXIT}},
		{"over the stack", NULL, {MOV(0, 0), PUT(BPF_DW, 10, -8, 0), MOVX(1, 10), ALU(BPF_ADD, 1, -8), ALUX(BPF_ADD, 1, 0), PUT(BPF_B, 1, 0, 1),
			ALU(BPF_ADD, 0, 1), JUMP(BPF_JLT, 0, 8, -6), EXIT}},
	};

	ROWS(rows);
}

static void unknown_instructions_are_refused(void)
{
	static const struct row rows[] = {
		{"class", "unknown instruction", {I(BPF_LD | BPF_ABS | BPF_W, 0, 0, 0, 0), RETURN}},
		{"operation", "unknown instruction", {MOV(0, 0), I(BPF_ALU64 | 0xe0, 0, 0, 0, 0), EXIT}},
		{"negation of another register", "unknown instruction", {MOV(0, 1), I(BPF_ALU64 | BPF_NEG | BPF_X, 0, 0, 0, 0), EXIT}},
		{"shift", "shifts by 64 bits", {MOV(0, 0), ALU(BPF_LSH, 0, 64), EXIT}},
		{"jump", "unknown instruction", {MOV(0, 0), JUMP(0xe0, 0, 0, 0), EXIT}},
		{"atomic", "unknown atomic", {VARIABLE(1, VARIABLES, 0), MOV(2, 1), ATOM(BPF_DW, 1, 0, 2, 0x20), RETURN}},
		{"atomic of a byte", "unknown atomic", {VARIABLE(1, VARIABLES, 0), MOV(2, 1), ATOM(BPF_B, 1, 0, 2, BPF_ADD), RETURN}},
		{"mode", "unknown instruction", {VARIABLE(1, VARIABLES, 0), I(BPF_LDX | BPF_MEMSX | BPF_DW, 0, 1, 0, 0), EXIT}},
		{"field of arithmetic", "a field that it does not use", {I(BPF_ALU64 | BPF_MOV | BPF_K, 0, 1, 0, 0), EXIT}},
		{"field of a jump", "a field that it does not use", {MOV(0, 0), I(BPF_JMP | BPF_JA, 0, 0, 0, 1), EXIT}},
		{"field of a load", "a field that it does not use", {I(BPF_LDX | BPF_MEM | BPF_DW, 0, 10, -8, 1), EXIT}},
		{"field of an exit", "a field that it does not use", {MOV(0, 0), I(BPF_JMP | BPF_EXIT, 0, 0, 0, 1)}},
		{"second half", "a field that it does not use", {I(INSN_LD_IMM64, 0, 0, 0, 1), I(0, 1, 0, 0, 0), EXIT}},
	};

	ROWS(rows);
}
// clang-format on

/* Facts of the last instruction that is a load, store or atomic. */
static struct fact last_access(const struct row *row)
{
	struct analysis a;
	struct fact f = {0};

	CHECK(!check_row(row, &a));
	for (uint32_t i = 0, at = 0; i < length_of(row); i++, at++) {
		uint8_t class = BPF_CLASS(row->insns[i].code);

		if (insn_is_wide(&row->insns[i]))
			i++;
		else if (class == BPF_LDX || class == BPF_STX)
			f = a.facts[at];
	}
	analysis_release(&a);
	return f;
}

static void bounds_are_proved_where_the_program_tests_them(void)
{
	/* r3: not known; variables of 32 bytes */
#define AT(...) VARIABLE(1, VARIABLES, 0), LOAD(BPF_DW, 3, 1, 0), __VA_ARGS__, ALUX(BPF_ADD, 1, 3)
	static const struct row rows[] = {
		{"tested", NULL, {AT(JUMP(BPF_JGT, 3, 24, 2)), LOAD(BPF_DW, 0, 1, 0), RETURN}},
		{"tested too wide", NULL,
			{AT(JUMP(BPF_JGT, 3, 25, 2)), LOAD(BPF_DW, 0, 1, 0), RETURN}},
		{"masked", NULL, {AT(ALU(BPF_AND, 3, 24)), LOAD(BPF_DW, 0, 1, 0), RETURN}},
		{"masked, not aligned", NULL,
			{AT(ALU(BPF_AND, 3, 7)), LOAD(BPF_DW, 0, 1, 0), RETURN}},
		{"remainder", NULL, {AT(ALU(BPF_MOD, 3, 4)), LOAD(BPF_W, 0, 1, 4), RETURN}},
		{"signed", NULL, {AT(JUMP(BPF_JSGT, 3, 8, 2)), LOAD(BPF_W, 0, 1, 4), RETURN}},
	};
	static const bool in_bounds[] = {true, false, true, true, true, false};
	static const bool aligned[] = {false, false, true, false, false, false};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fact f = last_access(&rows[i]);

		if (f.in_bounds != in_bounds[i] || f.aligned != aligned[i])
			printf("# %s\n", rows[i].what);
		CHECK(f.in_bounds == in_bounds[i]);
		CHECK(f.aligned == aligned[i]);
	}
}

static uint16_t use_of(const struct row *row, int map)
{
	struct analysis a;
	uint16_t use = 0;

	CHECK(!check_row(row, &a));
	use = a.map_use[map];
	analysis_release(&a);
	return use;
}

static void what_is_done_with_maps_is_known(void)
{
	static const struct row add = {
		"", NULL, {LOOK_UP(COUNTS), MOV(1, 1), ATOM(BPF_DW, 0, 0, 1, BPF_ADD), RETURN}};
	static const struct row fetch = {"", NULL,
		{LOOK_UP(COUNTS), MOV(1, 1), ATOM(BPF_DW, 0, 0, 1, BPF_ADD | BPF_FETCH), RETURN}};
	static const struct row store = {"", NULL, {LOOK_UP(COUNTS), PUT(BPF_DW, 0, 0, 1), RETURN}};

#define CREATE(count)                                                                              \
	PUT(BPF_DW, 10, -16, 0), PUT(BPF_W, 10, -8, 0), PUT(BPF_DW, 10, -40, count),               \
		PUT(BPF_DW, 10, -32, 0), PUT(BPF_DW, 10, -24, 0), MOVX(2, 10),                     \
		ALU(BPF_ADD, 2, -16), MOVX(3, 10), ALU(BPF_ADD, 3, -40), MOV(4, BPF_NOEXIST),      \
		MAP(1, PAIRS), CALL(2), RETURN
	static const struct row zeros = {"", NULL, {CREATE(0)}}, one = {"", NULL, {CREATE(1)}};

	CHECK(use_of(&zeros, PAIRS) == MAP_CREATED);
	CHECK(use_of(&one, PAIRS) == MAP_SET);
	CHECK(use_of(&add, COUNTS) == (MAP_LOOKED_UP | MAP_ADDED_8));
	CHECK(use_of(&add, PAIRS) == 0);
	CHECK(use_of(&fetch, COUNTS) == (MAP_LOOKED_UP | MAP_ATOMIC | MAP_WRITTEN | MAP_READ));
	CHECK(use_of(&store, COUNTS) == (MAP_LOOKED_UP | MAP_WRITTEN));
}

/* 2 to the 68 bytes, of which nothing is left in 64 bits. */
static void a_map_larger_than_any_memory_is_refused(void)
{
	static const struct row row = {"", NULL,
		{LOOK_UP_ANY(PER_THREAD), JUMP(BPF_JEQ, 0, 0, 1), PUT(BPF_DW, 0, 0, 1), RETURN}};
	static const uint32_t no_code[1];
	const struct layout_options options = {LAYOUT_THREADS, LAYOUT_MAP_BYTES};
	struct ebpf_object o;
	struct analysis a;
	struct layout l;

	CHECK(!check_row(&row, &a));
	program_make(&o, EBPF_AT_ENTRY, NULL, no_code);
	CHECK(!layout_make(&l, &o, &a, 1, &options));
	CHECK(l.maps[PER_THREAD].bytes == 16ull * 2 * LAYOUT_THREADS);
	o.maps.items[PER_THREAD].value_size = 1u << 20;
	o.maps.items[PER_THREAD].max_entries = 1u << 28;
	CHECK(layout_make(&l, &o, &a, 1, &options) == -EFBIG);
	o.maps.items[PER_THREAD].max_entries = o.maps.items[PER_THREAD].value_size = 8;
	a.map_use[RING] = MAP_SENT;
	a.record_bytes[RING] = ARENA_RECORD_MAX - sizeof(struct arena_record);
	CHECK(!layout_make(&l, &o, &a, 1, &options));
	a.record_bytes[RING]++;
	CHECK(layout_make(&l, &o, &a, 1, &options) == -EFBIG);
	program_release(&o);
	analysis_release(&a);
}

int main(void)
{
	RUN(registers_are_set_before_they_are_used);
	RUN(the_stack_is_written_before_it_is_read);
	RUN(lookups_are_compared_with_null);
	RUN(accesses_stay_in_bounds);
	RUN(other_memory_is_left_alone);
	RUN(calls_are_those_that_the_place_has);
	RUN(functions_are_put_in_where_they_are_called);
	RUN(loops_come_to_an_end);
	RUN(unknown_instructions_are_refused);
	RUN(bounds_are_proved_where_the_program_tests_them);
	RUN(what_is_done_with_maps_is_known);
	RUN(a_map_larger_than_any_memory_is_refused);
	return tap_end();
}
