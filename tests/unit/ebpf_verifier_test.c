// SPDX-License-Identifier: MIT
/* What the kernel's verifier says of programs for GPUs. Needs the right to load some. */
#include "ebpf/verifier.h"

#include "base/error.h"
#include "ebpf/check/check.h"
#include "ebpf/tools/tools.h"
#include "ebpf_program.h"
#include "tap.h"

static bool allowed(void)
{
	static const struct bpf_insn insns[] = {MOV(0, 0), EXIT};
	struct ebpf_object o;
	struct buf text = BUF_INIT;
	enum verdict verdict = VERDICT_NOT_ALLOWED;

	program_make(&o, EBPF_AT_ENTRY, insns, (uint32_t[]){2, 0});
	CHECK(!ebpf_ask_kernel(&o, &o.programs.items[0], &verdict, &text));
	program_release(&o);
	buf_release(&text);
	return verdict == VERDICT_ACCEPTED;
}

static void say(const char *tool, const struct ebpf_program *p, const struct buf *text)
{
	if (text->size)
		printf("# %s, %s: %.*s\n", tool, p->name, (int)text->size, text->data);
}

static void our_tools_are_accepted(void)
{
	unsigned int programs = 0;

	for (size_t i = 0; ebpf_tool(i); i++) {
		const struct ebpf_tool *tool = ebpf_tool(i);
		struct ebpf_object *o;

		CHECK(!ebpf_object_read(&o, tool->start, (size_t)(tool->end - tool->start)));
		vec_foreach (p, &o->programs) {
			struct buf text = BUF_INIT;
			enum verdict verdict = VERDICT_NOT_ASKED;

			CHECK(!ebpf_ask_kernel(o, p, &verdict, &text));
			CHECK(verdict == VERDICT_ACCEPTED);
			say(tool->name, p, &text);
			buf_release(&text);
			programs++;
		}
		ebpf_object_close(o);
	}
	CHECK(programs >= 12);
}

struct row {
	const char *name, *words; /* NULL: accepted */
	bool ours_refuse;
	struct bpf_insn insns[24];
};

static bool passes_ours(const struct ebpf_object *o)
{
	struct flow flow = {0};
	struct analysis a = {0};
	int error = flow_build(&flow, o, &o->programs.items[0], false);

	error = error ?: ebpf_check(&a, &flow, &(struct check_options){0});
	analysis_release(&a);
	flow_release(&flow);
	return !error;
}

static void ask_about(const struct row *row)
{
	struct ebpf_object o;
	struct buf text = BUF_INIT;
	enum verdict verdict = VERDICT_NOT_ASKED;
	uint32_t length = 24;

	while (!row->insns[length - 1].code)
		length--;
	program_make(&o, EBPF_AT_ENTRY, row->insns, (uint32_t[]){length, 0});
	CHECK(passes_ours(&o) == !row->ours_refuse);
	CHECK(!ebpf_ask_kernel(&o, &o.programs.items[0], &verdict, &text));
	buf_putc(&text, 0);
	printf("# %s: %s\n", row->name, text.data);
	CHECK(verdict == (row->words ? VERDICT_REFUSED : VERDICT_ACCEPTED));
	CHECK(!row->words || strstr(text.data, row->words));
	buf_release(&text);
	program_release(&o);
}

/* It knows what constants are; it refuses what ours leave to run time. */
static void it_is_asked_about_the_program_itself(void)
{
	// clang-format off
	static const struct row rows[] = {
		{"the last argument of a kernel", NULL, false, {LOAD(BPF_DW, 0, 1, 88), EXIT}},
		{"one behind it", "invalid bpf_context access", true, {LOAD(BPF_DW, 0, 1, 96), EXIT}},
		{"a register that nothing set", "!read_ok", true, {MOVX(0, 3), EXIT}},
		{"helpers of GPUs", NULL, false, {MOVX(1, 10), ALU(BPF_ADD, 1, -8), MOVX(2, 10), ALU(BPF_ADD, 2, -16), MOVX(3, 10),
			ALU(BPF_ADD, 3, -24), CALL(HELPER_BLOCK), CALL(HELPER_SM), LOAD(BPF_DW, 0, 10, -24), EXIT}},
		{"a constant", NULL, true, {VARIABLE(1, CONSTANTS, 0), LOAD(BPF_B, 2, 1, 0), MOV(0, 0), JUMP(BPF_JEQ, 2, 'h', 1),
			LOAD(BPF_DW, 0, 3, 0), EXIT}},
		{"a look-up that was not tested", "map_value_or_null", true, {PUT(BPF_DW, 10, -16, 0), PUT(BPF_W, 10, -8, 0), MOVX(2, 10), ALU(BPF_ADD, 2, -16),
			MAP(1, PAIRS), CALL(HELPER_LOOKUP), LOAD(BPF_DW, 0, 0, 0), EXIT}},
		{"an access that ours guard", "unbounded", false, {LOAD(BPF_DW, 3, 1, 0), VARIABLE(1, VARIABLES, 0), ALUX(BPF_ADD, 1, 3),
			LOAD(BPF_B, 0, 1, 0), EXIT}},
	};
	// clang-format on

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ask_about(&rows[i]);
}

int main(void)
{
	if (!allowed()) {
		printf("1..0 # SKIP this user may not load BPF programs\n");
		return 0;
	}
	RUN(our_tools_are_accepted);
	RUN(it_is_asked_about_the_program_itself);
	return tap_end();
}
