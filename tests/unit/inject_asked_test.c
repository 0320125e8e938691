// SPDX-License-Identifier: MIT
/* Which calls of bursts were reported: sets of ids of the latest bursts. */
#include "inject/asked.h"

#include "tap.h"

static void only_calls_that_were_added_are_known(void)
{
	CHECK(!asked_for(1) && !asked_for(70000));
	asked_begin();
	CHECK(asked_add(70000) && asked_add(70002));
	CHECK(asked_for(70000) && !asked_for(70001) && asked_for(70002));
	CHECK(!asked_for(70000 + ASKED_IDS) && !asked_for(70000 - ASKED_IDS));
}

static void lesser_ids_that_come_late_have_room(void)
{
	asked_begin();
	CHECK(asked_add(200000) && asked_add(199990) && asked_add(200000 - ASKED_IDS / 4));
	CHECK(asked_for(199990) && !asked_for(199991));
	CHECK(!asked_add(200000 - ASKED_IDS / 4 - 1) && !asked_add(200000 + ASKED_IDS));
	CHECK(!asked_for(200000 + ASKED_IDS));
}

static void the_first_ids_are_ids_too(void)
{
	asked_begin();
	CHECK(asked_add(1) && asked_add(2) && asked_for(1) && asked_for(2) && !asked_for(3));
}

static void ids_that_wrap_are_one_burst(void)
{
	asked_begin();
	CHECK(asked_add(UINT32_MAX) && asked_add(1));
	CHECK(asked_for(UINT32_MAX) && asked_for(1) && !asked_for(UINT32_MAX - 1));
}

static void work_of_the_latest_burst_is_counted_once_a_call(void)
{
	asked_begin();
	CHECK(asked_add(5000000) && asked_add(5000001));
	CHECK(asked_is_of_latest(5000000) && !asked_is_of_latest(200000));
	CHECK(asked_is_first_done(5000000) && !asked_is_first_done(5000000));
	CHECK(!asked_is_first_done(5000003) && asked_is_first_done(5000001));
	asked_begin();
	CHECK(asked_for(5000000) && !asked_is_of_latest(5000000) && !asked_is_first_done(5000000));
}

static void old_bursts_are_forgotten(void)
{
	asked_begin();
	CHECK(asked_add(9000000));
	for (int i = 1; i < ASKED_BURSTS; i++) {
		asked_begin();
		CHECK(asked_for(9000000));
	}
	asked_begin();
	CHECK(!asked_for(9000000));
}

int main(void)
{
	if (asked_init())
		return 1;
	RUN(only_calls_that_were_added_are_known);
	RUN(lesser_ids_that_come_late_have_room);
	RUN(the_first_ids_are_ids_too);
	RUN(ids_that_wrap_are_one_burst);
	RUN(work_of_the_latest_burst_is_counted_once_a_call);
	RUN(old_bursts_are_forgotten);
	asked_release();
	return tap_end();
}
