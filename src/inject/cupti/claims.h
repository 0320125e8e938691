/* SPDX-License-Identifier: MIT */
/*
 * The right to sample the instructions of a device. A GPU can be sampled in one context of one
 * process at a time. CUPTI (13.0 on an H200) does not refuse the next one: it accepts it, and then
 * ends itself in that process (health.h). So whoever wants to sample asks here first.
 *
 * Only processes of our own user and of root are made way for. What another user claims may be
 * false, and cannot be kept from being claimed.
 *
 * Threads: any, also several at once; nothing here waits for longer than 20 ms. A claim ends with
 * the process at the latest.
 */
#pragma once

#include <stdint.h>

#include "guest/socket.h"

/* Who has a device. */
struct claim_holder {
	uint32_t pid; /* 0: not known, or not visible from our namespace */
	uint32_t uid; /* UINT32_MAX: not known */
};

/* 0, and the device is ours until claim_release; so too with WIRE_STALLS_STRANGER, but another user
 * claims it as well. Else why not: WIRE_STALLS_CONTEXT or WIRE_STALLS_PROCESS. *ret_holder: of
 * another process, zero without one. */
unsigned int claim_device(uint32_t device, struct claim_holder *ret_holder);
void claim_release(uint32_t device);
/* Its socket, in case another copy of the library is to close it; fd -1: it has none. */
struct own_socket claim_socket(uint32_t device);
void claims_release_all(void);
/* In a forked child, which would keep its parent's claims as long as it lives. */
void claims_forget(void);
