/* SPDX-License-Identifier: MIT */
/*
 * Which metrics a chip counts in one pass: of each row of counter_kinds.h the first candidate that
 * it has and that goes together with those of the rows before; rows whose values are not to be
 * trusted on it are left out. CUPTI answers that on the host; it
 * needs no device.
 */
#pragma once

#include "gpu/nvidia/pm_library.h"
#include "vendor/counter_kinds.h"

struct pm_metrics {
	const char *names[COUNTER_KINDS_MAX];
	uint32_t kinds[COUNTER_KINDS_MAX]; /* row and candidate of each */
	uint32_t candidates[COUNTER_KINDS_MAX];
	size_t count;
	void *host;	/* CUPTI's object that evaluates them */
	uint8_t *image; /* what the device is to be told */
	size_t image_size;
};

/* At most `limit` of them. 0 or CUPTI's result; PM_NOT_SUPPORTED when there are none.
 * `availability` may be NULL. */
int pm_metrics_choose(struct pm_metrics *ret, const struct pm *pm, const char *chip,
	const uint8_t *availability, unsigned int limit);
void pm_metrics_release(struct pm_metrics *m, const struct pm *pm);
