// SPDX-License-Identifier: MIT
/*
 * The listening socket, and the connections.
 *
 * Libraries wait for their welcome in the middle of the program's first CUDA call, so a hello that
 * is seen at a snapshot is answered at the drain that follows. One epoll descriptor stands for all
 * sockets; rings are looked at with each snapshot and drain whether a socket said something or not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "gpu/injected/instance.h"
#include "gpu/nvidia/nvidia.h"
#include "vendor/nvidia/environment.h"

#define SOCKET_NAME   "nvidia.sock"
#define INSTANCES_MAX 4096
#define EVENTS	      64
#define ROUNDS	      16

_Static_assert((int)GPU_STALLS_CONTINUOUS == (int)WIRE_STALLS_CONTINUOUS &&
		       (int)GPU_STALLS_EXACT == (int)WIRE_STALLS_EXACT,
	"kinds of sampling are numbered alike on both sides");

struct gpu_backend {
	struct nvidia_session session;
	struct sockaddr_un address;
	int listener;
	int epoll;
	struct vec(struct instance *) instances;
	char *library;
};

static void nvidia_close(struct gpu_backend *b)
{
	if (!b)
		return;
	vec_foreach (it, &b->instances)
		instance_free(*it);
	vec_release(&b->instances);
	if (b->listener >= 0) {
		close(b->listener);
		unlink(b->address.sun_path);
	}
	if (b->epoll >= 0)
		close(b->epoll);
	counters_close(b->session.counters);
	buf_release(&b->session.cupti_lines);
	buf_release(&b->session.refusal_lines);
	buf_release(&b->session.ended_lines);
	map_release(&b->session.connected);
	map_release(&b->session.by_number);
	spaces_release(&b->session);
	for (uint32_t n = 0; n < b->session.chunk_count; n++)
		close(b->session.chunks[n]);
	free(b->library);
	free(b);
}

static int set_address(struct gpu_backend *b, const char *folder)
{
	size_t room = sizeof(b->address.sun_path);

	b->address.sun_family = AF_UNIX;
	if ((size_t)snprintf(b->address.sun_path, room, "%s/" SOCKET_NAME, folder) >= room)
		return error_set(-ENAMETOOLONG,
			"the path of the socket is too long: '%s/" SOCKET_NAME "'", folder);
	return 0;
}

/* Only the target's user may connect: the folder is theirs alone, and so is the socket. */
static int listen_at(struct gpu_backend *b, const struct gpu_options *o)
{
	const char *path = b->address.sun_path;
	struct epoll_event event = {.events = EPOLLIN};

	b->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (b->listener < 0)
		return error_errno(-errno, "cannot create a socket");
	if (bind(b->listener, (struct sockaddr *)&b->address, sizeof(b->address)) ||
		chmod(path, 0600) ||
		(geteuid() != o->target_uid && lchown(path, o->target_uid, o->target_gid)) ||
		listen(b->listener, 512))
		return error_errno(-errno, "cannot listen at '%s'", path);
	b->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (b->epoll < 0 || epoll_ctl(b->epoll, EPOLL_CTL_ADD, b->listener, &event))
		return error_errno(-errno, "cannot watch '%s'", path);
	return 0;
}

static int open_counters(struct gpu_backend *b, const struct gpu_options *o)
{
	struct counters_options options = {
		.interval_ns = o->counter_interval_ns, .environment = o->environment};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = b};
	int error;

	if (!o->counter_interval_ns)
		return 0;
	error = counters_open(&b->session.counters, &options, b->session.shared->writer);
	if (!error && counters_fd(b->session.counters) >= 0 &&
		epoll_ctl(b->epoll, EPOLL_CTL_ADD, counters_fd(b->session.counters), &event))
		error = error_errno(-errno, "cannot watch hardware counters");
	return error;
}

static int open_backend(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct gpu_backend *b = calloc(1, sizeof(*b));
	int error;

	if (!b)
		return error_memory(NULL);
	b->listener = b->epoll = -1;
	b->session.shared = shared;
	b->session.options = *options;
	b->session.start_ns = clock_now_ns();
	b->library = strdup(options->library);
	error = b->library ? set_address(b, options->runtime_dir)
			   : error_memory(NULL);
	error = error ?: listen_at(b, options);
	if (!error && options->stalls)
		error = profile_set_meta(shared->writer, META_STALLS,
			options->stalls == GPU_STALLS_EXACT ? "exact" : "continuous");
	error = error ?: open_counters(b, options);
	if (error) {
		nvidia_close(b);
		return error;
	}
	*ret = b;
	return 0;
}

static const char *variable_of(char **environment, const char *name)
{
	size_t size = strlen(name);

	for (char **e = environment ? environment : environ; *e; e++)
		if (!strncmp(*e, name, size) && (*e)[size] == '=')
			return *e + size + 1;
	return NULL;
}

/* The program may have a library of its own injected: then ours would take its place. */
static int nvidia_open(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	const char *other = variable_of(options->environment, NVIDIA_INJECTION_VARIABLE);

	if (!options->notes || !other || !*other)
		return open_backend(ret, options, shared);
	buf_printf(options->notes, "no GPU work is recorded: " NVIDIA_INJECTION_VARIABLE " already names '%s'\n", other);
	return 0;
}

static int nvidia_environment(
	struct gpu_backend *b, int (*add)(void *, const char *, const char *), void *context)
{
	int error = add(context, WIRE_ENV_SOCKET, b->address.sun_path);

	return error ?: add(context, NVIDIA_INJECTION_VARIABLE, b->library);
}

/* One whose instance has ended (its ring was given up) is still a launch. */
static bool nvidia_is_plausible(struct gpu_backend *b, const struct gpu_launch *e)
{
	uint64_t *found = map_get(&b->session.by_number, e->instance);
	struct instance *i = found ? (struct instance *)(uintptr_t)*found : NULL;

	return !i || i->pid == e->pid;
}

static int nvidia_code_mapped(struct gpu_backend *b, const struct code_change *change)
{
	vec_foreach (it, &b->instances)
		if (!change->pid || (*it)->pid == change->pid)
			instance_code_mapped(*it, change);
	return 0;
}

static int nvidia_space(struct gpu_backend *b, const struct walker_space *space)
{
	const struct nvidia_space *kept;
	int error = b->session.options.walk ? spaces_keep(&b->session, space) : 0;

	kept = error ? NULL : spaces_of(&b->session, space->pid);
	vec_foreach (it, &b->instances)
		if ((*it)->pid == space->pid)
			instance_tell_space(*it, kept);
	return error;
}

/* In their order, which is also that in which libraries get them. */
static int nvidia_table_chunk(struct gpu_backend *b, uint32_t index, int fd)
{
	struct nvidia_session *s = &b->session;

	if (!s->options.walk || index != s->chunk_count || index >= WALK_CHUNKS_MAX)
		return 0;
	s->chunks[index] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (s->chunks[index] < 0)
		return error_errno(-errno, "cannot keep the unwind tables");
	s->chunk_count++;
	vec_foreach (it, &b->instances)
		instance_send_chunks(*it);
	return 0;
}

/* Their launch markers, too, have been taken by now: all is before its end. */
static int nvidia_leaves(struct gpu_backend *b, uint32_t pid)
{
	bool busy;
	int error = 0;

	for (size_t n = 0; !error && n < b->instances.count; n++) {
		struct instance *i = b->instances.items[n];

		if (i->pid != pid || (i->phase != INSTANCE_LIVE && i->phase != INSTANCE_LAST))
			continue;
		i->leaving = true;
		instance_snapshot(i, false);
		error = instance_drain(i, &busy);
	}
	return error;
}

static int nvidia_poll_fd(struct gpu_backend *b)
{
	return b->epoll;
}

static bool may_connect(const struct gpu_backend *b, int fd, uint32_t *ret_pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0)
		return false;
	*ret_pid = (uint32_t)peer.pid;
	return peer.uid == b->session.options.target_uid && b->instances.count < INSTANCES_MAX;
}

static int accept_one(struct gpu_backend *b, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct instance *i;
	uint32_t pid;
	int error;

	if (b->session.stopped || !may_connect(b, fd, &pid)) {
		close(fd);
		return 0;
	}
	error = instance_open(&i, &b->session, fd, pid);
	if (error)
		return error;
	event.data.ptr = i;
	if (epoll_ctl(b->epoll, EPOLL_CTL_ADD, fd, &event) || vec_push(&b->instances, i)) {
		instance_free(i);
		return error_errno(-ENOMEM, "cannot take a connection");
	}
	return 0;
}

/* Short of descriptors or memory, the client waits in the backlog until its patience ends. */
static int accept_all(struct gpu_backend *b)
{
	int fd, error = 0;

	while (!error && (fd = accept4(b->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		error = accept_one(b, fd);
	return error;
}

/* Hardware counters (ourselves) are drained with the rest. */
static int handle_event(struct gpu_backend *b, void *what)
{
	if (what == b)
		return counters_drain(b->session.counters);
	return what ? instance_handle_socket(what) : accept_all(b);
}

/* Whoever has just connected has usually said hello as well: hence the rounds. Bounded, since
 * somebody may go on talking. */
static int handle_sockets(struct gpu_backend *b)
{
	struct epoll_event events[EVENTS];
	int n = 1, error = 0;

	for (int round = 0; !error && n > 0 && round < ROUNDS; round++) {
		n = epoll_wait(b->epoll, events, EVENTS, 0);
		for (int e = 0; !error && e < n; e++)
			error = handle_event(b, events[e].data.ptr);
	}
	return error;
}

static bool has_instance(const struct gpu_backend *b, uint32_t pid)
{
	vec_foreach (it, &b->instances)
		if ((*it)->pid == pid)
			return true;
	return false;
}

/* Ended instances leave; the order of the others does not matter. */
static int sweep(struct gpu_backend *b)
{
	const struct stack_resolver *stacks = &b->session.options.stacks;
	int error = 0;

	for (size_t n = 0; !error && n < b->instances.count;) {
		struct instance *i = b->instances.items[n];
		uint32_t pid = i->pid;

		if (i->phase != INSTANCE_ENDED) {
			n++;
			continue;
		}
		instance_free(i);
		b->instances.items[n] = b->instances.items[--b->instances.count];
		if (stacks->done && !has_instance(b, pid))
			error = stacks->done(stacks->context, pid);
	}
	return error;
}

static int nvidia_snapshot(struct gpu_backend *b)
{
	int error = handle_sockets(b);

	vec_foreach (it, &b->instances)
		instance_snapshot(*it, false);
	return error;
}

static int nvidia_drain(struct gpu_backend *b, bool *ret_busy)
{
	int error = 0;

	for (size_t n = 0; !error && n < b->instances.count; n++)
		error = instance_drain(b->instances.items[n], ret_busy);
	if (!error && b->session.counters)
		error = counters_drain(b->session.counters);
	return error ?: sweep(b);
}

static int nvidia_stop(struct gpu_backend *b)
{
	b->session.stopped = true;
	if (b->session.counters)
		counters_stop(b->session.counters);
	vec_foreach (it, &b->instances)
		instance_ask_to_stop(*it);
	return 0;
}

static int nvidia_finish(struct gpu_backend *b)
{
	bool busy = false;
	int error;

	b->session.stopped = true;
	vec_foreach (it, &b->instances)
		instance_snapshot(*it, true);
	error = nvidia_drain(b, &busy);
	return error || !b->session.counters ? error : counters_finish(b->session.counters);
}

static bool nvidia_has_connected(const struct gpu_backend *b, uint32_t process)
{
	return map_get(&b->session.connected, process);
}

static void nvidia_stats(const struct gpu_backend *b, struct gpu_stats *ret)
{
	*ret = (struct gpu_stats){
		.records = b->session.records,
		.reported_ns = b->session.reported_ns,
		.stalls_refused = buf_text(&b->session.refusal_lines),
		.counters_refused = "",
		.ended = buf_text(&b->session.ended_lines),
	};

	if (b->session.counters) {
		ret->counters_refused = counters_refusals(b->session.counters);
		ret->instances_live += counters_are_live(b->session.counters);
	}
	vec_foreach (it, &b->instances)
		ret->instances_live += instance_is_live(*it);
}

const struct gpu_backend_ops nvidia_backend = {
	.name = "nvidia",
	.open = nvidia_open,
	.environment = nvidia_environment,
	.is_plausible = nvidia_is_plausible,
	.code_mapped = nvidia_code_mapped,
	.space = nvidia_space,
	.table_chunk = nvidia_table_chunk,
	.leaves = nvidia_leaves,
	.poll_fd = nvidia_poll_fd,
	.snapshot = nvidia_snapshot,
	.drain = nvidia_drain,
	.stop = nvidia_stop,
	.finish = nvidia_finish,
	.has_connected = nvidia_has_connected,
	.stats = nvidia_stats,
	.close = nvidia_close,
};
