// SPDX-License-Identifier: MIT
#include "view/fold/result.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"

#define THREADS_MANY                                                                               \
	25 /* beside each other, in a picture where a name takes a twentieth of the width */

void view_result_release(struct view_result *v)
{
	vec_foreach (fact, &v->facts) {
		free(fact->name);
		free(fact->value);
	}
	vec_release(&v->facts);
	tree_free(v->tree);
	free(v->title);
	free(v->incomplete);
	free(v->range);
	vec_foreach (text, &v->remarks)
		free(*text);
	vec_release(&v->remarks);
	*v = (struct view_result){0};
}

int view_remark(struct view_result *v, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return error_memory("a remark");
	if (vec_push(&v->remarks, text)) {
		free(text);
		return error_memory("a remark");
	}
	return 0;
}

int view_fact(struct view_result *v, const char *name, const char *format, ...)
{
	struct view_fact fact = {.name = strdup(name)};
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&fact.value, format, args);
	va_end(args);
	if (length < 0)
		fact.value = NULL;
	if (fact.name && fact.value && !vec_push(&v->facts, fact))
		return 0;
	free(fact.name);
	free(fact.value);
	return error_memory("a fact");
}

int view_share(struct view_result *v, const char *name, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!whole)
		return 0;
	if (part && percent < 0.1)
		return view_fact(v, name, "under 0.1 %%");
	return view_fact(v, name, "%.*f %%", part && part != whole ? 1 : 0, percent);
}

void view_one_time(struct view_result *v, const char *name)
{
	v->time = name;
	tree_join_times(v->tree);
}

int view_many_threads(struct view_result *v, const struct view_options *o)
{
	size_t count = 0;

	if (o->by & (VIEW_BY_PROCESS | VIEW_BY_THREAD))
		return 0;
	for (size_t i = 0; i < tree_node_count(v->tree); i++)
		count += tree_frames(v->tree)[tree_nodes(v->tree)[i].frame].kind == TREE_THREAD;
	return count < THREADS_MANY
		       ? 0
		       : view_fact(v, "threads", "%zu; --by process adds them up", count);
}
