/* SPDX-License-Identifier: MIT */
/*
 * Who is connected to the metrics server, and for how long each may be.
 *
 * A request has its time from the connection, or from its first line on a connection that had one
 * before, until the last byte of the answer is sent: however slowly a client sends and reads, it
 * goes when that is over. Between requests a client may be idle for a while, as Prometheus is. When
 * all places are taken the oldest unfinished request makes room, and where there is none the client
 * that was idle longest. So clients that finish nothing keep nobody out.
 *
 * A client ends by a shutdown of its socket, which the owner of the connection notices; it frees
 * the place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define METRICS_CLIENTS_MAX	32
#define METRICS_REQUEST_SECONDS 10
#define METRICS_IDLE_SECONDS	15

struct metrics_client {
	int fd;
	bool used;
	bool idle;	   /* has no request now, and had one */
	bool ending;	   /* shut down, but still there */
	uint64_t since_ns; /* of the request, or of being idle */
};

struct metrics_clients {
	struct metrics_client places[METRICS_CLIENTS_MAX];
};

/* A new client, or NULL when all places are taken. */
struct metrics_client *metrics_clients_add(struct metrics_clients *c, int fd, uint64_t now_ns);
void metrics_client_remove(struct metrics_client *client);
void metrics_client_begins(struct metrics_client *client, uint64_t now_ns);
void metrics_client_finished(struct metrics_client *client, uint64_t now_ns);
/* Ends who is too late; when that will be for the next one (UINT64_MAX: there is nobody). */
uint64_t metrics_clients_end_late(struct metrics_clients *c, uint64_t now_ns);
/* Ends somebody when all places are taken. */
void metrics_clients_make_room(struct metrics_clients *c);
