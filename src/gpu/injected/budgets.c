// SPDX-License-Identifier: MIT
#include "gpu/injected/budgets.h"

#include <string.h>

#include "gpu/injected/instance.h"

#define MIB ((uint64_t)1 << 20)

struct limits {
	uint64_t instance_bytes;
	uint64_t all_bytes; /* of all instances together, ended ones too */
	enum profile_loss loss;
};

static const struct limits limits[BUDGETS] = {
	[BUDGET_NAMES] = {32 * MIB, 96 * MIB, LOSS_GPU_NAMES_CUT},
	[BUDGET_STACKS] = {32 * MIB, 128 * MIB, LOSS_GPU_STACKS_CUT},
	[BUDGET_KEPT_STACKS] = {16 * MIB, 64 * MIB, 0},
	[BUDGET_THREADS] = {16 * MIB, 64 * MIB, LOSS_GPU_THREADS_UNKNOWN},
	[BUDGET_STALLS] = {32 * MIB, 96 * MIB, LOSS_STALLS_CUT},
};

static bool is_within(const struct instance *i, enum budget b, uint64_t quarters)
{
	const struct limits *l = &limits[b];

	return i->charged[b] < l->instance_bytes / 4 * quarters &&
	       i->injected->charged[b] < l->all_bytes / 4 * quarters;
}

bool budget_has_room(const struct instance *i, enum budget b)
{
	return is_within(i, b, 4);
}

bool budget_has_reserve(const struct instance *i, enum budget b)
{
	return is_within(i, b, 5);
}

void budget_charge(struct instance *i, enum budget b, uint64_t bytes)
{
	i->charged[b] += bytes;
	i->injected->charged[b] += bytes;
}

void budget_return(struct instance *i, enum budget b)
{
	i->injected->charged[b] -= i->charged[b];
	i->charged[b] = 0;
}

uint64_t budget_tables(const struct instance *i)
{
	return profile_writer_table_bytes(i->injected->shared->writer);
}

void budget_charge_growth(struct instance *i, enum budget b, uint64_t before)
{
	budget_charge(i, b, budget_tables(i) - before);
}

void budget_refuse(struct instance *i, enum budget b)
{
	record_count_loss(i, limits[b].loss, 1);
}

int budget_string(
	struct instance *i, enum budget b, const char *text, size_t size, uint32_t *ret_id)
{
	struct profile_writer *w = i->injected->shared->writer;
	uint64_t before = budget_tables(i);
	int error;

	*ret_id = profile_find_string(w, text, size);
	if (*ret_id)
		return 0;
	if (!budget_has_room(i, b)) {
		budget_refuse(i, b);
		return profile_add_string(w, NAME_LEFT_OUT, strlen(NAME_LEFT_OUT), ret_id);
	}
	error = profile_add_string(w, text, size, ret_id);
	budget_charge_growth(i, b, before);
	return error;
}
