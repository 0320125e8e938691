/* SPDX-License-Identifier: MIT */
/*
 * Which container a cgroup is of. The kernel numbers cgroups (version 2): a number is the inode
 * number of the cgroup's folder and, on 64-bit kernels, is not used again. So the cgroup file
 * system is walked when an unknown number comes, and what was found is remembered, also of cgroups
 * that are gone.
 *
 * A container is identified by its id, 64 hex digits, as docker, containerd, CRI-O, podman and
 * kubepods have it in the name of a folder; the innermost counts. A process in none is identified
 * by the path of its cgroup, "/" being the root. What cannot be found (a cgroup that was gone
 * before anybody asked, or that our namespace does not show) is "".
 *
 * Memory is bounded: by the number of cgroups that are there (at most CONTAINERS_MAX are walked),
 * and what is gone is forgotten when nobody asked for it in CONTAINERS_KEPT_NS. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTAINERS_MAX	   ((size_t)1 << 16)
#define CONTAINERS_KEPT_NS (3600ull * 1000000000)

struct containers;

/* `root`: where the cgroup file systems are, "/sys/fs/cgroup"; version 2 is looked for there and,
 * beside version 1, in "unified". 0 or -ENOMEM; where there is no version 2, nothing is ever
 * found. */
int containers_new(const char *root, struct containers **ret);
void containers_free(struct containers *c);
/* To be called when new numbers came, at `now_ns`: from now on one more walk may be made for them.
 * Forgets what is long gone. */
void containers_refresh(struct containers *c, uint64_t now_ns);
/* Valid until containers_refresh. */
const char *containers_name(struct containers *c, uint64_t cgroup);
/* Whether the last walk saw a cgroup of this name. */
bool containers_present(const struct containers *c, const char *name);

/* The container id in a cgroup's path, of 64 digits and without an end of its own, or NULL. */
const char *container_id_of_path(const char *path);
