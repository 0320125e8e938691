// SPDX-License-Identifier: MIT
/* GPU work by stack, beside a plain array of sums. */
#include <stdlib.h>

#include "tap.h"
#include "view/tables/launch_sums.h"

#define STACKS 5000

struct plain {
	uint64_t ns[STACKS], works[STACKS];
};

static void add(struct launch_sums *s, struct launch_sums_index *x, struct plain *plain,
	uint32_t stack, uint64_t ns, uint64_t works)
{
	CHECK(!launch_sums_add(s, x, stack, ns, works));
	plain->ns[stack] += ns;
	plain->works[stack] += works;
}

/* What is left of the plain sums without them. */
static bool is_equal(const struct launch_sums *s, struct plain *plain)
{
	for (size_t n = 0; n < s->count; n++) {
		plain->ns[s->items[n].stack] -= s->items[n].ns;
		plain->works[s->items[n].stack] -= s->items[n].works;
	}
	vec_foreach (sum, &s->longs) {
		plain->ns[sum->stack] -= sum->ns;
		plain->works[sum->stack] -= sum->works;
	}
	for (uint32_t stack = 0; stack < STACKS; stack++)
		if (plain->ns[stack] || plain->works[stack])
			return false;
	return true;
}

static void each_stack_has_one_sum_once_they_are_merged(void)
{
	struct plain *plain = calloc(1, sizeof(*plain));
	struct launch_sums_index index = {0};
	struct launch_sums sums = {0};
	unsigned int seed = 1;

	for (int n = 0; n < 200000; n++)
		add(&sums, &index, plain, (uint32_t)rand_r(&seed) % STACKS, (uint64_t)rand_r(&seed),
			1 + (uint64_t)n % 3);
	CHECK(sums.capacity <= 4 * STACKS);
	CHECK(!launch_sums_merge(&sums, &index));
	CHECK(sums.count == STACKS);
	CHECK(is_equal(&sums, plain));
	launch_sums_release(&sums);
	launch_sums_index_release(&index);
	free(plain);
}

static void few_stacks_take_little_room_however_often_they_come(void)
{
	struct plain *plain = calloc(1, sizeof(*plain));
	struct launch_sums_index index = {0};
	struct launch_sums sums = {0};

	for (uint32_t n = 0; n < 100000; n++)
		add(&sums, &index, plain, n % 3, n, 1);
	CHECK(sums.capacity <= 16);
	CHECK(is_equal(&sums, plain));
	launch_sums_release(&sums);
	launch_sums_index_release(&index);
	free(plain);
}

static void what_a_sum_cannot_hold_is_in_a_long_one(void)
{
	struct plain *plain = calloc(1, sizeof(*plain));
	struct launch_sums_index index = {0};
	struct launch_sums sums = {0};

	for (uint32_t n = 0; n < 100; n++)
		add(&sums, &index, plain, n % 2, (uint64_t)1 << 43, 0);
	add(&sums, &index, plain, 1, (uint64_t)1 << 60, (uint64_t)1 << 22);
	add(&sums, &index, plain, 0, 0, 0);
	add(&sums, &index, plain, 7, UINT64_MAX / 2, 1);
	CHECK(!launch_sums_merge(&sums, &index));
	CHECK(sums.count == 3 && sums.longs.count == 3);
	CHECK(is_equal(&sums, plain));
	launch_sums_release(&sums);
	launch_sums_index_release(&index);
	free(plain);
}

int main(void)
{
	RUN(each_stack_has_one_sum_once_they_are_merged);
	RUN(few_stacks_take_little_room_however_often_they_come);
	RUN(what_a_sum_cannot_hold_is_in_a_long_one);
	return tap_end();
}
