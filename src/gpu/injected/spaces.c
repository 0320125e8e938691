// SPDX-License-Identifier: MIT
/*
 * What processes map, kept by pid: capture reports it as it changes, most of it long before a
 * library connects.
 *
 * The memory that a library shares with us has room for WIRE_MAPPINGS mappings. Of a process that
 * has more, those at the highest addresses are sent: libraries are there, and code that a program
 * generates is mostly below.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gpu/injected/internal.h"

static void forget(struct injected *s, uint32_t pid)
{
	uint64_t old;

	if (map_remove(&s->spaces, pid, &old))
		free((void *)(uintptr_t)old);
}

static struct kept_space *copy_of(const struct walker_space *space)
{
	uint32_t count =
		space->mapping_count < WIRE_MAPPINGS ? space->mapping_count : WIRE_MAPPINGS;
	struct kept_space *copy = malloc(sizeof(*copy) + count * sizeof(copy->mappings[0]));

	if (!copy)
		return NULL;
	*copy = (struct kept_space){.generation = space->generation, .count = count};
	if (space->python)
		copy->python = *space->python;
	memcpy(copy->mappings, space->mappings + (space->mapping_count - count),
		count * sizeof(copy->mappings[0]));
	for (uint32_t n = 0; n < count; n++)
		copy->pending += copy->mappings[n].kind == WALK_MAPPING_PENDING;
	return copy;
}

int spaces_keep(struct injected *s, const struct walker_space *space)
{
	struct kept_space *copy;

	forget(s, space->pid);
	if (!space->mapping_count)
		return 0;
	copy = copy_of(space);
	if (copy && !map_put(&s->spaces, space->pid, (uintptr_t)copy))
		return 0;
	free(copy);
	return error_memory(NULL);
}

const struct kept_space *spaces_of(const struct injected *s, uint32_t pid)
{
	const uint64_t *found = map_get(&s->spaces, pid);

	return found ? (const struct kept_space *)(uintptr_t)*found : NULL;
}

void spaces_release(struct injected *s)
{
	const struct map *m = &s->spaces;

	for (size_t n = 0; m->slots && n <= m->mask; n++)
		if (m->slots[n].used)
			free((void *)(uintptr_t)m->slots[n].value);
	map_release(&s->spaces);
}
