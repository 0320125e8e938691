// SPDX-License-Identifier: MIT
/* Messages that carry descriptors: memory arrives, nothing else does, and what is slow to close
 * holds nobody up for longer than once. This program is executed to receive them, as xpuprof is;
 * it takes longer to begin than a message may. */
#include "gpu/injected/descriptors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "attack/client.h"
#include "gpu/injected/instance.h"
#include "profile/writer.h"
#include "sandbox/child.h"
#include "sandbox/sandbox.h"
#include "tap.h"

/* A connection between a program, which has `theirs`, and a recorder. */
struct rig {
	struct gpu_shared shared;
	struct injected injected;
	struct instance instance;
	int theirs;
};

static struct profile_writer *writer;

static void set_up(struct rig *r)
{
	int ends[2];

	*r = (struct rig){.shared.writer = writer};
	r->injected.shared = &r->shared;
	r->injected.messages_left = MESSAGES_AT_ONCE;
	r->injected.epoll = epoll_create1(EPOLL_CLOEXEC);
	r->injected.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK(!descriptors_open(&r->injected, "/proc/self/exe"));
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	CHECK(!setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)));
	r->instance.injected = &r->injected;
	r->instance.fd = ends[0];
	r->theirs = ends[1];
}

static void tear_down(struct rig *r)
{
	if (r->instance.fd >= 0)
		descriptors_close(&r->injected, r->instance.fd);
	child_free(r->injected.receiver);
	close(r->injected.epoll);
	close(r->injected.listener);
	close(r->theirs);
}

static ssize_t receive(struct rig *r, int *ret_fd)
{
	char message[16];

	return descriptors_receive(&r->instance, message, sizeof(message), ret_fd);
}

static void memory_arrives_and_nothing_else(void)
{
	int memory = memfd_create("memory", MFD_CLOEXEC), ends[2], fd;
	struct rig r;

	set_up(&r);
	CHECK(!pipe2(ends, O_CLOEXEC));
	CHECK(!client_send(r.theirs, "memory", 6, &memory, 1));
	CHECK(!client_send(r.theirs, "pipe", 4, ends, 1));
	CHECK(send(r.theirs, "plain", 5, 0) == 5);
	CHECK(receive(&r, &fd) == 6 && fcntl(fd, F_GET_SEALS) >= 0);
	close(fd);
	CHECK(receive(&r, &fd) == 4 && fd < 0);
	CHECK(receive(&r, &fd) == 5 && fd < 0);
	CHECK(receive(&r, &fd) < 0 && errno == EAGAIN);
	close(memory);
	close(ends[0]);
	close(ends[1]);
	tear_down(&r);
}

/* A connection that is full, as nobody reads its other end, and takes an hour to close. */
static int lingering(void)
{
	static const char data[1 << 16];
	const struct linger linger = {.l_onoff = 1, .l_linger = 3600};
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	CHECK(!bind(listener, (struct sockaddr *)&address, size) && !listen(listener, 1));
	CHECK(!getsockname(listener, (struct sockaddr *)&address, &size));
	connect(fd, (struct sockaddr *)&address, size);
	CHECK(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	while (send(fd, data, sizeof(data), MSG_NOSIGNAL) > 0)
		;
	return fd; /* the listener stays open, for as long as this program runs */
}

static void who_holds_up_what_receives_does_so_once(void)
{
	int slow = lingering(), ours, fd;
	struct rig r;
	char byte;

	set_up(&r);
	ours = r.instance.fd;
	CHECK(!client_send(r.theirs, "first", 5, &slow, 1));
	CHECK(!client_send(r.theirs, "second", 6, &slow, 1));
	close(slow); /* what waits in the queue is the last */
	CHECK(receive(&r, &fd) == 5 && fd < 0);
	CHECK(receive(&r, &fd) == 0 && fd < 0 && r.injected.held_up == 1);
	CHECK(r.instance.fd < 0 && r.injected.unclosed == 1);
	CHECK(recv(r.theirs, &byte, sizeof(byte), MSG_DONTWAIT) ==
		0);			  /* the connection has ended ... */
	CHECK(fcntl(ours, F_GETFD) >= 0); /* ... but is not closed */
	close(ours);
	tear_down(&r);
}

static void one_that_is_closed_carries_nothing_or_stays_open(void)
{
	int memory = memfd_create("memory", MFD_CLOEXEC), slow = lingering(), ours;
	struct rig r;

	set_up(&r);
	ours = r.instance.fd;
	CHECK(!client_send(r.theirs, "memory", 6, &memory, 1));
	descriptors_close(&r.injected, ours);
	CHECK(fcntl(ours, F_GETFD) < 0 && !r.injected.unclosed);
	close(r.theirs);
	child_free(r.injected.receiver);

	set_up(&r);
	ours = r.instance.fd;
	CHECK(!client_send(r.theirs, "slow", 4, &slow, 1));
	close(slow);
	descriptors_close(&r.injected, ours);
	CHECK(fcntl(ours, F_GETFD) >= 0 && r.injected.unclosed == 1);
	r.instance.fd = -1;
	close(ours);
	close(memory);
	tear_down(&r);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], SANDBOX_COMMAND)) {
		nanosleep(&(struct timespec){.tv_nsec = 2 * PASSED_LIMIT_NS}, NULL);
		return sandbox_run(argv[2]);
	}
	if (profile_writer_open(&writer, "/dev/null"))
		return 1;
	RUN(memory_arrives_and_nothing_else);
	RUN(who_holds_up_what_receives_does_so_once);
	RUN(one_that_is_closed_carries_nothing_or_stays_open);
	profile_writer_abort(writer);
	return tap_end();
}
