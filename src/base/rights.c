// SPDX-License-Identifier: MIT
#include "base/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAP_END 64

struct sets {
	struct __user_cap_data_struct halves[2];
};

static int get(struct sets *ret)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, ret->halves) ? -errno : 0;
}

static int set(const struct sets *s)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capset, &header, s->halves) ? -errno : 0;
}

bool rights_has(int capability)
{
	struct sets s;

	return !get(&s) && s.halves[capability / 32].effective >> capability % 32 & 1;
}

int rights_keep(uint64_t kept)
{
	struct sets s;
	int error;

	/* That it may be refused does not matter to who executes nothing with rights. */
	for (int cap = 0; cap < CAP_END; cap++)
		if (!(kept >> cap & 1))
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	error = get(&s);
	if (error)
		return error;
	for (int i = 0; i < 2; i++) {
		s.halves[i].permitted &= (uint32_t)(kept >> (32 * i));
		s.halves[i].effective = s.halves[i].permitted;
		s.halves[i].inheritable = 0; /* and so none is ambient */
	}
	return set(&s);
}

static bool is_alone_in(gid_t gid)
{
	gid_t groups[2], real, effective, saved;
	long count = syscall(SYS_getgroups, 2, groups);

	return (count == 0 || (count == 1 && groups[0] == gid)) &&
	       !syscall(SYS_getresgid, &real, &effective, &saved) && real == gid &&
	       effective == gid && saved == gid;
}

static bool is_user(uid_t uid)
{
	uid_t real, effective, saved;

	return !syscall(SYS_getresuid, &real, &effective, &saved) && real == uid &&
	       effective == uid && saved == uid;
}

static bool has_none(void)
{
	struct sets s;

	return !get(&s) && !s.halves[0].permitted && !s.halves[1].permitted;
}

int rights_become(uid_t uid, gid_t gid)
{
	int error;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/* Also where we seem to be it: ids that a namespace does not have look like nobody's. */
	if (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, gid, gid, gid) ||
		syscall(SYS_setresuid, uid, uid, uid))
		return -errno;
	error = rights_keep(0);
	if (error)
		return error;
	return is_alone_in(gid) && is_user(uid) && has_none() ? 0 : -EPERM;
}
