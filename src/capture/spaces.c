// SPDX-License-Identifier: MIT
/*
 *	pid -> published -> snapshot <- generation of the address space
 *
 * A snapshot is made anew when the mappings changed, or when a table it waits for, or has, may have
 * changed state. If the new one is equal, the old one stays.
 */
#include "capture/spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "bpf/events.h"
#include "capture/ranges.h"

#define RETRY_NS	 (100 * NS_PER_MS)
#define UNSTEADY_NS	 (10 * NS_PER_SECOND)
#define WAIT_FOR_MORE_NS (250 * NS_PER_MS) /* tables, before a snapshot for some of them is made */
#define REST_PARTS	 8		   /* one part in so many of the time is for comparing, */
#define REST_FROM_NS	 (NS_PER_MS / 5)   /* where it takes so long */

struct mapping_list vec(struct walk_mapping);

struct snapshot {
	unsigned int references; /* of `published` */
	uint64_t generation;
	uint64_t changes; /* the mappings were compared at this state of the address space, */
	uint64_t epoch;	  /* and at this one of the tables */
	uint64_t made_ns;
	uint64_t rest_ns; /* until then it is not compared with newer tables */
	uint32_t first;
	uint32_t count;
	struct vec(uint32_t) tables; /* ids that it holds in use */
};

struct published {
	struct snapshot *snapshot; /* NULL: nothing is published yet */
	uint64_t image_generation;
	uint64_t mapped_ns; /* published with it */
	bool unsteady;
	bool python;	      /* its Python is published, too */
	uint64_t replaced;    /* of the address space, as it was seen last, */
	uint64_t replaced_ns; /* and when it was seen to change */
	uint64_t failed_changes;
	uint64_t retry_ns;
};

struct spaces {
	struct modules *modules;
	struct unwind_tables *tables;
	struct spaces_target target;
	struct ranges ranges;
	struct map by_pid;	  /* -> struct published * */
	struct map by_generation; /* -> struct snapshot *, the latest one */
	uint64_t epoch;
	uint64_t evicted_epoch; /* the first one in which no older snapshot is right */
	uint64_t failed;
	size_t full_count;	/* mappings of a space for which there was no room, */
	uint64_t full_until_ns; /* and until when there is none either for others like that */
	struct mapping_list scratch;
	struct mapping_list walk; /* of spaces_mappings */
	uint64_t walk_generation, walk_changes, walk_epoch;
};

int spaces_new(struct spaces **ret, struct modules *modules, struct unwind_tables *tables,
	const struct spaces_target *target)
{
	struct spaces *s = calloc(1, sizeof(*s));

	if (!s || ranges_init(&s->ranges, target->mapping_count) < 0) {
		free(s);
		return error_errno(-ENOMEM, "cannot keep mappings");
	}
	s->modules = modules;
	s->tables = tables;
	s->target = *target;
	s->epoch = 1;
	*ret = s;
	return 0;
}

static void free_snapshot(struct spaces *s, struct snapshot *snapshot)
{
	unwind_tables_use(s->tables, snapshot->tables.items, snapshot->tables.count, -1);
	vec_release(&snapshot->tables);
	free(snapshot);
}

void spaces_free(struct spaces *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->by_pid.slots && i <= s->by_pid.mask; i++) {
		struct published *p = (struct published *)(uintptr_t)s->by_pid.slots[i].value;

		if (!s->by_pid.slots[i].used)
			continue;
		if (p->snapshot && !--p->snapshot->references)
			free_snapshot(s, p->snapshot);
		free(p);
	}
	map_release(&s->by_pid);
	map_release(&s->by_generation);
	ranges_release(&s->ranges);
	vec_release(&s->scratch);
	vec_release(&s->walk);
	free(s);
}

void spaces_tables_changed(struct spaces *s, bool evicted)
{
	s->epoch++;
	if (evicted)
		s->evicted_epoch = s->epoch;
}

uint64_t spaces_failed(const struct spaces *s)
{
	return s->failed;
}

/* ----------------------------------------------------------- from mappings to walkers' mappings */

static struct walk_mapping describe(const struct spaces *s, const struct mapping *m)
{
	const struct module *module = modules_at(s->modules, m->module);
	struct walk_mapping w = {.start = m->start, .end = m->end};
	enum unwind_state state = UNWIND_NONE;

	if (module->asked)
		state = UNWIND_PENDING; /* nobody knows yet what is in the file */
	else if (module->table && modules_bias(module, m->start, m->end, m->base, &w.bias))
		state = unwind_tables_state(s->tables, module->table, &w.table);
	if (state == UNWIND_READY)
		w.kind = WALK_MAPPING_TABLE;
	else if (state == UNWIND_PENDING || state == UNWIND_EVICTED)
		w.kind = WALK_MAPPING_PENDING;
	if (w.kind != WALK_MAPPING_TABLE)
		w.bias = w.table = 0;
	return w;
}

/* Neighbours that are walked alike are one. */
static bool extend(struct mapping_list *list, const struct walk_mapping *next)
{
	struct walk_mapping *last = list->count ? &list->items[list->count - 1] : NULL;

	if (!last || last->end != next->start || last->kind != next->kind ||
		last->bias != next->bias || last->table != next->table)
		return false;
	last->end = next->end;
	return true;
}

static int describe_all(
	const struct spaces *s, const struct address_space *space, struct mapping_list *ret)
{
	ret->count = 0;
	if (vec_reserve(ret, space->mappings.count) < 0)
		return error_errno(-ENOMEM, "cannot keep mappings");
	vec_foreach (m, &space->mappings) {
		const struct walk_mapping next = describe(s, m);

		if (!extend(ret, &next))
			ret->items[ret->count++] = next;
	}
	return 0;
}

int spaces_mappings(struct spaces *s, const struct address_space *space,
	const struct walk_mapping **ret, uint32_t *ret_count)
{
	int error = 0;

	if (s->walk_generation != space->generation || s->walk_changes != space->changes ||
		s->walk_epoch != s->epoch)
		error = describe_all(s, space, &s->walk);
	if (error)
		return error;
	s->walk_generation = space->generation;
	s->walk_changes = space->changes;
	s->walk_epoch = s->epoch;
	*ret = s->walk.items;
	*ret_count = (uint32_t)s->walk.count;
	return 0;
}

/* ------------------------------------------------------------------ snapshots */

static void unref_snapshot(struct spaces *s, struct snapshot *snapshot, uint64_t now_ns)
{
	const uint64_t *latest;

	if (!snapshot || --snapshot->references)
		return;
	latest = map_get(&s->by_generation, snapshot->generation);
	if (latest && *latest == (uintptr_t)snapshot)
		map_remove(&s->by_generation, snapshot->generation, NULL);
	/* Without memory the range is lost, and there is less room. */
	(void)ranges_give_back(&s->ranges, snapshot->first, snapshot->count, now_ns);
	free_snapshot(s, snapshot);
}

static struct snapshot *latest_of(const struct spaces *s, const struct address_space *space)
{
	const uint64_t *latest = map_get(&s->by_generation, space->generation);

	return latest ? (struct snapshot *)(uintptr_t)*latest : NULL;
}

static bool is_current(
	const struct spaces *s, const struct snapshot *snapshot, const struct address_space *space)
{
	return snapshot && snapshot->generation == space->generation &&
	       snapshot->changes == space->changes && snapshot->epoch == s->epoch;
}

/* Whether a snapshot will do until more of the tables are there that the scratch waits for. */
static bool may_wait(const struct spaces *s, const struct snapshot *snapshot,
	const struct address_space *space, uint64_t now_ns)
{
	if (!snapshot || snapshot->changes != space->changes ||
		snapshot->epoch < s->evicted_epoch ||
		now_ns - snapshot->made_ns >= WAIT_FOR_MORE_NS)
		return false;
	vec_foreach (m, &s->scratch)
		if (m->kind == WALK_MAPPING_PENDING)
			return true;
	return false;
}

/* Whether the array already holds the mappings of the scratch. */
static bool says_the_same(const struct spaces *s, const struct snapshot *snapshot)
{
	return snapshot && snapshot->count == s->scratch.count &&
	       (!snapshot->count || !memcmp(s->target.mappings + snapshot->first, s->scratch.items,
					    snapshot->count * sizeof(*s->scratch.items)));
}

static int hold_tables(
	struct spaces *s, struct snapshot *snapshot, const struct address_space *space)
{
	uint32_t before = 0;

	vec_foreach (m, &space->mappings) {
		uint32_t table = modules_at(s->modules, m->module)->table;

		if (!table || table == before)
			continue;
		if (vec_push(&snapshot->tables, table) < 0) {
			snapshot->tables.count = 0;
			return -ENOMEM;
		}
		before = table;
	}
	unwind_tables_use(s->tables, snapshot->tables.items, snapshot->tables.count, 1);
	return 0;
}

/* A snapshot of the scratch. -ENOSPC: no room in the array. */
static int make_snapshot(
	struct spaces *s, const struct address_space *space, uint64_t now_ns, struct snapshot **ret)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	int error;

	if (!snapshot)
		return error_errno(-ENOMEM, "cannot keep mappings");
	snapshot->generation = space->generation;
	snapshot->count = (uint32_t)s->scratch.count;
	error = ranges_allocate(&s->ranges, snapshot->count, now_ns, &snapshot->first);
	if (!error) {
		error = hold_tables(s, snapshot, space);
		error = error ?: map_put(&s->by_generation, space->generation, (uintptr_t)snapshot);
		if (error)
			(void)ranges_give_back(
				&s->ranges, snapshot->first, snapshot->count, now_ns);
	}
	if (error) {
		free_snapshot(s, snapshot);
		return error_errno(error, "cannot keep mappings");
	}
	if (snapshot->count)
		memcpy(s->target.mappings + snapshot->first, s->scratch.items,
			snapshot->count * sizeof(*s->scratch.items));
	snapshot->made_ns = now_ns;
	*ret = snapshot;
	return 0;
}

/* Tables come in small numbers, and a space may have a hundred thousand mappings. */
static bool rests(const struct spaces *s, const struct snapshot *snapshot,
	const struct address_space *space, uint64_t now_ns)
{
	return snapshot && snapshot->generation == space->generation &&
	       snapshot->changes == space->changes && snapshot->epoch >= s->evicted_epoch &&
	       now_ns < snapshot->rest_ns;
}

/* *ret: the one that there is, or a new one. */
static int update_snapshot(
	struct spaces *s, const struct address_space *space, uint64_t now_ns, struct snapshot **ret)
{
	struct snapshot *snapshot = *ret;
	int error = describe_all(s, space, &s->scratch);
	bool same = !error && says_the_same(s, snapshot);

	if (!error && !same && may_wait(s, snapshot, space, now_ns))
		return 0;
	if (!error && !same)
		error = make_snapshot(s, space, now_ns, &snapshot);
	if (error)
		return error;
	snapshot->changes = space->changes;
	snapshot->epoch = s->epoch;
	*ret = snapshot;
	return 0;
}

/* The snapshot for an address space as it is now, perhaps without references yet. */
static int find_snapshot(
	struct spaces *s, const struct address_space *space, uint64_t now_ns, struct snapshot **ret)
{
	uint64_t begun_ns = clock_now_ns(), took_ns;
	int error;

	*ret = latest_of(s, space);
	if (is_current(s, *ret, space) || rests(s, *ret, space, now_ns))
		return 0;
	error = update_snapshot(s, space, now_ns, ret);
	if (error)
		return error;
	took_ns = clock_now_ns() - begun_ns;
	(*ret)->rest_ns = took_ns < REST_FROM_NS ? 0 : now_ns + REST_PARTS * took_ns;
	return 0;
}

/* ------------------------------------------------------------------ publishing */

static int send_space(
	struct spaces *s, const struct process *process, const struct snapshot *snapshot)
{
	const struct walker_space space = {.pid = process->pid,
		.generation = (uint32_t)snapshot->generation,
		.mappings = s->target.mappings + snapshot->first,
		.mapping_count = snapshot->count,
		.python = process->python.state == PYTHON_FOUND ? &process->python.python : NULL};

	return s->target.send && snapshot->count ? s->target.send(s->target.context, &space) : 0;
}

static int send_gone(struct spaces *s, uint32_t pid)
{
	const struct walker_space gone = {.pid = pid};

	return s->target.send ? s->target.send(s->target.context, &gone) : 0;
}

/* What was published of the process is of another image. */
static int begin_anew(
	struct spaces *s, struct published *p, const struct process *process, uint64_t now_ns)
{
	bool was_sent = p->snapshot;

	s->target.drop(s->target.context, process->pid);
	unref_snapshot(s, p->snapshot, now_ns);
	*p = (struct published){.image_generation = process->space->image_generation,
		.replaced = process->space->replaced};
	return was_sent ? send_gone(s, process->pid) : 0;
}

/* What was published stays, unless it names tables whose memory is about to be used for others. */
static int note_failure(
	struct spaces *s, struct published *p, const struct process *process, uint64_t now_ns)
{
	if (p->failed_changes != process->space->changes || !p->retry_ns)
		s->failed++;
	p->failed_changes = process->space->changes;
	p->retry_ns = now_ns + RETRY_NS;
	if (!p->snapshot || p->snapshot->epoch >= s->evicted_epoch)
		return 0;
	spaces_withdraw(s, process->pid, now_ns);
	return send_gone(s, process->pid);
}

static int put_space(const struct spaces *s, const struct process *process,
	const struct snapshot *snapshot, bool unsteady)
{
	const struct bpf_space space = {.first = snapshot->first,
		.count = snapshot->count,
		.generation = (uint32_t)snapshot->generation,
		.unsteady = unsteady,
		.mapped_ns = process->mapped_ns};

	return s->target.put(s->target.context, process->pid, &space);
}

static bool is_unsteady(const struct spaces *s, const struct published *p, uint64_t now_ns)
{
	return !s->target.sees_maps && p->replaced_ns && now_ns - p->replaced_ns < UNSTEADY_NS;
}

/* Publishes `snapshot` over the one before; it has a reference of its own meanwhile. */
static int replace(struct spaces *s, struct published *p, const struct process *process,
	struct snapshot *snapshot, uint64_t now_ns)
{
	bool found = process->python.state == PYTHON_FOUND;
	bool unsteady = is_unsteady(s, p, now_ns);
	bool news = snapshot != p->snapshot || p->python != found;
	int error = 0;

	snapshot->references++;
	if (snapshot != p->snapshot || p->mapped_ns != process->mapped_ns ||
		p->unsteady != unsteady)
		error = put_space(s, process, snapshot, unsteady);
	if (!error && found && !p->python)
		error = s->target.put_python(
			s->target.context, process->pid, &process->python.python);
	if (error) {
		unref_snapshot(s, snapshot, now_ns);
		return note_failure(s, p, process, now_ns);
	}
	unref_snapshot(s, p->snapshot, now_ns);
	p->snapshot = snapshot;
	p->mapped_ns = process->mapped_ns;
	p->unsteady = unsteady;
	p->python = found;
	p->retry_ns = 0;
	return news ? send_space(s, process, snapshot) : 0;
}

static int published_of(struct spaces *s, const struct process *process, struct published **ret)
{
	const uint64_t *known = map_get(&s->by_pid, process->pid);
	struct published *p = known ? (struct published *)(uintptr_t)*known : calloc(1, sizeof(*p));

	if (!p || (!known && map_put(&s->by_pid, process->pid, (uintptr_t)p) < 0)) {
		free(p);
		return error_errno(-ENOMEM, "cannot keep process %u", process->pid);
	}
	if (!known) {
		p->image_generation = process->space->image_generation;
		p->replaced = process->space->replaced;
	}
	*ret = p;
	return 0;
}

/* Whether what is published beside the mappings is up to date. */
static bool is_rest_published(const struct spaces *s, const struct published *p,
	const struct process *process, uint64_t now_ns)
{
	return p->mapped_ns == process->mapped_ns && p->unsteady == is_unsteady(s, p, now_ns) &&
	       p->python == (process->python.state == PYTHON_FOUND);
}

static bool is_published(const struct spaces *s, const struct published *p,
	const struct process *process, uint64_t now_ns)
{
	return is_current(s, p->snapshot, process->space) &&
	       is_rest_published(s, p, process, now_ns);
}

bool spaces_is_settled(const struct spaces *s, const struct process *process, uint64_t now_ns)
{
	const uint64_t *known = map_get(&s->by_pid, process->pid);
	const struct published *p = known ? (const struct published *)(uintptr_t)*known : NULL;

	if (!p || p->image_generation != process->space->image_generation)
		return false;
	if (!process->space->mappings.count && !p->snapshot)
		return true;
	return !p->unsteady && is_published(s, p, process, now_ns);
}

static void note_replaced(struct published *p, const struct process *process, uint64_t now_ns)
{
	if (p->replaced == process->space->replaced)
		return;
	p->replaced = process->space->replaced;
	p->replaced_ns = now_ns;
}

/* To describe a large space takes milliseconds, and there may be thousands of them. */
static bool is_hopeless(const struct spaces *s, const struct address_space *space, uint64_t now_ns)
{
	return now_ns < s->full_until_ns && space->mappings.count >= s->full_count &&
	       !latest_of(s, space);
}

static int find_room(
	struct spaces *s, const struct address_space *space, uint64_t now_ns, struct snapshot **ret)
{
	int error = is_hopeless(s, space, now_ns) ? -ENOSPC : find_snapshot(s, space, now_ns, ret);

	if (error == -ENOSPC && now_ns >= s->full_until_ns) {
		s->full_until_ns = now_ns + RETRY_NS;
		s->full_count = space->mappings.count;
	}
	return error;
}

int spaces_publish(struct spaces *s, struct process *process, uint64_t now_ns)
{
	struct snapshot *snapshot;
	struct published *p = NULL;
	int error = published_of(s, process, &p);

	if (error)
		return error;
	if (p->image_generation != process->space->image_generation)
		error = begin_anew(s, p, process, now_ns);
	if (error)
		return error;
	note_replaced(p, process, now_ns);
	if (is_published(s, p, process, now_ns))
		return 0;
	if (now_ns < p->retry_ns || (!process->space->mappings.count && !p->snapshot))
		return 0;
	error = find_room(s, process->space, now_ns, &snapshot);
	if (error == -ENOSPC)
		return note_failure(s, p, process, now_ns);
	if (error)
		return error;
	if (snapshot == p->snapshot && is_rest_published(s, p, process, now_ns))
		return 0;
	return replace(s, p, process, snapshot, now_ns);
}

void spaces_withdraw(struct spaces *s, uint32_t pid, uint64_t now_ns)
{
	const uint64_t *known = map_get(&s->by_pid, pid);
	struct published *p = known ? (struct published *)(uintptr_t)*known : NULL;

	if (!p || !p->snapshot)
		return;
	s->target.drop(s->target.context, pid);
	unref_snapshot(s, p->snapshot, now_ns);
	p->snapshot = NULL;
	p->mapped_ns = 0;
	p->unsteady = false;
	p->python = false;
}

int spaces_forget(struct spaces *s, uint32_t pid, uint64_t now_ns)
{
	struct published *p;
	uint64_t value;
	bool was_sent;

	if (!map_remove(&s->by_pid, pid, &value))
		return 0;
	p = (struct published *)(uintptr_t)value;
	was_sent = p->snapshot;
	s->target.drop(s->target.context, pid);
	unref_snapshot(s, p->snapshot, now_ns);
	free(p);
	return was_sent ? send_gone(s, pid) : 0;
}
