// SPDX-License-Identifier: MIT
/*
 * Records of rings, which GPUs write into memory that we have, too (wire/arena.h). A record is
 * there when its sequence says so; it is copied before it is looked at.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "probe/server_internal.h"

static void hand_on(struct server *s, const struct server_arena *a, const struct plan_outside *ring,
	uint32_t sm, const uint8_t *entry)
{
	struct arena_record head;
	struct server_record r = {.arena = a, .ring = ring, .sm = sm};

	memcpy(&head, entry, sizeof(head));
	if (head.size > ring->place->entry_bytes - sizeof(head))
		head.size = ring->place->entry_bytes - sizeof(head);
	r.launch = head.launch;
	r.program = head.program;
	r.text = head.text;
	r.bytes = head.size;
	r.data = entry + sizeof(head);
	if (s->on_record)
		s->on_record(s->context, &r);
}

/* Of one multiprocessor; true where there were some. */
static bool read_ring(
	struct server *s, struct server_arena *a, const struct plan_outside *ring, uint32_t sm)
{
	uint64_t *tail = &a->tails[ring->tails * ARENA_SMS + sm], first = *tail;
	const struct map_place *place = ring->place;
	const uint8_t *records = a->memory + ring->at + sm * place->stride;
	uint8_t entry[ARENA_RECORD_MAX];

	for (uint32_t i = 0; i < place->capacity; i++) {
		const uint8_t *at = records + (*tail & (place->capacity - 1)) * place->entry_bytes;

		if (__atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE) != *tail + 1)
			break;
		memcpy(entry, at, place->entry_bytes);
		hand_on(s, a, ring, sm, entry);
		++*tail;
	}
	if (*tail == first)
		return false;
	__atomic_store_n((uint64_t *)(a->memory + PROBE_TAILS_AT) + ring->tails * ARENA_SMS + sm,
		*tail, __ATOMIC_RELEASE);
	return true;
}

bool server_read_rings(struct server *s, struct server_arena *a)
{
	bool any = false;

	vec_foreach (ring, &s->plan->outsides)
		for (uint32_t sm = 0; ring->is_ring && sm < ARENA_SMS; sm++)
			any |= read_ring(s, a, ring, sm);
	return any;
}

/* What it took is given back; the values of its maps stay. */
static void end(struct server *s, struct server_arena *a)
{
	a->ended = true;
	vec_foreach (ring, &s->plan->outsides)
		if (ring->is_ring)
			(void)madvise(a->memory + ring->at, ring->bytes & ~(PROBE_PAGE - 1ull),
				MADV_REMOVE);
}

static uint32_t switch_count(const struct probe_shared *shared)
{
	return __atomic_load_n(&shared->switch_count, __ATOMIC_ACQUIRE);
}

static void report_switch(struct server *s, const struct server_arena *a,
	enum server_switched state, uint64_t from_ns, uint64_t to_ns)
{
	if (s->on_switch)
		s->on_switch(s->context, &(struct server_switch){(uint32_t)(a - s->arenas.items),
						 state, from_ns, to_ns});
}

/* Where some came and went unseen, what was in between is not known. */
static void read_switches(struct server *s, struct server_arena *a)
{
	const struct probe_shared *shared = (const void *)a->memory;
	uint32_t count = switch_count(shared);

	if (count - a->switches > PROBE_SWITCHES) {
		report_switch(s, a, SERVER_UNKNOWN, 0, 0);
		a->switches = count - PROBE_SWITCHES;
	}
	for (; a->switches != count; a->switches++) {
		struct probe_switch one = shared->switches[a->switches % PROBE_SWITCHES];
		bool sound = !one.failed && one.off <= 1 && one.from_ns <= one.to_ns &&
			     switch_count(shared) - a->switches <= PROBE_SWITCHES;

		report_switch(s, a,
			!sound	  ? SERVER_UNKNOWN
			: one.off ? SERVER_OFF
				  : SERVER_ON,
			one.from_ns, one.to_ns);
	}
}

static bool drain_arena(struct server *s, struct server_arena *a)
{
	const struct probe_shared *shared = (const void *)a->memory;
	bool over = s->processes.items[a->process].fd < 0 ||
		    __atomic_load_n(&shared->ended, __ATOMIC_ACQUIRE);
	bool any = server_read_rings(s, a);

	read_switches(s, a);
	if (any && !over)
		server_wake(s, a->process);
	if (over) {
		(void)server_read_rings(s, a);
		report_switch(s, a, SERVER_GONE, clock_now_ns(), clock_now_ns());
		end(s, a);
	}
	return any;
}

bool server_drain(struct server *s)
{
	bool any = server_accept(s);

	for (uint32_t i = 0; i < s->processes.count; i++)
		if (s->processes.items[i].fd >= 0)
			any |= server_receive(s, i);
	vec_foreach (a, &s->arenas)
		if (!a->ended)
			any |= drain_arena(s, a);
	return any;
}
