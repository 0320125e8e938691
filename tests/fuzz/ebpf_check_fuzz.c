// SPDX-License-Identifier: MIT
/*
 * Fuzz target: any instructions as a program, which is checked, and translated where it passes. The
 * first byte says where it would run and what it is allowed, each 8 others are an instruction.
 */
#include "ebpf/nvidia/translate.h"
#include "ebpf_program.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INSNS_MAX 4096

/* What reading an object makes sure of. */
static bool is_whole(const struct bpf_insn *insns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct bpf_insn *insn = &insns[i];
		bool is_wide = insn_is_wide(insn);

		if (insn->dst_reg > 10 || insn->src_reg > 10)
			return false;
		if (insn_refers_to_map(insn) && (uint32_t)insn->imm > NO_GPU_MAP)
			return false;
		if ((insn_is_function_call(insn) ||
			    (is_wide && insn->src_reg == BPF_PSEUDO_FUNC)) &&
			insn->imm)
			return false;
		if (is_wide && (++i == count || insn[1].code))
			return false;
	}
	return count;
}

static void translate(const struct flow *f, const struct analysis *a)
{
	static const struct layout_options options = {LAYOUT_THREADS, LAYOUT_MAP_BYTES};
	static const struct body_options body;
	struct buf text = BUF_INIT;
	struct layout l;

	/* What passes the check can be translated. */
	if (!layout_make(&l, f->object, a, 1, &options))
		require(!body_translate(&text, f, a, &l, &body));
	buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bpf_insn insns[INSNS_MAX];
	uint32_t lengths[2] = {0};
	struct check_options options;
	struct ebpf_object o;
	struct analysis a;
	struct flow f;

	if (size < 9)
		return 0;
	lengths[0] = (uint32_t)((size - 1) / sizeof(insns[0]));
	if (lengths[0] > INSNS_MAX)
		return 0;
	memcpy(insns, data + 1, lengths[0] * sizeof(insns[0]));
	if (!is_whole(insns, lengths[0]))
		return 0;
	options = (struct check_options){.allow_exit = data[0] & 8, .allow_reads = data[0] & 16};
	program_make(&o, (enum ebpf_where)(data[0] % 6), insns, lengths);
	if (!flow_build(&f, &o, &o.programs.items[0], data[0] & 32)) {
		if (!ebpf_check(&a, &f, &options)) {
			translate(&f, &a);
			analysis_release(&a);
		}
		flow_release(&f);
	}
	program_release(&o);
	return 0;
}
