// SPDX-License-Identifier: MIT
/*
 * A program that passes descriptors to its recorder, as if each were an image of GPU code.
 *
 * usage: descriptors WHAT [FILE]
 *
 *	linger  TCP sockets that take an hour to close, as their peers read nothing
 *	flush   FILE, of a file system that never answers whoever closes it
 *	odd     pidfds, epolls in one another, eventfds, timers, pipes, sockets that carry themselves,
 *	        a terminal
 *
 * Says "passed" with how many they were, and "connected" when another connection is welcome then.
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "attack/client.h"

#define SOCKETS	    20
#define ODD	    200
#define LINGER_S    3600
#define PATIENCE_US 1000000
#define CLOSE_US    10000 /* how long closing one holds us up, too */

static int passed;

/* Some kinds (io_uring) the kernel does not let pass. */
static void pass(int socket, int fd)
{
	struct wire_image image = {
		.magic = WIRE_MAGIC, .size = 4096, .checksum = (uint64_t)passed + 1};

	passed += !client_send(socket, &image, sizeof(image), &fd, 1);
}

/* --- sockets that linger ---------------------------------------------------------------------- */

static void do_nothing(int number)
{
	(void)number;
}

/* Whoever is the last to close such a socket waits. Where the recorder was faster than we, or ended
 * the connection, that is this program, until a signal comes. */
static void begin_signals(void)
{
	const struct sigaction action = {.sa_handler = do_nothing};
	const struct itimerval often = {{0, CLOSE_US}, {0, CLOSE_US}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static void end_signals(void)
{
	const struct itimerval never = {0};

	setitimer(ITIMER_REAL, &never, NULL);
}

static int listen_at(struct sockaddr_in *ret)
{
	socklen_t size = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*ret = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(fd, (struct sockaddr *)ret, size) || listen(fd, SOCKETS) ||
		getsockname(fd, (struct sockaddr *)ret, &size))
		err(1, "listen");
	return fd;
}

static void pass_lingering(int socket_to_recorder)
{
	static const char data[1 << 16];
	const struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
	struct sockaddr_in address;

	listen_at(&address);
	begin_signals();
	for (int n = 0; n < SOCKETS; n++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		connect(fd, (struct sockaddr *)&address, sizeof(address));
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
		while (send(fd, data, sizeof(data), MSG_NOSIGNAL) > 0)
			;
		pass(socket_to_recorder, fd);
		close(fd);
	}
	end_signals();
}

/* Our own descriptor stays open: closing it would hold us up, too. */
static void pass_file(int socket, const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		err(1, "%s", path);
	pass(socket, fd);
}

/* --- odd ones --------------------------------------------------------------------------------- */

static int nested_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int outer = epoll_create1(0);

	for (int depth = 0; depth < 3; depth++) {
		int inner = outer;

		outer = epoll_create1(0);
		epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event);
		close(inner);
	}
	return outer;
}

/* Its own end waits in its queue. */
static int socket_in_itself(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		err(1, "socketpair");
	client_send(ends[0], "x", 1, ends, 2);
	close(ends[0]);
	return ends[1];
}

static int pipe_end(void)
{
	int ends[2];

	if (pipe(ends))
		err(1, "pipe");
	close(ends[1]);
	return ends[0];
}

static int io_uring(void)
{
	char params[120] = {0}; /* struct io_uring_params */

	return (int)syscall(SYS_io_uring_setup, 4, params);
}

static int odd(int n)
{
	switch (n % 8) {
	case 0:
		return (int)syscall(SYS_pidfd_open, getpid(), 0);
	case 1:
		return nested_epoll();
	case 2:
		return eventfd(0, 0);
	case 3:
		return timerfd_create(CLOCK_MONOTONIC, 0);
	case 4:
		return socket_in_itself();
	case 5:
		return open("/dev/ptmx", O_RDWR | O_NOCTTY);
	case 6:
		return io_uring();
	default:
		return pipe_end();
	}
}

static void pass_odd(int socket)
{
	for (int n = 0; n < ODD; n++) {
		int fd = odd(n);

		if (fd < 0)
			continue;
		pass(socket, fd);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int socket, again;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!client_ring(client_join(&socket)).control)
		errx(2, "not welcome");
	if (!strcmp(what, "linger"))
		pass_lingering(socket);
	else if (!strcmp(what, "odd"))
		pass_odd(socket);
	else if (!strcmp(what, "flush") && argc > 2)
		pass_file(socket, argv[2]);
	else
		errx(2, "what?");
	printf("passed %d\n", passed);
	if (!fork()) {
		if (client_join(&again) >= 0)
			puts("connected");
		_exit(0);
	}
	usleep(PATIENCE_US);
	_exit(0);
}
