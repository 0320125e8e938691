/* SPDX-License-Identifier: MIT */
/*
 * Images of GPU code, kept while a recording runs. At its end, sampled instructions get their text
 * and source from them; by then the program, which had them in memory only, is gone.
 *
 * There is one image for each module id of the profile. Ids are given by checksum, so processes
 * that load the same image share it. An image comes as a memfd that is sealed against changes; it
 * is mapped, not copied. Its contents are not read here; whoever opens it (format.h) trusts nothing
 * in it.
 *
 * Images are bounded by a budget in bytes, and in number. Beyond it the oldest images without a
 * sample make room: most of what a program loads never runs long enough to be sampled. When all
 * have samples, the new one is not kept. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Images of libraries such as cuBLAS have tens of MiB each. */
#define KEPT_IMAGES_BUDGET_BYTES ((uint64_t)512 << 20)
#define KEPT_IMAGES_MAX		 16384u

struct kept_images;

/* NULL: out of memory. */
struct kept_images *kept_images_new(uint64_t budget_bytes);
void kept_images_free(struct kept_images *k);

/*
 * Keeps the image of a module: `size` bytes in a memfd, which stays the caller's. 0, also when it
 * is there already, or -errno without text: -EINVAL when it is not a memfd of that size or not
 * sealed, -ENOSPC when there is no room for it, -ENOMEM or an error of the system.
 */
int kept_images_add(struct kept_images *k, uint32_t module, int fd, uint64_t size);
/* This module's code was sampled: its image, which may come later, does not make room for others.
 * When memory is short it may. */
void kept_images_need(struct kept_images *k, uint32_t module);

/* The module's image, good until kept_images_free or the next kept_images_add; NULL when there is
 * none. */
const void *kept_images_find(const struct kept_images *k, uint32_t module, size_t *ret_size);
/* Whether there was one that could not be kept, or had to make room. */
bool kept_images_lost(const struct kept_images *k, uint32_t module);
