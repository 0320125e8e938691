/* SPDX-License-Identifier: MIT */
/*
 * The numbers of GPUs in pictures and tables. They are the ordinals by which the programs count.
 * Where two GPUs have the same one, because each process was given devices of its own (by a
 * variable of its environment), all are counted from 0 in the order of the profile instead.
 *
 * Use after the last event was read.
 */
#pragma once

#include "profile/reader.h"

struct device_numbers {
	bool by_order; /* of the profile; else by ordinal */
};

/* 0 or -ENOMEM with error_text. */
int device_numbers_init(struct device_numbers *n, const struct profile_reader *r);
/* The number of a device of the profile. */
uint32_t device_number(const struct device_numbers *n, const struct profile_reader *r, uint32_t id);
