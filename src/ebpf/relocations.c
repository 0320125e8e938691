// SPDX-License-Identifier: MIT
/*
 * Relocations turn what instructions refer to into numbers (insn.h). Their positions count from the
 * section, not from the program. What a program for the kernel refers to is its loader's business,
 * but for maps; what stays unresolved in a program for a GPU is refused here.
 *
 * Kinds and addends: Documentation/bpf/llvm_reloc.rst of Linux.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ebpf/object_internal.h"

#define R_BPF_64_64 1
#define R_BPF_64_32 10

#define INSN_BYTES ((int64_t)sizeof(struct bpf_insn))

struct place {
	struct ebpf_object *o;
	const struct ebpf_code_map *code;
	const struct ebpf_symbol *symbol;
	uint32_t insn;
	bool *bound; /* instructions whose relocation is done */
	bool may_fail;
};

static int refuse(const struct place *p, const char *what)
{
	return error_set(-EINVAL, "instruction %u of an eBPF object refers to '%s', %s", p->insn,
		p->symbol->name, what);
}

static int bind_function(struct place *p, int64_t offset)
{
	struct bpf_insn *insn = &p->o->insns.items[p->insn];
	uint32_t target;

	if (__builtin_add_overflow((int64_t)p->symbol->value, offset, &offset) || offset < 0)
		return refuse(p, "which begins nowhere");
	target = ebpf_code_at(p->o, p->code, p->symbol->section, (uint64_t)offset);
	if (target == EBPF_CODE_NONE || !ebpf_object_function(p->o, target))
		return refuse(p, "where no function begins");
	insn->imm = (int32_t)target;
	insn->src_reg = insn_is_wide(insn) ? BPF_PSEUDO_FUNC : BPF_PSEUDO_CALL;
	p->bound[p->insn] = true;
	return 0;
}

static int bind_map(struct place *p, int map, uint64_t offset)
{
	struct bpf_insn *insn = &p->o->insns.items[p->insn];
	const struct ebpf_map *m = &p->o->maps.items[map];

	if (m->is_section) {
		offset += (uint32_t)insn->imm;
		if (offset >= m->value_size)
			return refuse(p, "behind the end of its section");
		insn[1].imm = (int32_t)offset;
	}
	insn->src_reg = m->is_section ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
	insn->imm = map;
	p->bound[p->insn] = true;
	return 0;
}

static int bind_wide(struct place *p)
{
	struct bpf_insn *insn = &p->o->insns.items[p->insn];
	uint64_t offset = 0;
	int map = ebpf_map_of_symbol(p->o, p->symbol, &offset);

	if (map >= 0)
		return bind_map(p, map, offset);
	if (p->symbol->section && p->o->image->sections.items[p->symbol->section].is_code)
		return bind_function(p, insn->imm);
	if (p->may_fail)
		return 0;
	return refuse(
		p, p->o->btf.offsets.count
			   ? "which is no map, variable or function of the object"
			   : "which nothing is known of, as the object has no BTF (clang -g)");
}

static int apply(struct place *p, uint32_t kind)
{
	struct bpf_insn *insn = &p->o->insns.items[p->insn];

	/* Outside of functions half of one may be missing: what follows is then something else. */
	if (kind == R_BPF_64_64 && insn_is_wide(insn) && p->insn + 1 < p->o->insns.count &&
		!insn[1].code)
		return bind_wide(p);
	if (kind == R_BPF_64_32 && insn->code == INSN_CALL && p->symbol->section)
		return bind_function(p, ((int64_t)insn->imm + 1) * INSN_BYTES);
	return p->may_fail ? 0 : refuse(p, "by a relocation of unknown kind");
}

/* Elsewhere it may be a matter of the kernel's; what a program reaches is looked at once more when
 * it is put together. */
static bool is_in_program(const struct ebpf_object *o, uint32_t insn)
{
	vec_foreach (p, &o->programs) {
		const struct ebpf_function *f = &o->functions.items[p->function];

		if (insn >= f->first && insn < f->first + f->count)
			return true;
	}
	return false;
}

static int relocate_section(struct ebpf_object *o, const struct ebpf_code_map *code,
	const struct ebpf_section *table, bool *bound)
{
	if (table->size % sizeof(Elf64_Rel))
		return error_set(-EINVAL, "section '%s' ends in a relocation", table->name);
	for (uint64_t at = 0; at < table->size; at += sizeof(Elf64_Rel)) {
		struct place p = {.o = o, .code = code, .bound = bound};
		Elf64_Rel r;
		int error;

		memcpy(&r, table->data + at, sizeof(r));
		p.insn = ebpf_code_at(o, code, table->info, r.r_offset);
		if (p.insn == EBPF_CODE_NONE || ELF64_R_SYM(r.r_info) >= o->image->symbols.count)
			return error_set(
				-EINVAL, "section '%s' has a relocation of nothing", table->name);
		p.symbol = &o->image->symbols.items[ELF64_R_SYM(r.r_info)];
		p.may_fail = !is_in_program(o, p.insn);
		error = apply(&p, (uint32_t)ELF64_R_TYPE(r.r_info));
		if (error)
			return error;
	}
	return 0;
}

/* Calls within a section have no relocation: their imm is a distance. Whatever else has none leads
 * nowhere. */
static void bind_rest(struct ebpf_object *o, const bool *bound)
{
	vec_foreach (f, &o->functions)
		for (uint32_t i = f->first; i < f->first + f->count; i++) {
			struct bpf_insn *insn = &o->insns.items[i];
			int64_t target = (int64_t)i + 1 + insn->imm;

			if (bound[i] || !insn->src_reg ||
				(!insn_is_wide(insn) && insn->code != INSN_CALL))
				continue;
			if (insn_is_function_call(insn) && target >= 0 &&
				target < (int64_t)o->insns.count &&
				ebpf_object_function(o, (uint32_t)target))
				insn->imm = (int32_t)target;
			else
				insn->src_reg = INSN_UNBOUND;
		}
}

static bool is_code(const struct ebpf_object *o, uint32_t section)
{
	return section < o->image->sections.count && o->image->sections.items[section].is_code;
}

/* Addresses in variables would have to be known when the file is made. */
static bool has_addresses(const struct ebpf_object *o, uint32_t section)
{
	const char *name =
		section < o->image->sections.count ? o->image->sections.items[section].name : "";

	vec_foreach (m, &o->maps)
		if (m->is_section && !strcmp(m->name, name))
			return true;
	return false;
}

static int relocate_all(struct ebpf_object *o, const struct ebpf_code_map *code, bool *bound)
{
	int error = 0;

	vec_foreach (s, &o->image->sections) {
		if (s->type != SHT_REL || !s->has_bytes)
			continue;
		if (is_code(o, s->info))
			error = relocate_section(o, code, s, bound);
		else if (has_addresses(o, s->info))
			error = error_set(-EINVAL,
				"variables in '%s' hold addresses, which GPU programs cannot have",
				o->image->sections.items[s->info].name);
		if (error)
			return error;
	}
	bind_rest(o, bound);
	return 0;
}

int ebpf_relocate(struct ebpf_object *o, const struct ebpf_code_map *code)
{
	bool *bound = calloc(o->insns.count + 1, sizeof(*bound));
	int error = bound ? relocate_all(o, code, bound) : -ENOMEM;

	free(bound);
	return error;
}
