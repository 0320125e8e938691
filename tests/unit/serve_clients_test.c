// SPDX-License-Identifier: MIT
/* How long clients of a server stay, and who makes room. */
#include "serve/clients.h"

#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

static struct serve_clients clients;
static int other[SERVE_CLIENTS_MAX]; /* the clients' ends */

static struct serve_client *connect_at(uint64_t seconds)
{
	struct serve_client *client;
	int pair[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	client = serve_clients_add(&clients, pair[0], seconds * NS_PER_SECOND);
	CHECK(client != NULL);
	other[client - clients.places] = pair[1];
	return client;
}

/* What the server does with it when it hears of the end. */
static void disconnect(struct serve_client *client)
{
	close(client->fd);
	close(other[client - clients.places]);
	serve_client_remove(client);
}

static void disconnect_all(void)
{
	for (size_t i = 0; i < SERVE_CLIENTS_MAX; i++)
		if (clients.places[i].used)
			disconnect(&clients.places[i]);
}

static bool has_ended(const struct serve_client *client)
{
	char byte;

	return recv(other[client - clients.places], &byte, 1, MSG_DONTWAIT) == 0;
}

static void begins(struct serve_client *client, uint64_t seconds)
{
	serve_client_begins(client, seconds * NS_PER_SECOND);
}

static void finished(struct serve_client *client, uint64_t seconds)
{
	serve_client_finished(client, seconds * NS_PER_SECOND);
}

static uint64_t end_late(uint64_t seconds)
{
	uint64_t next_ns = serve_clients_end_late(&clients, seconds * NS_PER_SECOND);

	return next_ns == UINT64_MAX ? next_ns : next_ns / NS_PER_SECOND;
}

static void a_request_has_its_time_from_the_connection_on(void)
{
	struct serve_client *slow = connect_at(100);

	CHECK(end_late(100) == 100 + SERVE_REQUEST_SECONDS && !has_ended(slow));
	begins(slow, 105); /* its first line is there, after five seconds */
	CHECK(end_late(109) == 110 && !has_ended(slow));
	CHECK(end_late(110) == UINT64_MAX && has_ended(slow));
	disconnect_all();
}

static void later_requests_begin_with_their_first_line(void)
{
	struct serve_client *client = connect_at(100);

	begins(client, 100);
	finished(client, 101);
	CHECK(end_late(101) == 101 + SERVE_IDLE_SECONDS);
	begins(client, 115);
	CHECK(end_late(124) == 125 && !has_ended(client));
	CHECK(end_late(125) == UINT64_MAX && has_ended(client));
	disconnect_all();
}

static void while_an_answer_is_made_no_time_passes(void)
{
	struct serve_client *asks = connect_at(100), *waits = connect_at(103);

	serve_clients_answered(&clients, 104 * NS_PER_SECOND, 160 * NS_PER_SECOND);
	CHECK(end_late(165) == 166);
	CHECK(!has_ended(asks) && !has_ended(waits));
	CHECK(end_late(166) == 169);
	CHECK(has_ended(asks) && !has_ended(waits));
	end_late(169);
	CHECK(has_ended(waits));
	disconnect_all();
}

static void idle_clients_go_after_a_while(void)
{
	struct serve_client *client = connect_at(100);

	begins(client, 100);
	finished(client, 101);
	CHECK(end_late(115) == 116 && !has_ended(client));
	CHECK(end_late(116) == UINT64_MAX && has_ended(client));
	disconnect_all();
}

static void nobody_makes_room_while_there_is_some(void)
{
	struct serve_client *client = connect_at(100);

	serve_clients_make_room(&clients);
	CHECK(!has_ended(client));
	disconnect_all();
}

static void fill(void)
{
	for (size_t i = 0; i < SERVE_CLIENTS_MAX; i++)
		connect_at(100 + i);
	CHECK(!serve_clients_add(&clients, -1, 0));
}

static void the_oldest_unfinished_request_makes_room(void)
{
	struct serve_client *p = clients.places;

	fill();
	finished(&p[0], 101); /* it waits for its next scrape */
	serve_clients_make_room(&clients);
	CHECK(!has_ended(&p[0]) && has_ended(&p[1]) && !has_ended(&p[2]));
	/* Until its place is free nobody else has to go. */
	serve_clients_make_room(&clients);
	CHECK(!has_ended(&p[2]));
	disconnect(&p[1]);
	CHECK(connect_at(200) == &p[1]);
	serve_clients_make_room(&clients);
	CHECK(!has_ended(&p[0]) && !has_ended(&p[1]) && has_ended(&p[2]));
	disconnect_all();
}

static void without_requests_who_is_idle_longest_makes_room(void)
{
	struct serve_client *p = clients.places;

	fill();
	for (size_t i = 0; i < SERVE_CLIENTS_MAX; i++)
		finished(&p[i], 300 - i);
	serve_clients_make_room(&clients);
	CHECK(has_ended(&p[SERVE_CLIENTS_MAX - 1]) && !has_ended(&p[0]));
	disconnect_all();
}

int main(void)
{
	RUN(a_request_has_its_time_from_the_connection_on);
	RUN(later_requests_begin_with_their_first_line);
	RUN(while_an_answer_is_made_no_time_passes);
	RUN(idle_clients_go_after_a_while);
	RUN(nobody_makes_room_while_there_is_some);
	RUN(the_oldest_unfinished_request_makes_room);
	RUN(without_requests_who_is_idle_longest_makes_room);
	return tap_end();
}
