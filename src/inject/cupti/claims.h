/* SPDX-License-Identifier: MIT */
/*
 * The right to sample the instructions of a device. A GPU can be sampled in one context of one
 * process at a time. CUPTI (13.0 on an H200) does not refuse the next one: it accepts it, and then
 * ends itself in that process (health.h). So whoever wants to sample asks here first.
 *
 * Threads: any, also several at once; nothing here waits. A claim ends with the process at the
 * latest.
 */
#pragma once

#include <stdint.h>

/* 0, and the device is ours until claim_release; else why not: WIRE_STALLS_CONTEXT or
 * WIRE_STALLS_PROCESS. */
unsigned int claim_device(uint32_t device);
void claim_release(uint32_t device);
void claims_release_all(void);
/* In a forked child, which would keep its parent's claims as long as it lives. */
void claims_forget(void);
