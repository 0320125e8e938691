/* SPDX-License-Identifier: MIT */
/* The driver and a CUPTI that can sample hardware counters, loaded into this process, which is
 * never the recorder. */
#pragma once

#include <stdbool.h>

#include "gpu/nvidia/pm_abi.h"

#define PM_MEMBER(name, parameters) int(*name) parameters;
struct pm {
	void *driver_handle, *handle;
	PM_DRIVER_FUNCTIONS(PM_MEMBER)
	PM_FUNCTIONS(PM_MEMBER)
};
#undef PM_MEMBER

/* Loads both: 0, or enum counter_refusal. What is loaded stays. */
int pm_load(struct pm *ret);
