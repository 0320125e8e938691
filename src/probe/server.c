// SPDX-License-Identifier: MIT
#include "probe/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/folder_socket.h"
#include "probe/server_internal.h"

#define SOCKET_NAME   "probe.sock"
#define PROCESSES_MAX 4096
#define CONNECTED_MAX 512
#define BACKLOG	      512

static int watch(struct server *s, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_socket(struct server *s)
{
	const struct server_options *o = &s->options;
	int error;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->epoll < 0 || s->listener < 0)
		return error_errno(-errno, "cannot create a socket");
	error = folder_socket_bind(s->listener, o->folder_fd, SOCKET_NAME, o->uid, o->gid);
	if (!error && listen(s->listener, BACKLOG))
		error = -errno;
	error = error ?: watch(s, s->listener);
	return error ? error_errno(error, "cannot listen at '%s'", buf_text(&s->path)) : 0;
}

int server_open(struct server *s, const struct plan *plan, const struct server_options *options)
{
	int error;

	*s = (struct server){.plan = plan, .options = *options, .epoll = -1, .listener = -1};
	buf_printf(&s->path, "%s/" SOCKET_NAME, options->folder);
	error = s->path.failed || interner_new(&s->strings) ? error_memory(NULL) : open_socket(s);
	if (error)
		server_close(s);
	return error;
}

void server_end_process(struct server *s, struct server_process *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->control) {
		s->notes_lost += p->control->notes_lost;
		s->arenas_lost += p->control->arenas_lost;
		s->arenas_unread += p->control->arenas_unread;
		munmap(p->control, PROBE_CONTROL_BYTES);
	}
	p->fd = -1;
	p->control = NULL;
}

void server_close(struct server *s)
{
	vec_foreach (p, &s->processes)
		server_end_process(s, p);
	vec_foreach (a, &s->arenas) {
		if (a->memory)
			munmap(a->memory, s->plan->shared_bytes);
		free(a->tails);
		free(a->unread);
	}
	vec_foreach (k, &s->kernels) {
		free(k->name);
		free(k->file);
	}
	for (int i = 0; i < PROBE_FATE_COUNT; i++)
		buf_release(&s->fate_texts[i]);
	vec_release(&s->processes);
	vec_release(&s->arenas);
	vec_release(&s->kernels);
	vec_release(&s->lines);
	vec_release(&s->sites);
	map_release(&s->site_by_number);
	vec_release(&s->kept);
	buf_release(&s->kept_bytes);
	vec_foreach (k, &s->unprobed) {
		free(k->name);
		free(k->reason);
	}
	vec_release(&s->unprobed);
	map_release(&s->unprobed_by_key);
	map_release(&s->kernel_by_hash);
	map_release(&s->kernels_named);
	map_release(&s->modules_told);
	map_release(&s->line_by_place);
	map_release(&s->files);
	interner_free(s->strings);
	if (s->listener >= 0) {
		unlinkat(s->options.folder_fd, SOCKET_NAME, 0);
		close(s->listener);
	}
	if (s->epoll >= 0)
		close(s->epoll);
	buf_release(&s->path);
}

const char *server_address(const struct server *s)
{
	return buf_text(&s->path);
}

/* Memory of a size that nobody can change, mapped: 0 with its descriptor, or -errno. */
static int make_memory(uint64_t bytes, void **ret, int *ret_fd)
{
	int fd = memfd_create("xpuprof-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;
	void *at = MAP_FAILED;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)bytes) &&
		!fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED) {
		*ret = at;
		*ret_fd = fd;
		return 0;
	}
	error = -errno;
	close(fd);
	return error;
}

static int give(const struct server_process *p, enum probe_gift gift, int descriptor)
{
	struct probe_welcome welcome = {
		.magic = PROBE_MAGIC, .version = PROBE_VERSION, .gift = gift};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {&welcome, sizeof(welcome)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
	return sendmsg(p->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int server_greet(struct server *s, struct server_process *p, uint32_t pid)
{
	void *control;
	int fd, error = make_memory(PROBE_CONTROL_BYTES, &control, &fd);

	if (error)
		return error;
	p->control = control;
	*p->control = (struct probe_control){
		.magic = PROBE_MAGIC, .version = PROBE_VERSION, .asked = s->asked, .off = s->off};
	p->pid = pid;
	p->greeted = true;
	error = give(p, PROBE_CONTROL, fd);
	close(fd);
	return error ?: give(p, PROBE_PLAN, s->plan->fd);
}

/* Whether a process has as many as one can have that follows the protocol. */
static bool has_all_arenas(const struct server *s, uint32_t process)
{
	uint32_t live = 0;

	vec_foreach (a, &s->arenas) {
		const struct probe_shared *shared = (const void *)a->memory;

		live += a->process == process && !a->ended &&
			!__atomic_load_n(&shared->ended, __ATOMIC_ACQUIRE);
	}
	return live >= PROBE_ARENAS_MAX;
}

static int give_shared(const struct server *s, const struct server_process *p)
{
	int error = 0;

	vec_foreach (o, &s->plan->outsides)
		if (!error && o->is_shared)
			error = o->fd < 0 ? -EBADF : give(p, PROBE_MAP, o->fd);
	return error;
}

int server_add_arena(struct server *s, uint32_t process, const struct probe_arena *m)
{
	struct server_arena a = {.process = process,
		.device = m->device,
		.sms = m->sms,
		.clock_khz = m->clock_khz,
		.memory_bytes = m->memory_bytes};
	uint32_t rings = s->plan->ring_count;
	void *memory;
	int fd, error;

	if (s->arenas.count == ARENAS_MAX || has_all_arenas(s, process)) {
		s->arenas_lost++;
		return -E2BIG;
	}
	memcpy(a.name, m->name, sizeof(a.name) - 1);
	memcpy(a.uuid, m->uuid, sizeof(a.uuid));
	error = make_memory(s->plan->shared_bytes, &memory, &fd);
	if (error)
		return error;
	a.memory = memory;
	a.tails = calloc(rings * ARENA_SMS + 1, sizeof(*a.tails));
	a.unread = calloc(rings + 1, sizeof(*a.unread));
	error = a.tails && a.unread ? give(&s->processes.items[process], PROBE_MEMORY, fd)
				    : -ENOMEM;
	error = error ?: give_shared(s, &s->processes.items[process]);
	close(fd);
	if (!error && !vec_push(&s->arenas, a))
		return 0;
	munmap(memory, s->plan->shared_bytes);
	free(a.tails);
	free(a.unread);
	return error ?: -ENOMEM;
}

static bool may_connect(const struct server *s, int fd, uint32_t *ret_pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	size_t connected = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid <= 0 ||
		peer.uid != s->options.uid)
		return false;
	*ret_pid = (uint32_t)peer.pid;
	vec_foreach (p, &s->processes)
		connected += p->fd >= 0;
	return connected < CONNECTED_MAX && s->processes.count < PROCESSES_MAX;
}

/* Programs have their numbers for good, as what is read of them later has. */
static int keep(struct server *s, const struct server_process *p)
{
	vec_foreach (old, &s->processes)
		if (old->is_compiler && old->fd < 0) {
			*old = *p;
			return 0;
		}
	return vec_push(&s->processes, *p);
}

/* Whoever waits, so many at most: true where there was somebody. */
bool server_accept(struct server *s)
{
	bool any = false;

	for (int i = 0; i < BACKLOG; i++) {
		struct server_process p = {0};

		p.fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (p.fd < 0)
			break;
		any = true;
		if (may_connect(s, p.fd, &p.pid) && !watch(s, p.fd) && !keep(s, &p))
			continue;
		s->processes_refused++;
		close(p.fd);
	}
	return any;
}

static void wake(struct server_process *p)
{
	if (!p->control)
		return;
	__atomic_fetch_add(&p->control->changes, 1, __ATOMIC_SEQ_CST);
	server_futex_wake(&p->control->changes);
}

void server_wake(struct server *s, uint32_t process)
{
	wake(&s->processes.items[process]);
}

static bool has_answered(const struct server *s, const struct server_arena *a)
{
	const struct probe_shared *shared = (const void *)a->memory;

	return a->ended || s->processes.items[a->process].fd < 0 ||
	       __atomic_load_n(&shared->ended, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&shared->answered, __ATOMIC_ACQUIRE) == s->asked;
}

void server_ask(struct server *s)
{
	vec_foreach (a, &s->arenas)
		if (a->is_silent && has_answered(s, a))
			a->is_silent = false;
	s->asked++;
	vec_foreach (p, &s->processes)
		if (p->control) {
			__atomic_store_n(&p->control->asked, s->asked, __ATOMIC_RELEASE);
			wake(p);
		}
}

bool server_has_answers(const struct server *s)
{
	vec_foreach (a, &s->arenas)
		if (!a->is_silent && !has_answered(s, a))
			return false;
	return true;
}

uint32_t server_give_up(struct server *s)
{
	uint32_t count = 0;

	vec_foreach (a, &s->arenas) {
		if (a->is_silent || has_answered(s, a))
			continue;
		a->is_silent = true;
		count++;
	}
	return count;
}

void server_expect_all(struct server *s)
{
	vec_foreach (a, &s->arenas)
		a->is_silent = false;
}

void server_switch(struct server *s, bool off)
{
	s->off = off;
	vec_foreach (p, &s->processes)
		if (p->control) {
			__atomic_store_n(&p->control->off, s->off, __ATOMIC_RELEASE);
			wake(p);
		}
}
