/* SPDX-License-Identifier: MIT */
/*
 * What is kept of a context whose instructions are sampled: for sampling.c, which begins and ends
 * it, sampling_setup.c, which says how CUPTI is to sample, and sampling_window.c, which sends what
 * came. Whoever asks CUPTI about a context holds the lock of its slot; the state alone is read
 * without.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cupti/abi.h"

/* CUPTI's threads look for samples this often. */
#define SAMPLING_SLEEP_MS 10

enum sampling_state {
	SAMPLING_FREE = 0,
	SAMPLING_SETUP, /* being made ready, in the program's thread */
	SAMPLING_ON,
	SAMPLING_GIVEN_UP, /* CUPTI gives no samples of it any more, but samples */
	/* our thread was in it when its context ended: CUPTI has it, and the device stays
	 * claimed */
	SAMPLING_ABANDONED,
};

/* Where CUPTI puts what it fetches. */
struct sampling_buffer {
	struct cupti_pcs data;
	uint8_t *memory;
	size_t size;
	uint32_t reasons; /* room for each instruction */
	uint32_t stride;
};

struct sampling_slot {
	pthread_mutex_t lock;
	uint32_t state; /* enum sampling_state */
	void *context;
	uint32_t device; /* ordinal */
	uint32_t id;	 /* of the context */
	uint8_t period;
	uint8_t safe_period; /* with which CUPTI does not fall behind; 0: not known */
	bool is_fast;	     /* it may fall behind */
	uint64_t since_ns;
	uint64_t samples, without_code; /* that came since it was switched on */
	struct sampling_buffer fetched;
	struct sampling_buffer rest; /* what is left when sampling ends; CUPTI has its address */
	size_t reason_count;
	uint32_t *indexes; /* of the reasons, and their names */
	char (*names)[CUPTI_STALL_NAME_BYTES];
};

struct claim_holder;

/* sampling.c. What is not marked needs the slot's lock. */
enum sampling_state sampling_state_of(const struct sampling_slot *p); /* no lock */
void sampling_set_state(struct sampling_slot *p, enum sampling_state state);
/* A free one; NULL: there is none, or no memory. No lock. */
struct sampling_slot *sampling_claim_slot(void);
/* Whether this CUPTI can sample. No lock. */
bool sampling_is_possible(void);
/* Identifies the slot's context and claims its device: 0, or why not; *ret_result is CUPTI's. A
 * claim that others contest (WIRE_STALLS_STRANGER) is made. */
unsigned int sampling_claim(
	struct sampling_slot *p, void *context, struct claim_holder *ret_holder, int *ret_result);
void sampling_report_refusal(
	const struct sampling_slot *p, unsigned int refusal, int result); /* no lock */
void sampling_report_holder(const struct sampling_slot *p, unsigned int refusal, int result,
	const struct claim_holder *holder); /* no lock */
unsigned int sampling_refusal_of(int result);
/* All samples that have come, as one stretch of time: whether there were any. */
bool sampling_fetch(struct sampling_slot *p, bool ours);
/* Sends what came when sampling was disabled, and frees the slot and the device. */
void sampling_close(struct sampling_slot *p, bool ours);
/* Frees a slot that was never on. */
void sampling_release(struct sampling_slot *p);

/* sampling_late.c: the same switch, in the program's thread that ends a context. The slot's lock is
 * held. False: it could not be switched off. */
bool sampling_late_context_ends(struct sampling_slot *p);

/* sampling_setup.c: where sampling is on, once. Sets how CUPTI samples the slot's context and makes
 * its buffers and the names of its reasons: 0 or a result of CUPTI's. */
int sampling_set_up(struct sampling_slot *p);
/* Of one that is never started: only that start and stop are controlled, and a buffer. */
int sampling_set_up_idle(struct sampling_slot *p);
/* Frees all of that. */
void sampling_release_setup(struct sampling_slot *p);

/* sampling_window.c */
/* Buffers for so many reasons at each instruction: false without memory. */
bool sampling_make_buffer(struct sampling_buffer *b, size_t reasons);
void sampling_free_buffer(struct sampling_buffer *b);
/* Makes what windows need, if that was not done: false without memory. Any thread. */
bool sampling_make_windows(void);
/* A lock that our thread may hold while it waits for CUPTI or the driver: about a second. */
bool sampling_lock_patiently(pthread_mutex_t *lock);
/* Puts a record into the ring, in the program's thread: false when there was no room until then. */
bool sampling_put_patiently(const void *head, size_t head_size, const void *body, size_t body_size,
	uint64_t deadline_ns);
/* Sends what CUPTI put into the buffer since the last time, as of the time until `end_ns`; `ours`:
 * in our thread. */
void sampling_send(struct sampling_slot *p, struct sampling_buffer *b, uint64_t end_ns, bool ours);
