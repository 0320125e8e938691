/* SPDX-License-Identifier: MIT */
/*
 * Who is connected to a server, and for how long each may be.
 *
 * A request has its time from the connection, or from its first line on a connection that had one
 * before, until the last byte of the answer is sent: however slowly a client sends and reads, it
 * goes when that is over. While the server makes an answer no client's time passes, as it sends and
 * reads nothing. Between requests a client may be idle for a while, as Prometheus is. When
 * all places are taken the oldest unfinished request makes room, and where there is none the client
 * that was idle longest. So clients that finish nothing keep nobody out.
 *
 * A client ends by a shutdown of its socket, which the owner of the connection notices; it frees
 * the place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SERVE_CLIENTS_MAX     32
#define SERVE_REQUEST_SECONDS 10
#define SERVE_IDLE_SECONDS    15

struct serve_client {
	int fd;
	bool used;
	bool idle;	   /* has no request now, and had one */
	bool ending;	   /* shut down, but still there */
	uint64_t since_ns; /* of the request, or of being idle */
};

struct serve_clients {
	struct serve_client places[SERVE_CLIENTS_MAX];
};

/* A new client, or NULL when all places are taken. */
struct serve_client *serve_clients_add(struct serve_clients *c, int fd, uint64_t now_ns);
void serve_client_remove(struct serve_client *client);
void serve_client_begins(struct serve_client *client, uint64_t now_ns);
void serve_client_finished(struct serve_client *client, uint64_t now_ns);
/* The server made an answer from one time to the other. */
void serve_clients_answered(struct serve_clients *c, uint64_t from_ns, uint64_t now_ns);
/* Ends who is too late; when that will be for the next one (UINT64_MAX: there is nobody). */
uint64_t serve_clients_end_late(struct serve_clients *c, uint64_t now_ns);
/* Ends somebody when all places are taken. */
void serve_clients_make_room(struct serve_clients *c);
