// SPDX-License-Identifier: MIT
/*
 * Objects that clang made of tests/ebpf/, beside what libbpf reads of the same files; and damaged
 * ones.
 */
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "ebpf/object.h"
#include "random.h"
#include "tap.h"

static const char *const objects[] = {"sections.v1", "sections.v3", "many.v1", "many.v3"};

#define OBJECTS (sizeof(objects) / sizeof(objects[0]))

static const char *path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s.bpf.o", EBPF_PROGRAMS, name);
	return path;
}

static struct ebpf_object *open_object(const char *name)
{
	struct ebpf_object *o = NULL;

	CHECK(!ebpf_object_open(&o, path_of(name)));
	if (!o)
		printf("# %s: %s\n", name, error_text());
	return o;
}

static const struct ebpf_map *map_named(const struct ebpf_object *o, const char *name)
{
	vec_foreach (m, &o->maps)
		if (!strcmp(m->name, name))
			return m;
	return NULL;
}

static const struct ebpf_program *program_named(const struct ebpf_object *o, const char *name)
{
	vec_foreach (p, &o->programs)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static int say_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return 0;
}

/* libbpf calls sections of variables "OBJECT.bss". */
static const char *libbpf_name(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map), *dot = strchr(name, '.');

	return bpf_map__is_internal(map) && dot ? dot : name;
}

static void compare_maps(const struct ebpf_object *o, struct bpf_object *truth)
{
	struct bpf_map *map;
	size_t count = 0;

	bpf_object__for_each_map(map, truth)
	{
		const struct ebpf_map *m = map_named(o, libbpf_name(map));

		count++;
		CHECK(m);
		if (!m)
			continue;
		CHECK(m->type == (uint32_t)bpf_map__type(map));
		CHECK(m->key_size == bpf_map__key_size(map));
		CHECK(m->value_size == bpf_map__value_size(map));
		CHECK(m->max_entries == bpf_map__max_entries(map));
		CHECK(m->key_type == bpf_map__btf_key_type_id(map));
		CHECK(m->is_section || m->value_type == bpf_map__btf_value_type_id(map));
	}
	CHECK(count == o->maps.count);
}

static void compare_programs(const struct ebpf_object *o, struct bpf_object *truth)
{
	struct bpf_program *program;
	size_t count = 0, gpu = 0;

	bpf_object__for_each_program(program, truth)
	{
		const struct ebpf_program *p = program_named(o, bpf_program__name(program));

		count++;
		if (!p)
			continue;
		gpu++;
		CHECK_TEXT(p->section, bpf_program__section_name(program));
		CHECK(o->functions.items[p->function].count == bpf_program__insn_cnt(program));
	}
	CHECK(count == o->programs.count + o->cpu_program_count);
	CHECK(gpu == o->programs.count);
}

static void maps_and_programs_are_those_that_libbpf_reads(void)
{
	libbpf_set_print(say_nothing);
	for (size_t i = 0; i < OBJECTS; i++) {
		struct ebpf_object *o = open_object(objects[i]);
		struct bpf_object *truth = bpf_object__open_file(path_of(objects[i]), NULL);

		CHECK(truth);
		if (o && truth) {
			compare_maps(o, truth);
			compare_programs(o, truth);
			CHECK_TEXT(o->license, "GPL");
		}
		bpf_object__close(truth);
		ebpf_object_close(o);
	}
}

static void names_of_sections_say_where_programs_run(void)
{
	static const struct {
		const char *program, *pattern;
		enum ebpf_where where;
		bool per_thread, has_context, is_literal;
	} expected[] = {
		{"enter", "*add*", EBPF_AT_ENTRY, false, true, false},
		{"leave", "*add*", EBPF_AT_EXIT, false, true, false},
		{"leave_again", "*add*", EBPF_AT_EXIT, false, true, false},
		{"load", "_Z4copy", EBPF_AT_LOAD, true, true, false},
		{"cuda__add", "_Z3addPf", EBPF_AT_ENTRY, true, false, true},
		{"cuda__memory", "*", EBPF_AT_ACCESS, true, false, false},
		{"cuda__run", "*", EBPF_ALONE, true, false, false},
		{"named_by_its_section", "_Z3subPf", EBPF_AT_EXIT, true, false, true},
	};
	struct ebpf_object *o = open_object("sections.v3");

	if (!o)
		return;
	CHECK(o->programs.count == sizeof(expected) / sizeof(expected[0]));
	CHECK(o->cpu_program_count == 1);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct ebpf_program *p = program_named(o, expected[i].program);

		CHECK(p);
		if (!p)
			continue;
		CHECK_TEXT(p->site.pattern, expected[i].pattern);
		CHECK(p->site.where == expected[i].where);
		CHECK(p->site.per_thread == expected[i].per_thread);
		CHECK(p->site.has_context == expected[i].has_context);
		CHECK(p->site.is_literal == expected[i].is_literal);
	}
	ebpf_object_close(o);
}

static void sections_that_are_none_of_ours_are_told_apart(void)
{
	struct ebpf_site site;

	CHECK(ebpf_section_parse("gpu/entry", "f", &site) == 1);
	CHECK_TEXT(site.pattern, "*");
	CHECK(ebpf_section_parse("gpu/mem.store.warp:k", "f", &site) == 1);
	CHECK(site.where == EBPF_AT_STORE && !site.per_thread);
	CHECK(ebpf_section_parse("gpu/leave:x", "f", &site) == -EINVAL);
	CHECK(ebpf_section_parse("gpu/entry:", "f", &site) == -EINVAL);
	CHECK(ebpf_section_parse("gpu/entry.lane:x", "f", &site) == -EINVAL);
	CHECK(ebpf_section_parse("uprobe", "cuda__f", &site) == 0);
	CHECK(ebpf_section_parse("kprobe/do_exit", "f", &site) == 0);
}

/* What an instruction of a program refers to. */
static void relocations_lead_to_maps_variables_and_functions(void)
{
	struct ebpf_object *o = open_object("sections.v3");
	unsigned int maps = 0, values = 0, functions = 0, calls = 0;

	if (!o)
		return;
	vec_foreach (i, &o->insns) {
		if (insn_is_wide(i) && i->src_reg == BPF_PSEUDO_MAP_FD)
			maps++;
		if (insn_is_wide(i) && i->src_reg == BPF_PSEUDO_MAP_VALUE)
			values++;
		if (insn_is_wide(i) && i->src_reg == BPF_PSEUDO_FUNC) {
			functions++;
			CHECK_TEXT(ebpf_object_function(o, (uint32_t)i->imm)->name, "each");
		}
		if (insn_is_function_call(i)) {
			calls++;
			CHECK_TEXT(ebpf_object_function(o, (uint32_t)i->imm)->name, "twice");
		}
	}
	/* counts, by_pair twice, recent; limit, second, total; each; twice three times */
	CHECK(maps == 4 && values == 3 && functions == 1 && calls == 3);
	ebpf_object_close(o);
}

static void variables_are_where_the_file_has_them(void)
{
	struct ebpf_object *o = open_object("sections.v3");
	const struct ebpf_map *m = o ? map_named(o, ".data") : NULL;
	uint64_t values[2];

	CHECK(m && m->value_size == 16 && m->initial);
	if (!m)
		return;
	memcpy(values, m->initial, sizeof(values));
	CHECK(values[0] == 42 && values[1] == 43);
	m = map_named(o, ".bss");
	CHECK(m && m->value_size == 8 && !m->initial && !m->is_readonly && m->used_by_cpu);
	m = map_named(o, ".rodata");
	CHECK(m && m->is_readonly && m->initial && m->initial[0] == 7);
	ebpf_object_close(o);
}

static void maps_that_programs_for_the_kernel_name_are_marked(void)
{
	struct ebpf_object *o = open_object("sections.v1");

	if (!o)
		return;
	CHECK(!map_named(o, "counts")->used_by_cpu);
	CHECK(map_named(o, "by_pair")->used_by_cpu);
	CHECK(map_named(o, "recent")->used_by_cpu && !map_named(o, "recent")->kind);
	ebpf_object_close(o);
}

static void instructions_have_source_lines(void)
{
	struct ebpf_object *o = open_object("sections.v3");
	const struct ebpf_program *p = o ? program_named(o, "load") : NULL;
	const struct ebpf_line *line;
	bool found = false;

	CHECK(p);
	if (!p)
		return;
	for (uint32_t i = 0; i < o->functions.items[p->function].count; i++) {
		line = ebpf_object_line(o, o->functions.items[p->function].first + i);
		found |= line && strstr(line->file, "sections.bpf.c") &&
			 strstr(line->text, "return value ? value->a : 0;");
	}
	CHECK(found);
	ebpf_object_close(o);
}

static void an_object_may_have_64_programs(void)
{
	struct ebpf_object *o = open_object("many.v3");

	if (!o)
		return;
	CHECK(o->programs.count == 64);
	/* A relocation counts from the section: each program's own is at its own place. */
	vec_foreach (p, &o->programs) {
		const struct ebpf_function *f = &o->functions.items[p->function];
		bool found = false;

		for (uint32_t i = 0; i < f->count; i++)
			found |= insn_refers_to_map(&o->insns.items[f->first + i]);
		CHECK(found);
	}
	ebpf_object_close(o);
}

static void what_is_no_object_is_refused_with_a_line(void)
{
	struct ebpf_object *o = NULL;
	struct buf file = BUF_INIT;

	CHECK(ebpf_object_open(&o, "/nonexistent") == -ENOENT);
	CHECK(ebpf_object_read(&o, "hello", 5) == -ENOEXEC);
	CHECK(strstr(error_text(), "no ELF file"));
	CHECK(!io_read_file("/proc/self/exe", EBPF_OBJECT_MAX_BYTES, &file));
	CHECK(ebpf_object_read(&o, file.data, file.size) == -ENOEXEC);
	CHECK(strstr(error_text(), "machine"));
	CHECK(!o);
	buf_release(&file);
}

/* With sanitizers this is what finds a wrong read. */
static void damaged_objects_are_read_or_refused(void)
{
	struct buf file = BUF_INIT;
	unsigned int refused = 0, read = 0;

	CHECK(!io_read_file(path_of("sections.v3"), EBPF_OBJECT_MAX_BYTES, &file));
	for (int i = 0; i < 4000 && file.size; i++) {
		char *copy = malloc(file.size);
		size_t size = i % 4 ? file.size : random_below((uint32_t)file.size);
		struct ebpf_object *o = NULL;

		memcpy(copy, file.data, size);
		for (int n = 0; n < 8 && size; n++)
			copy[random_below((uint32_t)size)] = (char)random_below(256);
		if (ebpf_object_read(&o, copy, size)) {
			CHECK(*error_text() && !strchr(error_text(), '\n'));
			refused++;
		} else {
			read++;
		}
		ebpf_object_close(o);
		free(copy);
	}
	CHECK(refused > 1000 && read > 10);
	buf_release(&file);
}

/* An object whose code begins with half of a wide instruction, in no function. The program
 * behind it begins with one that refers to the map. Both have a relocation, that of the half the
 * last. */
static const struct half {
	Elf64_Ehdr header;
	Elf64_Shdr sections[7];
	char names[48];
	Elf64_Sym symbols[4];
	struct bpf_insn insns[5];
	uint32_t map[6];
	Elf64_Rel relocations[2];
} half = {
	.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_REL,
		.e_machine = EM_BPF,
		.e_shoff = offsetof(struct half, sections),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 7,
		.e_shstrndx = 1},
#define SECTION(name, type, part) name, type, 0, 0, offsetof(struct half, part), sizeof(half.part)
	.sections = {{0}, {SECTION(0, SHT_STRTAB, names)}, {SECTION(0, SHT_SYMTAB, symbols), 1},
		{SECTION(1, SHT_PROGBITS, insns)}, {SECTION(11, SHT_PROGBITS, map)},
		{SECTION(16, SHT_NOBITS, insns)}, {SECTION(0, SHT_REL, relocations), 2, 3}},
	.names = "\0gpu/entry\0maps\0.bss\0counts\0program",
	.symbols = {{0}, {21, STT_OBJECT, 0, 4, 0, 20},
		{28, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 3, 8, 32}, {0, STT_SECTION, 0, 5}},
	.insns = {{.code = INSN_LD_IMM64, .imm = 39}, {.code = INSN_LD_IMM64, .dst_reg = 1}, {0},
		{.code = BPF_ALU64 | BPF_MOV}, {.code = INSN_EXIT}},
	.map = {BPF_MAP_TYPE_ARRAY, 4, 8, 1},
	.relocations = {{8, ELF64_R_INFO(1, 1)}, {0, ELF64_R_INFO(3, 1)}},
};

static void half_of_an_instruction_changes_nothing_behind_it(void)
{
	struct half changed = half;
	struct ebpf_object *o = NULL;

	changed.sections[3].sh_flags = SHF_EXECINSTR;
	CHECK(!ebpf_object_read(&o, &changed, sizeof(changed)));
	if (!o)
		return;
	CHECK(o->maps.count == 2 && o->programs.count == 1);
	CHECK(insn_refers_to_map(&o->insns.items[1]) && o->insns.items[1].imm == 0);
	ebpf_object_close(o);
}

/* So that looking for the end of each name does not read the table to its end each time. */
static void names_without_an_end_are_none(void)
{
	struct half changed = half;
	struct ebpf_object *o = NULL;

	changed.sections[3].sh_flags = SHF_EXECINSTR;
	changed.names[sizeof(changed.names) - 1] = 'x';
	CHECK(ebpf_object_read(&o, &changed, sizeof(changed)) == -EINVAL);
	changed.header.e_shnum = 4097;
	CHECK(ebpf_object_read(&o, &changed, sizeof(changed)) == -E2BIG);
}

int main(void)
{
	RUN(maps_and_programs_are_those_that_libbpf_reads);
	RUN(names_of_sections_say_where_programs_run);
	RUN(sections_that_are_none_of_ours_are_told_apart);
	RUN(relocations_lead_to_maps_variables_and_functions);
	RUN(variables_are_where_the_file_has_them);
	RUN(maps_that_programs_for_the_kernel_name_are_marked);
	RUN(instructions_have_source_lines);
	RUN(an_object_may_have_64_programs);
	RUN(what_is_no_object_is_refused_with_a_line);
	RUN(half_of_an_instruction_changes_nothing_behind_it);
	RUN(names_without_an_end_are_none);
	RUN(damaged_objects_are_read_or_refused);
	return tap_end();
}
