// SPDX-License-Identifier: MIT
#include "view/tables/stack_uses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/large.h"

struct summary_stacks *stack_uses_of(struct summary *s, enum stack_use use)
{
	struct summary_stacks *const stacks[STACK_USES] = {
		[OF_SAMPLE] = &s->sample_stacks,
		[OF_LAUNCH] = &s->launch_stacks,
		[OF_WORK] = &s->work_stacks,
		[OF_WAIT] = &s->wait_stacks,
	};

	return stacks[use];
}

static void free_counts(struct stack_counts *c)
{
	free(c->items);
	vec_release(&c->carries);
	*c = (struct stack_counts){0};
}

void stack_uses_release(struct stack_uses *u)
{
	for (int use = 0; use < STACK_USES_COUNTED; use++)
		free_counts(&u->counted[use]);
	free(u->notes);
	*u = (struct stack_uses){0};
}

/* By a bit more than is needed: stacks come in no order, so the last ones soon do. */
static int grow_to(struct stack_counts *c, uint32_t stack)
{
	size_t count = (size_t)stack + stack / 16 + 1024;
	uint32_t *items = count <= UINT32_MAX ? realloc(c->items, count * sizeof(*items)) : NULL;

	if (!items)
		return -ENOMEM;
	large_advise(items, count * sizeof(*items));
	memset(items + c->count, 0, (count - c->count) * sizeof(*items));
	c->items = items;
	c->count = (uint32_t)count;
	return 0;
}

static int count_waiting(struct stack_counts *c)
{
	int error = 0;

	for (size_t n = 0; n < c->waiting_count; n++)
		if (!++c->items[c->waiting[n]])
			error = vec_push(&c->carries, c->waiting[n]);
	c->waiting_count = 0;
	return error;
}

int stack_uses_count(struct stack_uses *u, struct summary *s, enum stack_use use, uint32_t stack)
{
	struct stack_counts *c = &u->counted[use];

	stack_uses_of(s, use)->count++;
	if (!stack)
		return 0;
	if (stack >= c->count && grow_to(c, stack))
		return -ENOMEM;
	__builtin_prefetch(&c->items[stack], 1);
	c->waiting[c->waiting_count++] = stack;
	return c->waiting_count < STACK_USES_WAITING ? 0 : count_waiting(c);
}

/* The string of the note at the root of an incomplete stack, when this node is it; else 0. */
static uint32_t incomplete_note(const struct profile_reader *r, const struct profile_stack_node *n)
{
	const struct profile_location *l = n->parent ? NULL : profile_location(r, n->location);

	return l && l->kind == FRAME_NOTE &&
			       profile_note_is_incomplete(profile_string(r, l->name, NULL))
		       ? l->name
		       : 0;
}

static int add_reason(struct summary_stacks *s, uint32_t note, uint64_t count)
{
	s->incomplete += count;
	vec_foreach (reason, &s->reasons)
		if (reason->note == note) {
			reason->count += count;
			return 0;
		}
	return vec_push(&s->reasons, (struct summary_reason){.note = note, .count = count});
}

static int add_use(const struct stack_uses *u, struct summary *s, enum stack_use use,
	uint32_t stack, uint64_t count)
{
	struct summary_stacks *stacks = stack_uses_of(s, use);

	stacks->with_stack += count;
	if (internals_has_python(&s->internals, stack))
		stacks->python += count;
	return u->notes[stack] && count ? add_reason(stacks, u->notes[stack], count) : 0;
}

static int add_uses(const struct stack_uses *u, struct summary *s, uint32_t stack)
{
	int error = 0;

	for (int use = 0; !error && use < STACK_USES_COUNTED; use++)
		if (stack < u->counted[use].count && u->counted[use].items[stack])
			error = add_use(
				u, s, (enum stack_use)use, stack, u->counted[use].items[stack]);
	if (!error && stack < s->sampled.count && s->sampled.items[stack].samples)
		error = add_use(u, s, OF_SAMPLE, stack, s->sampled.items[stack].samples);
	return error;
}

/* A stack is incomplete when there is a note at its root. Parents have smaller ids. */
int stack_uses_judge(struct stack_uses *u, struct summary *s)
{
	const struct profile_reader *r = s->internals.reader;
	uint32_t count = profile_counts(r).stack_nodes;
	int error;

	u->notes = calloc((size_t)count + 1, sizeof(*u->notes));
	error = u->notes ? 0 : -ENOMEM;
	for (int use = 0; !error && use < STACK_USES_COUNTED; use++)
		error = count_waiting(&u->counted[use]);
	for (uint32_t id = 1; !error && id <= count; id++) {
		const struct profile_stack_node *n = profile_stack_node(r, id);

		u->notes[id] =
			n->parent && n->parent < id ? u->notes[n->parent] : incomplete_note(r, n);
		error = add_uses(u, s, id);
	}
	for (int use = 0; use < STACK_USES_COUNTED; use++) {
		vec_foreach (stack, &u->counted[use].carries)
			error = error
					?: add_use(u, s, (enum stack_use)use, *stack,
						   (uint64_t)1 << 32);
		free_counts(&u->counted[use]);
	}
	return error;
}

int stack_uses_add_works(
	const struct stack_uses *u, struct summary *s, uint32_t stack, uint64_t works)
{
	return stack ? add_use(u, s, OF_WORK, stack, works) : 0;
}
