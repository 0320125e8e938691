// SPDX-License-Identifier: MIT
/*
 * The listening socket, and the connections.
 *
 * Libraries wait for their welcome in the middle of the program's first call of the GPU API, so a
 * hello that is seen at a snapshot is answered at the drain that follows. One epoll descriptor
 * stands for all sockets. Rings are read at each snapshot and drain, whether a socket was readable
 * or not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/folder_socket.h"
#include "gpu/injected/descriptors.h"
#include "gpu/injected/instance.h"
#include "sandbox/child.h"

#define EVENTS	    64
#define SOCKET_NAME "library.sock"

_Static_assert((int)GPU_STALLS_CONTINUOUS == (int)WIRE_STALLS_CONTINUOUS &&
		       (int)GPU_STALLS_EXACT == (int)WIRE_STALLS_EXACT,
	"kinds of sampling are numbered alike on both sides");

/* Nobody finds it any more, and those who wait there are accepted first. */
static void close_listener(struct injected *s)
{
	int fd;

	unlinkat(s->options.runtime_fd, SOCKET_NAME, 0);
	while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		descriptors_close(s, fd);
	close(s->listener);
}

void injected_close(struct injected *s)
{
	if (!s)
		return;
	vec_foreach (it, &s->instances)
		instance_free(*it);
	vec_release(&s->instances);
	if (s->listener >= 0)
		close_listener(s);
	child_free(s->receiver);
	if (s->epoll >= 0)
		close(s->epoll);
	buf_release(&s->tracer_lines);
	buf_release(&s->refusal_lines);
	buf_release(&s->contest_lines);
	buf_release(&s->held_lines);
	buf_release(&s->ended_lines);
	buf_release(&s->finalize_lines);
	buf_release(&s->late_lines);
	map_release(&s->connected);
	map_release(&s->failures);
	map_release(&s->stop_times);
	map_release(&s->by_number);
	map_release(&s->of_process);
	for (uint32_t n = 0; n < WIRE_APIS; n++)
		free(s->call_names[n]);
	spaces_release(s);
	for (uint32_t n = 0; n < s->chunk_count; n++)
		close(s->chunks[n]);
	free(s);
}

static int set_path(struct injected *s, const char *folder)
{
	if ((size_t)snprintf(s->path, sizeof(s->path), "%s/" SOCKET_NAME, folder) >=
		sizeof(s->path))
		return error_set(-ENAMETOOLONG,
			"the path of the socket is too long: '%s/" SOCKET_NAME "'", folder);
	return 0;
}

/* Only the target's user may connect: the socket is theirs. Nobody can before it listens. */
static int listen_at(struct injected *s)
{
	const struct gpu_options *o = &s->options;
	struct epoll_event event = {.events = EPOLLIN};
	int error;

	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return error_errno(-errno, "cannot create a socket");
	/* Those who connect have it, too. */
	error = descriptors_expect(s, s->listener);
	error = error
			?: folder_socket_bind(s->listener, o->runtime_fd, SOCKET_NAME,
				   o->target_uid, o->target_gid);
	if (!error && listen(s->listener, 512))
		error = -errno;
	if (error)
		return error_errno(error, "cannot listen at '%s'", s->path);
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &event))
		return error_errno(-errno, "cannot watch '%s'", s->path);
	return 0;
}

static int open_sockets(struct injected *s)
{
	int error;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return error_errno(-errno, "cannot watch the libraries in programs");
	error = s->options.receiver ? descriptors_open(s, s->options.receiver) : 0;
	if (error || !s->options.runtime_dir)
		return error;
	error = set_path(s, s->options.runtime_dir);
	return error ?: listen_at(s);
}

static int make_call_names(struct injected *s)
{
	for (uint32_t n = 0; n < WIRE_APIS; n++) {
		s->call_names[n] = calloc(s->apis[n]->call_count, sizeof(*s->call_names[n]));
		if (!s->call_names[n])
			return error_memory(NULL);
	}
	return 0;
}

int injected_open(
	struct injected **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct injected *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return error_memory(NULL);
	s->listener = s->epoll = -1;
	s->apis = injected_apis;
	s->shared = shared;
	s->options = *options;
	s->start_ns = clock_now_ns();
	error = make_call_names(s);
	error = error ?: open_sockets(s);
	if (!error && options->stalls)
		error = profile_set_meta(shared->writer, META_STALLS,
			options->stalls == GPU_STALLS_EXACT ? "exact" : "continuous");
	if (error) {
		injected_close(s);
		return error;
	}
	*ret = s;
	return 0;
}

const char *injected_address(const struct injected *s)
{
	return s->path;
}

/* A launch whose instance has ended (its ring was given up) is still a launch. */
bool injected_is_plausible(const struct injected *s, const struct gpu_launch *e)
{
	uint64_t *found = map_get(&s->by_number, e->instance);
	struct instance *i = found ? (struct instance *)(uintptr_t)*found : NULL;

	return !i || i->pid == e->pid;
}

int injected_code_mapped(struct injected *s, const struct code_change *change)
{
	vec_foreach (it, &s->instances)
		if (!change->pid || (*it)->pid == change->pid)
			instance_code_mapped(*it, change);
	return 0;
}

int injected_space(struct injected *s, const struct walker_space *space)
{
	const struct kept_space *kept;
	int error = s->options.walk ? spaces_keep(s, space) : 0;

	kept = error ? NULL : spaces_of(s, space->pid);
	vec_foreach (it, &s->instances)
		if ((*it)->pid == space->pid)
			instance_send_space(*it, kept);
	return error;
}

/* Chunks come in order, and libraries get them in the same order. */
int injected_table_chunk(struct injected *s, uint32_t index, int fd)
{
	if (!s->options.walk || index != s->chunk_count || index >= WALK_CHUNKS_MAX)
		return 0;
	s->chunks[index] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (s->chunks[index] < 0)
		return error_errno(-errno, "cannot keep the unwind tables");
	s->chunk_count++;
	vec_foreach (it, &s->instances)
		instance_send_chunks(*it);
	return 0;
}

/* Its launch markers have been drained by now: everything left in the ring is from before its
 * end. */
int injected_leaves(struct injected *s, uint32_t pid)
{
	bool busy;
	int error = 0;

	for (size_t n = 0; !error && n < s->instances.count; n++) {
		struct instance *i = s->instances.items[n];

		if (i->pid != pid || (i->phase != INSTANCE_LIVE && i->phase != INSTANCE_LAST))
			continue;
		i->leaving = true;
		instance_snapshot(i, false);
		s->deadline_ns = clock_now_ns() + LEAVE_MAX_NS;
		error = instance_drain(i, &busy);
	}
	return error;
}

int injected_poll_fd(const struct injected *s)
{
	return s->epoll;
}

uint64_t injected_count_of(const struct injected *s, uint32_t pid)
{
	const uint64_t *count = map_get(&s->of_process, pid);

	return count ? *count : 0;
}

/* The instance is freed, or the list's. */
static int add(struct injected *s, struct instance *i)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = i};

	if (map_put(&s->of_process, i->pid, injected_count_of(s, i->pid) + 1) ||
		epoll_ctl(s->epoll, EPOLL_CTL_ADD, i->fd, &event) || vec_push(&s->instances, i)) {
		instance_free(i);
		return error_errno(-ENOMEM, "cannot take a connection");
	}
	return 0;
}

static int accept_one(struct injected *s, int fd)
{
	struct instance *i;
	uint32_t pid;
	int error;

	if (s->stopped || !peer_may_connect(s, fd, &pid)) {
		descriptors_close(s, fd);
		return s->stopped ? 0
				  : profile_count_loss(s->shared->writer, LOSS_GPU_STRANGERS, 1);
	}
	error = instance_open(&i, s, fd, pid);
	return error ?: add(s, i);
}

int injected_adopt(struct injected *s, int fd, uint32_t pid)
{
	struct instance *i;
	uint32_t uid;
	int error;

	if (s->stopped || descriptors_expect(s, fd) || !peer_was_joined(s, fd, pid, &uid)) {
		descriptors_close(s, fd);
		return 0;
	}
	error = instance_open(&i, s, fd, pid);
	if (error)
		return error;
	i->joined = true;
	i->uid = uid;
	return add(s, i);
}

/* Short of descriptors or memory, the client waits in the backlog until its patience ends. */
static int accept_some(struct injected *s)
{
	int fd, error = 0;

	for (int n = 0; !error && n < ACCEPTED_AT_ONCE; n++) {
		fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return 0;
		error = accept_one(s, fd);
	}
	return error;
}

/* Several times, since a client that has just connected has usually sent its hello as well.
 * Bounded, since clients may go on sending; epoll reports those first that were not read for
 * longest.
 * Descriptors given to injected_watch are drained elsewhere. */
static int handle_sockets(struct injected *s)
{
	struct epoll_event events[EVENTS];
	bool any = true;
	int error = 0;

	s->messages_left = MESSAGES_AT_ONCE;
	while (!error && any && s->messages_left) {
		int n = epoll_wait(s->epoll, events, EVENTS, 0);

		any = false;
		for (int e = 0; !error && e < n && s->messages_left; e++) {
			void *what = events[e].data.ptr;

			any = true;
			s->messages_left--;
			error = what ? instance_handle_socket(what) : accept_some(s);
		}
	}
	return error;
}

/* True when it was the last of its process. */
static bool remove_at(struct injected *s, size_t n)
{
	struct instance *i = s->instances.items[n];
	uint64_t *count = map_get(&s->of_process, i->pid);
	bool last = !--*count;

	if (last)
		map_remove(&s->of_process, i->pid, NULL);
	instance_free(i);
	s->instances.items[n] = s->instances.items[--s->instances.count];
	return last;
}

/* Ended instances leave; the order of the others does not matter. */
static int sweep(struct injected *s)
{
	const struct stack_resolver *stacks = &s->options.stacks;
	int error = 0;

	for (size_t n = 0; !error && n < s->instances.count;) {
		struct instance *i = s->instances.items[n];
		uint32_t pid = i->pid;

		if (i->phase != INSTANCE_ENDED) {
			n++;
			continue;
		}
		if (remove_at(s, n) && stacks->done)
			error = stacks->done(stacks->context, pid);
	}
	return error;
}

int injected_snapshot(struct injected *s)
{
	int error = handle_sockets(s);

	vec_foreach (it, &s->instances)
		instance_snapshot(*it, false);
	return error;
}

static int drain_until(struct injected *s, uint64_t deadline_ns, bool *ret_busy)
{
	size_t count = s->instances.count, n = 0;
	int error = 0;

	s->deadline_ns = deadline_ns;
	for (; !error && n < count && (!n || clock_now_ns() < deadline_ns); n++)
		error = instance_drain(s->instances.items[(s->first + n) % count], ret_busy);
	*ret_busy |= n < count;
	s->first++;
	return error ?: sweep(s);
}

int injected_drain(struct injected *s, bool *ret_busy)
{
	return drain_until(s, clock_now_ns() + DRAIN_MAX_NS, ret_busy);
}

void injected_stop(struct injected *s)
{
	s->stopped = true;
	vec_foreach (it, &s->instances)
		instance_ask_to_stop(*it);
}

int injected_finish(struct injected *s)
{
	uint64_t deadline_ns = clock_now_ns() + FINISH_MAX_NS;
	bool busy = false;
	int error = 0;

	s->stopped = true;
	vec_foreach (it, &s->instances)
		instance_snapshot(*it, true);
	while (!error && s->instances.count && clock_now_ns() < deadline_ns) {
		s->messages_left = MESSAGES_AT_ONCE;
		error = drain_until(s, deadline_ns, &busy);
	}
	vec_foreach (it, &s->instances)
		error = error ?: instance_end_unread(*it);
	error = error ?: sweep(s);
	return error ?: due_report(s);
}

bool injected_has_connected(const struct injected *s, uint32_t process)
{
	return map_get(&s->connected, process);
}

bool injected_reports(const struct injected *s, uint32_t process, uint32_t api)
{
	const uint64_t *state = map_get(&s->connected, process);

	return state && *state & (uint64_t)PROCESS_REPORTS << api;
}

int32_t injected_failure(const struct injected *s, uint32_t process, uint32_t api)
{
	const uint64_t *result = map_get(&s->failures, (uint64_t)process << 8 | api);

	return result ? (int32_t)*result : 0;
}

bool injected_is_taken(const struct injected *s, uint32_t process)
{
	const uint64_t *state = map_get(&s->connected, process);

	return state && *state & PROCESS_TAKEN;
}

bool injected_is_finalized(const struct injected *s, uint32_t process)
{
	const uint64_t *state = map_get(&s->connected, process);

	return state && *state & PROCESS_FINALIZED;
}

bool injected_stop_time(const struct injected *s, uint32_t process, struct gpu_stop_time *ret)
{
	const uint64_t *times_us = map_get(&s->stop_times, process);

	if (!times_us)
		return false;
	ret->ns = (*times_us >> 32) * 1000;
	ret->tracer_ns = (*times_us & UINT32_MAX) * 1000;
	return true;
}

void injected_stats(const struct injected *s, struct gpu_stats *ret)
{
	ret->records += s->records;
	ret->reported_ns += s->reported_ns;
	ret->stalls_refused = buf_text(&s->refusal_lines);
	ret->stalls_contested = buf_text(&s->contest_lines);
	ret->stalls_held = buf_text(&s->held_lines);
	ret->ended = buf_text(&s->ended_lines);
	ret->finalized = buf_text(&s->finalize_lines);
	ret->late = buf_text(&s->late_lines);
	vec_foreach (it, &s->instances)
		ret->instances_live += instance_is_live(*it);
}
