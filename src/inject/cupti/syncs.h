/* SPDX-License-Identifier: MIT */
/*
 * What calls that wait for the GPU wait for, and in which streams events are recorded and graphs
 * are launched: the launch path.
 *
 * CUPTI has records of both, but while it makes them every CUDA call of the program is slower,
 * those that wait for nothing too (an eager PyTorch loop by a fifth: docs/lab/performance.md). The
 * parameters of the few calls that matter contain the same.
 */
#pragma once

#include <stdint.h>

#include "inject/cupti/abi.h"
#include "inject/launches.h"

/*
 * What a call waits for is enum wire_sync_kind; it and `other` are the details of the call's row in
 * vendor/nvidia/calls.h. Nothing is found before the thread has a context: the first call of a
 * thread makes one, and has it when it returns.
 */
void syncs_find_target(uint8_t waits_for, uint8_t other, const struct cupti_callback_data *d,
	struct call_target *ret);
/* `own`: stream 0 is the thread's. */
void syncs_find_target_of_record(
	uint8_t own, const struct cupti_callback_data *d, struct call_target *ret);
void syncs_find_target_of_graph(
	uint8_t own, const struct cupti_callback_data *d, struct call_target *ret);

/* Puts it into the record of the call; waits_for is 0 if the call does not wait. */
void syncs_describe(uint8_t waits_for, const struct cupti_callback_data *d,
	const struct call_target *target, struct wire_call *ret);
/* Sends that an event is recorded, unless the call has failed. */
void syncs_send_record(
	const struct cupti_callback_data *d, const struct call_target *target, uint64_t time_ns);
