/* SPDX-License-Identifier: MIT */
/*
 * What calls that wait for the GPU wait for, and in which streams events are recorded and graphs are launched: the
 * launch path.
 *
 * CUPTI has records of both, but while it makes them every CUDA call of the program is slower, those that wait for
 * nothing too (an eager PyTorch loop by a fifth: docs/lab/performance.md). The parameters of the few calls that matter say
 * the same.
 */
#pragma once

#include <stdint.h>

#include "inject/cupti/abi.h"
#include "inject/launches.h"

/*
 * What a call waits for is enum profile_sync_kind; it and `other` are the details of the call's row in vendor/nvidia/calls.h.
 * Nothing is found before the thread has a context: the first call of a thread makes one, and has it when it returns.
 */
void syncs_find_place(uint8_t waits_for, uint8_t other, const struct cupti_callback_data *d,
	struct call_place *ret);
/* `own`: stream 0 is the thread's. */
void syncs_find_place_of_record(
	uint8_t own, const struct cupti_callback_data *d, struct call_place *ret);
void syncs_find_place_of_graph(
	uint8_t own, const struct cupti_callback_data *d, struct call_place *ret);

/* Puts it into the record of the call; waits_for is 0 where that does not wait. */
void syncs_tell(uint8_t waits_for, const struct cupti_callback_data *d, const struct call_place *place,
	struct wire_call *ret);
/* Tells of an event's record, unless the call has failed. */
void syncs_tell_record(
	const struct cupti_callback_data *d, const struct call_place *place, uint64_t time_ns);
