/* SPDX-License-Identifier: MIT */
/* The checks of Level Zero's loader, of Intel's GPUs and of their driver, Linux's xe. */
#pragma once

#include "cmd/doctor/doctor.h"

/* The step that brings Level Zero's loader and Intel's driver, by Debian's names. */
#define INTEL_INSTALL                                                                              \
	"sudo apt install libze1 libze-intel-gpu1 (the latter is not in Debian 12, but in sid)"

extern const struct doctor_table intel_table;
/* stalls.c: whether instructions may be sampled. */
void intel_check_stalls(struct doctor *d, struct finding *f);
/* probes.c: whether the Level Zero driver is there, and has probes of its own. */
void intel_check_driver(struct doctor *d, struct finding *f);
void intel_check_probes(struct doctor *d, struct finding *f);
