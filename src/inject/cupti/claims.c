// SPDX-License-Identifier: MIT
/*
 * Between processes a claim is a socket with an abstract name, made of the device's UUID. The
 * kernel lets one process at a time have the name, and frees it when that process ends in any way.
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

#define NAME "xpuprof-stalls-"

enum state {
	FREE = 0,
	CHANGING, /* a thread is about to claim or release it */
	CLAIMED,
};

static struct claim {
	uint32_t state;
	struct connection name; /* fd -1: other processes cannot see the claim */
} claims[WIRE_DEVICES] = {[0 ... WIRE_DEVICES - 1] = {.name.fd = -1}};

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

/* False only when another process has the name: if it cannot be bound for another reason, we do
 * without. */
static bool bind_name(struct connection *c, uint32_t device)
{
	struct sockaddr_un address;
	socklen_t size = name_of(device, &address);
	int fd = size ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	bool used;

	if (fd < 0)
		return true;
	connection_adopt(c, fd);
	if (!bind(c->fd, (struct sockaddr *)&address, size))
		return true;
	used = errno == EADDRINUSE;
	connection_close(c);
	return !used;
}

unsigned int claim_device(uint32_t device)
{
	struct claim *c = &claims[device];

	if (!change(c, FREE, CHANGING))
		return WIRE_STALLS_CONTEXT;
	if (bind_name(&c->name, device)) {
		__atomic_store_n(&c->state, CLAIMED, __ATOMIC_RELEASE);
		return 0;
	}
	__atomic_store_n(&c->state, FREE, __ATOMIC_RELEASE);
	return WIRE_STALLS_PROCESS;
}

void claim_release(uint32_t device)
{
	struct claim *c = &claims[device];

	if (!change(c, CLAIMED, CHANGING))
		return;
	connection_close(&c->name);
	__atomic_store_n(&c->state, FREE, __ATOMIC_RELEASE);
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
