/* SPDX-License-Identifier: MIT */
/* The checks of Linux's xe driver, for Intel's GPUs. */
#pragma once

#include "cmd/doctor/doctor.h"

extern const struct doctor_check intel_checks[]; /* up to a row without a key */
