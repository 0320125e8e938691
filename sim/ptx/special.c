// SPDX-License-Identifier: MIT
/* Special registers: where a thread is, and what time it is there. */
#include <time.h>

#include "sim/ptx/internal.h"

enum special {
	TID,
	NTID,
	CTAID,
	NCTAID, /* three of each */
	ONES = 12,
	LANEID = ONES,
	WARPID,
	NWARPID,
	SMID,
	NSMID,
	GRIDID,
	CLOCK,
	CLOCK_HI,
	CLOCK64,
	TIMER,
	TIMER_LO,
	TIMER_HI,
	MASK_EQ,
	MASK_LE,
	MASK_LT,
	MASK_GE,
	MASK_GT,
	DYNAMIC_SHARED,
	TOTAL_SHARED,
	WARP_SIZE,
};

static const char *const threes[] = {"%tid", "%ntid", "%ctaid", "%nctaid"};
static const struct {
	const char *name;
	uint32_t number;
} ones[] = {
	{"%laneid", LANEID},
	{"%warpid", WARPID},
	{"%nwarpid", NWARPID},
	{"%smid", SMID},
	{"%nsmid", NSMID},
	{"%gridid", GRIDID},
	{"%clock", CLOCK},
	{"%clock_hi", CLOCK_HI},
	{"%clock64", CLOCK64},
	{"%globaltimer", TIMER},
	{"%globaltimer_lo", TIMER_LO},
	{"%globaltimer_hi", TIMER_HI},
	{"%lanemask_eq", MASK_EQ},
	{"%lanemask_le", MASK_LE},
	{"%lanemask_lt", MASK_LT},
	{"%lanemask_ge", MASK_GE},
	{"%lanemask_gt", MASK_GT},
	{"%dynamic_smem_size", DYNAMIC_SHARED},
	{"%total_smem_size", TOTAL_SHARED},
	{"WARP_SZ", WARP_SIZE},
};

static bool is(struct ptx_text name, const char *text)
{
	return name.size == strlen(text) && !memcmp(name.at, text, name.size);
}

bool sim_ptx_special(struct ptx_text name, uint32_t *ret)
{
	struct ptx_text front = {name.at, name.size - 2};
	char axis = name.at[name.size - 1];

	for (size_t i = 0; i < sizeof(ones) / sizeof(*ones); i++)
		if (is(name, ones[i].name)) {
			*ret = ones[i].number;
			return true;
		}
	if (name.size < 4 || name.at[name.size - 2] != '.' || axis < 'x' || axis > 'z')
		return false;
	for (uint32_t i = 0; i < 4; i++)
		if (is(front, threes[i])) {
			*ret = i * 3 + (uint32_t)(axis - 'x');
			return true;
		}
	return false;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t of_grid(const struct lanes *w, uint32_t lane, uint32_t special)
{
	const struct block *b = w->block;
	const struct sim_ptx_launch *l = b->launch->asked;
	uint32_t axis = special % 3;

	switch (special / 3) {
	case TID:
		return w->threads[lane].id[axis];
	case NTID:
		return l->block[axis];
	case CTAID:
		return b->id[axis];
	default:
		return l->grid[axis];
	}
}

uint64_t special_value(const struct lanes *w, uint32_t lane, uint32_t special)
{
	const struct block *b = w->block;
	uint32_t bit = 1u << lane;

	switch (special) {
	case LANEID:
		return lane;
	case WARPID:
		return w->number;
	case NWARPID:
		return b->warp_count;
	case SMID:
		return b->sm;
	case NSMID:
		return b->launch->asked->sms ? b->launch->asked->sms : 8;
	case GRIDID:
		return b->launch->asked->grid_id;
	case CLOCK:
		return (uint32_t)now_ns(CLOCK_MONOTONIC);
	case CLOCK_HI:
		return now_ns(CLOCK_MONOTONIC) >> 32;
	case CLOCK64:
		return now_ns(CLOCK_MONOTONIC);
	case TIMER:
		return now_ns(CLOCK_REALTIME);
	case TIMER_LO:
		return (uint32_t)now_ns(CLOCK_REALTIME);
	case TIMER_HI:
		return now_ns(CLOCK_REALTIME) >> 32;
	case MASK_EQ:
		return bit;
	case MASK_LE:
		return bit | (bit - 1);
	case MASK_LT:
		return bit - 1;
	case MASK_GE:
		return ~(bit - 1);
	case MASK_GT:
		return ~(bit | (bit - 1));
	case DYNAMIC_SHARED:
		return b->launch->asked->dynamic_shared_bytes;
	case TOTAL_SHARED:
		return b->shared_bytes;
	case WARP_SIZE:
		return LANES;
	default:
		return of_grid(w, lane, special);
	}
}
