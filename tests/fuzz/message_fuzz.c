// SPDX-License-Identifier: MIT
/*
 * What libraries send over their socket, against a program that sends anything at all: hellos,
 * images of GPU code and their memfds, several descriptors or none, messages of any size. Whatever
 * comes, no descriptor stays open but that of the socket, and images are kept only whole.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "fuzz.h"
#include "gpu/injected/instance.h"
#include "gpu/nvidia/tracer.h"
#include "gpucode/kept_images.h"

#define RUNS_EACH    256 /* with one profile; its tables would else grow for ever */
#define STEPS_MAX    32
#define FDS_MAX	     6
#define BUDGET_BYTES (64 << 10)

static struct gpu_shared shared;
static struct injected session;
static unsigned int runs;

static int ignore_end(void *context, uint32_t instance)
{
	return 0;
}

static void open_session(void)
{
	shared = (struct gpu_shared){.events = {.instance_end = ignore_end}};
	session = (struct injected){.apis = injected_apis,
		.shared = &shared,
		.options.images = kept_images_new(BUDGET_BYTES)};
	require(session.options.images && !profile_writer_open(&shared.writer, "/dev/null") &&
		!tasks_new(&shared.tasks, shared.writer));
}

static void close_session(void)
{
	tasks_free(shared.tasks);
	profile_writer_abort(shared.writer);
	kept_images_free(session.options.images);
	map_release(&session.connected);
	map_release(&session.by_number);
}

/* As many descriptors are open below it. */
static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

/* A descriptor to send: something or other, sealed or not. */
static int make_descriptor(struct bytes *b)
{
	static const int seals[] = {
		0, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE};
	int fd;

	if (take(b, 4) == 0)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	require(fd >= 0 && !ftruncate(fd, (off_t)take(b, 256) << take(b, 12)));
	fcntl(fd, F_ADD_SEALS, seals[take(b, 3)]);
	return fd;
}

static void send_it(int socket, const void *data, size_t size, struct bytes *b)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)(uintptr_t)data, size};
	size_t count = take(b, FDS_MAX + 1);
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	int fds[FDS_MAX];

	for (size_t n = 0; n < count; n++)
		fds[n] = make_descriptor(b);
	if (count) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	(void)!sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	for (size_t n = 0; n < count; n++)
		close(fds[n]);
}

static void send_image(int socket, struct bytes *b)
{
	struct wire_image image = {.magic = WIRE_MAGIC,
		.checksum = take(b, 8),
		.size = (uint64_t)take(b, 256) << take(b, 12)};

	send_it(socket, &image, sizeof(image), b);
}

static void send_sent(int socket, struct bytes *b)
{
	struct wire_sent sent = {.magic = WIRE_MAGIC,
		.sent = (uint64_t)take(b, 256) << take(b, 64),
		.missing = (uint64_t)take(b, 256) << take(b, 64)};

	send_it(socket, &sent, sizeof(sent), b);
}

static void send_any(int socket, struct bytes *b)
{
	size_t size = take(b, 64);

	if (size > b->size)
		size = b->size;
	b->data += size;
	b->size -= size;
	send_it(socket, b->data - size, size, b);
}

static void check_images(void)
{
	uint32_t count = 0;

	for (uint32_t module = 1; module <= 16; module++) {
		size_t size = 0;
		const uint8_t *data = kept_images_find(session.options.images, module, &size);

		count += data ? data[size - 1] == 0 : 0;
	}
	require(count <= 8);
}

static void do_step(struct instance *i, int socket, struct bytes *b)
{
	bool busy;

	switch (take(b, 6)) {
	case 0:
		send_image(socket, b);
		break;
	case 1:
		send_sent(socket, b);
		break;
	case 2:
		send_any(socket, b);
		break;
	case 3:
		kept_images_need(session.options.images, take(b, 16) + 1);
		break;
	case 4:
		instance_snapshot(i, false);
		require(!instance_drain(i, &busy));
		break;
	default:
		session.messages_left = take(b, 256);
		require(!instance_handle_socket(i));
		check_images();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A connection that has not sent a hello, or one with a ring. */
static struct instance *open_instance(struct bytes *b, int fd)
{
	struct instance *i;

	require(!instance_open(&i, &session, fd, (uint32_t)getpid()));
	if (take(b, 4) == 0)
		return i;
	i->slots = WIRE_MIN_SLOTS;
	i->memory = mmap(NULL, ring_bytes(i->slots), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require(i->memory != MAP_FAILED && !tasks_process(shared.tasks, i->pid, &i->process));
	ring_reader_init(&i->reader, i->memory, i->slots);
	i->number = 1;
	i->phase = INSTANCE_LIVE;
	return i;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	struct instance *i;
	int ends[2], before;
	bool busy;

	if (runs++ % RUNS_EACH == 0) {
		if (shared.writer)
			close_session();
		open_session();
	}
	before = next_descriptor();
	require(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
	i = open_instance(&b, ends[0]);
	session.deadline_ns = UINT64_MAX;
	for (int n = 0; n < STEPS_MAX && b.size && i->phase != INSTANCE_ENDED; n++)
		do_step(i, ends[1], &b);
	session.messages_left = MESSAGES_AT_ONCE;
	instance_snapshot(i, true);
	require(i->phase == INSTANCE_WAITING || !instance_drain(i, &busy));
	instance_free(i);
	close(ends[1]);
	require(next_descriptor() == before);
	return 0;
}
