// SPDX-License-Identifier: MIT
/*
 * Who is at the other end of a connection, and for whom it may speak. The kernel notes who
 * connected (SO_PEERCRED): the user, and the process by our number of it. What a library claims of
 * itself is compared with that.
 *
 * A connection can be handed on: whoever holds it may not be the process any more that made it, and
 * that process may run a program with more rights by now, or be gone and its number another's.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu/injected/instance.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* The places are for those who say who they are: the one that has kept silent longest loses its
 * own. Connections that have ended stay in the list until the drain. */
static bool make_room(const struct injected *s)
{
	struct instance *silent = NULL;
	size_t count = 0, greetings = 0;

	vec_foreach (it, &s->instances) {
		count += (*it)->phase != INSTANCE_ENDED;
		if ((*it)->phase != INSTANCE_GREETING)
			continue;
		greetings++;
		if (!silent || (*it)->opened_ns < silent->opened_ns)
			silent = *it;
	}
	if (count < INSTANCES_MAX && greetings < GREETINGS_MAX)
		return true;
	if (silent)
		instance_turn_away(silent);
	return silent;
}

bool peer_may_connect(const struct injected *s, int fd, uint32_t *ret_pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0 ||
		peer.uid != s->options.target_uid)
		return false;
	*ret_pid = (uint32_t)peer.pid;
	return injected_count_of(s, *ret_pid) < OF_ONE_PROCESS_MAX && make_room(s);
}

bool peer_was_joined(struct injected *s, int fd, uint32_t pid, uint32_t *ret_uid)
{
	int flags = fcntl(fd, F_GETFL);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid != (pid_t)pid)
		return false;
	*ret_uid = peer.uid;
	return make_room(s);
}

bool peer_is_there(int fd, uint32_t pid)
{
	int pidfd = -1;
	socklen_t size = sizeof(pidfd);
	bool there;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size))
		return errno != ESRCH && errno != EINVAL &&
		       (!kill((pid_t)pid, 0) || errno != ESRCH);
	there = !syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) || errno != ESRCH;
	close(pidfd);
	return there;
}

bool peer_may_see_memory(const struct instance *i)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", i->pid);
	return !stat(path, &st) && st.st_uid == i->uid;
}
