// SPDX-License-Identifier: MIT
/*
 * The answer of a child is one message: what the call returned, its context, and the descriptor
 * beside it.
 */
#include "base/user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

#define GROUPS_USUAL  64
#define LOOK_EVERY_MS 50 /* for signals, while a child is at work */
#define END_WAIT_MS   200

void user_self(struct user *u)
{
	*u = (struct user){.uid = getuid(), .gid = getgid()};
}

static int find_groups(struct user *u)
{
	int count = GROUPS_USUAL, room;

	do {
		gid_t *groups = reallocarray(u->groups, (size_t)count, sizeof(*groups));

		if (!groups)
			return error_memory(NULL);
		u->groups = groups;
		room = count;
		if (getgrouplist(u->name, u->gid, u->groups, &count) >= 0) {
			u->group_count = (size_t)count;
			return 0;
		}
	} while (count > room && count <= NGROUPS_MAX);
	return error_set(-EINVAL, "cannot find the groups of '%s'", u->name);
}

static int find_account(struct user *u, uid_t uid)
{
	const struct passwd *account = getpwuid(uid);

	if (!account)
		return error_set(
			-ENOENT, "no account has the user id %lu of SUDO_UID", (unsigned long)uid);
	*u = (struct user){.switched = true,
		.uid = account->pw_uid,
		.gid = account->pw_gid,
		.name = strdup(account->pw_name),
		.home = strdup(account->pw_dir)};
	return u->name && u->home ? find_groups(u) : error_memory(NULL);
}

int user_of_sudo(struct user *u)
{
	const char *text = getenv("SUDO_UID");
	unsigned long uid;
	char *end;
	int error;

	user_self(u);
	if (geteuid() || !text)
		return 0;
	errno = 0;
	uid = strtoul(text, &end, 10);
	if (errno || end == text || *end || uid > UINT32_MAX - 1)
		return error_set(-EINVAL, "SUDO_UID is '%s', which is no user id", text);
	if (!uid)
		return 0;
	error = find_account(u, (uid_t)uid);
	if (error)
		user_release(u);
	return error;
}

void user_release(struct user *u)
{
	free(u->name);
	free(u->home);
	free(u->groups);
	*u = (struct user){0};
}

/* Not the C library's functions: those would have each thread of the process do the same. */
int user_become(const struct user *u)
{
	if (!u->switched)
		return 0;
	if (syscall(SYS_setgroups, u->group_count, u->groups) ||
		syscall(SYS_setresgid, u->gid, u->gid, u->gid) ||
		syscall(SYS_setresuid, u->uid, u->uid, u->uid))
		return -errno;
	return 0;
}

int user_become_plain(const struct user *u)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	int error = user_become(u);

	if (error)
		return error;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &head, none) ? -errno
											  : 0;
}

int user_become_caller(struct user *u)
{
	int error = user_of_sudo(u), failed;

	if (error || !u->switched)
		return error;
	failed = user_become_plain(u);
	u->switched = false;
	return failed ? error_errno(failed, "cannot become %s, who called sudo", u->name) : 0;
}

bool user_signal_waits(void)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
	sigset_t pending;
	bool waits = false;

	if (sigpending(&pending))
		return false;
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		waits |= sigismember(&pending, ending[i]) == 1;
	return waits;
}

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

static void send_answer(int socket, int result, void *context, size_t size, int fd)
{
	struct iovec parts[] = {{&result, sizeof(result)}, {context, size}};
	union control control = {0};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	if (fd >= 0) {
		control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(int))};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	_exit(sendmsg(socket, &message, MSG_NOSIGNAL) < 0);
}

/* What was root's memory a moment ago is not to be read by the user, and the child is not to
 * outlive us. */
static void work_as(
	const struct user *u, int socket, int (*call)(void *, int *), void *context, size_t size)
{
	int fd = -1, error = user_become(u);

	if (!error &&
		(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)))
		error = -errno;
	error = error ?: call(context, &fd);
	send_answer(socket, error, context, size, fd);
}

static int receive_answer(int socket, void *context, size_t size, int *ret_fd)
{
	char bytes[USER_CONTEXT_MAX];
	int result;
	struct iovec parts[] = {{&result, sizeof(result)}, {bytes, size}};
	union control control;
	struct msghdr message = {.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (got != (ssize_t)(sizeof(result) + size))
		return got < 0 ? -errno : -ECANCELED; /* killed */
	if (size)
		memcpy(context, bytes, size);
	if (CMSG_FIRSTHDR(&message) && control.header.cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(*ret_fd));
	return result;
}

static int wait_for_answer(int socket)
{
	struct pollfd answer = {.fd = socket, .events = POLLIN};

	for (int waited = 0; waited < USER_ANSWER_MS; waited += LOOK_EVERY_MS) {
		int ready = poll(&answer, 1, LOOK_EVERY_MS);

		if (ready > 0)
			return 0;
		if ((ready < 0 && errno != EINTR) || user_signal_waits())
			return ready < 0 ? -errno : -EINTR;
	}
	return -ETIMEDOUT;
}

/* It may be stopped, also after it answered. One that a file system holds cannot be killed: it is
 * left behind, and nobody waits for it. */
static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	for (int waited = 0; waited < END_WAIT_MS && !waitpid(pid, NULL, WNOHANG); waited++)
		poll(NULL, 0, 1);
}

static int run_in_child(
	const struct user *u, int (*call)(void *, int *), void *context, size_t size, int *ret_fd)
{
	int sockets[2], error;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (!pid)
		work_as(u, sockets[1], call, context, size);
	error = pid < 0 ? -errno : 0;
	close(sockets[1]);
	if (!error) {
		error = wait_for_answer(sockets[0]);
		error = error ?: receive_answer(sockets[0], context, size, ret_fd);
		end_child(pid);
	}
	close(sockets[0]);
	return error;
}

int user_run(const struct user *u, int (*call)(void *context, int *ret_fd), void *context,
	size_t size, int *ret_fd)
{
	int fd = -1, error;

	if (size > USER_CONTEXT_MAX)
		return -EINVAL;
	error = u && u->switched ? run_in_child(u, call, context, size, &fd) : call(context, &fd);
	if (error && fd >= 0)
		close(fd);
	if (!error && ret_fd)
		*ret_fd = fd;
	return error;
}
