/* SPDX-License-Identifier: MIT */
/*
 * Samples of GPU instructions, where the recorder wants them (wire_control.stalls): of every context, from its creation
 * to its end.
 *
 * Threads: contexts come and go in the program's threads; in between ours fetches the samples. Nothing here is on the
 * launch path.
 */
#pragma once

#include <stdbool.h>

/* A context was made, or is about to be destroyed: in the program's thread that does it. */
void sampling_context_created(void *context);
void sampling_context_ends(void *context);

/* Our thread: fetches what there is, if it is time again. */
void sampling_drain_if_due(void);
/* Our thread: nothing is launched any more, or nothing of it is to be recorded: fetches the last samples, and ends the
 * sampling of all contexts. */
void sampling_finish(void);
/* The same, when nobody wants the samples. */
void sampling_abandon(void);
