// SPDX-License-Identifier: MIT
/*
 * Which counters of our table CUPTI counts in one pass, by chip: asked of a real CUPTI, where one
 * is installed; it needs neither driver nor GPU for that. The table's comment lists what is
 * expected here.
 */
#include "gpu/nvidia/pm_metrics.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define KNOWN_VERSION 130001

static bool load(struct pm *pm)
{
	const char *home = getenv("CUDA_HOME");
	char path[1024];

	*pm = (struct pm){0};
	for (const char *const *folder =
			(const char *const[]){"lib64", "lib", "extras/CUPTI/lib64", NULL};
		!pm->handle && *folder; folder++) {
		snprintf(path, sizeof(path), "%s/%s/libcupti.so", home ? home : "/usr/local/cuda",
			*folder);
		pm->handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	}
	if (!pm->handle)
		return false;
#define LOOK_UP(name, parameters)                                                                  \
	*(void **)&pm->name = dlsym(pm->handle, "cupti" #name);                                    \
	if (!pm->name)                                                                             \
		return false;
	PM_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
	return true;
}

static bool has(const struct pm_metrics *m, const char *key)
{
	for (size_t n = 0; n < m->count; n++)
		if (!strcmp(counter_kind_at(m->kinds[n])->key, key))
			return true;
	return false;
}

/* Everything but what the blank-separated list names, and nothing of that. */
static void check_chip(const struct pm *pm, const char *chip, const char *without)
{
	struct pm_metrics m;

	CHECK(!pm_metrics_choose(&m, pm, chip, NULL, COUNTER_KINDS_MAX));
	CHECK(m.count && m.image_size && m.host);
	for (size_t n = 0; counter_kind_at(n); n++) {
		const char *key = counter_kind_at(n)->key;
		bool wanted = !strstr(without, key);

		if (has(&m, key) != wanted)
			printf("# %s: %s\n", chip, key);
		CHECK(has(&m, key) == wanted);
	}
	pm_metrics_release(&m, pm);
}

static void an_h100_counts_all_rows_at_once_but_l2_hit_rates(void)
{
	struct pm pm;

	if (!load(&pm))
		SKIP("no CUPTI with PM sampling: set CUDA_HOME to a CUDA toolkit that has it");
	check_chip(&pm, "GH100", "l2_hit_rate");
}

static void other_chips_count_what_the_table_lists(void)
{
	static const char *const chips[][2] = {
		{"TU102", "tensor_active l2_hit_rate instructions fma fp64"},
		{"TU116", "l2_hit_rate fp64 nvlink_received nvlink_sent"},
		{"GA100", "l2_hit_rate l1_hit_rate"},
		{"GA102", "l1_hit_rate fma"},
		{"AD102", "l1_hit_rate fma nvlink_received nvlink_sent"},
		{"GB100", "l2_hit_rate fma"},
		{"GB110", "l2_hit_rate fma fp64"},
		{"GB202", "occupancy instructions fma fp64 nvlink_received nvlink_sent"},
	};
	uint32_t version = 0;
	struct pm pm;

	if (!load(&pm) || pm.GetVersion(&version) || version != KNOWN_VERSION)
		SKIP("no CUPTI 13.0");
	for (size_t n = 0; n < sizeof(chips) / sizeof(chips[0]); n++)
		check_chip(&pm, chips[n][0], chips[n][1]);
}

static void a_limit_keeps_the_rows_that_come_first(void)
{
	struct pm_metrics m;
	struct pm pm;

	if (!load(&pm))
		SKIP("no CUPTI with PM sampling");
	CHECK(!pm_metrics_choose(&m, &pm, "GH100", NULL, 4));
	CHECK(m.count == 4 && has(&m, "sm_active") && has(&m, "dram_write"));
	pm_metrics_release(&m, &pm);
	CHECK(pm_metrics_choose(&m, &pm, "no such chip", NULL, 4) == PM_NOT_SUPPORTED);
}

int main(void)
{
#ifdef __SANITIZE_ADDRESS__
	printf("1..0 # SKIP CUPTI loads libraries in a way (RTLD_DEEPBIND) that sanitizers end a "
	       "program for\n");
	return 0;
#endif
	RUN(an_h100_counts_all_rows_at_once_but_l2_hit_rates);
	RUN(other_chips_count_what_the_table_lists);
	RUN(a_limit_keeps_the_rows_that_come_first);
	return tap_end();
}
