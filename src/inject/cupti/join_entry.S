/* SPDX-License-Identifier: MIT */
#include "guest/join_entry.h"

	join_entry xpuprof_join, xpuprof_join_run
