/* SPDX-License-Identifier: MIT */
/* The programs of the plan, as the splicer wants them. */
#pragma once

#include "ptx/splice.h"

/* Once connected. Any thread. */
const struct ptx_probes *probes(void);
