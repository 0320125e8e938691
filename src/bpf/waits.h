/* SPDX-License-Identifier: MIT */
/*
 * How long threads run and wait: what the program at each switch (wait_programs.h) keeps of a
 * thread.
 *
 *	       out          woken     in                     out
 *	 runs   |   asleep    | queued |   runs               |
 *	--------+-------------+--------+----------------------+---
 *	        stack?                 length
 *
 * The times of every wait are exact. Its stack is what costs, so only some waits get one when
 * switches come fast. A wait belongs to a site: the thread, and where it entered the kernel
 * (address, stack pointer, system call). Which waits are walked is decided at random, before their
 * length is known. The chance is lower for sites that come often:
 *
 *	chance = time between waits of the site / price of the CPU
 *
 * The price is that of the CPU. It doubles again and again while walks take more than their share
 * of the CPU's time, and halves as that time passes, to 0, where all are walked. So waits of rare
 * sites have stacks even in a storm, and of frequent ones about as many as time passes in them.
 *
 * A thread may have more sites than are kept. A site has two slots, by its hash. When both are
 * occupied, the site that was not seen for longer is replaced, except that one whose last long wait
 * had no stack stays if the other is not such. The new site has not come since then, so that time
 * is its first interval.
 *
 * A long wait without a stack is sent when it ends, with its site, and is assumed to have that
 * site's last stack. Short waits, and long ones that come too fast, are not sent: their length is
 * added to the next wait of the site that is (profile_wait.others_ns).
 *
 * A stack is sent when the wait begins, its length when it ends. Of threads that wait before the
 * recording begins the registers are sent then; the recorder reads their stacks.
 *
 * Nothing depends on seeing every switch: a thread that leaves a CPU has run since its last event,
 * and one that comes to a CPU has waited since then. So run time and waits always add up to its
 * life.
 */
#pragma once

#include "base/bare/hash_step.h"
#include "bpf/events.h"

#define WAIT_SITES	 8
#define NEW_NS		 100000000 /* between waits of a site that was not seen before */
#define SITE_SHIFT	 3	   /* a new interval counts for 1 / 8 of the mean */
#define WALKS_SHARE	 128	   /* one part of a CPU's time goes into walks */
#define WALK_MOST_NS	 100000 /* more, with interrupts off, was somebody else's: a hypervisor's */
#define AHEAD_FREE_NS	 1280000000   /* a burst, of 10 ms of walks, costs nothing */
#define AHEAD_DOUBLES_NS 40000000     /* the price: with each of so many ns more */
#define AHEAD_MOST_NS	 3000000000ll /* from there on nothing is walked */
#define PRICE_LEAST_NS	 1000
#define DOUBLINGS_MOST	 30
#define CHANCE_SHIFT	 8	 /* of a wait comes in steps of so many doublings of a ns */
#define LONG_NS		 1000000 /* after a wait so long without a stack its site counts as rare */
#define DUE_SHIFT	 6	 /* by so many doublings */
#define SEND_NS		 200000	 /* a wait without a stack is sent if it was this long */
#define SEND_PRICE_NS                                                                              \
	32000 /* sending takes 250 ns, so one in each such time takes 1 / 128 of a CPU */
#define SEND_AHEAD_NS 10000000

struct wait_site {
	uint64_t key; /* 0: free */
	uint64_t seen_ns;
	uint64_t mean_ns; /* between its waits; 0: it came only once */
	uint64_t others_ns;
	uint64_t others;
	uint32_t reason;
	uint32_t due; /* a long one had no stack */
};

/* A thread. */
struct thread_waits {
	uint64_t task; /* which one, in group_threads; 0: none */
	/* address of the registers with which it entered the kernel; 0: not asked for yet */
	uint64_t entry;
	uint64_t since_ns; /* when we first saw it */
	uint64_t run_ns;
	uint64_t at_ns;	   /* it runs since, or waits since */
	uint64_t woken_ns; /* while it waits: since then in the run queue; 0: not yet */
	uint32_t waker_pid, waker_tid;
	uint32_t pid, tid;
	uint8_t running;
	uint8_t walked; /* the wait that is going on has a stack */
	uint8_t reason;
	uint8_t site;	 /* of it */
	uint8_t awaited; /* its end is sent, and the wake-up with it */
	struct wait_site sites[WAIT_SITES];
	union { /* while it is sent */
		struct bpf_wait_event wait;
		struct bpf_life_event life;
	} event;
};

/* Of a CPU. */
struct wait_price {
	/* by then the walks so far have taken their share of the time, and no more */
	uint64_t paid_ns;
	uint64_t sent_ns; /* the same for waits that were sent without a stack */
	uint64_t random;
};

/* ------------------------------------------------------------------ sites */

/* Its two slots. */
static __always_inline uint32_t site_index(uint64_t key)
{
	return key >> 61;
}

static __always_inline uint32_t site_other_index(uint64_t key)
{
	return key >> 58 & (WAIT_SITES - 1);
}

/* Whether `s`, and not `other`, is replaced by a site that is in neither of these slots. */
static __always_inline bool site_goes_first(
	const struct wait_site *s, const struct wait_site *other)
{
	if (!s->key || !other->key)
		return !s->key;
	if (s->due != other->due)
		return !s->due;
	return s->seen_ns < other->seen_ns;
}

static __always_inline uint64_t site_key(uint64_t ip, uint64_t sp, uint64_t call, uint32_t reason)
{
	uint64_t key = hash_step(ip, (sp << 20) ^ (call << 52) ^ reason);

	_Static_assert(WAIT_SITES == 1 << 3, "the hash gives an index");
	key ^= key >> 29;
	key *= 0xbf58476d1ce4e5b9ull;
	return key | 1;
}

/* Whether the site's slot is `other`, of its two. */
static __always_inline bool site_is_other(
	const struct wait_site *s, const struct wait_site *other, uint64_t key)
{
	return s->key != key && (other->key == key || site_goes_first(other, s));
}

/* Makes it the site of another key; the caller sends what it carried. */
static __always_inline void site_begin(struct wait_site *s, uint64_t key, uint64_t now_ns)
{
	uint64_t unseen_ns = s->key ? (now_ns - s->seen_ns) | 1 : 0;

	*s = (struct wait_site){.key = key, .seen_ns = now_ns, .mean_ns = unseen_ns};
}

/* As its chance counts it. */
static __always_inline uint64_t site_interval(const struct wait_site *s)
{
	uint64_t mean_ns = s->mean_ns ? s->mean_ns : NEW_NS;

	return s->due ? mean_ns << DUE_SHIFT : mean_ns;
}

/* Notes that it comes again. A pause, as when something else had the CPU, does not make it rare at
 * once. */
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
}

/* ------------------------------------------------------------------ price */

/* By how much the walks on this CPU are ahead of their share of its time. */
static __always_inline uint64_t price_ahead(const struct wait_price *p, uint64_t now_ns)
{
	return p->paid_ns > now_ns ? p->paid_ns - now_ns : 0;
}

/* What a stack costs. */
static __always_inline uint64_t price_at(uint64_t ahead_ns)
{
	uint64_t doublings;

	if (ahead_ns < AHEAD_FREE_NS)
		return 0;
	doublings = (ahead_ns - AHEAD_FREE_NS) / AHEAD_DOUBLES_NS;
	return (uint64_t)PRICE_LEAST_NS
	       << (doublings < DOUBLINGS_MOST ? doublings : DOUBLINGS_MOST);
}

/* True with the chance interval : price (xorshift64*, by G. Marsaglia and S. Vigna): a helper's
 * call would take longer than all the rest of it. */
static __always_inline bool price_wins(
	struct wait_price *p, uint64_t interval_ns, uint64_t price_ns)
{
	uint64_t x = p->random ? p->random : (uint64_t)bpf_get_prandom_u32() << 1 | 1;

	_Static_assert((uint64_t)PRICE_LEAST_NS << DOUBLINGS_MOST >> CHANCE_SHIFT <= 1ull << 32,
		"the product fits 64 bits");
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	p->random = x;
	return ((x * 0x2545f4914f6cdd1dull >> 32) * (price_ns >> CHANCE_SHIFT)) >> 32 <=
	       interval_ns >> CHANCE_SHIFT;
}

/* Whether a wait of this site is walked; if so price_pay follows. */
static __always_inline bool price_is_paid(
	struct wait_price *p, const struct wait_site *s, uint64_t now_ns)
{
	uint64_t interval_ns = site_interval(s);
	uint64_t ahead_ns = price_ahead(p, now_ns), price_ns = price_at(ahead_ns);

	if (price_ns > interval_ns && !price_wins(p, interval_ns, price_ns))
		return false;
	return ahead_ns < AHEAD_MOST_NS;
}

static __always_inline void price_pay(struct wait_price *p, uint64_t now_ns, uint64_t walk_ns)
{
	if (walk_ns > WALK_MOST_NS)
		walk_ns = WALK_MOST_NS;
	p->paid_ns = now_ns + price_ahead(p, now_ns) + walk_ns * WALKS_SHARE;
}

/* Whether a wait without a stack is sent. */
static __always_inline bool price_sends(struct wait_price *p, uint64_t duration_ns, uint64_t now_ns)
{
	uint64_t ahead_ns = p->sent_ns > now_ns ? p->sent_ns - now_ns : 0;

	if (duration_ns < SEND_NS || ahead_ns > SEND_AHEAD_NS)
		return false;
	p->sent_ns = now_ns + ahead_ns + SEND_PRICE_NS;
	return true;
}
