/* SPDX-License-Identifier: MIT */
/* The checks of NVIDIA's driver and tools. */
#pragma once

#include "cmd/doctor/doctor.h"

/* Whether the machine has a GPU of this vendor, with or without its driver; also where a driver is
 * there that says so. To be asked after the checks. */
bool nvidia_has_gpu(const struct doctor *d);

extern const struct doctor_check nvidia_checks[]; /* up to a row without a key */
