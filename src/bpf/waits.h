/* SPDX-License-Identifier: MIT */
/*
 * How long threads run and wait: what the program at each switch (wait_programs.h) keeps of a thread.
 *
 *	       out          woken     in                     out
 *	 runs   |   asleep    | queued |   runs               |
 *	--------+-------------+--------+----------------------+---
 *	        stack?                 length
 *
 * Times are exact, of every wait. What costs is its stack, so only some waits get one when switches come fast. A wait
 * belongs to a site: the thread, and where it entered the kernel (address, stack pointer, system call). Which waits
 * are walked is decided at random before their length is known, with a chance that falls with how often the site comes:
 *
 *	chance = time between waits of the site / price of the CPU
 *
 * The price goes up while too many are walked on a CPU, and down again to 0, where all are. So waits of rare
 * sites have stacks even in a storm, and of frequent ones about as many as time passes in them. The length of a wait
 * without stack is added to the next of its site that has one (profile_wait.others_ns).
 *
 * A stack is sent when the wait begins, its length when it ends.
 *
 * Nothing depends on having seen every switch: a thread that leaves a CPU has run since what was last known of it, and
 * one that comes to a CPU has waited. So run time and waits always add up to its life.
 */
#pragma once

#include "bpf/events.h"

#define WAIT_SITES	8
#define RARE_NS		(1ull << 40) /* between waits of a site that is new; more than any price */
#define SITE_SHIFT	3	     /* a new interval counts for 1 / 8 of the mean */
#define PRICE_WINDOW_NS 10000000
#define PRICE_LEAST_NS	1000
#define PRICE_MOST_NS	(1u << 30)
#define WALKS_MANY	12 /* in a window, on a CPU */
#define WALKS_FEW	6
#define RISE_MOST	64
#define WINDOWS_QUIET	32 /* that make it half as dear */
#define LONG_NS		1000000 /* a wait without a stack that was so long: the next of its site has one */

struct wait_site {
	uint64_t key; /* 0: free */
	uint64_t seen_ns;
	uint64_t mean_ns; /* between its waits; 0: not known, it came once */
	uint64_t others_ns;
	uint64_t others;
	uint32_t reason;
	uint32_t due; /* the next one has a stack */
};

/* A thread. */
struct thread_waits {
	uint64_t since_ns; /* it is known */
	uint64_t run_ns;
	uint64_t at_ns;	   /* it runs since, or waits since */
	uint64_t woken_ns; /* while it waits: since then in the run queue; 0: not yet */
	uint32_t waker_pid, waker_tid;
	uint32_t pid, tid;
	uint8_t running;
	uint8_t walked; /* the wait that is going on has a stack */
	uint8_t reason;
	uint8_t site; /* of it */
	struct wait_site sites[WAIT_SITES];
	union { /* while it is sent */
		struct bpf_wait_event wait;
		struct bpf_life_event life;
	} event;
};

/* Of a CPU. */
struct wait_price {
	uint64_t window_ns; /* when it began */
	uint64_t price_ns;
	uint32_t walks; /* in it */
	uint32_t reserved;
};

/* ------------------------------------------------------------------ sites */

/* Its place; another one that had it is told by the caller. */
static __always_inline uint32_t site_index(uint64_t key)
{
	return key >> 61;
}

static __always_inline uint64_t site_key(uint64_t ip, uint64_t sp, uint64_t call, uint32_t reason)
{
	uint64_t key = (ip ^ (sp << 20) ^ (call << 52) ^ reason) * 0x9e3779b97f4a7c15ull;

	_Static_assert(WAIT_SITES == 1 << 3, "the hash gives an index");
	key ^= key >> 29;
	key *= 0xbf58476d1ce4e5b9ull;
	return key | 1;
}

/* Makes it that of another key. */
static __always_inline void site_begin(struct wait_site *s, uint64_t key, uint64_t now_ns)
{
	*s = (struct wait_site){.key = key, .seen_ns = now_ns, .due = 1};
}

/* Notes that it comes again. A pause, as when something else had the CPU, does not make it rare at once. */
static __always_inline void site_visit(struct wait_site *s, uint64_t now_ns)
{
	uint64_t interval_ns = now_ns - s->seen_ns, mean_ns = s->mean_ns;

	if (!mean_ns)
		mean_ns = interval_ns;
	if (interval_ns > 4 * mean_ns)
		interval_ns = 4 * mean_ns;
	s->mean_ns = mean_ns - (mean_ns >> SITE_SHIFT) + (interval_ns >> SITE_SHIFT);
	s->seen_ns = now_ns;
}

/* A wait of it had no stack. */
static __always_inline void site_carry(struct wait_site *s, uint64_t duration_ns)
{
	s->others++;
	s->others_ns += duration_ns;
	s->due |= duration_ns > LONG_NS;
}

/* ------------------------------------------------------------------ price */

/* How much dearer it gets: by as much as walks came too fast. */
static __always_inline uint64_t price_rise(uint64_t price_ns, uint64_t elapsed_ns)
{
	uint64_t factor = PRICE_WINDOW_NS / (elapsed_ns + 1);

	if (!price_ns)
		return PRICE_LEAST_NS;
	if (factor > RISE_MOST)
		factor = RISE_MOST;
	price_ns *= factor > 2 ? factor : 2;
	return price_ns < PRICE_MOST_NS ? price_ns : PRICE_MOST_NS;
}

/* And cheaper: not much by a short time without any switch, in which something else may have had the CPU. What comes
 * rarely is walked at a high price, too. */
static __always_inline uint64_t price_fall(uint64_t price_ns, uint64_t windows)
{
	uint64_t halvings = 1 + windows / WINDOWS_QUIET;

	price_ns = halvings > 30 ? 0 : price_ns >> halvings;
	return price_ns < PRICE_LEAST_NS ? 0 : price_ns;
}

/* What a stack costs on this CPU now; a walk is paid for by price_is_paid. */
static __always_inline uint64_t price_now(struct wait_price *p, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - p->window_ns;

	/* A burst need not be waited out. */
	if (elapsed_ns < PRICE_WINDOW_NS && p->walks < WALKS_MANY)
		return p->price_ns;
	if (p->walks >= WALKS_MANY)
		p->price_ns = price_rise(p->price_ns, elapsed_ns);
	else if (p->walks < WALKS_FEW)
		p->price_ns = price_fall(p->price_ns, elapsed_ns / PRICE_WINDOW_NS);
	p->window_ns = now_ns;
	p->walks = 0;
	return p->price_ns;
}

/* Whether a wait of this site is walked. */
static __always_inline bool price_is_paid(
	struct wait_price *p, const struct wait_site *s, uint64_t now_ns)
{
	uint64_t interval_ns = s->due ? RARE_NS : s->mean_ns, price_ns = price_now(p, now_ns);

	if (price_ns > interval_ns && bpf_get_prandom_u32() % (uint32_t)price_ns >= interval_ns)
		return false;
	p->walks++;
	return true;
}
