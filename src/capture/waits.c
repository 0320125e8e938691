// SPDX-License-Identifier: MIT
#include "capture/waits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"

#define SAME_REASON(kernel, profile)                                                               \
	_Static_assert((int)BPF_REASON_##kernel == (int)WAIT_##profile,                            \
		"the kernel's reasons are the profile's")
SAME_REASON(OTHER, OTHER);
SAME_REASON(RUN_QUEUE, RUN_QUEUE);
SAME_REASON(LOCK, LOCK);
SAME_REASON(SLEEP, SLEEP);
SAME_REASON(IO, IO);
SAME_REASON(EVENTS, EVENTS);
SAME_REASON(PROCESS, PROCESS);
SAME_REASON(FAULT, FAULT);
SAME_REASON(GPU, GPU);
SAME_REASON(STOPPED, STOPPED);

#define SITES_MAX 64 /* of a thread, that are remembered */

/* Of a thread. */
struct waiting {
	uint64_t key; /* 0: a free slot */
	uint32_t thread;
	bool begun;
	struct wait_begin begin;
	struct vec(struct wait_begin) sites; /* the last wait at each */
	uint64_t rest_ns[WAIT_REASONS];	     /* without a stack */
	uint64_t rests[WAIT_REASONS];
};

/* A wait that has ended and is written when its stack comes. */
struct late_wait {
	uint64_t ticket;
	struct profile_wait wait;
};

struct waits {
	struct profile_writer *w;
	struct tasks *tasks;
	uint64_t min_ns;
	struct vec(struct waiting) threads;
	struct map slots; /* in threads, by pid and tid */
	struct vec(size_t) free;
	struct vec(struct late_wait) late;
};

int waits_new(struct waits **ret, struct profile_writer *w, struct tasks *tasks, uint64_t min_ns)
{
	struct waits *s = calloc(1, sizeof(*s));

	if (!s)
		return error_errno(-ENOMEM, "cannot record waits");
	s->w = w;
	s->tasks = tasks;
	s->min_ns = min_ns;
	*ret = s;
	return 0;
}

void waits_free(struct waits *s)
{
	if (!s)
		return;
	vec_foreach (t, &s->threads)
		vec_release(&t->sites);
	vec_release(&s->threads);
	vec_release(&s->free);
	vec_release(&s->late);
	map_release(&s->slots);
	free(s);
}

static uint64_t key_of(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

static struct waiting *find(struct waits *s, uint64_t key)
{
	const uint64_t *slot = map_get(&s->slots, key);

	return slot ? &s->threads.items[*slot] : NULL;
}

static int add(struct waits *s, uint64_t key, struct waiting **ret)
{
	size_t slot = s->threads.count;
	int error = 0;

	if (s->free.count)
		slot = s->free.items[--s->free.count];
	else
		error = vec_push(&s->threads, (struct waiting){0});
	error = error ?: map_put(&s->slots, key, slot);
	if (error)
		return error_errno(error, "cannot keep a thread that waits");
	s->threads.items[slot] = (struct waiting){.key = key};
	*ret = &s->threads.items[slot];
	return 0;
}

/* The thread, which is added when it is new. */
static int get(struct waits *s, uint32_t pid, uint32_t tid, struct waiting **ret)
{
	struct waiting *t = find(s, key_of(pid, tid));
	uint32_t thread;
	int error = 0;

	if (!t) {
		error = tasks_thread(s->tasks, pid, tid, NULL, &thread);
		error = error ?: add(s, key_of(pid, tid), &t);
		if (!error)
			t->thread = thread;
	}
	if (!error)
		*ret = t;
	return error;
}

static int forget(struct waits *s, struct waiting *t)
{
	size_t slot = (size_t)(t - s->threads.items);

	map_remove(&s->slots, t->key, NULL);
	vec_release(&t->sites);
	t->key = 0;
	return vec_push(&s->free, slot) ? error_errno(-ENOMEM, "cannot keep a thread that waits")
					: 0;
}

static void add_rest(struct waiting *t, uint32_t reason, uint64_t count, uint64_t ns)
{
	t->rests[reason] += count;
	t->rest_ns[reason] += ns;
}

static int write_rests(struct waits *s, struct waiting *t, uint64_t now_ns)
{
	int error = 0;

	for (int reason = 1; !error && reason < WAIT_REASONS; reason++) {
		struct profile_wait rest = {.start_ns = now_ns,
			.thread = t->thread,
			.reason = (enum profile_wait_reason)reason,
			.others = t->rests[reason],
			.others_ns = t->rest_ns[reason]};

		if (rest.others)
			error = profile_write_wait(s->w, &rest);
		t->rests[reason] = t->rest_ns[reason] = 0;
	}
	return error;
}

/* The last wait with a stack at this site; NULL: none. */
static struct wait_begin *last_at(const struct waiting *t, uint64_t site)
{
	vec_foreach (last, &t->sites)
		if (site && last->site == site)
			return last;
	return NULL;
}

static struct wait_begin *oldest_site(const struct waiting *t)
{
	struct wait_begin *oldest = t->sites.items;

	vec_foreach (last, &t->sites)
		if (last->start_ns < oldest->start_ns)
			oldest = last;
	return oldest;
}

/* Replaces the last one of its site, or the oldest when there are many. */
static int keep_last(struct waiting *t, const struct wait_begin *begin)
{
	struct wait_begin *last = last_at(t, begin->site);

	if (!begin->site)
		return 0;
	if (!last && t->sites.count < SITES_MAX)
		return vec_push(&t->sites, *begin) ? error_errno(-ENOMEM, "cannot keep a wait") : 0;
	*(last ? last : oldest_site(t)) = *begin;
	return 0;
}

int waits_begin(struct waits *s, uint32_t pid, uint32_t tid, const struct wait_begin *begin)
{
	struct waiting *t;
	int error = get(s, pid, tid, &t);

	/* That of one that slept before may come after it woke up and slept again. */
	if (error || (t->begun && t->begin.start_ns > begin->start_ns))
		return error;
	t->thread = begin->thread;
	t->begin = *begin;
	t->begun = true;
	return keep_last(t, begin);
}

static int write_walked(
	struct waits *s, const struct profile_wait *wait, uint32_t stack, uint32_t incomplete)
{
	struct profile_wait whole = *wait;
	int error = profile_count_incomplete(s->w, incomplete);

	whole.stack = stack;
	return error ?: profile_write_wait(s->w, &whole);
}

static int write_later(struct waits *s, uint64_t ticket, const struct profile_wait *wait)
{
	if (vec_push(&s->late, (struct late_wait){.ticket = ticket, .wait = *wait}) < 0)
		return error_errno(-ENOMEM, "cannot keep a wait");
	return 0;
}

/* Without a stack of its own it gets that of the last wait at this site, if there is one. */
static int write_assumed(
	struct waits *s, struct waiting *t, struct profile_wait *wait, uint64_t site)
{
	const struct wait_begin *last = last_at(t, site);

	if (!last)
		return profile_write_wait(s->w, wait);
	wait->reason = last->reason;
	wait->assumed = true;
	wait->stack = last->stack;
	return last->ticket ? write_later(s, last->ticket, wait) : profile_write_wait(s->w, wait);
}

/* A wait of this thread that has ended, or goes on when the recording ends. */
static int write_wait(struct waits *s, struct waiting *t, struct profile_wait *wait, uint64_t site)
{
	bool begun = t->begun && t->begin.stack_ns <= wait->start_ns + wait->duration_ns;

	t->begun = false;
	if (!begun)
		return write_assumed(s, t, wait, site);
	wait->reason = t->begin.reason;
	return t->begin.ticket ? write_later(s, t->begin.ticket, wait)
			       : write_walked(s, wait, t->begin.stack, t->begin.incomplete);
}

/* Of a wait that is going on, or was the last at its site. */
static void set_stack(
	struct wait_begin *begin, uint64_t ticket, uint32_t stack, uint32_t incomplete)
{
	if (begin->ticket != ticket)
		return;
	begin->ticket = 0;
	begin->stack = stack;
	begin->incomplete = incomplete;
}

int waits_stack(struct waits *s, uint32_t pid, uint32_t tid, uint64_t ticket, uint32_t stack,
	uint32_t incomplete)
{
	struct waiting *t = find(s, key_of(pid, tid));
	size_t kept = 0;
	int error = 0;

	if (t) {
		set_stack(&t->begin, ticket, stack, incomplete);
		vec_foreach (last, &t->sites)
			set_stack(last, ticket, stack, incomplete);
	}
	for (size_t n = 0; n < s->late.count; n++) {
		struct profile_wait wait = s->late.items[n].wait;

		if (s->late.items[n].ticket != ticket)
			s->late.items[kept++] = s->late.items[n];
		else if (!error)
			error = write_walked(s, &wait, stack, wait.assumed ? 0 : incomplete);
	}
	s->late.count = kept;
	return error;
}

int waits_stack_of(struct waits *s, uint32_t pid, uint32_t tid, uint64_t ticket, uint64_t time_ns,
	bool *ret_wanted)
{
	struct waiting *t = find(s, key_of(pid, tid));
	bool wanted = t && t->begun && t->begin.ticket == ticket;
	size_t kept = 0;
	int error = 0;

	if (wanted)
		t->begin.stack_ns = time_ns;
	for (size_t n = 0; n < s->late.count; n++) {
		const struct late_wait late = s->late.items[n];
		bool over = late.wait.start_ns + late.wait.duration_ns < time_ns;

		wanted |= late.ticket == ticket && !over;
		if (late.ticket != ticket || !over)
			s->late.items[kept++] = late;
		else if (!error)
			error = profile_write_wait(s->w, &late.wait);
	}
	s->late.count = kept;
	*ret_wanted = wanted;
	return error;
}

/* A wait that began at this time is reported: if the one that began with a stack is another, its
 * end was lost, and the stack is not for this one. */
static void forget_other(struct waiting *t, uint64_t start_ns)
{
	t->begun = t->begun && t->begin.start_ns == start_ns;
}

static bool is_sound(const struct bpf_wait_event *e)
{
	return e->reason && e->reason < WAIT_REASONS && e->queued_ns <= e->duration_ns &&
	       e->duration_ns <= e->time_ns;
}

/* Whether its others are written with it: it has a stack, and they too are long enough for one. */
static bool carries(const struct waits *s, const struct waiting *t, const struct bpf_wait_event *e)
{
	bool has_stack = (t->begun && e->duration_ns) || last_at(t, e->site);

	return has_stack && (!e->duration_ns || e->duration_ns >= s->min_ns) && e->others &&
	       e->others_ns / e->others >= s->min_ns;
}

/* Without its stack, if it has one. */
static int add_short(struct waiting *t, uint32_t reason, uint64_t duration_ns)
{
	add_rest(t, reason, 1, duration_ns);
	t->begun = false;
	return 0;
}

int waits_end(struct waits *s, const struct bpf_wait_event *e)
{
	struct profile_wait wait = {.start_ns = e->time_ns - e->duration_ns,
		.duration_ns = e->duration_ns,
		.queued_ns = e->queued_ns,
		.others = e->others,
		.others_ns = e->others_ns,
		.reason = (enum profile_wait_reason)e->reason};
	struct waiting *t;
	int error;

	if (!is_sound(e))
		return profile_count_loss(s->w, LOSS_WAITS_INVALID, 1);
	error = get(s, e->pid, e->tid, &t);
	if (error)
		return error;
	if (tasks_is_profiler(s->tasks, t->thread))
		return 0;
	wait.thread = t->thread;
	if (e->duration_ns)
		forget_other(t, wait.start_ns);
	if (!carries(s, t, e)) {
		add_rest(t, e->reason, e->others, e->others_ns);
		wait.others = wait.others_ns = 0;
	}
	if (!e->duration_ns)
		return wait.others ? write_assumed(s, t, &wait, e->site) : 0;
	if (e->duration_ns < s->min_ns)
		return add_short(t, e->reason, e->duration_ns);
	if (e->waker_tid)
		error = tasks_thread(s->tasks, e->waker_pid, e->waker_tid, NULL, &wait.waker);
	return error ?: write_wait(s, t, &wait, e->site);
}

/* A wait that goes on. */
static int write_waiting(struct waits *s, struct waiting *t, const struct bpf_life_event *e)
{
	struct profile_wait wait = {
		.start_ns = e->waiting_since_ns, .thread = t->thread, .reason = WAIT_OTHER};

	if (!e->waiting_since_ns || e->waiting_since_ns > e->until_ns)
		return 0;
	forget_other(t, wait.start_ns);
	wait.duration_ns = e->until_ns - e->waiting_since_ns;
	if (e->queued_since_ns >= e->waiting_since_ns && e->queued_since_ns <= e->until_ns)
		wait.queued_ns = e->until_ns - e->queued_since_ns;
	if (e->reason && e->reason < WAIT_REASONS)
		wait.reason = (enum profile_wait_reason)e->reason;
	if (wait.duration_ns < s->min_ns)
		return add_short(t, wait.reason, wait.duration_ns);
	return write_wait(s, t, &wait, e->site);
}

int waits_life(struct waits *s, const struct bpf_life_event *e)
{
	struct profile_life life = {.start_ns = e->since_ns, .run_ns = e->run_ns};
	struct waiting *t;
	int error;

	if (e->since_ns > e->until_ns || e->run_ns > e->until_ns - e->since_ns)
		return profile_count_loss(s->w, LOSS_WAITS_UNTOLD, 1);
	life.duration_ns = e->until_ns - e->since_ns;
	error = get(s, e->pid, e->tid, &t);
	if (error)
		return error;
	if (tasks_is_profiler(s->tasks, t->thread))
		return forget(s, t);
	life.thread = t->thread;
	error = write_waiting(s, t, e);
	error = error ?: write_rests(s, t, e->until_ns);
	error = error ?: profile_write_life(s->w, &life);
	return error ?: forget(s, t);
}

int waits_finish(struct waits *s)
{
	int error = 0;

	for (size_t n = 0; !error && n < s->threads.count; n++) {
		struct waiting *t = &s->threads.items[n];

		if (!t->key)
			continue;
		error = write_rests(s, t, t->begun ? t->begin.start_ns : 0);
		error = error ?: profile_count_loss(s->w, LOSS_WAITS_UNTOLD, 1);
		error = error ?: forget(s, t);
	}
	return error;
}
