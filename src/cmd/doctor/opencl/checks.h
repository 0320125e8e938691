/* SPDX-License-Identifier: MIT */
/* The checks of OpenCL's loader, and of the drivers that it finds. */
#pragma once

#include "cmd/doctor/doctor.h"

extern const struct doctor_check opencl_checks[]; /* up to a row without a key */
