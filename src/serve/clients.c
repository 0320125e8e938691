// SPDX-License-Identifier: MIT
#include "serve/clients.h"

#include <stddef.h>
#include <sys/socket.h>

#include "base/clock.h"

static uint64_t end_of(const struct serve_client *client)
{
	uint64_t seconds = client->idle ? SERVE_IDLE_SECONDS : SERVE_REQUEST_SECONDS;

	return client->since_ns + seconds * NS_PER_SECOND;
}

static void end(struct serve_client *client)
{
	client->ending = true;
	(void)shutdown(client->fd, SHUT_RDWR);
}

struct serve_client *serve_clients_add(struct serve_clients *c, int fd, uint64_t now_ns)
{
	for (size_t i = 0; i < SERVE_CLIENTS_MAX; i++)
		if (!c->places[i].used) {
			c->places[i] =
				(struct serve_client){.fd = fd, .used = true, .since_ns = now_ns};
			return &c->places[i];
		}
	return NULL;
}

void serve_client_remove(struct serve_client *client)
{
	client->used = false;
}

void serve_client_begins(struct serve_client *client, uint64_t now_ns)
{
	/* The first one began with the connection. */
	if (!client->idle)
		return;
	client->idle = false;
	client->since_ns = now_ns;
}

void serve_client_finished(struct serve_client *client, uint64_t now_ns)
{
	client->idle = true;
	client->since_ns = now_ns;
}

void serve_clients_answered(struct serve_clients *c, uint64_t from_ns, uint64_t now_ns)
{
	for (size_t i = 0; i < SERVE_CLIENTS_MAX; i++)
		if (c->places[i].used && c->places[i].since_ns <= from_ns)
			c->places[i].since_ns += now_ns - from_ns;
}

uint64_t serve_clients_end_late(struct serve_clients *c, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (struct serve_client *p = c->places; p < c->places + SERVE_CLIENTS_MAX; p++) {
		if (!p->used || p->ending)
			continue;
		if (now_ns >= end_of(p))
			end(p);
		else if (end_of(p) < next_ns)
			next_ns = end_of(p);
	}
	return next_ns;
}

/* Whether `a` makes room before `b`. */
static bool goes_before(const struct serve_client *a, const struct serve_client *b)
{
	return a->idle != b->idle ? b->idle : a->since_ns < b->since_ns;
}

void serve_clients_make_room(struct serve_clients *c)
{
	struct serve_client *first = NULL;

	for (struct serve_client *p = c->places; p < c->places + SERVE_CLIENTS_MAX; p++) {
		if (!p->used || p->ending)
			return;
		if (!first || goes_before(p, first))
			first = p;
	}
	end(first);
}
