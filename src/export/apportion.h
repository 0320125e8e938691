/* SPDX-License-Identifier: MIT */
/*
 * Nanoseconds to whole microseconds so that the sum stays right: the largest-remainder method.
 *
 * The result adds up to the sum of all times, rounded to the nearest microsecond (at least 1 when
 * any time is not 0). If the sum has enough microseconds, each time above 0 becomes at least 1, at
 * the cost of the larger ones; if not, the smallest become 0. Times of 0 stay 0.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Replaces each of the `count` times. 0, or -ENOMEM with error_text and nothing changed. */
int apportion_us(uint64_t *times, size_t count);
