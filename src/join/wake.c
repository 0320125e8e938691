// SPDX-License-Identifier: MIT
/*
 * What the page says is only a hint: which thread sleeps there, and under which number its socket
 * is. That the socket is of this program, and not of one that shares the page with it, the kernel
 * says (SO_PEERCRED). A program that lies about the rest is not woken, or is left to load what it
 * was to load.
 *
 * Where the thread has seccomp filters they are looked up, as when a thread is borrowed: for that
 * it is stopped, which is the only one that is.
 */
#include "join/wake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "join/copy.h"
#include "join/filters.h"
#include "join/tracee.h"
#include "wire/door.h"

#define DOORS_MAX   16 /* of a program */
#define ENTRIES_MAX 65536
#define STATUS_MAX  65536
#define ANSWER_NS   NS_PER_SECOND
#define KNOCK_US    200
#define REPLY_MS    10000

struct door {
	uint32_t pid;
	int pidfd;
	volatile struct door_page *page;
	int socket;
};

static int not_there(void)
{
	return error_set(-ENOENT, "it has no library that sleeps");
}

/* --- /proc ------------------------------------------------------------------------------------ */

static int read_status(uint32_t pid, uint32_t tid, struct buf *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, tid);
	return io_read_file(path, STATUS_MAX, ret);
}

/* The last number of a line: of ids, that of the innermost namespace. */
static uint32_t last_number(const struct buf *status, const char *key)
{
	const char *at = strstr(buf_text(status), key), *end;
	uint32_t number = 0;

	if (!at)
		return 0;
	at += strlen(key);
	end = at + strcspn(at, "\n");
	while (at < end) {
		char *next;

		number = (uint32_t)strtoul(at, &next, 10);
		if (next == at)
			break;
		at = next + strspn(next, " \t");
	}
	return number;
}

/* As it counts itself; 0: it is not there, or stands still. */
static uint32_t own_number(uint32_t pid)
{
	struct buf status = BUF_INIT;
	uint32_t number = 0;

	if (!read_status(pid, pid, &status) && !strstr(buf_text(&status), "\nState:\tT") &&
		!strstr(buf_text(&status), "\nState:\tZ"))
		number = last_number(&status, "\nNSpid:\t");
	buf_release(&status);
	return number;
}

/* The thread's seccomp mode, if the program counts it so; -1: it is another. */
static long filtered_as(uint32_t pid, uint32_t tid, uint32_t number)
{
	struct buf status = BUF_INIT;
	long mode = -1;

	if (!read_status(pid, tid, &status) && last_number(&status, "\nNSpid:\t") == number)
		mode = last_number(&status, "\nSeccomp:\t");
	buf_release(&status);
	return mode;
}

/* Calls until it is true, with the numbers that are a folder's entries. */
static bool any_entry(
	const char *path, bool (*holds)(void *context, uint32_t number), void *context)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	bool found = false;

	for (int n = 0; folder && !found && n < ENTRIES_MAX && (entry = readdir(folder)); n++)
		if (entry->d_name[0] != '.')
			found = holds(context, (uint32_t)strtoul(entry->d_name, NULL, 10));
	if (folder)
		closedir(folder);
	return found;
}

/* --- the thread ------------------------------------------------------------------------------- */

struct sleeper {
	uint32_t pid, number, tid;
	long mode;
};

static bool is_sleeper(void *context, uint32_t tid)
{
	struct sleeper *s = context;

	s->tid = tid;
	s->mode = filtered_as(s->pid, tid, s->number);
	return s->mode >= 0;
}

static int check_filters(uint32_t tid)
{
	static struct tracee tracee;
	int error = tracee_stop(&tracee, (pid_t)tid);

	if (error)
		return error;
	error = filters_check((pid_t)tid, true);
	tracee_go(&tracee);
	return error;
}

static int check_sleeper(const struct door *d)
{
	struct sleeper s = {.pid = d->pid, .number = d->page->tid};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task", d->pid);
	if (!any_entry(path, is_sleeper, &s))
		return not_there();
	return s.mode ? check_filters(s.tid) : 0;
}

/* --- the door --------------------------------------------------------------------------------- */

static bool is_door(uint32_t pid, uint32_t number)
{
	static const char name[] = "/memfd:" DOOR_FILE " ";
	char path[64], target[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, number);
	size = readlink(path, target, sizeof(target));
	return size >= (ssize_t)sizeof(name) - 1 && !memcmp(target, name, sizeof(name) - 1);
}

/* A file that can be mapped, and stays as long as it is. */
static bool is_sound(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && !st.st_nlink && st.st_size == DOOR_BYTES &&
	       seals >= 0 && (seals & DOOR_SEALS) == DOOR_SEALS;
}

/* False also where someone else is inside. */
static bool is_asleep(const struct door *d, uint32_t number, uint32_t owner)
{
	return (!owner || d->page->owner == owner) && d->page->magic == DOOR_MAGIC &&
	       d->page->version == DOOR_VERSION && d->page->state == DOOR_ASLEEP &&
	       d->page->pid == number;
}

/* False: this is none that will open. */
static bool map_door(struct door *d, uint32_t number)
{
	int fd = (int)syscall(SYS_pidfd_getfd, d->pidfd, number, 0);

	if (fd < 0)
		return false;
	d->page = is_sound(fd) ? mmap(NULL, DOOR_BYTES, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	close(fd);
	if (d->page == MAP_FAILED)
		d->page = NULL;
	return d->page;
}

static void unmap_door(struct door *d)
{
	if (d->page)
		munmap((void *)(uintptr_t)d->page, DOOR_BYTES);
	d->page = NULL;
}

/* Taken from where it was told to be, and of this program by what the kernel says. */
static int take_socket(struct door *d)
{
	int domain = 0, type = 0;
	socklen_t size = sizeof(int), peer_size = sizeof(struct ucred);
	struct ucred peer = {0};
	int32_t number = d->page->socket;
	int fd = number < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, d->pidfd, number, 0);

	if (fd < 0)
		return error_errno(-errno, "it offers no descriptor");
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) || domain != AF_UNIX ||
		getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) ||
		(uint32_t)peer.pid != d->pid) {
		close(fd);
		return error_set(-EPROTO, "it offers another descriptor than it should");
	}
	d->socket = fd;
	return 0;
}

static int knock(struct door *d)
{
	uint32_t before = d->page->answers;
	uint64_t deadline_ns = clock_now_ns() + ANSWER_NS;

	while (d->page->answers == before) {
		if (clock_now_ns() > deadline_ns)
			return error_set(-ETIMEDOUT, "nobody opens");
		/* again: it may have been about to sleep */
		if (d->page->state == DOOR_ASLEEP)
			syscall(SYS_futex, &d->page->knock, FUTEX_WAKE, 1, NULL, NULL, 0);
		usleep(KNOCK_US);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return take_socket(d);
}

/* --- the letter ------------------------------------------------------------------------------- */

static int send_letter(const struct door *d, const struct join_options *options, int library)
{
	struct door_letter letter = {.magic = DOOR_MAGIC, .version = DOOR_VERSION};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {&letter, sizeof(letter)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	snprintf(letter.entry, sizeof(letter.entry), "%s", options->entry);
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &library, sizeof(int));
	if (sendmsg(d->socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(letter))
		return error_errno(-errno, "it takes no library");
	return 0;
}

static int await_reply(const struct door *d)
{
	struct pollfd p = {.fd = d->socket, .events = POLLIN};
	struct door_reply reply;

	if (poll(&p, 1, REPLY_MS) != 1 ||
		recv(d->socket, &reply, sizeof(reply), MSG_DONTWAIT) != sizeof(reply) ||
		reply.magic != DOOR_MAGIC)
		return error_set(-EPROTO, "it does not load the library");
	return reply.error ? error_set(-ELIBACC, "its loader refuses the library") : 0;
}

static int bring(const struct door *d, const struct join_options *options, uint64_t *ret_copy)
{
	int library, error = copy_make(options->library, &library);

	if (error)
		return error;
	*ret_copy = copy_number(library);
	error = send_letter(d, options, library);
	close(library);
	return error ?: await_reply(d);
}

/* --- all of it -------------------------------------------------------------------------------- */

struct search {
	struct door door;
	uint32_t owner;	 /* of the door; 0: any */
	uint32_t number; /* of the program, as it counts */
	int tried;
};

static bool finds_asleep(void *context, uint32_t number)
{
	struct search *s = context;

	if (s->tried == DOORS_MAX || !is_door(s->door.pid, number))
		return false;
	s->tried++;
	if (map_door(&s->door, number) && is_asleep(&s->door, s->number, s->owner))
		return true;
	unmap_door(&s->door);
	return false;
}

static int find_door(struct search *s)
{
	char path[64];

	s->door.pidfd = (int)syscall(SYS_pidfd_open, s->door.pid, 0);
	if (s->door.pidfd < 0)
		return not_there();
	snprintf(path, sizeof(path), "/proc/%u/fd", s->door.pid);
	s->number = own_number(s->door.pid);
	return s->number && any_entry(path, finds_asleep, s) ? 0 : not_there();
}

static void leave_door(struct search *s)
{
	unmap_door(&s->door);
	if (s->door.pidfd >= 0)
		close(s->door.pidfd);
}

int wake(const struct join_options *options, struct join_result *ret)
{
	struct search s = {.door = {.pid = options->pid, .socket = -1}};
	int error = find_door(&s);

	error = error ?: check_sleeper(&s.door);
	error = error ?: knock(&s.door);
	error = error ?: bring(&s.door, options, &ret->copy);
	if (error && s.door.socket >= 0)
		close(s.door.socket);
	if (!error)
		ret->socket = s.door.socket;
	ret->woken = !error;
	leave_door(&s);
	return error;
}

bool wake_finds_copy(uint32_t pid)
{
	struct search s = {.door = {.pid = pid, .socket = -1}, .owner = DOOR_OF_COPY};
	bool found = !find_door(&s);

	leave_door(&s);
	return found;
}
