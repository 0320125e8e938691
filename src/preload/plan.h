/* SPDX-License-Identifier: MIT */
/* The plan as it came: whether it can be used. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/probe.h"

/* Whether all that it leads to is inside of it, of the arena and of the shared memory. */
bool plan_is_sound(const struct probe_plan *p, size_t size);
