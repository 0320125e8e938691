// SPDX-License-Identifier: MIT
/*
 * Interpreters by what their files have.
 *
 * Nearly all of them export _PyRuntime, so that one look into the hash table of exported symbols
 * settles it for nearly all files. Programs that keep it to themselves have a section .PyRuntime
 * (from 3.12 on) or a symbol table.
 *
 * Where the evaluation loop is, matters before 3.11 only. Its unlikely part lies elsewhere in the
 * file, under the name _PyEval_EvalFrameDefault.cold; in stripped files it is found by its jumps
 * (python_cold_part).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/named.h"
#include "python/cold.h"
#include "python/interpreter.h"

#define LOOP	  "_PyEval_EvalFrameDefault"
#define NAMES_MAX ((uint64_t)32 << 20)

/* The symbols that are looked for, and where they were found. */
enum wanted {
	WANTED_RUNTIME,
	WANTED_VERSION,
	WANTED_GET_STATE,
	WANTED_LOOP,
	WANTED_SINCE_3_8,
	WANTED_SINCE_3_9,
	WANTED_SINCE_3_10,
	WANTED_SINCE_3_11,
	WANTED_COUNT
};

static const char *const wanted_names[WANTED_COUNT] = {
	[WANTED_RUNTIME] = "_PyRuntime",
	[WANTED_VERSION] = "Py_Version",
	[WANTED_GET_STATE] = "PyGILState_GetThisThreadState",
	[WANTED_LOOP] = LOOP,
	[WANTED_SINCE_3_8] = "PyCode_NewWithPosOnlyArgs",
	[WANTED_SINCE_3_9] = "PyFrame_GetCode",
	[WANTED_SINCE_3_10] = "PyModule_AddObjectRef",
	[WANTED_SINCE_3_11] = "PyFrame_GetLasti",
};

struct symbols {
	struct elf_named found[WANTED_COUNT];
	struct elf_named cold;
};

static void note_symbol(void *context, const char *name, const struct elf_named *s)
{
	struct symbols *all = context;

	for (int i = 0; i < WANTED_COUNT; i++)
		if (!strcmp(name, wanted_names[i]))
			all->found[i] = *s;
	if (!strncmp(name, LOOP ".cold", sizeof(LOOP ".cold") - 1) && s->size > all->cold.size)
		all->cold = *s;
}

static void find_exported(struct elf_file *f, struct symbols *all)
{
	for (int i = 0; i < WANTED_COUNT; i++)
		if (elf_find_exported(f, wanted_names[i], &all->found[i]))
			all->found[i] = (struct elf_named){0};
}

/* Whether a file that exports no _PyRuntime may have one all the same: libraries that have it
 * export it. */
static bool is_program(struct elf_file *f)
{
	struct elf_named section;

	return !elf_section_named(f, ".interp", &section) ||
	       elf_section_named(f, ".dynsym", &section);
}

static uint32_t version_by_functions(const struct symbols *all)
{
	if (all->found[WANTED_SINCE_3_11].vaddr || !all->found[WANTED_SINCE_3_8].vaddr)
		return 0;
	if (all->found[WANTED_SINCE_3_10].vaddr)
		return 0x030a;
	return all->found[WANTED_SINCE_3_9].vaddr ? 0x0309 : 0x0308;
}

static struct walk_range range_of(const struct elf_named *s)
{
	return (struct walk_range){s->vaddr, s->vaddr + s->size};
}

static int find_symbols(struct elf_file *f, struct symbols *all)
{
	struct elf_named section;

	if (!elf_find_exported(f, wanted_names[WANTED_RUNTIME], &all->found[WANTED_RUNTIME])) {
		find_exported(f, all);
	} else if (is_program(f)) {
		int error = elf_each_named(f, "", NAMES_MAX, note_symbol, all);

		if (error == -ENOMEM)
			return error;
	}
	if (!all->found[WANTED_RUNTIME].vaddr && !elf_section_named(f, ".PyRuntime", &section))
		all->found[WANTED_RUNTIME] = section;
	return 0;
}

int python_file_inspect(struct elf_file *f, struct python_file *ret)
{
	struct symbols all = {0};
	int error = find_symbols(f, &all);

	if (error)
		return error;
	*ret = (struct python_file){0};
	if (!all.found[WANTED_RUNTIME].vaddr)
		return 0;
	ret->runtime = all.found[WANTED_RUNTIME].vaddr;
	ret->runtime_bytes = all.found[WANTED_RUNTIME].size;
	ret->version_address = all.found[WANTED_VERSION].vaddr;
	ret->get_state = all.found[WANTED_GET_STATE].vaddr;
	ret->version_hint = version_by_functions(&all);
	ret->loops[0] = range_of(&all.found[WANTED_LOOP]);
	if (!all.cold.size)
		error = elf_each_named(f, LOOP ".cold", NAMES_MAX, note_symbol, &all);
	if (all.cold.size)
		ret->loops[1] = range_of(&all.cold);
	else if (error && ret->loops[0].start)
		error = python_cold_part(f, &ret->loops[0], &ret->loops[1]);
	return error == -ENOMEM ? error : 0;
}
