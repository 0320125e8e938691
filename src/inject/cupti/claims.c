// SPDX-License-Identifier: MIT
/*
 * Between processes a claim is a socket with an abstract name, made of the device's UUID. The
 * kernel lets one process at a time have the name, and frees it when that process ends in any way.
 * The socket listens, and accepts nobody: whoever connects learns from the kernel whose it is, and
 * does not ask again for a while, as each question takes a place in the line of those who wait.
 * Whoever holds the name without giving that answer is a stranger.
 *
 * A process that cannot see the other's names (in another network namespace), or whose rival has
 * lost its socket (a program may close every descriptor it did not open), is not kept from
 * sampling: then CUPTI ends in the later process, which is reported (health.h).
 *
 * A forked child has the parent's descriptors, and finds their numbers in its copy of this table. A
 * number is written there before the name is bound, so that no child keeps a name without being
 * able to close it.
 */
#include "inject/cupti/claims.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "inject/cupti/cupti.h"
#include "inject/library.h"

#define NAME	  "xpuprof-stalls-"
#define BACKLOG	  4096
#define ASK_TIMES 20 /* a holder of our own is about to listen */
#define PAUSE_NS  1000000
#define ANSWER_NS 10000000000ull

enum state {
	FREE = 0,
	CHANGING, /* a thread is about to claim or release it */
	CLAIMED,
};

static struct claim {
	uint32_t state;
	struct connection name; /* its descriptor -1: other processes cannot see the claim */
	uint64_t asked_ns;	/* when another process had it; 0: we have not asked so far */
	unsigned int answer;	/* WIRE_STALLS_PROCESS or WIRE_STALLS_STRANGER */
	struct claim_holder holder;
} claims[WIRE_DEVICES] = {[0 ... WIRE_DEVICES - 1] = {.name.socket.fd = -1}};

static bool change(struct claim *c, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(
		&c->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* The abstract name of a device: its size; 0: the device has no UUID, and so no name. */
static socklen_t name_of(uint32_t ordinal, struct sockaddr_un *address)
{
	static const uint8_t none[16];
	char *text = address->sun_path + 1; /* the first byte is 0: it is no file */
	uint8_t uuid[16] = {0};
	size_t size = sizeof(NAME) - 1;

	device_uuid(ordinal, uuid);
	if (!memcmp(uuid, none, sizeof(uuid)))
		return 0;
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	memcpy(text, NAME, size);
	for (size_t n = 0; n < sizeof(uuid); n++)
		size += (size_t)snprintf(text + size, 3, "%02x", uuid[n]);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
}

static int connect_to_name(const struct sockaddr_un *address, socklen_t size)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	for (int n = 0; fd >= 0 && connect(fd, (const struct sockaddr *)address, size); n++) {
		if (errno != ECONNREFUSED || n == ASK_TIMES) {
			close(fd);
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	return fd;
}

/* Whether we make way for whoever has the name. */
static bool is_of_ours(const struct sockaddr_un *address, socklen_t size, struct claim_holder *ret)
{
	struct ucred peer = {.uid = UINT32_MAX};
	socklen_t room = sizeof(peer);
	int fd = connect_to_name(address, size);

	if (fd >= 0) {
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &room);
		close(fd);
	}
	*ret = (struct claim_holder){.pid = (uint32_t)peer.pid, .uid = peer.uid};
	return !peer.uid || peer.uid == geteuid();
}

static unsigned int ask_holder(struct claim *c, const struct sockaddr_un *address, socklen_t size)
{
	if (!c->asked_ns || now_ns() - c->asked_ns > ANSWER_NS) {
		c->answer = is_of_ours(address, size, &c->holder) ? WIRE_STALLS_PROCESS
								  : WIRE_STALLS_STRANGER;
		c->asked_ns = now_ns();
	}
	return c->answer;
}

/* 0 unless another process has the name. Where it cannot be bound at all, we do without. */
static unsigned int bind_name(struct claim *c, uint32_t device)
{
	struct sockaddr_un address;
	socklen_t size = name_of(device, &address);
	int fd = size ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
	bool used;

	if (fd < 0)
		return 0;
	connection_adopt(&c->name, fd);
	if (!bind(c->name.socket.fd, (struct sockaddr *)&address, size)) {
		listen(c->name.socket.fd, BACKLOG);
		return 0;
	}
	used = errno == EADDRINUSE;
	connection_close(&c->name);
	return used ? ask_holder(c, &address, size) : 0;
}

unsigned int claim_device(uint32_t device, struct claim_holder *ret_holder)
{
	struct claim *c = &claims[device];
	unsigned int refusal;

	*ret_holder = (struct claim_holder){0};
	if (!change(c, FREE, CHANGING))
		return WIRE_STALLS_CONTEXT;
	refusal = bind_name(c, device);
	if (refusal)
		*ret_holder = c->holder;
	__atomic_store_n(
		&c->state, refusal == WIRE_STALLS_PROCESS ? FREE : CLAIMED, __ATOMIC_RELEASE);
	return refusal;
}

void claim_release(uint32_t device)
{
	struct claim *c = &claims[device];

	if (!change(c, CLAIMED, CHANGING))
		return;
	connection_close(&c->name);
	__atomic_store_n(&c->state, FREE, __ATOMIC_RELEASE);
}

struct own_socket claim_socket(uint32_t device)
{
	return claims[device].name.socket;
}

void claims_release_all(void)
{
	for (uint32_t device = 0; device < WIRE_DEVICES; device++)
		claim_release(device);
}

void claims_forget(void)
{
	for (uint32_t device = 0; device < WIRE_DEVICES; device++)
		connection_close(&claims[device].name);
}
