/* SPDX-License-Identifier: MIT */
/* The checks of Level Zero's loader, of Intel's GPUs and of their driver, Linux's xe. */
#pragma once

#include "cmd/doctor/doctor.h"

extern const struct doctor_check intel_checks[]; /* up to a row without a key */
/* stalls.c: whether instructions may be sampled. */
void intel_check_stalls(struct doctor *d, struct finding *f);
/* probes.c: whether the driver has probes of its own. */
void intel_check_probes(struct doctor *d, struct finding *f);
