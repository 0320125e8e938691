/* SPDX-License-Identifier: MIT */
/*
 * Samples of one GT, from what its stream gives to rows of the profile. What runs there was asked
 * for on one of its devices: the GPU, or the tile that the GT is in.
 *
 * Samples have no time. What one read gives is a window from the read before to this one. Windows
 * wait for a while before the code that their addresses are in is looked for: what libraries say of
 * it comes later. Then each process that had code there gets its part of the window, as a window of
 * its own; the views divide it among the launches of that time.
 *
 * Windows have no period: how many samples are due is not known, as each record counts as many
 * threads as the GPU saw at once.
 *
 * Each sample is written, or counted as lost by its cause. One thread.
 */
#pragma once

#include "gpu/code_places.h"
#include "gpu/intel/stall_records.h"
#include "profile/writer.h"

struct kept_images;
struct sampler;

#define SAMPLER_DEVICES_MAX 16

struct sampler_options {
	const struct stall_layout *layout;
	struct profile_writer *writer;
	struct code_places *places;
	struct kept_images *images; /* NULL: none are kept */
	/* Addresses that become instructions of the profile, about. Samples of further ones are at
	 * OFFSET_LEFT_OUT of their function. */
	uint64_t instructions_max;
};

/* NULL: out of memory. `now_ns`: the first window begins. */
struct sampler *sampler_new(const struct sampler_options *o, uint64_t now_ns);
void sampler_free(struct sampler *s);
/* One of its devices, by profile id; also after its samples, while these wait. Programs can make up
 * devices: those beyond SAMPLER_DEVICES_MAX are left out, and their samples outside of all code. */
void sampler_add_device(struct sampler *s, uint32_t device);

/* Bytes that were read, in any pieces. 0, or -ENOMEM with error_text. */
int sampler_add(struct sampler *s, const void *bytes, size_t size);
/* The GPU dropped some, and does not say how many. */
int sampler_overflow(struct sampler *s);
/* A window ends now, and those that have waited until `ripe_ns` or longer are written. 0 or -errno
 * with error_text. */
int sampler_end_window(struct sampler *s, uint64_t now_ns, uint64_t ripe_ns);
/* When the oldest window began that is not written: what ended before is not looked for again. */
uint64_t sampler_oldest_ns(const struct sampler *s);
