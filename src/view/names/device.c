// SPDX-License-Identifier: MIT
#include "view/names/device.h"

#include <errno.h>

#include "base/error.h"
#include "base/map.h"

int device_numbers_init(struct device_numbers *n, const struct profile_reader *r)
{
	uint32_t count = profile_counts(r).devices;
	struct map seen = MAP_INIT;
	int error = 0;

	n->by_order = false;
	for (uint32_t id = 1; !error && !n->by_order && id <= count; id++) {
		uint32_t ordinal = profile_device(r, id)->ordinal;

		n->by_order = map_get(&seen, ordinal);
		error = map_put(&seen, ordinal, id);
	}
	map_release(&seen);
	return error ? error_set(error, "not enough memory for the devices") : 0;
}

uint32_t device_number(const struct device_numbers *n, const struct profile_reader *r, uint32_t id)
{
	const struct profile_device *d = profile_device(r, id);

	return d && !n->by_order ? d->ordinal : id - 1;
}
