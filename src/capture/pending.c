// SPDX-License-Identifier: MIT
#include "capture/pending.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "unwind/unwind.h"

/* One that is kept is copied when it changes. */
static size_t space_bytes(const struct address_space *space)
{
	return space->pending ? 0 : space->mappings.count * sizeof(*space->mappings.items);
}

static void free_sample(struct pending *p, struct pending_sample *s)
{
	s->space->pending--;
	p->bytes -= s->bytes + space_bytes(s->space);
	address_space_unref(s->space);
	python_code_unref(s->code);
	free(s);
}

void pending_release(struct pending *p)
{
	vec_foreach (s, &p->samples)
		free_sample(p, *s);
	vec_release(&p->samples);
}

/* Copies to *at, moves it behind and rounds it up; returns where the copy is. */
static void *keep(uint8_t **at, const void *from, size_t size)
{
	void *copy = *at;

	if (size)
		memcpy(copy, from, size);
	*at += (size + 7) & ~(size_t)7;
	return copy;
}

static size_t size_of(const struct raw_stack *s)
{
	size_t words = (size_t)s->kernel_depth + s->user_depth + s->entry_count;

	return sizeof(struct pending_sample) + words * sizeof(uint64_t) +
	       s->python_depth * (sizeof(*s->python) + sizeof(uint32_t)) + sizeof(*s->start) +
	       s->memory_size + UNWIND_PAGE_WORDS * sizeof(*s->absent) + 64;
}

static void copy_stack(struct pending_sample *to, const struct raw_stack *from)
{
	struct raw_stack *s = &to->stack;
	uint8_t *at = (uint8_t *)to->words;

	*s = *from;
	s->kernel = keep(&at, from->kernel, from->kernel_depth * sizeof(*from->kernel));
	s->user = keep(&at, from->user, from->user_depth * sizeof(*from->user));
	s->python = keep(&at, from->python, from->python_depth * sizeof(*from->python));
	s->entries = keep(&at, from->entries, from->entry_count * sizeof(*from->entries));
	s->start = from->start ? keep(&at, from->start, sizeof(*from->start)) : NULL;
	s->memory = keep(&at, from->memory, from->memory_size);
	s->absent = from->absent ? keep(&at, from->absent, UNWIND_PAGE_WORDS * sizeof(*s->absent))
				 : NULL;
	to->python_locations = (uint32_t *)at;
	s->python_locations = to->python_locations;
	if (!from->loops)
		return;
	memcpy(to->loops, from->loops, sizeof(to->loops));
	s->loops = to->loops;
}

struct pending_sample *pending_add(
	struct pending *p, const struct raw_stack *stack, struct address_space *space)
{
	size_t bytes = size_of(stack), all_bytes = bytes + space_bytes(space);
	struct pending_sample *s;

	if (p->bytes + all_bytes > PENDING_BYTES || vec_reserve(&p->samples, 1) < 0)
		return NULL;
	s = malloc(bytes);
	if (!s)
		return NULL;
	*s = (struct pending_sample){.space = address_space_ref(space), .bytes = bytes};
	copy_stack(s, stack);
	space->pending++;
	p->bytes += all_bytes;
	p->samples.items[p->samples.count++] = s;
	return s;
}

int pending_each(struct pending *p,
	int (*look)(void *context, struct pending_sample *s, bool *ret_done), void *context)
{
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < p->samples.count; i++) {
		struct pending_sample *s = p->samples.items[i];
		bool done = false;

		error = error ?: look(context, s, &done);
		if (done)
			free_sample(p, s);
		else
			p->samples.items[kept++] = s;
	}
	p->samples.count = kept;
	return error;
}
