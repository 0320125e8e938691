// SPDX-License-Identifier: MIT
#include "vendor/counter_kinds.h"

#include <string.h>

#include "vendor/vendor.h"

const struct counter_kind *counter_kind_at(size_t n)
{
	vendors_foreach(v) for (const struct counter_kind *k = (*v)->counters; k && k->key;
				k++) if (!n--) return k;
	return NULL;
}

const struct counter_kind *counter_row(const struct counter_kind *table, size_t n)
{
	while (table->key && n--)
		table++;
	return table->key ? table : NULL;
}

bool counter_kind_is_good_on(const struct counter_kind *kind, const char *chip)
{
	for (const char *const *doubtful = kind->doubtful_on; *doubtful; doubtful++)
		if (!strcmp(*doubtful, chip))
			return false;
	return true;
}

static bool is_metric_of(const struct counter_kind *kind, const char *metric)
{
	for (const char *const *name = kind->candidates; *name; name++)
		if (!strcmp(*name, metric))
			return true;
	return false;
}

int counter_kind_of(const char *metric)
{
	int n = 0;

	vendors_foreach(v) for (const struct counter_kind *k = (*v)->counters; k && k->key;
				k++, n++) if (is_metric_of(k, metric)) return n;
	return -1;
}

const char *counter_unit_name(enum counter_unit unit)
{
	static const char *const names[] = {
		[COUNTER_PERCENT] = "%",
		[COUNTER_BYTES_PER_SECOND] = "byte/s",
		[COUNTER_RATIO] = "",
	};

	return unit <= COUNTER_RATIO ? names[unit] : "";
}
