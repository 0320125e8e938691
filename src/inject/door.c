// SPDX-License-Identifier: MIT
/*
 * Descriptors move to high numbers, and are looked at before they are closed.
 *
 * The loader takes a library for one that it has when the paths are the same, even if that is
 * another file by now. So the path is made another one.
 */
#include "inject/door.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/descriptor.h"
#include "guest/hooks.h"
#include "inject/library.h"
#include "guest/own_page.h"
#include "guest/own_thread.h"

#define LETTER_MS 2000
#define NAMES	  64

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u /* Linux 6.3 */
#endif

typedef void *entry_function(int socket, void *handle);

struct visit {
	struct door_letter letter;
	int socket;
	int library;
	char path[96 + 2 * NAMES];
	void *handle;
	entry_function *entry;
};

static void close_if_same(int fd, const struct stat *was)
{
	struct stat st;

	if (!fstat(fd, &st) && st.st_dev == was->st_dev && st.st_ino == was->st_ino)
		close(fd);
}

/* --- the page --------------------------------------------------------------------------------- */

static int map_page(struct door *d, enum door_owner owner)
{
	struct stat st;
	int error;

	if (ftruncate(d->fd, DOOR_BYTES) || fstat(d->fd, &st))
		return -errno;
	d->dev = st.st_dev;
	d->ino = st.st_ino;
	d->page = mmap(NULL, DOOR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
	if (d->page == MAP_FAILED)
		return -errno;
	/* A child has no thread of ours to write there. */
	madvise(d->page, DOOR_BYTES, MADV_DONTFORK);
	*d->page = (struct door_page){.magic = DOOR_MAGIC,
		.version = DOOR_VERSION,
		.state = DOOR_BUSY,
		.socket = -1,
		.pid = (uint32_t)getpid(),
		.owner = owner};
	error = fcntl(d->fd, F_ADD_SEALS, DOOR_SEALS) ? -errno : 0;
	if (error)
		munmap(d->page, DOOR_BYTES);
	return error;
}

int door_open(struct door *d, enum door_owner owner)
{
	int error;

	descriptor_make_room();
	d->fd = memfd_create(DOOR_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (d->fd < 0 && errno == EINVAL)
		d->fd = memfd_create(DOOR_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (d->fd < 0)
		return -errno;
	d->fd = descriptor_move_high(d->fd);
	prctl(PR_GET_NAME, d->name);
	error = map_page(d, owner);
	if (error)
		close(d->fd);
	return error;
}

void door_close(struct door *d)
{
	struct stat was = {.st_dev = d->dev, .st_ino = d->ino};

	munmap(d->page, DOOR_BYTES);
	close_if_same(d->fd, &was);
}

static bool is_of_program(const void *at)
{
	const struct door_page *page = at;

	return page->magic == DOOR_MAGIC && page->version == DOOR_VERSION &&
	       page->pid == (uint32_t)getpid() && page->owner == DOOR_OF_PROGRAM;
}

struct door_page *door_of_program(void)
{
	return own_page_find("rw-s", DOOR_FILE, DOOR_BYTES, is_of_program);
}

/* --- who comes -------------------------------------------------------------------------------- */

static bool await_message(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, LETTER_MS) == 1;
}

/* The descriptor in it is ours to close, also when it is not to be trusted. */
static bool take_apart(struct msghdr *m, int *ret_fd)
{
	struct ucred sender;
	bool known = false;

	*ret_fd = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
		if (c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&sender, CMSG_DATA(c), sizeof(sender));
		known = socket_may_record(sender.uid);
	}
	return known && *ret_fd >= 0;
}

/* A file that nobody changes any more. */
static bool is_library(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= DOOR_LIBRARY_MAX &&
	       seals >= 0 && (seals & DOOR_LIBRARY_SEALS) == DOOR_LIBRARY_SEALS;
}

static bool receive_letter(struct visit *v)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec part = {&v->letter, sizeof(v->letter)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(v->socket, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (n < 0)
		return false;
	return take_apart(&m, &v->library) && n == sizeof(v->letter) &&
	       v->letter.magic == DOOR_MAGIC && v->letter.version == DOOR_VERSION &&
	       is_library(v->library);
}

/* A pair, of which the number of one end is told. True: a letter has come. */
static bool receive(struct door *d, struct visit *v)
{
	int ends[2], yes = 1, no = 0;
	struct stat st;
	bool letter;

	descriptor_make_room();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	v->socket = descriptor_move_high(ends[0]);
	ends[1] = descriptor_move_high(ends[1]);
	if (fstat(ends[1], &st) ||
		setsockopt(v->socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes))) {
		close(ends[1]);
		return false;
	}
	d->page->socket = ends[1];
	__atomic_fetch_add(&d->page->answers, 1, __ATOMIC_RELEASE);
	letter = await_message(v->socket) && receive_letter(v);
	close_if_same(ends[1], &st);
	return letter && !setsockopt(v->socket, SOL_SOCKET, SO_PASSCRED, &no, sizeof(no));
}

/* --- what is brought -------------------------------------------------------------------------- */

/* True: the path names nothing that is loaded. */
static bool name_library(struct visit *v)
{
	int size = snprintf(
		v->path, sizeof(v->path), "/proc/self/task/%d/fd/", (int)syscall(SYS_gettid));

	for (int n = 0; n < NAMES; n++) {
		void *other;

		snprintf(v->path + size, sizeof(v->path) - (size_t)size, "%d", v->library);
		other = dlopen(v->path, RTLD_LAZY | RTLD_NOLOAD);
		if (!other)
			return true;
		dlclose(other);
		memcpy(v->path + size, "./", 2);
		size += 2;
	}
	return false;
}

/* While nobody forks (hooks.h). */
static void *load(void *context)
{
	struct visit *v = context;

	v->handle = name_library(v) ? dlopen(v->path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (v->handle)
		*(void **)&v->entry = dlsym(v->handle, v->letter.entry);
	return NULL;
}

static int load_library(struct visit *v)
{
	v->letter.entry[sizeof(v->letter.entry) - 1] = '\0';
	hooks_undisturbed(load, v);
	close(v->library);
	v->library = -1;
	if (v->entry)
		return 0;
	if (v->handle)
		dlclose(v->handle);
	return -ELIBACC;
}

static void let_in(struct door *d)
{
	struct visit v = {.socket = -1, .library = -1};
	struct door_reply reply = {.magic = DOOR_MAGIC};

	if (receive(d, &v)) {
		reply.error = load_library(&v);
		(void)!send(v.socket, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (!reply.error) {
			v.entry(v.socket, v.handle);
			return;
		}
	}
	if (v.library >= 0)
		close(v.library);
	if (v.socket >= 0)
		close(v.socket);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* True: woken, not only back. */
static bool wait_for_knock(struct door_page *page, uint64_t timeout_ns)
{
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000ull),
		.tv_nsec = (long)(timeout_ns % 1000000000ull)};

	/* FUTEX_WAIT, shared between processes */
	return !syscall(SYS_futex, &page->knock, 0, 0, timeout_ns ? &timeout : NULL, NULL, 0);
}

bool door_sleep(struct door *d, uint64_t timeout_ns)
{
	bool knocked;

	d->page->tid = (uint32_t)syscall(SYS_gettid);
	prctl(PR_SET_NAME, "xpuprof-idle");
	__atomic_store_n(&d->page->state, DOOR_ASLEEP, __ATOMIC_RELEASE);
	knocked = wait_for_knock(d->page, timeout_ns);
	__atomic_store_n(&d->page->state, DOOR_BUSY, __ATOMIC_RELEASE);
	prctl(PR_SET_NAME, d->name);
	if (knocked)
		let_in(d);
	return knocked;
}

static void *keep_door(void *door)
{
	for (;;)
		(void)door_sleep(door, 0);
	return NULL;
}

/*
 * The descriptor is made in the program's own call: for a moment it has a low number, which a
 * program with one thread never sees that way, and could find taken if our thread made it.
 */
void door_keep(void)
{
	static struct door door;

	if (door_open(&door, DOOR_OF_PROGRAM))
		return;
	if (own_thread_start(keep_door, &door))
		door_close(&door);
}
