/* SPDX-License-Identifier: MIT */
/*
 * Which metrics a chip counts in one pass: of each row of counter_kinds.h the first candidate that
 * it has and that fits into one pass with those of the rows before. Rows whose values cannot be
 * trusted on the chip are left out. CUPTI answers this on the host, without a device.
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
	uint8_t *image; /* the device's configuration */
	size_t image_size;
};

/* At most `limit` of them. 0 or CUPTI's result; PM_NOT_SUPPORTED when none fits.
 * `availability` may be NULL. */
int pm_metrics_choose(struct pm_metrics *ret, const struct pm *pm, const char *chip,
	const uint8_t *availability, unsigned int limit);
void pm_metrics_release(struct pm_metrics *m, const struct pm *pm);
