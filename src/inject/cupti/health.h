/* SPDX-License-Identifier: MIT */
/*
 * Whether CUPTI still works in this process. It may end while the program goes on: by itself, when
 * it meets an error that it cannot mend, or because the program asks for it (cuptiFinalize). From
 * then on no callbacks and no records come.
 *
 * CUPTI need not report this. When a second context of a device was sampled, CUPTI 13.0 on an H200
 * fell silent without a callback. Only when asked for samples it returned CUPTI_ERROR_UNKNOWN, and
 * CUPTI_ERROR_INVALID_PARAMETER when a callback was enabled that it had accepted before. So our
 * thread enables one now and then.
 *
 * The end is final. A new subscription seemed to be accepted then, but callbacks of calls were
 * refused, and cuptiActivityEnable crashed, also after cuptiFinalize. So nothing of CUPTI is called
 * any more, and who is about to switch something asks first: a later recording of the program, too.
 *
 * Threads: ours, but for what is marked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/abi.h"

/* Callbacks have just been enabled. Before our thread begins. */
void health_begin(void);
/* CUPTI reports its state: any thread. */
void health_on_state(uint32_t id, const struct cupti_state_data *d);
/* CUPTI is not to be called any more. Any thread. */
bool health_has_ended(void);
/* CUPTI has just worked. */
void health_worked(void);
/* Asks CUPTI, from when we have subscribed: whether it works. `result`: the result that made us
 * ask, or 0. */
bool health_ask(int result);
/* The same, where library.no_fork is held, or our thread has not begun: before each switch of what
 * is recorded. */
bool health_answers(int result);
/* The same every now and then. */
void health_ask_if_due(void);
/* Reports to the recorder, once, that CUPTI has ended. */
void health_report(void);
/* We ended it (finalize.h), which is not reported. */
void health_we_ended_it(void);
