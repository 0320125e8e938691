/* SPDX-License-Identifier: MIT */
/*
 * What is known of each handle of a kind (queues, kernels, contexts): a table of fixed size. A
 * handle's address is used again once its object is gone, and then a new object is put there before
 * the program can use it: so an entry is never of an earlier object, though it may stay for long.
 *
 * Entries are put where objects are made, under a lock of the caller's, and found on the launch
 * path, by any thread at the same time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HANDLES_BITS 18

struct handle_slot {
	uintptr_t handle; /* 0: free, 1: it is being changed */
	uintptr_t value;
};

struct handles {
	struct handle_slot *slots; /* 2^HANDLES_BITS; NULL: there are none */
};

/* 0 or -errno. */
int handles_init(struct handles *h);
/* Nobody uses it any more. */
void handles_release(struct handles *h);
/* Replaces what was there under the same handle. Where there is no room, an entry makes way that
 * may_go permits (NULL: any). False: none does. */
bool handles_put(
	struct handles *h, const void *handle, uintptr_t value, bool (*may_go)(uintptr_t value));
/* So too where nobody puts entries any more: without the lock. What was there is of no object. */
void handles_forget(struct handles *h, const void *handle);
/* 0: it is not there. */
uintptr_t handles_get(const struct handles *h, const void *handle);
