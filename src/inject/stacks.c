// SPDX-License-Identifier: MIT
/*
 * Chains live one after the other in an arena that only grows. An open-addressing index of their
 * numbers finds them. Once its number is in the index a chain is immutable, but for `sent`:
 *
 *	NOT_SENT -> SENDING -> SENT      its record is in the ring, before all launches that name it
 *	   ^___________|                 the ring was full: next time
 *
 * One thread at a time adds. A launch gets no number when another thread is adding, or when arena
 * or index are full: it fires the marker, or carries its stack itself. That is slower, but nothing
 * is lost.
 */
#include "inject/stacks.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bare/hash_step.h"
#include "inject/library.h"
#include "inject/stack_end.h"
#include "inject/repeat.h"
#include "inject/space.h"
#include "inject/unwind.h"

#define INDEX_SLOTS (WIRE_STACKS * 2) /* at most half full */
#define ARENA_WORDS ((size_t)4 << 20) /* 32 MiB: chains of 128 words on average */

enum sent {
	NOT_SENT = 0,
	SENDING,
	SENT,
};

/* What chains are compared by, besides their frames. */
struct chain_kind {
	uint64_t hash;
	uint32_t epoch;
	uint16_t user_depth;
	uint16_t python_depth;
	uint8_t walk_end;
	uint8_t python_incomplete;
	uint8_t pad[6];
};

struct chain {
	struct chain_kind kind;
	uint64_t sent;	  /* enum sent */
	uint64_t words[]; /* its frames, and then its struct repeat */
};

#define CHAIN_WORDS (sizeof(struct chain) / sizeof(uint64_t))

/* Memory for one launch, since its thread's stack may be small. A launch that finds none free does
 * without. */
#define SCRATCHES 64

struct scratch {
	uint32_t in_use;
	struct unwound unwound;
} __attribute__((aligned(64)));

/* Which chains came after a chain, in the same thread, the latest first; 0: none. */
#define SUCCESSORS 2

struct store {
	uint64_t arena[ARENA_WORDS];
	uint32_t index[INDEX_SLOTS];   /* numbers */
	uint32_t offsets[WIRE_STACKS]; /* number - 1 -> word in the arena */
	uint32_t successors[WIRE_STACKS + 1][SUCCESSORS];
	uint32_t adding; /* a thread is adding */
	uint32_t count;
	uint32_t used; /* words of the arena */
	uint32_t threads;
	struct scratch scratches[SCRATCHES];
};

static struct store *store;

static __thread struct {
	uint32_t latest;  /* the number of this thread's latest chain; 0: none */
	uint32_t scratch; /* the one that it had last, plus one */
} thread;

int stacks_init(void)
{
	void *memory = mmap(NULL, sizeof(struct store), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int error;

	if (memory == MAP_FAILED)
		return -errno;
	madvise(memory, sizeof(struct store), MADV_DONTFORK);
	store = memory;
	error = stack_end_init();
	return error ?: space_init();
}

void stacks_release(void)
{
	if (store)
		munmap(store, sizeof(*store));
	store = NULL;
	stack_end_release();
	space_release();
}

/* ---- chains ---- */

static struct chain *chain_of(uint32_t number)
{
	return (struct chain *)&store->arena[store->offsets[number - 1]];
}

/* Four at a time, since each waits for its multiplication. */
static uint64_t hash_words(uint64_t seed, const uint64_t *words, size_t count)
{
	uint64_t lanes[4] = {seed, seed ^ 1, seed ^ 2, seed ^ 3}, hash = count;

	for (; count >= 4; count -= 4, words += 4)
		for (int i = 0; i < 4; i++) {
			lanes[i] = hash_step(lanes[i], words[i]);
			lanes[i] ^= lanes[i] >> 31;
		}
	for (size_t i = 0; i < count; i++)
		lanes[i] = hash_step(lanes[i], words[i]);
	for (int i = 0; i < 4; i++) {
		hash = hash_step(hash, lanes[i]);
		hash ^= hash >> 29;
	}
	return hash;
}

static struct chain_kind kind_of(const struct unwound *u, uint32_t epoch)
{
	return (struct chain_kind){
		.hash = hash_words(epoch, u->words, unwound_words(u)),
		.epoch = epoch,
		.user_depth = (uint16_t)u->user_depth,
		.python_depth = (uint16_t)u->python.depth,
		.walk_end = (uint8_t)u->walk_end,
		.python_incomplete = !u->python.complete,
	};
}

static bool is_chain(const struct chain *c, const struct chain_kind *kind, const struct unwound *u)
{
	return !memcmp(&c->kind, kind, sizeof(*kind)) &&
	       !memcmp(c->words, u->words, unwound_words(u) * sizeof(u->words[0]));
}

/* Where the arena ends for this chain: chains without an end may be many, and must leave room for
 * the others. */
static size_t arena_words(const struct unwound *u)
{
	return u->walk_end == WALK_COMPLETE ? ARENA_WORDS : ARENA_WORDS / 2;
}

static uint32_t add_chain(size_t slot, const struct chain_kind *kind, const struct unwound *u)
{
	size_t words = CHAIN_WORDS + unwound_words(u) + repeat_words(u);
	uint32_t number = store->count + 1;
	struct chain *c = (struct chain *)&store->arena[store->used];

	if (number > WIRE_STACKS || store->used + words > arena_words(u))
		return 0;
	c->kind = *kind;
	memcpy(c->words, u->words, unwound_words(u) * sizeof(u->words[0]));
	repeat_note((struct repeat *)&c->words[unwound_words(u)], u);
	store->offsets[number - 1] = store->used;
	store->used += (uint32_t)words;
	store->count = number;
	__atomic_store_n(&store->index[slot], number, __ATOMIC_RELEASE);
	return number;
}

/* A slot that is filled stays so: a look-up needs no lock, and what it finds is whole. */
static uint32_t find_chain(const struct chain_kind *kind, const struct unwound *u)
{
	size_t slot = (kind->hash >> 16) % INDEX_SLOTS;
	uint32_t number, expected = 0;

	for (;; slot = (slot + 1) % INDEX_SLOTS) {
		number = __atomic_load_n(&store->index[slot], __ATOMIC_ACQUIRE);
		if (!number)
			break;
		if (is_chain(chain_of(number), kind, u))
			return number;
	}
	if (!__atomic_compare_exchange_n(
		    &store->adding, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 0;
	/* Another thread may have filled the slot in between: then not this time. */
	if (!__atomic_load_n(&store->index[slot], __ATOMIC_RELAXED))
		number = add_chain(slot, kind, u);
	__atomic_store_n(&store->adding, 0, __ATOMIC_RELEASE);
	return number;
}

/* ---- chains that come again ---- */

/*
 * Programs launch in loops: the chains that came after a chain before are likely to come after it
 * again. Such a guess is then compared word by word.
 */
static bool is_again(uint32_t number, uintptr_t end, uint32_t epoch, const struct unwound *u)
{
	const struct chain *c = chain_of(number);
	const struct chain_kind *k = &c->kind;
	const uint64_t *noted = &c->words[k->user_depth + 2 * k->python_depth];

	return k->epoch == epoch && __atomic_load_n(&c->sent, __ATOMIC_ACQUIRE) == SENT &&
	       repeat_matches((const struct repeat *)noted, c->words, k->python_depth, u, end);
}

/* The number of the chain, if it is among the guesses, else 0. */
static uint32_t recall(uintptr_t end, uint32_t epoch, const struct unwound *u)
{
	uint32_t *guesses = store->successors[thread.latest];

	for (int i = 0; end && i < SUCCESSORS; i++) {
		uint32_t number = __atomic_load_n(&guesses[i], __ATOMIC_ACQUIRE);

		if (number && is_again(number, end, epoch, u))
			return number;
	}
	return 0;
}

/* Makes it the next guess after the latest chain. */
static void remember(uint32_t number)
{
	uint32_t *guesses = store->successors[thread.latest];
	uint32_t first = __atomic_load_n(&guesses[0], __ATOMIC_RELAXED);

	if (first != number) {
		__atomic_store_n(&guesses[1], first, __ATOMIC_RELEASE);
		__atomic_store_n(&guesses[0], number, __ATOMIC_RELEASE);
	}
	thread.latest = number;
}

/* ---- sending ---- */

static struct wire_stack record_of(
	const struct chain_kind *kind, const struct unwound *u, const struct wire_launch *launch)
{
	return (struct wire_stack){
		.type = WIRE_STACK,
		.walk_end = kind->walk_end,
		.flags = kind->python_incomplete ? WIRE_STACK_PYTHON_INCOMPLETE : 0,
		.user_depth = kind->user_depth,
		.python_depth = kind->python_depth,
		.generation = u->generation,
		.time_ns = launch->time_ns,
	};
}

/* The recorder reads the names of Python's functions in our memory: before they, or we, are
 * gone. */
static void call_for_names(const struct wire_stack *record)
{
	if (record->python_depth && !__atomic_exchange_n(&library.news, 1, __ATOMIC_SEQ_CST))
		collector_wake();
}

/* Whether the chain's record is in the ring. */
static bool send_chain(struct chain *c, const struct unwound *u, const struct wire_launch *launch)
{
	uint64_t sent = __atomic_load_n(&c->sent, __ATOMIC_ACQUIRE);
	struct wire_stack record;
	bool put;

	if (sent == SENT)
		return true;
	if (sent == SENDING || !__atomic_compare_exchange_n(&c->sent, &sent, SENDING, false,
				       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	record = record_of(&c->kind, u, launch);
	record.number = launch->stack;
	put = ring_put_long(&library.ring, &record, sizeof(record), u->words,
		unwound_words(u) * sizeof(u->words[0]));
	__atomic_store_n(&c->sent, put ? SENT : NOT_SENT, __ATOMIC_RELEASE);
	call_for_names(&record);
	return put;
}

/* A launch that carries its stack itself. */
static bool send_alone(const struct chain_kind *kind, const struct unwound *u,
	const struct wire_launch *launch, bool doubtful)
{
	struct wire_stack record = record_of(kind, u, launch);
	bool put;

	record.kind = launch->kind;
	record.tid = launch->tid;
	record.correlation = launch->correlation;
	record.flags |= doubtful ? WIRE_STACK_DOUBTFUL : 0;
	record.flags |= doubtful && space_has_lost() ? WIRE_STACK_UNLOADED : 0;
	put = ring_put_long(&library.ring, &record, sizeof(record), u->words,
		unwound_words(u) * sizeof(u->words[0]));
	call_for_names(&record);
	return put;
}

/* Without a marker a part of the stack has to do. */
static bool is_good_enough(const struct unwound *u)
{
	return u->walk_end == WALK_COMPLETE || !library.marker;
}

/* By number, if it has one. */
static bool send_by_number(
	const struct chain_kind *kind, const struct unwound *u, struct wire_launch *launch)
{
	launch->stack = find_chain(kind, u);
	if (!launch->stack || !send_chain(chain_of(launch->stack), u, launch))
		return false;
	remember(launch->stack);
	return ring_put(&library.ring, launch);
}

/* Walks the stack, and sends the launch with it. */
static bool send_walked(
	uintptr_t end, uint32_t epoch, bool doubtful, struct unwound *u, struct wire_launch *launch)
{
	struct chain_kind kind;

	unwind_stack(u, end);
	if (!is_good_enough(u))
		return false;
	if (!library.marker && (doubtful || u->walk_end == WALK_NO_MAPPING))
		space_met_unknown();
	kind = kind_of(u, epoch);
	if (!doubtful && send_by_number(&kind, u, launch))
		return true;
	return !library.marker && send_alone(&kind, u, launch, doubtful);
}

static bool send_launch(
	uintptr_t frame, uintptr_t end, struct unwound *u, struct wire_launch *launch)
{
	bool doubtful = space_is_doubtful();
	uint32_t epoch = __atomic_load_n(&library.ring.control->code_epoch, __ATOMIC_ACQUIRE);

	unwind_begin(u, frame);
	launch->stack = doubtful ? 0 : recall(end, epoch, u);
	if (!launch->stack)
		return send_walked(end, epoch, doubtful, u, launch);
	remember(launch->stack);
	return ring_put(&library.ring, launch);
}

/* Another thread may use it, or this one, when a signal has come in between. NULL: all are in
 * use. */
static struct scratch *claim_scratch(void)
{
	if (!thread.scratch)
		thread.scratch =
			1 + __atomic_fetch_add(&store->threads, 1, __ATOMIC_RELAXED) % SCRATCHES;
	for (uint32_t i = 0; i < SCRATCHES; i++) {
		uint32_t index = (thread.scratch - 1 + i) % SCRATCHES;

		if (__atomic_exchange_n(&store->scratches[index].in_use, 1, __ATOMIC_ACQUIRE))
			continue;
		thread.scratch = index + 1;
		return &store->scratches[index];
	}
	return NULL;
}

bool stacks_send(const void *frame, struct wire_launch *launch)
{
	uintptr_t end = stack_end_of((uintptr_t)frame);
	struct scratch *s;
	bool sent;

	if (library.marker && (!end || !__atomic_load_n(&space->turn, __ATOMIC_ACQUIRE)))
		return false;
	s = claim_scratch();
	if (!s)
		return !library.marker && ring_put(&library.ring, launch);
	sent = send_launch((uintptr_t)frame, end, &s->unwound, launch);
	__atomic_store_n(&s->in_use, 0, __ATOMIC_RELEASE);
	return sent;
}
