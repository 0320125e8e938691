/* SPDX-License-Identifier: MIT */
/* The checks of AMD's driver, and of the library that reports what its GPUs do. */
#pragma once

#include "cmd/doctor/doctor.h"

extern const struct doctor_table amd_table;
