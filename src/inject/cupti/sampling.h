/* SPDX-License-Identifier: MIT */
/*
 * Samples of GPU instructions, if the recorder wants them (wire_control.stalls): of every context,
 * from its creation to its end.
 *
 * Threads: the program's threads make and destroy contexts; in between ours fetches the samples.
 * Only sampling_launched is on the launch path.
 */
#pragma once

#include <stdbool.h>

/* A context was made, or is about to be destroyed: in the program's thread that does it. */
void sampling_context_created(void *context);
void sampling_context_ends(void *context);
/* A kernel was launched: in the program's thread. */
void sampling_launched(void);

/* Our thread: fetches the samples that have come, if it is time again. */
void sampling_drain_if_due(void);
/* Our thread: if the program goes on, what it launches from now on is not to be recorded. Fetches
 * the last samples; CUPTI goes on sampling. */
void sampling_finish(bool program_goes_on);
