// SPDX-License-Identifier: MIT
/*
 * A program that speaks to the recorder as the injected library does, and sends what that never
 * would.
 *
 * usage: ring WHAT
 *
 *	descriptors  1,200 connections that each send a message of no bytes with a pipe; then another
 *	             program's connection
 *	silent       1,200 connections that say nothing; then another's
 *	flood        20 connections that send messages as fast as they can, with several descriptors
 *	names        kernels, no two of the same name
 *	operations   kernels of one name, no two of the same shape
 *	devices      no two the same
 *	functions    of GPU code, each of another image
 *	instructions samples, each of another instruction
 *	images       of GPU code, each another
 *	stacks       launches, no two with the same stack
 *	threads      calls of 60,000 threads that are not there, by a process with 500 that are
 *	             (run it in a pid namespace of its own)
 *	marks        what the recorder reads of the shared memory, changed for half a second
 *
 * Says how much it sent, and "connected" where another program still can connect.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack/client.h"
#include "vendor/nvidia/calls.h"

#define CONNECTIONS   1200
#define FLOODERS      20
#define THREADS	      500
#define LAUNCH_KERNEL CUDA_CALL_ID(CUDA_RUNTIME, 211)
#define NAME_BYTES    16384
#define LIMIT_S	      20 /* for all of it */
/* How much is sent, each more than a budget. */
#define NAMES	     4000
#define OPERATIONS   600000
#define DEVICES	     200000
#define FUNCTIONS    16000
#define INSTRUCTIONS 1000000
#define IMAGES	     5000
#define STACKS	     8000
#define MESSAGES     100000

static struct ring ring;
static uint64_t until_ns, sent;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int open_ring(void)
{
	int fd;

	ring = client_ring(client_join(&fd));
	if (!ring.control)
		exit(2);
	return fd;
}

static void wait_for_room(void)
{
	struct timespec pause = {.tv_nsec = 200000};

	ring.control->echo = ring.control->heartbeat;
	nanosleep(&pause, NULL);
}

static void put(const void *head, size_t head_size, const void *body, size_t body_size)
{
	while (!ring_put_long(&ring, head, head_size, body, body_size) && now_ns() < until_ns)
		wait_for_room();
	sent++;
}

static bool goes_on(void)
{
	return now_ns() < until_ns;
}

static void put_string(uint32_t id, uint64_t number, size_t size)
{
	static char name[NAME_BYTES];
	struct wire_string s = {.type = WIRE_STRING, .id = id, .size = (uint32_t)size};

	memset(name, 'x', sizeof(name));
	snprintf(name, sizeof(name), "kernel_%016llx_", (unsigned long long)number);
	put(&s, sizeof(s), name, size);
}

static void put_work(uint32_t op, uint64_t number)
{
	uint64_t now = now_ns();
	struct wire_work work = {.type = WIRE_WORK,
		.kind = WIRE_WORK_KERNEL,
		.op = op,
		.correlation = (uint32_t)number,
		.start_ns = now - 1000,
		.end_ns = now};

	put(&work, sizeof(work), NULL, 0);
}

static void put_op(uint32_t id, uint32_t name, uint64_t shape)
{
	struct wire_op op = {.type = WIRE_OP,
		.kind = WIRE_WORK_KERNEL,
		.id = id,
		.name = name,
		.grid = {(uint32_t)shape, (uint32_t)(shape >> 32), 1}};

	put(&op, sizeof(op), NULL, 0);
}

static void put_forget(void)
{
	uint8_t forget[WIRE_PAYLOAD_BYTES] = {WIRE_FORGET};

	put(forget, sizeof(forget), NULL, 0);
}

static void names(void)
{
	for (uint64_t n = 1; n <= NAMES && goes_on(); n++) {
		put_string(1, n, NAME_BYTES);
		put_op(1, 1, 1);
		put_work(1, n);
		put_forget();
	}
}

static void operations(void)
{
	uint64_t n = 0;

	while (n < OPERATIONS && goes_on()) {
		put_forget();
		put_string(1, 0, 32);
		for (uint32_t id = 1; id < WIRE_OPS && goes_on(); id++)
			put_op(id, 1, ++n);
		put_work(1, n);
	}
}

static void devices(void)
{
	for (uint64_t n = 1; n <= DEVICES && goes_on(); n++) {
		struct wire_device d = {.type = WIRE_DEVICE,
			.number = (uint32_t)n % WIRE_DEVICES,
			.name_size = sizeof(n)};

		memcpy(d.uuid, &n, sizeof(n));
		put(&d, sizeof(d), &n, sizeof(n));
	}
}

static void put_function(uint32_t id, uint64_t checksum)
{
	static char name[4096] = "function";
	struct wire_function f = {
		.type = WIRE_FUNCTION, .id = id, .checksum = checksum, .name_size = sizeof(name)};

	memcpy(name, &checksum, sizeof(checksum));
	put(&f, sizeof(f), name, sizeof(name));
}

static void functions(void)
{
	for (uint32_t id = 1; id <= FUNCTIONS && goes_on(); id++)
		put_function(id, id);
}

static void instructions(void)
{
	struct wire_device d = {.type = WIRE_DEVICE};
	struct wire_stall_reason r = {.type = WIRE_STALL_REASON, .index = 1, .name_size = 4};
	struct wire_window w = {.type = WIRE_WINDOW, .period = 5, .samples = 1};
	struct wire_stalls_head head = {.type = WIRE_STALLS, .count = 1000};
	struct wire_stall rows[1000];

	put(&d, sizeof(d), NULL, 0);
	put(&r, sizeof(r), "wait", 4);
	put_function(1, 1);
	w.start_ns = w.end_ns = now_ns();
	put(&w, sizeof(w), NULL, 0);
	for (uint32_t offset = 0; offset < 16 * INSTRUCTIONS && goes_on();) {
		for (int n = 0; n < 1000; n++, offset += 16)
			rows[n] = (struct wire_stall){
				.function = 1, .offset = offset, .reason = 1, .samples = 1};
		put(&head, sizeof(head), rows, sizeof(rows));
	}
}

static int sealed(size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)size) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		exit(2);
	return fd;
}

static void images(int socket)
{
	int fd = sealed(1 << 20);

	for (uint64_t n = 1; n <= IMAGES && goes_on(); n++, sent++) {
		struct wire_image image = {.magic = WIRE_MAGIC, .size = 1 << 20, .checksum = n};

		while (client_send(socket, &image, sizeof(image), &fd, 1) && goes_on())
			wait_for_room();
	}
}

static uint64_t code_begin, code_end; /* of a library with much code */

static void find_code(void)
{
	char line[512], rights[8];
	FILE *f = fopen("/proc/self/maps", "r");
	uint64_t begin, end;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && rights[2] == 'x' &&
			strchr(line, '/') && end - begin > code_end - code_begin) {
			code_begin = begin;
			code_end = end;
		}
	fclose(f);
}

static void stacks(void)
{
	uint64_t seed = 1, frames[100];

	find_code();
	for (uint32_t n = 1; n <= STACKS && goes_on(); n++) {
		uint64_t now = now_ns();
		struct wire_stack w = {.type = WIRE_STACK,
			.kind = WIRE_CALL_LAUNCH,
			.tid = (uint32_t)getpid(),
			.correlation = n,
			.user_depth = 100,
			.time_ns = now};
		struct wire_call call = {.type = WIRE_CALL,
			.kind = WIRE_CALL_LAUNCH,
			.flags = WIRE_FLAG_EMPTY,
			.tid = (uint32_t)getpid(),
			.correlation = n,
			.start_ns = now,
			.end_ns = now,
			.api = LAUNCH_KERNEL};

		for (int i = 0; i < 100; i++) {
			seed = seed * 6364136223846793005 + 1442695040888963407;
			frames[i] = code_begin + 1 + (seed >> 33) % (code_end - code_begin - 1);
		}
		put(&w, sizeof(w), frames, sizeof(frames));
		put(&call, sizeof(call), NULL, 0);
	}
}

static void *sleep_on(void *context)
{
	for (;;)
		pause();
	return NULL;
}

static void threads(void)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int n = 0; n < THREADS; n++)
		pthread_create(&thread, &small, sleep_on, NULL);
	for (uint32_t n = 1; n <= 60000; n++) {
		uint64_t now = now_ns();
		struct wire_call call = {.type = WIRE_CALL,
			.kind = WIRE_CALL_LAUNCH,
			.flags = WIRE_FLAG_EMPTY,
			.tid = 1000000 + n,
			.correlation = n,
			.start_ns = now,
			.end_ns = now,
			.api = LAUNCH_KERNEL};

		put(&call, sizeof(call), NULL, 0);
	}
}

static void marks(void)
{
	struct wire_control *c = ring.control;
	uint64_t end_ns = now_ns() + 500000000;

	for (uint64_t n = 1; now_ns() < end_ns; n++) {
		c->space_asked++;
		c->space_answered = 0;
		c->fills = (uint32_t)n;
		c->tail = n;
		c->heartbeat = (uint32_t)n;
		c->reported_ns = n << 40;
	}
}

static void many_connections(bool speak)
{
	int ends[2];

	for (int n = 0; n < CONNECTIONS && goes_on(); n++) {
		int fd = client_dial();

		while (fd < 0 && goes_on()) {
			wait_for_room();
			fd = client_dial();
		}
		if (!speak || pipe(ends))
			continue;
		client_send(fd, "", 0, ends, 1);
		close(ends[0]);
		close(ends[1]);
		sent++;
	}
}

static void flood(void)
{
	int sockets[FLOODERS], ends[2];
	char message[64] = "";

	for (int n = 0; n < FLOODERS; n++)
		if (client_join(&sockets[n]) < 0)
			exit(2);
	if (pipe(ends))
		exit(2);
	for (uint32_t n = 0; n < MESSAGES && goes_on(); n++) {
		int fds[5] = {ends[0], ends[1], ends[0], ends[1], ends[0]};
		int socket = sockets[n % FLOODERS];

		client_send(socket, message, n % sizeof(message) + 1, fds, n % 5 + 1);
		sent++;
	}
}

static void run(const char *what, int socket)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} attacks[] = {{"names", names}, {"operations", operations}, {"devices", devices},
		{"functions", functions}, {"instructions", instructions}, {"stacks", stacks},
		{"threads", threads}, {"marks", marks}};

	for (size_t n = 0; n < sizeof(attacks) / sizeof(attacks[0]); n++)
		if (!strcmp(what, attacks[n].name))
			attacks[n].run();
	if (!strcmp(what, "images"))
		images(socket);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct rlimit limit = {4096, 4096};
	int fd;

	if (!getenv(WIRE_ENV_SOCKET))
		return 2;
	until_ns = now_ns() + LIMIT_S * 1000000000ull;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (!strcmp(what, "descriptors") || !strcmp(what, "silent"))
		many_connections(!strcmp(what, "descriptors"));
	else if (!strcmp(what, "flood"))
		flood();
	else
		run(what, open_ring());
	while (ring.control && strcmp(what, "marks") && ring_used(&ring) && goes_on())
		wait_for_room();
	printf("sent %llu\n", (unsigned long long)sent);
	fflush(stdout);
	if (fork())
		wait(NULL);
	else if (client_join(&fd) >= 0)
		printf("connected\n");
	return 0;
}
