// SPDX-License-Identifier: MIT
/*
 * What a location is follows from its module and its name, once for each. The flags of a stack node
 * follow from its location and those of its parent: one pass in the order of ids.
 */
#include "view/names/internals.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view/names/label.h"
#include "view/names/python_calls.h"
#include "view/names/python_files.h"

/* Of a location. */
enum {
	INSIDE = 1 << 0,   /* of the interpreter */
	CALL = 1 << 1,	   /* and does nothing but run Python code or call it */
	NAMELESS = 1 << 2, /* of the interpreter, but which function is not known */
	START = 1 << 3,	   /* of the interpreter, or starts a process or thread */
	/* runs for itself: a Python function, code that is neither the interpreter's nor the C
	 * library's */
	PROGRAM = 1 << 4,
};

/* Of a stack node. */
enum {
	HAS_PYTHON = 1 << 0, /* a Python frame is here, or on the way to the root */
	/* nothing but start code and the interpreter is on the root's side of the first Python
	 * frame, or is here and on the way to the root where there is none */
	FROM_START = 1 << 1,
	IN_NAMELESS = 1 << 2, /* one is here, or on the way to the last frame of the program */
};

/* Of a module. */
enum {
	INTERPRETER = 1, /* nothing but Python */
	EMBEDDER,	 /* a program with Python in it */
	/* starts programs and threads, or works for others: the C library with what it calls in the
	 * kernel's page, the dynamic linker, the executable of a Python that lives in a library */
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
		return m->kind == MODULE_VDSO ? LAUNCHER : 0;
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

static uint8_t judge_native(const struct internals *i, const struct profile_location *l)
{
	const char *name = profile_string(i->reader, l->name, NULL);
	uint8_t module = l->module ? i->modules[l->module] : 0;

	if (module == INTERPRETER || (module == EMBEDDER && is_api_name(name)))
		return INSIDE | START | (python_calls_has(name) ? CALL : *name ? 0 : NAMELESS);
	if (module == LAUNCHER)
		return START;
	return (is_start_name(name) ? START : 0) | PROGRAM;
}

static uint8_t judge_location(const struct internals *i, const struct profile_location *l)
{
	if (l->kind == FRAME_USER)
		return judge_native(i, l);
	return l->kind == FRAME_PYTHON ? PROGRAM : l->kind == FRAME_NOTE ? START : 0;
}

static uint8_t of_node(const struct internals *i, uint32_t node)
{
	const struct profile_stack_node *n = profile_stack_node(i->reader, node);

	return n && profile_location(i->reader, n->location) ? i->locations[n->location] : 0;
}

static uint32_t parent_of(const struct internals *i, uint32_t node)
{
	const struct profile_stack_node *n = profile_stack_node(i->reader, node);

	return n && n->parent < node ? n->parent : 0;
}

static bool is_python(const struct internals *i, uint32_t node)
{
	const struct profile_stack_node *n = profile_stack_node(i->reader, node);
	const struct profile_location *l = profile_location(i->reader, n->location);

	return l && l->kind == FRAME_PYTHON;
}

static void judge_node(struct internals *i, uint32_t id)
{
	uint32_t parent = parent_of(i, id);
	uint8_t here = of_node(i, id), flags = parent ? i->stacks[parent] : FROM_START;

	if (is_python(i, id))
		flags |= HAS_PYTHON;
	if (!(flags & HAS_PYTHON) && !(here & START))
		flags &= (uint8_t)~FROM_START;
	if (here & PROGRAM)
		flags &= (uint8_t)~IN_NAMELESS;
	if (here & NAMELESS)
		flags |= IN_NAMELESS;
	i->stacks[id] = flags;
	i->programs[id] = here & PROGRAM ? id : parent ? i->programs[parent] : 0;
}

int internals_init(struct internals *i, const struct profile_reader *r)
{
	struct profile_counts counts = profile_counts(r);

	*i = (struct internals){.reader = r, .merged = calloc(PATH_FRAMES, sizeof(*i->merged))};
	if (!i->merged)
		return error_memory("the stacks");
	if (!python_frames_exist(r))
		return 0;
	i->modules = calloc((size_t)counts.modules + 1, 1);
	i->locations = calloc((size_t)counts.locations + 1, 1);
	i->stacks = calloc((size_t)counts.stack_nodes + 1, 1);
	i->programs = calloc((size_t)counts.stack_nodes + 1, sizeof(*i->programs));
	if (!i->modules || !i->locations || !i->stacks || !i->programs)
		return error_memory("the stacks");
	i->stack_count = counts.stack_nodes + 1;
	for (uint32_t id = 1; id <= counts.modules; id++)
		i->modules[id] = judge_module(r, profile_module(r, id));
	for (uint32_t id = 1; id <= counts.locations; id++)
		i->locations[id] = judge_location(i, profile_location(r, id));
	for (uint32_t id = 1; id <= counts.stack_nodes; id++)
		judge_node(i, id);
	return 0;
}

void internals_release(struct internals *i)
{
	free(i->modules);
	free(i->locations);
	free(i->stacks);
	free(i->programs);
	for (unsigned int which = 0; i->merged && which < PATH_FRAMES; which++)
		free(i->merged[which]);
	free(i->merged);
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

static bool is_native(const struct internals *i, uint32_t node)
{
	const struct profile_stack_node *n = profile_stack_node(i->reader, node);
	const struct profile_location *l = n ? profile_location(i->reader, n->location) : NULL;

	return l && l->kind == FRAME_USER;
}

bool internals_inside(const struct internals *i, uint32_t stack, uint32_t node)
{
	if (!internals_has_python(i, stack) || !is_native(i, node))
		return false;
	return of_node(i, node) & INSIDE ||
	       (!internals_has_python(i, node) && i->stacks[stack] & FROM_START);
}

bool internals_nameless(const struct internals *i, uint32_t node)
{
	return internals_has_python(i, node) && of_node(i, node) & NAMELESS;
}

bool internals_at_end(const struct internals *i, uint32_t stack, uint32_t node)
{
	return stack >= i->stack_count || i->programs[stack] == i->programs[node];
}

bool internals_hide(const struct internals *i, uint32_t stack, uint32_t node)
{
	if (!internals_has_python(i, node))
		return internals_inside(i, stack, node);
	if (internals_nameless(i, node))
		return i->stacks[parent_of(i, node)] & IN_NAMELESS ||
		       !internals_at_end(i, stack, node);
	return of_node(i, node) & CALL;
}

uint32_t internals_row(const struct internals *i, uint32_t stack)
{
	uint32_t row = 0;

	if (!internals_has_python(i, stack) || !(i->stacks[stack] & IN_NAMELESS))
		return 0;
	for (uint32_t at = stack; at != i->programs[stack]; at = parent_of(i, at))
		if (of_node(i, at) & NAMELESS)
			row = at;
	return row;
}
