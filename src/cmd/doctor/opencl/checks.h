/* SPDX-License-Identifier: MIT */
/* The checks of OpenCL's loader, and of the drivers that it finds. */
#pragma once

#include "cmd/doctor/doctor.h"

extern const struct doctor_table opencl_table;
