// SPDX-License-Identifier: MIT
/*
 * The flags of a stack node follow from those of its parent: one pass in the order of ids.
 */
#include "view/names/internals.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view/names/label.h"
#include "view/names/python_files.h"

/* Of a stack node. */
enum {
	HAS_PYTHON = 1 << 0, /* a Python frame is here, or on the way to the root */
	/* nothing but start code and the interpreter is on the root's side of the first Python
	 * frame, or is here and on the way to the root where there is none */
	FROM_START = 1 << 1,
};

/* Of a module. */
enum {
	INTERPRETER = 1, /* nothing but Python */
	EMBEDDER,	 /* a program with Python in it */
	/* starts programs and threads: the C library and the dynamic linker, the executable of a
	 * Python that lives in a library */
	LAUNCHER,
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static uint8_t judge_module(const struct profile_reader *r, const struct profile_module *m)
{
	const char *path = profile_string(r, m->path, NULL), *name = base_name(path);
	bool is_python = begins(name, "python") || begins(name, "libpython");

	if (m->flags & MODULE_PYTHON)
		return is_python ? INTERPRETER : EMBEDDER;
	if (m->kind != MODULE_FILE)
		return 0;
	return is_python || label_is_c_library(path) ? LAUNCHER : 0;
}

/* "PyObject_Call", "_PyEval_EvalFrameDefault", "Py_BytesMain". */
static bool is_api_name(const char *name)
{
	name += *name == '_';
	return begins(name, "Py") && (name[2] == '_' || isupper((unsigned char)name[2]));
}

/* The first functions of a process or a thread, wherever they are. */
static bool is_start_name(const char *name)
{
	static const char *const names[] = {"_start", "main", "__libc_start_main",
		"__libc_start_call_main", "__libc_start_main_impl", "start_thread", "clone",
		"clone3", "__clone", "__clone3"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool is_interpreter(const struct internals *i, const struct profile_location *l)
{
	if (l->kind != FRAME_USER || !l->module)
		return false;
	return i->modules[l->module] == INTERPRETER ||
	       (i->modules[l->module] == EMBEDDER &&
		       is_api_name(profile_string(i->reader, l->name, NULL)));
}

static bool is_start(const struct internals *i, const struct profile_location *l)
{
	return l->kind == FRAME_NOTE || is_interpreter(i, l) ||
	       (l->kind == FRAME_USER &&
		       (i->modules[l->module] == LAUNCHER ||
			       is_start_name(profile_string(i->reader, l->name, NULL))));
}

static const struct profile_location *location_of(const struct internals *i, uint32_t node)
{
	const struct profile_stack_node *n = profile_stack_node(i->reader, node);

	return n ? profile_location(i->reader, n->location) : NULL;
}

static uint8_t judge_node(const struct internals *i, uint32_t id)
{
	const struct profile_stack_node *n = profile_stack_node(i->reader, id);
	const struct profile_location *l = profile_location(i->reader, n->location);
	uint8_t parent = n->parent && n->parent < id ? i->stacks[n->parent] : FROM_START;

	if (parent & HAS_PYTHON || !l)
		return parent;
	if (l->kind == FRAME_PYTHON)
		return parent | HAS_PYTHON;
	return parent & FROM_START && is_start(i, l) ? FROM_START : 0;
}

int internals_init(struct internals *i, const struct profile_reader *r)
{
	struct profile_counts counts = profile_counts(r);

	*i = (struct internals){.reader = r};
	if (!python_frames_exist(r))
		return 0;
	i->modules = calloc((size_t)counts.modules + 1, 1);
	i->stacks = calloc((size_t)counts.stack_nodes + 1, 1);
	if (!i->modules || !i->stacks)
		return error_memory("the stacks");
	i->stack_count = counts.stack_nodes + 1;
	for (uint32_t id = 1; id <= counts.modules; id++)
		i->modules[id] = judge_module(r, profile_module(r, id));
	for (uint32_t id = 1; id <= counts.stack_nodes; id++)
		i->stacks[id] = judge_node(i, id);
	return 0;
}

void internals_release(struct internals *i)
{
	free(i->modules);
	free(i->stacks);
	*i = (struct internals){0};
}

bool internals_has_python(const struct internals *i, uint32_t stack)
{
	return stack < i->stack_count && i->stacks[stack] & HAS_PYTHON;
}

unsigned int internals_kind(const struct internals *i, uint32_t stack)
{
	if (!internals_has_python(i, stack))
		return 0;
	return i->stacks[stack] & FROM_START ? 1 : 2;
}

bool internals_hide(const struct internals *i, uint32_t stack, uint32_t node)
{
	const struct profile_location *l;

	if (!internals_has_python(i, stack))
		return false;
	l = location_of(i, node);
	if (!l || l->kind != FRAME_USER)
		return false;
	return is_interpreter(i, l) ||
	       (!internals_has_python(i, node) && i->stacks[stack] & FROM_START);
}
