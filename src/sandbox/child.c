// SPDX-License-Identifier: MIT
#include "sandbox/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/proc_text.h"
#include "base/vec.h"
#include "sandbox/confine.h"
#include "sandbox/limits.h"
#include "sandbox/message.h"
#include "sandbox/sandbox.h"

#define PIECE_BYTES  65536
#define REAP_TRIES   50
#define REAP_WAIT_NS 1000000
#define SOON_MS	     1

struct job {
	struct child_request request; /* data and fd are our own */
};

struct child {
	const char *program;
	const char *role;
	int epoll;
	int socket; /* -1: no process */
	pid_t pid;
	struct vec(struct job) queue;
	size_t head;
	bool sent; /* the first of the queue, to the process */
	uint64_t deadline_ns;
	uint64_t cpu_ns;	/* of the process, when it was sent */
	uint64_t not_before_ns; /* when a process may begin */
	unsigned int deaths;	/* in a row */
	struct buf reply;
	int reply_fds[MESSAGE_FDS];
	struct vec(pid_t) dying;
};

struct child *child_new(const char *program, const char *role, int epoll)
{
	struct child *c = calloc(1, sizeof(*c));

	if (c)
		*c = (struct child){.program = program,
			.role = role,
			.epoll = epoll,
			.socket = -1,
			.pid = -1,
			.reply_fds = {-1, -1}};
	return c;
}

static void release_job(struct job *job)
{
	free((void *)job->request.data);
	sandbox_close(job->request.fds);
}

/* --- the process ------------------------------------------------------------------------------ */

/* A process that a file system holds up may not die before that answers. */
static void reap(struct child *c)
{
	size_t kept = 0;

	vec_foreach (pid, &c->dying)
		if (!waitpid(*pid, NULL, WNOHANG))
			c->dying.items[kept++] = *pid;
	c->dying.count = kept;
}

static void forget_reply(struct child *c)
{
	buf_release(&c->reply);
	sandbox_close(c->reply_fds);
}

static void end_process(struct child *c)
{
	if (c->socket < 0)
		return;
	/* Before the end of the socket has it end by itself: where it is confined, a sanitizer that
	 * looks for leaks then complains of that. */
	kill(c->pid, SIGKILL);
	close(c->socket);
	c->socket = -1;
	if (vec_push(&c->dying, c->pid))
		(void)waitpid(c->pid, NULL, WNOHANG);
	c->pid = -1;
	reap(c);
	forget_reply(c);
}

void child_drop(struct child *c)
{
	if (c->sent)
		end_process(c);
	c->sent = false;
	for (size_t i = c->head; i < c->queue.count; i++)
		release_job(&c->queue.items[i]);
	c->head = c->queue.count = 0;
}

void child_free(struct child *c)
{
	const struct timespec moment = {.tv_nsec = REAP_WAIT_NS};

	if (!c)
		return;
	end_process(c);
	for (int i = 0; c->dying.count && i < REAP_TRIES; i++) {
		nanosleep(&moment, NULL);
		reap(c);
	}
	child_drop(c);
	vec_release(&c->queue);
	vec_release(&c->dying);
	free(c);
}

/* One that cannot be ended keeps nothing open that anybody waits for, as for the end of a pipe. */
static int prepare_files(posix_spawn_file_actions_t *actions, int socket)
{
	const int closed = SANITIZED ? STDERR_FILENO : STDERR_FILENO + 1;
	int error = posix_spawn_file_actions_adddup2(actions, socket, SANDBOX_SOCKET);

	for (int fd = 0; !error && fd < closed; fd++)
		error = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
	return error ?: posix_spawn_file_actions_addclosefrom_np(actions, SANDBOX_SOCKET + 1);
}

/* A group of its own: Ctrl-C is for the recorder, which ends it. */
static int prepare_signals(posix_spawnattr_t *attributes)
{
	static const int usual[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD};
	sigset_t none, defaults;
	int error;

	sigemptyset(&none);
	sigemptyset(&defaults);
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		sigaddset(&defaults, usual[i]);
	error = posix_spawnattr_setflags(
		attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	error = error ?: posix_spawnattr_setsigmask(attributes, &none);
	return error ?: posix_spawnattr_setsigdefault(attributes, &defaults);
}

static int spawn(struct child *c, int socket, pid_t *ret_pid)
{
	char *argv[] = {"xpuprof", SANDBOX_COMMAND, (char *)c->role, NULL}, *environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error;

	if (posix_spawn_file_actions_init(&actions))
		return -ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	error = prepare_files(&actions, socket);
	error = error ?: prepare_signals(&attributes);
	error = error ?: posix_spawn(ret_pid, c->program, &actions, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

static int begin_process(struct child *c)
{
	struct epoll_event event = {.events = EPOLLIN};
	int ends[2], error;
	pid_t pid = -1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	error = spawn(c, ends[1], &pid);
	close(ends[1]);
	if (error || fcntl(ends[0], F_SETFL, O_NONBLOCK)) {
		close(ends[0]);
		return error ?: -errno;
	}
	c->socket = ends[0];
	c->pid = pid;
	/* What nobody is told of is found in the next round. */
	if (c->epoll >= 0)
		(void)epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->socket, &event);
	return 0;
}

/* If it cannot begin, the first request says so. */
void child_begin(struct child *c)
{
	if (c->socket < 0)
		(void)begin_process(c);
}

/* --- requests --------------------------------------------------------------------------------- */

bool child_is_busy(const struct child *c)
{
	return c->head < c->queue.count;
}

bool child_has_unsent(const struct child *c)
{
	return child_is_busy(c) && !c->sent;
}

size_t child_backlog(const struct child *c)
{
	return c->queue.count - c->head;
}

pid_t child_pid(const struct child *c)
{
	return c->pid;
}

size_t child_left_behind(const struct child *c)
{
	return c->dying.count;
}

static int copy_request(struct child_request *copy, const struct child_request *r)
{
	int error = 0;

	copy->data = malloc(r->size + 1);
	if (!copy->data)
		return -ENOMEM;
	memcpy((void *)copy->data, r->data ? r->data : "", r->size);
	for (int i = 0; i < MESSAGE_FDS; i++) {
		if (r->fds[i] < 0)
			continue;
		copy->fds[i] = fcntl(r->fds[i], F_DUPFD_CLOEXEC, 0);
		error = copy->fds[i] < 0 ? -errno : error;
	}
	return error;
}

int child_ask(struct child *c, const struct child_request *r)
{
	struct job job = {.request = *r};
	int error;

	if (r->size > REQUEST_BYTES)
		return -E2BIG;
	if (child_backlog(c) >= QUEUE_MAX)
		return -EBUSY;
	for (int i = 0; i < MESSAGE_FDS; i++)
		job.request.fds[i] = -1;
	error = copy_request(&job.request, r);
	error = error ?: vec_push(&c->queue, job);
	if (error)
		release_job(&job);
	return error;
}

/* Those before the head make room, in a queue that may never be empty. */
static void forget_answered(struct child *c)
{
	size_t left = c->queue.count - c->head;

	if (c->head < left)
		return;
	memmove(c->queue.items, c->queue.items + c->head, left * sizeof(*c->queue.items));
	c->queue.count = left;
	c->head = 0;
}

/* The first of the queue is answered. Its callback may ask for more. */
static void complete(struct child *c, struct child_reply *reply)
{
	struct job job = c->queue.items[c->head++];

	c->sent = false;
	forget_answered(c);
	job.request.done(job.request.context, job.request.tag, reply);
	release_job(&job);
	if (reply->fd >= 0)
		close(reply->fd);
}

static void fail(struct child *c, int error)
{
	struct child_reply reply = {.error = error, .unanswered = true, .fd = -1};

	end_process(c);
	if (c->deaths < DEATH_PAUSE_MAX)
		c->deaths++;
	c->not_before_ns = clock_now_ns() + (c->deaths - 1) * DEATH_PAUSE_NS;
	complete(c, &reply);
}

/* The socket of a process that waits for a request has room for one. */
static int send_request(const struct child *c, const struct child_request *r)
{
	return sandbox_send(c->socket, (int)r->kind, r->data, r->size, r->fds);
}

/* One that died since its last answer has never seen the request: another one gets it. */
static int send_once_more(struct child *c, const struct child_request *r)
{
	int error = send_request(c, r);

	if (error != -EPIPE && error != -ECONNRESET)
		return error;
	end_process(c);
	error = begin_process(c);
	return error ?: send_request(c, r);
}

/* Of the process; 0: not known. */
static uint64_t cpu_time_ns(const struct child *c)
{
	struct timespec time;
	clockid_t clock;

	if (c->pid < 0 || clock_getcpuclockid(c->pid, &clock) || clock_gettime(clock, &time))
		return 0;
	return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

/* Begins the first of the queue; false: it is not time yet. */
static bool begin(struct child *c)
{
	const struct child_request *r = &c->queue.items[c->head].request;
	int error = 0;

	if (c->socket < 0) {
		if (clock_now_ns() < c->not_before_ns)
			return false;
		error = begin_process(c);
	}
	error = error ?: send_once_more(c, r);
	c->sent = !error;
	c->deadline_ns = clock_now_ns() + r->limit_ns;
	c->cpu_ns = cpu_time_ns(c);
	if (error)
		fail(c, error);
	return true;
}

/* --- replies ---------------------------------------------------------------------------------- */

/* How much is to be read next: the rest of the header, or of what it announces. */
static size_t missing(const struct child *c)
{
	struct message header;

	if (c->reply.size < sizeof(header))
		return sizeof(header) - c->reply.size;
	memcpy(&header, c->reply.data, sizeof(header));
	return sizeof(header) + header.size - c->reply.size;
}

static bool is_too_large(const struct child *c)
{
	struct message header;

	if (c->reply.size < sizeof(header))
		return false;
	memcpy(&header, c->reply.data, sizeof(header));
	return header.size > REPLY_BYTES;
}

static void hand_over(struct child *c)
{
	struct message header;
	struct buf data = c->reply;
	struct child_reply reply = {.fd = c->reply_fds[0]};

	memcpy(&header, data.data, sizeof(header));
	reply.error = header.code > 0 || header.code < -4095 ? -EPROTO : header.code;
	reply.data = data.data + sizeof(header);
	reply.size = header.size;
	c->reply = BUF_INIT;
	c->reply_fds[0] = -1;
	sandbox_close(c->reply_fds);
	c->deaths = 0;
	complete(c, &reply);
	buf_release(&data);
}

/* Reads what is there. True: the first of the queue is answered, in one way or another. */
static bool receive(struct child *c)
{
	size_t want;
	long got;

	for (;;) {
		want = missing(c);
		if (!want) {
			hand_over(c);
			return true;
		}
		if (is_too_large(c) || !buf_reserve(&c->reply, PIECE_BYTES)) {
			fail(c, -EIO);
			return true;
		}
		got = sandbox_receive_bytes(c->socket, c->reply.data + c->reply.size,
			want < PIECE_BYTES ? want : PIECE_BYTES, c->reply_fds);
		if (got == -EAGAIN)
			return false;
		if (got <= 0) {
			fail(c, -EIO);
			return true;
		}
		c->reply.size += (size_t)got;
	}
}

/* Whether it would run, and had less than its time: then it gets as much again as it lacks. */
static bool gets_no_cpu(struct child *c, uint64_t now_ns)
{
	uint64_t limit_ns = c->queue.items[c->head].request.limit_ns;
	uint64_t used_ns = cpu_time_ns(c) - c->cpu_ns;
	struct proc_stat stat;

	if (used_ns >= limit_ns || !proc_stat_read((uint32_t)c->pid, &stat) || stat.state != 'R')
		return false;
	c->deadline_ns = now_ns + limit_ns - used_ns;
	return true;
}

static bool advance(struct child *c)
{
	uint64_t now_ns;

	if (!c->sent)
		return begin(c);
	if (receive(c))
		return true;
	now_ns = clock_now_ns();
	if (now_ns < c->deadline_ns || gets_no_cpu(c, now_ns))
		return false;
	fail(c, -ETIME);
	return true;
}

void child_pump(struct child *c)
{
	if (c->dying.count)
		reap(c);
	while (child_is_busy(c) && advance(c))
		;
}

static int timeout_ms(const struct child *c, uint64_t until_ns)
{
	uint64_t now = clock_now_ns(), until = until_ns;

	if (!c->sent)
		return SOON_MS;
	if (c->deadline_ns < until)
		until = c->deadline_ns;
	if (until <= now)
		return 0;
	return (int)((until - now + NS_PER_MS - 1) / NS_PER_MS);
}

bool child_wait(struct child *c, const bool *done, uint64_t until_ns)
{
	for (;;) {
		struct pollfd p = {.events = POLLIN};

		child_pump(c);
		if (*done || !child_is_busy(c) || clock_now_ns() >= until_ns)
			return *done;
		p.fd = c->sent ? c->socket : -1;
		(void)poll(&p, 1, timeout_ms(c, until_ns));
	}
}

static void on_hello(void *context, uint64_t tag, struct child_reply *reply)
{
	*(int *)context = reply->error;
}

int child_greet(struct child *c)
{
	int result = -ETIME;
	const struct child_request r = {
		.kind = REQUEST_HELLO,
		.limit_ns = HELLO_LIMIT_NS,
		.fds = {-1, -1},
		.done = on_hello,
		.context = &result,
	};
	const bool never = false;
	int error = child_ask(c, &r);

	if (!error)
		child_wait(c, &never, clock_now_ns() + HELLO_LIMIT_NS);
	return error ?: result;
}
