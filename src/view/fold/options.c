// SPDX-License-Identifier: MIT
#include "view/fold/options.h"

unsigned int view_by_task(const struct view_options *o)
{
	const unsigned int task = VIEW_BY_PROCESS | VIEW_BY_THREAD;

	return o->by & task ? o->by : o->by | task;
}
