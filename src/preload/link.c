// SPDX-License-Identifier: MIT
#include "preload/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/descriptor.h"
#include "guest/futex.h"
#include "preload/plan.h"

#define PATIENCE_NS  2000000000ull
#define NOTE_WAIT_MS 100
#define SILENCE_NS   10000000000ull
#define PLAN_SEALS   (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

enum { NOT_BEGUN, BEGINNING, BEGUN };

struct link link_to_xpuprof = {.socket.fd = -1};

static uint32_t begun; /* futex */
static pid_t begun_by;
/* A page that the kernel wipes in a forked child. */
static uint32_t *alive;
static void *memory; /* that came last */

bool link_is_alive(void)
{
	return __atomic_load_n(&begun, __ATOMIC_ACQUIRE) == BEGUN && alive &&
	       __atomic_load_n(alive, __ATOMIC_RELAXED);
}

void link_end(void)
{
	if (alive)
		__atomic_store_n(alive, 0, __ATOMIC_SEQ_CST);
}

const void *link_in_plan(uint64_t at)
{
	return (const char *)link_to_xpuprof.plan + at;
}

static int map_control(int fd)
{
	struct stat st;
	struct probe_control *c;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size != PROBE_CONTROL_BYTES)
		return -EPROTO;
	c = mmap(NULL, PROBE_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED)
		return -errno;
	madvise(c, PROBE_CONTROL_BYTES, MADV_DONTFORK);
	link_to_xpuprof.control = c;
	return c->magic == PROBE_MAGIC && c->version == PROBE_VERSION ? 0 : -EPROTO;
}

static int map_plan(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || fstat(fd, &st))
		return -errno;
	if ((seals & PLAN_SEALS) != PLAN_SEALS || st.st_size <= 0 || st.st_size > PROBE_PLAN_MAX)
		return -EPROTO;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	if (!plan_is_sound(p, (size_t)st.st_size)) {
		munmap(p, (size_t)st.st_size);
		return -EPROTO;
	}
	link_to_xpuprof.plan = p;
	return 0;
}

static int receive(int fd, enum probe_gift gift, int (*map)(int))
{
	struct probe_welcome welcome = {0};
	int error = socket_wait(fd, now_ns() + PATIENCE_NS), received;

	if (error)
		return error;
	received = socket_receive_descriptor(fd, &welcome, sizeof(welcome));
	if (received < 0)
		return received;
	error = welcome.magic == PROBE_MAGIC && welcome.version == PROBE_VERSION &&
				welcome.gift == gift
			? map(received)
			: -EPROTO;
	close(received);
	return error;
}

static int shake_hands(int fd)
{
	struct probe_hello hello = {.magic = PROBE_MAGIC,
		.version = PROBE_VERSION,
		.pid = (uint32_t)getpid(),
		.role = link_to_xpuprof.role};
	int error;

	if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
		return -errno;
	error = receive(fd, PROBE_CONTROL, map_control);
	return error ?: receive(fd, PROBE_PLAN, map_plan);
}

static int connect_to(const char *path)
{
	struct own_socket *s = &link_to_xpuprof.socket;
	int fd, error;

	descriptor_make_room();
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	error = socket_adopt(s, fd);
	error = error ?: socket_connect(s->fd, path, now_ns() + PATIENCE_NS);
	error = error ?: shake_hands(s->fd);
	if (error)
		socket_close(s);
	return error;
}

static void begin(void)
{
	const char *path = getenv(PROBE_ENV_SOCKET);
	void *page;

	if (!path || !*path)
		return;
	page = mmap(NULL, PROBE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return;
	if (madvise(page, PROBE_PAGE, MADV_WIPEONFORK) || connect_to(path)) {
		munmap(page, PROBE_PAGE);
		return;
	}
	alive = page;
	*alive = 1;
}

bool link_open(void)
{
	uint32_t state = NOT_BEGUN;

	if (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == NOT_BEGUN)
		__atomic_store_n(&begun_by, getpid(), __ATOMIC_SEQ_CST);
	if (__atomic_compare_exchange_n(
		    &begun, &state, BEGINNING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		begin();
		__atomic_store_n(&begun, BEGUN, __ATOMIC_RELEASE);
		futex_wake(&begun);
	}
	/* Of a child that was forked meanwhile nobody goes on. */
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == BEGINNING) {
		if (__atomic_load_n(&begun_by, __ATOMIC_SEQ_CST) != getpid())
			return false;
		futex_wait(&begun, BEGINNING, 10000000);
	}
	return link_is_alive();
}

bool link_is_lost(void)
{
	static uint32_t changes;
	static uint64_t changed_ns;
	uint32_t now = __atomic_load_n(&link_to_xpuprof.control->changes, __ATOMIC_RELAXED);
	char byte;
	ssize_t n;

	if (!changed_ns || now != changes) {
		changes = now;
		changed_ns = now_ns();
	}
	if (!socket_is_ours(&link_to_xpuprof.socket))
		return now_ns() - changed_ns > SILENCE_NS;
	n = recv(link_to_xpuprof.socket.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Whether there may be room by now. */
static bool wait_for_room(void)
{
	struct pollfd p = {.fd = link_to_xpuprof.socket.fd, .events = POLLOUT};

	return poll(&p, 1, NOTE_WAIT_MS) == 1 && p.revents & POLLOUT;
}

static bool was_sent(const void *message, size_t size)
{
	const struct own_socket *s = &link_to_xpuprof.socket;

	for (int tries = 0; tries < 2 && socket_is_ours(s); tries++) {
		if (send(s->fd, message, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size)
			return true;
		if (errno != EAGAIN || !wait_for_room())
			break;
	}
	return false;
}

void link_send(const void *message, size_t size)
{
	if (!was_sent(message, size))
		__atomic_fetch_add(&link_to_xpuprof.control->notes_lost, 1, __ATOMIC_RELAXED);
}

static int map_memory(int fd)
{
	uint64_t bytes = link_to_xpuprof.plan->shared_bytes;
	struct stat st;
	void *at;

	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size != bytes)
		return -EPROTO;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	madvise(at, bytes, MADV_DONTFORK);
	memory = at;
	return 0;
}

int link_ask_memory(const struct probe_arena *arena, void **ret)
{
	int error = was_sent(arena, sizeof(*arena))
			    ? receive(link_to_xpuprof.socket.fd, PROBE_MEMORY, map_memory)
			    : -ENOTCONN;

	if (!error)
		*ret = memory;
	return error;
}

/* Of a size that is the plan's: what is behind the end of an array cannot be mapped. */
static uint64_t map_bytes;

static int map_shared(int fd)
{
	void *at = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	madvise(at, map_bytes, MADV_DONTFORK);
	memory = at;
	return 0;
}

int link_receive_map(uint64_t bytes, void **ret)
{
	int error;

	map_bytes = bytes;
	error = receive(link_to_xpuprof.socket.fd, PROBE_MAP, map_shared);
	if (!error)
		*ret = memory;
	return error;
}

void link_send_fate(enum probe_fate fate, uint64_t amount, const char *text)
{
	struct probe_image m = {.message = PROBE_IMAGE, .fate = fate, .amount = amount};

	if (text)
		strncpy(m.text, text, sizeof(m.text) - 1);
	link_send(&m, sizeof(m));
}

void link_send_module_fate(enum probe_fate fate, uint64_t amount, uint64_t module)
{
	const struct probe_image m = {
		.message = PROBE_IMAGE, .fate = fate, .amount = amount, .module = module};

	link_send(&m, sizeof(m));
}
