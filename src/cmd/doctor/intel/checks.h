/* SPDX-License-Identifier: MIT */
/* The checks of Level Zero's loader, and of Intel's GPUs. */
#pragma once

#include "cmd/doctor/doctor.h"

extern const struct doctor_check intel_checks[]; /* up to a row without a key */
