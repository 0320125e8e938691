/* SPDX-License-Identifier: MIT */
/*
 * Samples of GPU instructions, if the recorder wants them (wire_control.stalls): of every context,
 * from its creation to its end.
 *
 * In a program that was joined: of the one that it uses, from when nobody is in a call.
 *
 * Threads: the program's threads make and destroy contexts; in between ours fetches the samples.
 * Only sampling_launched is on the launch path.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A context was made, or is about to be destroyed: in the program's thread that does it. */
void sampling_context_created(void *context);
void sampling_context_ends(void *context);
/* A kernel was launched: in the program's thread. */
void sampling_launched(void);

/* Our thread: fetches the samples that have come, if it is time again. */
void sampling_drain_if_due(void);
/*
 * In a program that was joined (sampling_late.c). Contexts and modules are there already, and
 * sampling can only be switched while no other thread is in a call of the driver.
 */
/* Before and after callbacks of all calls of the driver were switched on; when they are over. */
void sampling_late_prepare(void);
void sampling_late_begin(void);
void sampling_late_over(void);
/* Our thread, after that, when no other callbacks of CUPTI's are on: switches on its records; if
 * sampling can be had soon with that, and all callbacks, and it is recorded from then on. 0, or why
 * CUPTI refuses records. */
int sampling_late_first(void);
/* Our thread, in between: if the program is armed, that ends as soon as calls can be held. 0, also
 * if the recording ends before that; or why CUPTI refuses records. */
int sampling_late_disarm(void);
/* Our thread, every round: switches sampling on, if it is time for a try. */
void sampling_late_tick(void);
/* Our thread: how long it may sleep, so long at most, until the next try. */
uint64_t sampling_late_sleep_ns(uint64_t most_ns);
/* Our thread: it is to be switched off; and a try, with a pause behind it. False: it is on. */
void sampling_late_leave(void);
bool sampling_late_end(void);
/* Our thread: reports why it could not be switched on so far. */
void sampling_late_give_up(void);
/* Our thread: says that it stays on, and that callbacks are needed for it. */
void sampling_late_keep(void);
bool sampling_late_is_kept(void);
/* CUPTI may have the address of a slot for good. */
bool sampling_has_abandoned(void);

/* Our thread: if the program goes on, what it launches from now on is not to be recorded. Fetches
 * the last samples; CUPTI goes on sampling. */
void sampling_finish(bool program_goes_on);

/* When nothing samples any more: memory of all windows. */
void sampling_free_windows(void);
