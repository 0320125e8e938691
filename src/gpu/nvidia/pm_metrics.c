// SPDX-License-Identifier: MIT
/* A metric that CUPTI refuses leaves its object unusable, so each attempt has one of its own. */
#include "gpu/nvidia/pm_metrics.h"

#include <stdlib.h>

#include "vendor/nvidia/nvidia.h"

#define IMAGE_MAX_BYTES ((size_t)64 << 20)

static void host_end(const struct pm *pm, void *host)
{
	struct pm_host p = {.size = PM_SIZE(pm_host, host), .host = host};

	if (host)
		(void)pm->ProfilerHostDeinitialize(&p);
}

static int host_begin(
	const struct pm *pm, const char *chip, const uint8_t *availability, void **ret_host)
{
	struct pm_host_begin p = {.size = PM_SIZE(pm_host_begin, host),
		.type = PM_HOST_TYPE,
		.chip = chip,
		.availability = availability};
	int result = pm->ProfilerHostInitialize(&p);

	*ret_host = p.host;
	return result;
}

static int get_image(struct pm_metrics *m, const struct pm *pm)
{
	struct pm_host_image_size size = {
		.size = PM_SIZE(pm_host_image_size, image_size), .host = m->host};
	struct pm_host_image image = {.size = PM_SIZE(pm_host_image, image), .host = m->host};
	int result = pm->ProfilerHostGetConfigImageSize(&size);

	if (result)
		return result;
	if (!size.image_size || size.image_size > IMAGE_MAX_BYTES)
		return PM_NOT_SUPPORTED;
	m->image = malloc(size.image_size);
	if (!m->image)
		return PM_OUT_OF_MEMORY;
	image.image_size = m->image_size = size.image_size;
	image.image = m->image;
	return pm->ProfilerHostGetConfigImage(&image);
}

/* Makes the image of all of m->names: 0 when one pass does. */
static int make(
	struct pm_metrics *m, const struct pm *pm, const char *chip, const uint8_t *availability)
{
	struct pm_host_metrics add = {.size = PM_SIZE(pm_host_metrics, count)};
	struct pm_host_passes passes = {.size = PM_SIZE(pm_host_passes, passes)};
	int result = host_begin(pm, chip, availability, &m->host);

	if (result)
		return result;
	add.host = m->host;
	add.names = m->names;
	add.count = m->count;
	result = pm->ProfilerHostConfigAddMetrics(&add);
	if (!result)
		result = get_image(m, pm);
	if (result)
		return result;
	passes.image = m->image;
	passes.image_size = m->image_size;
	result = pm->ProfilerHostGetNumOfPasses(&passes);
	return result || passes.passes == 1 ? result : PM_NOT_SUPPORTED;
}

static void drop(struct pm_metrics *m, const struct pm *pm)
{
	host_end(pm, m->host);
	free(m->image);
	m->host = NULL;
	m->image = NULL;
}

static void add_row(struct pm_metrics *m, const struct pm *pm, const char *chip,
	const uint8_t *availability, size_t row)
{
	const char *const *names = counter_row(nvidia_counters, row)->candidates;

	for (uint32_t n = 0; names[n]; n++) {
		bool fits;

		m->names[m->count] = names[n];
		m->kinds[m->count] = (uint32_t)row;
		m->candidates[m->count] = n;
		m->count++;
		fits = !make(m, pm, chip, availability);
		drop(m, pm);
		if (fits)
			return;
		m->count--;
	}
}

int pm_metrics_choose(struct pm_metrics *ret, const struct pm *pm, const char *chip,
	const uint8_t *availability, unsigned int limit)
{
	const struct counter_kind *kind;
	struct pm_metrics m = {0};
	int result;

	for (size_t row = 0; (kind = counter_row(nvidia_counters, row)) && m.count < limit; row++)
		if (counter_kind_is_good_on(kind, chip))
			add_row(&m, pm, chip, availability, row);
	result = m.count ? make(&m, pm, chip, availability) : PM_NOT_SUPPORTED;
	if (result)
		drop(&m, pm);
	else
		*ret = m;
	return result;
}

void pm_metrics_release(struct pm_metrics *m, const struct pm *pm)
{
	drop(m, pm);
	*m = (struct pm_metrics){0};
}
