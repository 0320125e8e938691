/* SPDX-License-Identifier: MIT */
/*
 * Giving up rights, for good. All are system calls of the calling thread alone, so a child may make
 * them before it executes another program, whatever threads its parent has.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RIGHTS_NOBODY 65534

/* Whether a capability (CAP_..., linux/capability.h) is in effect. */
bool rights_has(int capability);
/* Of our capabilities only those of `kept` stay, a bit for each; none is for programs that we
 * execute. 0 or -errno. */
int rights_keep(uint64_t kept);
/* Becomes a user, in no other group than this one, without capabilities and without programs that
 * would give some. 0, and this is certain; or -errno: -EINVAL where the user namespace has no such
 * ids, -EPERM where we must not. Then some of it may be done. */
int rights_become(uid_t uid, gid_t gid);
