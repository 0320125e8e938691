/* SPDX-License-Identifier: MIT */
/*
 * The right to sample the instructions of a device. A GPU lets itself be sampled by one context of one process at a
 * time. CUPTI (13.0 on an H200) does not say so: it takes the next one as well, and then ends itself in that process
 * (health.h). So whoever wants to sample asks here first.
 *
 * Threads: any, also several at once; nothing here waits. A claim ends with the process at the latest.
 */
#pragma once

#include <stdint.h>

/* 0, and the device is ours until claim_drop; or why not: WIRE_STALLS_CONTEXT or WIRE_STALLS_PROCESS. */
unsigned int claim_take(uint32_t device);
void claim_drop(uint32_t device);
void claims_drop_all(void);
/* In a forked child, which would keep its parent's as long as it lives. */
void claims_forget(void);
