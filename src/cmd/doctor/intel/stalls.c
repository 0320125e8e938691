// SPDX-License-Identifier: MIT
/*
 * Instructions of Intel's GPUs are sampled through their kernel driver, xe, which has a setting for
 * who may. It appears with the driver, also in versions that have no stall samples yet (before
 * 6.15): that shows when a stream is opened, so `record` reports it.
 */
#include "cmd/doctor/intel/checks.h"

#include <linux/capability.h>

#define SETTING		   "/proc/sys/dev/xe/observation_paranoid"
#define CAPABILITY_PERFMON 38 /* newer than some systems' headers */

static bool may_observe(const struct doctor *d)
{
	return (d->capabilities >> CAPABILITY_PERFMON | d->capabilities >> CAP_SYS_ADMIN) & 1;
}

void intel_check_stalls(struct doctor *d, struct finding *f)
{
	long paranoid;

	if (!doctor_exists(d, "/sys/module/xe")) {
		finding_is(f, FINDING_OK, "no GPU here whose driver is Intel's xe");
	} else if (doctor_read_number(d, SETTING, &paranoid)) {
		finding_is(f, FINDING_LIMITED, "this xe driver has no samples of instructions");
		finding_step(f, "use Linux 6.15 or later to sample instructions of Intel's GPUs");
	} else if (!paranoid) {
		finding_is(f, FINDING_OK, "all users may sample instructions of Intel's GPUs");
	} else if (may_observe(d)) {
		finding_is(f, FINDING_OK, "we may sample instructions of Intel's GPUs");
	} else {
		finding_is(f, FINDING_LIMITED,
			"only root may sample instructions of Intel's GPUs "
			"(dev.xe.observation_paranoid is %ld)",
			paranoid);
		finding_step(f, "run it with sudo or CAP_PERFMON, or let all users do so with "
				"'sudo sysctl dev.xe.observation_paranoid=0'");
	}
}
