/* SPDX-License-Identifier: MIT */
/*
 * The APIs that report, as one: each function calls those of api.h, of all APIs that have begun.
 * One may be added in a thread of the program while our thread is at work.
 */
#pragma once

#include "inject/api.h"

/* One at a time; it has started. */
void apis_add(const struct inject_api *api);
bool apis_has(const struct inject_api *api);

void apis_follow(enum inject_follow what);
void apis_tick(void);
uint64_t apis_sleep_ns(uint64_t most_ns);
void apis_flush(void);
void apis_drain(void);
void apis_stop(void);
void apis_finish(bool program_goes_on);
void apis_discard(void);
enum wire_finalized apis_finalize(void);
void apis_leave(void);
void apis_forget(void);
