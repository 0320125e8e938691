// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as an eBPF object. What was read of it must hold, and its programs are
 * checked and translated. */
#include <string.h>

#include "ebpf/nvidia/bodies.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_insn(const struct ebpf_object *o, uint32_t i, size_t size)
{
	const struct bpf_insn *insn = &o->insns.items[i];
	const struct ebpf_line *line = ebpf_object_line(o, i);

	if (insn_refers_to_map(insn))
		require((uint32_t)insn->imm < o->maps.count);
	if (insn_is_function_call(insn))
		require(ebpf_object_function(o, (uint32_t)insn->imm));
	if (line)
		require(line->insn <= i && strlen(line->file) < size && strlen(line->text) < size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct bodies_options options = {.layout = {LAYOUT_THREADS, LAYOUT_MAP_BYTES}};
	struct ebpf_object *o;
	struct bodies b;

	if (ebpf_object_read(&o, data, size))
		return 0;
	require(o->programs.count && o->programs.count <= EBPF_PROGRAMS_MAX);
	vec_foreach (f, &o->functions) {
		require(f->count && f->first + f->count <= o->insns.count);
		for (uint32_t i = 0; i < f->count; i++)
			check_insn(o, f->first + i, size);
	}
	vec_foreach (m, &o->maps)
		if (m->kind && m->initial)
			require(m->value_size && !(m->initial[m->value_size - 1] >> 8));
	if (!bodies_make(&b, o, &options)) {
		require(b.items.count == o->programs.count);
		bodies_release(&b);
	}
	ebpf_object_close(o);
	return 0;
}
