/* SPDX-License-Identifier: MIT */
/* What the files of the plan share: plan.c where all is, settings.c what it begins with. */
#pragma once

#include "probe/plan.h"

/* Where all is, once there are no more objects. 0 or -errno with error_text. */
int plan_place(struct plan *p);
/* `data` of `bytes` in a map, `offset` bytes from where its first copy begins. */
void plan_add_initial(struct plan *p, uint32_t object, uint32_t map, uint64_t offset,
	const void *data, uint64_t bytes);
