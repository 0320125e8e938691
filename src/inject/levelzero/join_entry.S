/* SPDX-License-Identifier: MIT */
#include "guest/join_entry.h"

	join_entry xpuprof_join_levelzero, xpuprof_join_levelzero_run
