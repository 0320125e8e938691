/* SPDX-License-Identifier: MIT */
/* The checks of NVIDIA's driver and tools. */
#pragma once

#include "cmd/doctor/doctor.h"

extern const struct doctor_table nvidia_table;
