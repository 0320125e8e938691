// SPDX-License-Identifier: MIT
/*
 * The course, where no library sleeps in the program that only has to be woken (wake.h):
 *
 *	facts       what the program is, where its code has room (subject.h); nothing is changed yet
 *	borrow      a thread is stopped, the code is written, and the thread sent there; from here on
 *	            nobody has to do anything for it
 *	put back    if it comes to wait for a lock, which it may hold itself, it is sent home instead,
 *	            and another is borrowed
 *	fill        the thread that it made offers one end of a socket and a file in memory, which gets
 *	            the library; it is scheduled as others are
 *	loaded      the library is there: the result goes to the recorder
 *	clean       the code is taken out again
 *
 * The program's side is bounded in time as well: without us the thread that was made gives up and
 * ends.
 */
#include "join/joiner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/printable.h"
#include "join/copy.h"
#include "join/filters.h"
#include "join/reach.h"
#include "join/schedule.h"
#include "join/stub.h"
#include "join/subject.h"
#include "join/threads.h"
#include "join/wake.h"

#define MAKE_NS	   (10 * NS_PER_SECOND) /* with one thread after another */
#define POLL_US	   50
#define LOCK_NS	   (10 * NS_PER_SECOND)
#define BEGIN_NS   (2 * NS_PER_SECOND) /* until the borrowed thread is back */
#define STUCK_NS   NS_PER_MS	       /* it waits so long for a lock: it is put back */
#define SPIN_NS	   (100 * NS_PER_MS)   /* it has run so long to no end: for a lock, too */
#define LOAD_NS	   (10 * NS_PER_SECOND)
#define EARLIER_NS (15 * NS_PER_SECOND) /* the program's side gives up in less */
#define LEAVE_NS   (2 * NS_PER_SECOND)
#define NEW_NS	   (2 * NS_PER_SECOND) /* of a thread that was made, to offer its socket */
#define NOT_MADE   "a thread cannot be made in it (a limit of threads, or of memory)"

struct course {
	const struct join_options *options;
	int channel; /* to the recorder */
	struct subject *subject;
	int lock; /* other joiners wait for it */
	uint64_t cave, region;
	bool written;	/* our code is in the cave */
	bool abandoned; /* a thread may be stopped for us, and is let go by our end */
	struct tracee borrowed;
	struct user_regs_struct way_back;
	struct join_result result; /* socket -1: not taken yet */
};

static bool read_region(const struct course *c, struct stub_region *ret)
{
	return subject_read(c->subject, c->region, ret, sizeof(*ret)) == sizeof(*ret);
}

static bool write_word(const struct course *c, size_t offset, uint32_t value)
{
	return subject_write(c->subject, c->region + offset, &value, sizeof(value));
}

/* When the recorder has ended nobody wants the library: what has not begun is left. */
static int refuse_if_alone(const struct course *c)
{
	struct pollfd p = {.fd = c->channel};

	return poll(&p, 1, 0) == 1 ? error_set(-EPIPE, "the recorder has ended") : 0;
}

/* --- facts ------------------------------------------------------------------------------------ */

/* The kernel's lock on a file of the process that all recorders see alike, and nobody who may not
 * trace it: for whom it cannot be opened the next step has the words. */
static int take_lock(struct course *c)
{
	uint64_t deadline_ns = clock_now_ns() + LOCK_NS;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/mem", c->options->pid);
	c->lock = open(path, O_RDONLY | O_CLOEXEC);
	while (c->lock >= 0 && flock(c->lock, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_errno(-errno, "cannot keep other recorders away");
		if (clock_now_ns() > deadline_ns)
			return error_set(-EBUSY, "another recorder is joining it");
		usleep(1000);
	}
	return refuse_if_alone(c);
}

/* Left there by a joiner that was killed; whoever ran it has ended soon after. */
static bool is_our_code(const uint8_t *bytes, size_t size)
{
	return size >= STUB_BYTES && !memcmp(bytes, stub_begin, (size_t)(stub_data - stub_begin));
}

static int find_room(struct course *c)
{
	c->cave = subject_find_cave(c->subject, STUB_BYTES, is_our_code);
	c->region = subject_find_place(c->subject, REGION_BYTES);
	if (!c->cave)
		return error_set(
			-ENOSPC, "none of its code has %zu unused bytes at its end", STUB_BYTES);
	return c->region ? 0 : error_set(-ENOSPC, "its address space is full");
}

static bool settle(const struct course *c, bool all)
{
	struct code_range code = {c->cave, STUB_BYTES};

	return threads_settle(c->subject, c->options->pid, c->borrowed.tid, all, &code);
}

/* Whether somebody is in the region of an earlier joiner. */
static bool is_alive(const struct course *c, uint64_t region)
{
	char mark[sizeof(((struct stub_region *)NULL)->alive)];

	return subject_read(c->subject, region + REGION_ALIVE, mark, sizeof(mark)) ==
		       sizeof(mark) &&
	       !memcmp(mark, STUB_MAGIC_TEXT, sizeof(mark));
}

/* A thread that an earlier joiner has left may still need the code that is there, for seconds. */
static int await_earlier(const struct course *c)
{
	uint64_t deadline_ns = clock_now_ns() + EARLIER_NS;
	uint8_t code[STUB_BYTES];
	struct stub_data old;

	if (subject_read(c->subject, c->cave, code, sizeof(code)) != (ssize_t)sizeof(code))
		return error_set(-EIO, "cannot read its code");
	if (!is_our_code(code, sizeof(code)))
		return 0;
	memcpy(&old, code + (stub_data - stub_begin), sizeof(old));
	while (!settle(c, true) || is_alive(c, old.region))
		if (clock_now_ns() > deadline_ns)
			return error_set(
				-EBUSY, "a thread of it is still busy with an earlier recorder");
		else
			usleep(1000);
	return 0;
}

/* --- borrow ----------------------------------------------------------------------------------- */

static void fill_registers(uint64_t *to, const struct user_regs_struct *r)
{
	to[STUB_RAX] = r->rax;
	to[STUB_RCX] = r->rcx;
	to[STUB_RDX] = r->rdx;
	to[STUB_RBX] = r->rbx;
	to[STUB_RSI] = r->rsi;
	to[STUB_RDI] = r->rdi;
	to[STUB_RBP] = r->rbp;
	to[STUB_RSP] = r->rsp;
	to[STUB_R8] = r->r8;
	to[STUB_R8 + 1] = r->r9;
	to[STUB_R8 + 2] = r->r10;
	to[STUB_R8 + 3] = r->r11;
	to[STUB_R8 + 4] = r->r12;
	to[STUB_R8 + 5] = r->r13;
	to[STUB_R8 + 6] = r->r14;
	to[STUB_R15] = r->r15;
	to[STUB_RIP] = r->rip;
	to[STUB_FLAGS] = r->eflags;
}

static void make_code(const struct course *c, uint8_t *ret)
{
	const struct subject_functions *f = subject_functions(c->subject);
	struct stub_data data = {.magic = STUB_MAGIC_TEXT,
		.region = c->region,
		.pthread_create = f->pthread_create,
		.pthread_self = f->pthread_self,
		.pthread_detach = f->pthread_detach,
		.dlopen = f->dlopen,
		.dlsym = f->dlsym,
		.dlerror = f->dlerror,
		.pthread_join = f->pthread_join,
		.pthread_attr_init = f->pthread_attr_init,
		.pthread_attr_setstack = f->pthread_attr_setstack,
		.mask = c->borrowed.mask};

	fill_registers(data.registers, &c->way_back);
	memcpy(ret, stub_begin, STUB_BYTES);
	memcpy(ret + (stub_data - stub_begin), &data, sizeof(data));
}

/* What is written is read again through the thread: it is the thread's memory, and not that of a
 * program that its process ran before. */
static int write_code(struct course *c)
{
	uint8_t code[STUB_BYTES], there[STUB_BYTES];
	int error = 0;

	make_code(c, code);
	if (!subject_write(c->subject, c->cave, code, sizeof(code)))
		error = tracee_write(&c->borrowed, c->cave, code, sizeof(code));
	c->written = true;
	error = error ?: tracee_read(&c->borrowed, c->cave, there, sizeof(there));
	if (!error && memcmp(code, there, sizeof(code)))
		error = error_set(-ESRCH, "it began another program");
	return error;
}

static void erase_code(struct course *c)
{
	static const uint8_t zeros[4096];

	if (c->written && subject_write(c->subject, c->cave, zeros, STUB_BYTES))
		c->written = false;
}

static bool is_filtered(uint32_t pid, pid_t tid)
{
	struct buf status = BUF_INIT;
	char path[64];
	const char *at;
	bool filtered = true;

	snprintf(path, sizeof(path), "/proc/%u/task/%d/status", pid, (int)tid);
	if (!io_read_file(path, 65536, &status)) {
		at = strstr(buf_text(&status), "\nSeccomp:");
		filtered = at && strtol(at + strlen("\nSeccomp:"), NULL, 10) > 0;
	}
	buf_release(&status);
	return filtered;
}

/* The signals are blocked last: killed before, we leave nothing blocked. */
static int send_to(struct course *c, uint64_t offset)
{
	struct user_regs_struct r = c->way_back;
	int error;

	r.rip = c->cave + offset;
	r.orig_rax = (unsigned long long)-1;
	error = tracee_set_registers(&c->borrowed, &r);
	return error ?: tracee_set_mask(&c->borrowed, UINT64_MAX);
}

static int borrow(struct course *c)
{
	uint32_t pid = c->options->pid;
	int error = threads_borrow(c->subject, pid, &c->borrowed);

	if (error)
		return error;
	if (is_filtered(pid, c->borrowed.tid))
		error = filters_check(c->borrowed.tid, false);
	c->way_back = threads_way_back(&c->borrowed);
	error = error ?: write_code(c);
	error = error ?: send_to(c, (uint64_t)(stub_enter - stub_begin));
	if (error)
		(void)tracee_set_registers(&c->borrowed, &c->borrowed.registers);
	tracee_go(&c->borrowed);
	return error;
}

/* --- put back --------------------------------------------------------------------------------- */

/* pthread_create sleeps for nothing else. */
static bool is_wait_for_lock(long call)
{
	return call == SYS_futex || call == SYS_nanosleep || call == SYS_clock_nanosleep;
}

/* 1: it is on its way home, without having made a thread; 0: it is not to be put back; or -errno.
 */
static int put_back(struct course *c, bool spins)
{
	struct stub_region region;
	struct tracee now;
	int error = tracee_stop(&now, c->borrowed.tid);
	bool stuck;

	if (error == -ESRCH || error == -EAGAIN)
		return 0;
	c->abandoned = error == -ETIMEDOUT;
	if (error)
		return error;
	stuck = (spins || is_wait_for_lock((long)now.registers.orig_rax)) &&
		read_region(c, &region) && is_alive(c, c->region) && !region.made && !region.thread;
	if (stuck) {
		error = tracee_set_xstate(&c->borrowed);
		error = error ?: tracee_set_shadow_stack(&c->borrowed);
		error = error ?: send_to(c, (uint64_t)(stub_abandon - stub_begin));
	}
	tracee_go(&now);
	return error ?: stuck;
}

/* Whether the region has gone, which the program unmaps. */
static bool await_unmapped(const struct course *c)
{
	uint64_t deadline_ns = clock_now_ns() + LEAVE_NS;
	char byte;

	while (subject_read(c->subject, c->region, &byte, 1) == 1) {
		if (clock_now_ns() > deadline_ns)
			return false;
		usleep(POLL_US);
	}
	return true;
}

static int await_put_back(const struct course *c)
{
	return await_unmapped(c) && settle(c, false)
		       ? -EAGAIN
		       : error_set(-EIO, "a borrowed thread has not come back");
}

struct patience {
	uint64_t begin_ns, stuck_ns, ran_ns;
	bool mapped;
};

/* 0: it has made a thread; 1: nothing is known yet; or -errno. */
static int look_whether_made(const struct course *c, struct patience *p)
{
	struct stub_region region = {0};

	if (read_region(c, &region)) {
		p->mapped = true;
		return region.made == STUB_MADE ? 0
		       : region.made		? error_set(-ENOMEM, NOT_MADE)
						: 1;
	}
	return p->mapped ? error_set(-ENOMEM, NOT_MADE) : 1;
}

/* 0: the thread is back, and another was made; -EAGAIN: it was put back; or another -errno. */
static int await_back(struct course *c)
{
	uint32_t pid = c->options->pid;
	pid_t tid = c->borrowed.tid;
	struct patience p = {.begin_ns = clock_now_ns(), .ran_ns = threads_time_run(pid, tid)};

	while (clock_now_ns() - p.begin_ns < BEGIN_NS) {
		bool spins;
		int made, put;

		usleep(POLL_US);
		made = look_whether_made(c, &p);
		if (made <= 0)
			return made;
		spins = threads_time_run(pid, tid) - p.ran_ns > SPIN_NS;
		if (is_wait_for_lock(threads_call(pid, tid)))
			p.stuck_ns = p.stuck_ns ? p.stuck_ns : clock_now_ns();
		else
			p.stuck_ns = 0;
		if (!spins && (!p.stuck_ns || clock_now_ns() - p.stuck_ns < STUCK_NS))
			continue;
		put = put_back(c, spins);
		if (put)
			return put < 0 ? put : await_put_back(c);
		p.stuck_ns = 0;
	}
	return error_set(-ETIMEDOUT, "a thread of it has not got around to it");
}

/* Where it may: on a busy machine a thread would stand still for as long as we wait for a CPU. Not
 * earlier, for the processes that read the program's files. */
static void hurry(void)
{
	(void)setpriority(PRIO_PROCESS, 0, -20);
}

static int make_thread(struct course *c)
{
	uint64_t deadline_ns = clock_now_ns() + MAKE_NS;
	int error = -EAGAIN;

	hurry();
	while (error == -EAGAIN && clock_now_ns() < deadline_ns) {
		error = refuse_if_alone(c);
		error = error ?: borrow(c);
		error = error ?: await_back(c);
	}
	return error == -EAGAIN ? error_set(-EAGAIN, "its threads hold locks all the time") : error;
}

/* --- fill ------------------------------------------------------------------------------------- */

/* Waits for a state from `least` on. */
static int await_state(
	const struct course *c, uint32_t least, uint64_t patience_ns, struct stub_region *ret)
{
	uint64_t deadline_ns = clock_now_ns() + patience_ns;

	while (clock_now_ns() < deadline_ns) {
		if (!read_region(c, ret))
			return error_set(-ESRCH, "it made no thread, or has ended");
		if (ret->state >= least)
			return 0;
		usleep(POLL_US);
	}
	return error_set(-ETIMEDOUT, "it does not load the library: its loader may be held up");
}

static int take_descriptor(const struct course *c, int32_t number)
{
	int fd = number < 0 ? -1
			    : (int)syscall(SYS_pidfd_getfd, subject_pidfd(c->subject), number, 0);

	return fd < 0 ? error_errno(number < 0 ? -EMFILE : -errno, "it offers no descriptor") : fd;
}

static int take_socket(struct course *c, int32_t number)
{
	int domain = 0, type = 0, fd = take_descriptor(c, number);
	socklen_t size = sizeof(int);

	if (fd < 0)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) || domain != AF_UNIX ||
		getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET) {
		close(fd);
		return error_set(-EPROTO, "it offers another descriptor than it should");
	}
	c->result.socket = fd;
	return 0;
}

/* A new file in memory, and nothing else that it has open. */
static bool is_empty_memory(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && !st.st_nlink && !st.st_size &&
	       fcntl(fd, F_GET_SEALS) >= 0;
}

static int fill_file(struct course *c, int32_t number)
{
	int fd = take_descriptor(c, number), error;

	if (fd < 0)
		return fd;
	error = is_empty_memory(fd)
			? copy_library(c->options->library, fd)
			: error_set(-EPROTO, "it offers another descriptor than it should");
	c->result.copy = copy_number(fd);
	close(fd);
	return error;
}

/* The loader takes a library that is still there for a new one of the same name: the thread's id
 * makes it another. */
static int say_what_to_load(const struct course *c, const struct stub_region *region)
{
	struct stub_region told = {0};

	snprintf(told.path, sizeof(told.path), "/proc/self/task/%d/fd/%d", region->tid,
		region->memfd);
	snprintf(told.entry, sizeof(told.entry), "%s", c->options->entry);
	if (subject_write(c->subject, c->region + REGION_PATH, told.path,
		    sizeof(told.path) + sizeof(told.entry)) &&
		write_word(c, REGION_FILLED, STUB_GO))
		return 0;
	return error_set(-ESRCH, "it has ended");
}

/* What its loader says, as far as it can be read. */
static int refuse_by_loader(const struct course *c, const struct stub_region *region)
{
	char text[256] = "";
	struct buf shown = BUF_INIT;
	ssize_t size = region->message
			       ? subject_read(c->subject, region->message, text, sizeof(text) - 1)
			       : 0;

	text[size > 0 ? size : 0] = '\0';
	printable_puts(&shown, text);
	error_set(-ELIBACC, "its loader refuses the library: %s", buf_text(&shown));
	buf_release(&shown);
	return -ELIBACC;
}

/* It has tried to make a pair of sockets, and then the file. */
static int refuse_by_kernel(const struct stub_region *region)
{
	if (region->memfd == -EACCES)
		return reach_refuse_memory();
	return error_set(-EMFILE, "it can open no more descriptors, or has no memory");
}

static int load(struct course *c)
{
	struct stub_region region;
	int error = await_state(c, STUB_READY, NEW_NS, &region);

	if (!error && region.state == STUB_FAILED)
		error = refuse_by_kernel(&region);
	error = error ?: take_socket(c, region.sockets[1]);
	error = error ?: fill_file(c, region.memfd);
	if (!error)
		schedule_thread(c->options->pid, region.tid);
	error = error ?: refuse_if_alone(c);
	error = error ?: say_what_to_load(c, &region);
	if (error) {
		(void)write_word(c, REGION_FILLED, STUB_GIVE_UP);
		return error;
	}
	error = await_state(c, STUB_LOADED, LOAD_NS, &region);
	return !error && region.state == STUB_FAILED ? refuse_by_loader(c, &region) : error;
}

/* --- result ----------------------------------------------------------------------------------- */

static void send_result(int channel, int error, const struct join_result *how)
{
	struct joiner_result result = {.error = error, .woken = how->woken, .copy = how->copy};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {&result, sizeof(result)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	if (error) {
		snprintf(result.text, sizeof(result.text), "%s", error_text());
	} else {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &how->socket, sizeof(int));
	}
	(void)sendmsg(channel, &m, MSG_NOSIGNAL);
}

/* The code goes when nobody runs it any more: the thread that was made has let go of the region as
 * the last it does there. Where a thread is not seen to have left it stays. */
static void clean(struct course *c)
{
	if (c->written && !c->abandoned) {
		(void)write_word(c, REGION_ACK, 1);
		if (await_unmapped(c) && settle(c, true))
			erase_code(c);
	}
	subject_close(c->subject);
	if (c->lock >= 0)
		close(c->lock);
	if (c->result.socket >= 0)
		close(c->result.socket);
}

static int join_by_force(struct course *c)
{
	int error = subject_open(&c->subject, c->options->pid, c->options->sandbox);

	error = error ?: find_room(c);
	error = error ?: await_earlier(c);
	error = error ?: make_thread(c);
	return error ?: load(c);
}

void joiner_run(int channel, const struct join_options *options)
{
	struct course c = {
		.options = options, .channel = channel, .lock = -1, .result = {.socket = -1}};
	int error = take_lock(&c);

	if (!error && wake(options, &c.result))
		error = join_by_force(&c);
	send_result(channel, error, &c.result);
	clean(&c);
}
