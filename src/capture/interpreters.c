// SPDX-License-Identifier: MIT
#include "capture/interpreters.h"

#include <errno.h>

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
	if (i->given_up || i->state == PYTHON_FOUND || (i->state == PYTHON_NOT_YET && !i->doubts))
		return;
	i->state = PYTHON_NOT_YET;
	i->doubts = 0;
	i->file = *file;
	i->bias = bias;
	i->next_ns = i->asked = 0;
	i->pause_ns = FIRST_PAUSE_NS;
}

bool interpreter_is_due(const struct interpreter *i, uint64_t now_ns)
{
	return i->state == PYTHON_NOT_YET && !i->asked && now_ns >= i->next_ns;
}

bool interpreter_answer(struct interpreter *i, enum python_found found,
	const struct walk_python *python, uint64_t now_ns)
{
	i->asked = 0;
	i->state = found;
	i->python = *python;
	if (i->state == PYTHON_UNSUPPORTED && ++i->doubts < DOUBTS_MAX)
		i->state = PYTHON_NOT_YET;
	i->next_ns = now_ns + i->pause_ns;
	i->pause_ns = i->pause_ns * 2 < LONGEST_PAUSE_NS ? i->pause_ns * 2 : LONGEST_PAUSE_NS;
	return i->state != PYTHON_NOT_YET;
}

void interpreter_give_up(struct interpreter *i)
{
	i->given_up = true;
	i->asked = 0;
	if (i->state == PYTHON_NOT_YET)
		i->state = PYTHON_UNSUPPORTED;
}

struct interpreter interpreter_fork(const struct interpreter *parent)
{
	struct interpreter child = *parent;

	child.code = NULL; /* it is of the parent's memory */
	child.asked = 0;
	return child;
}

int interpreter_code(struct interpreter *i, struct python_code **ret)
{
	int error = 0;

	*ret = NULL;
	if (i->state != PYTHON_FOUND || i->given_up)
		return 0;
	if (!i->code)
		error = python_code_new(&i->code, &i->python);
	*ret = i->code;
	return error == -ENOMEM ? error : 0;
}

void interpreter_release(struct interpreter *i)
{
	python_code_unref(i->code);
	*i = (struct interpreter){0};
}
