// SPDX-License-Identifier: MIT
#include "capture/interpreters.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

/* An interpreter is set up within some 10 ms; a program that only contains one may never do
 * that. */
#define FIRST_PAUSE_NS	 (5 * NS_PER_MS)
#define LONGEST_PAUSE_NS NS_PER_SECOND

/*
 * A look at a running program can be wrong for a while: when not all parts of its file are mapped
 * yet, or when the thread was preempted in the middle of a call, for long on a busy machine. So an
 * interpreter is only found unusable after this many looks, over a third of a second.
 */
#define DOUBTS_MAX 7

void interpreter_map(struct interpreter *i, const struct python_file *file, uint64_t bias)
{
	if (i->state == PYTHON_FOUND || (i->state == PYTHON_NOT_YET && !i->doubts))
		return;
	i->state = PYTHON_NOT_YET;
	i->doubts = 0;
	i->file = *file;
	i->bias = bias;
	i->next_ns = 0;
	i->pause_ns = FIRST_PAUSE_NS;
}

bool interpreter_look(struct interpreter *i, const struct python_memory *memory, uint64_t now_ns)
{
	if (i->state != PYTHON_NOT_YET || now_ns < i->next_ns)
		return false;
	memset(&i->python, 0, sizeof(i->python));
	i->state = python_find(memory, &i->file, i->bias, &i->python);
	if (i->state == PYTHON_UNSUPPORTED && ++i->doubts < DOUBTS_MAX)
		i->state = PYTHON_NOT_YET;
	i->next_ns = now_ns + i->pause_ns;
	i->pause_ns = i->pause_ns * 2 < LONGEST_PAUSE_NS ? i->pause_ns * 2 : LONGEST_PAUSE_NS;
	return i->state != PYTHON_NOT_YET;
}

struct interpreter interpreter_fork(const struct interpreter *parent)
{
	struct interpreter child = *parent;

	child.code = NULL; /* it reads the parent's memory */
	return child;
}

int interpreter_line(struct interpreter *i, const struct python_memory *memory,
	const struct walk_python_frame *frame, struct python_line *ret)
{
	int error = 0;

	if (i->state != PYTHON_FOUND)
		return -ENOENT;
	if (!i->code)
		error = python_code_new(&i->code, memory, &i->python);
	return error ?: python_code_line(i->code, frame, ret);
}

void interpreter_release(struct interpreter *i)
{
	python_code_free(i->code);
	*i = (struct interpreter){0};
}
