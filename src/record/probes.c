// SPDX-License-Identifier: MIT
#include "record/probes.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "probe/kernel_programs.h"
#include "probe/recorded/recorded.h"
#include "record/preload.h"

/* How old the values of a program are at most that ends without a word. */
#define READ_NS	   NS_PER_SECOND
#define ANSWERS_NS (2 * NS_PER_SECOND)
#define WAIT_MS	   1
/* Of a turn's mean. */
#define TURN_SHORTEST 0.4
#define TURN_LONGEST  1.6

struct probes {
	struct plan plan;
	struct kernel_programs *kernel; /* NULL: none */
	struct server server;
	struct recorded recorded;
	bool has_server;
	uint64_t asked_ns;
	/* Of snapshots: 0: maps are written at the end. */
	uint64_t snapshot_ns, snapshot_due_ns;
	uint64_t wanted_ns; /* since when one is waited for; 0: none is */
	/* Of turns: 0: programs run all the time. */
	uint64_t turn_ns, turned_ns, turn_length_ns;
};

/* Its length is random, so that nothing that the program does in turns can keep step. */
static void begin_turn(struct probes *p, uint64_t now)
{
	uint32_t random = 0;

	(void)getrandom(&random, sizeof(random), GRND_NONBLOCK);
	p->turned_ns = now;
	p->turn_length_ns = (uint64_t)((double)p->turn_ns *
				       (TURN_SHORTEST + (TURN_LONGEST - TURN_SHORTEST) *
								(double)random / UINT32_MAX));
}

static int open_server(struct probes *p, const struct probes_options *o)
{
	const struct user *user = &o->user->account;
	const struct server_options options = {.folder_fd = o->folder_fd,
		.folder = o->folder,
		.uid = user->switched ? user->uid : geteuid(),
		.gid = user->switched ? user->gid : getegid()};
	int error = programs_plan(o->programs, user, &p->plan);

	error = error ?: kernel_programs_open(&p->kernel, &p->plan, o->programs, user);
	error = error ?: server_open(&p->server, &p->plan, &options);
	if (error)
		return error;
	p->has_server = true;
	return preload_for_probes(o->user, server_address(&p->server), p->plan.hash);
}

static int describe(struct profile_writer *w, uint64_t snapshot_ns)
{
	char text[32];

	if (!snapshot_ns)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64, snapshot_ns);
	return profile_set_meta(w, META_PROBE_INTERVAL, text);
}

int probes_open(struct probes **ret, const struct probes_options *options, struct profile_writer *w,
	struct tasks *t)
{
	struct probes *p = calloc(1, sizeof(*p));
	int error;

	if (!p)
		return error_memory(NULL);
	plan_init(&p->plan);
	error = open_server(p, options);
	error = error ?: describe(w, options->programs->plan.snapshot_ns);
	error = error
			?: recorded_begin(&p->recorded, w, t, &p->server,
				   options->programs->plan.turn_ns != 0);
	if (error) {
		probes_close(p);
		return error;
	}
	p->server.on_record = recorded_record;
	p->server.context = &p->recorded;
	p->turn_ns = options->programs->plan.turn_ns;
	if (p->turn_ns)
		p->server.on_switch = recorded_switch;
	p->asked_ns = clock_now_ns();
	begin_turn(p, p->asked_ns);
	p->snapshot_ns = options->programs->plan.snapshot_ns;
	p->snapshot_due_ns = p->asked_ns + p->snapshot_ns;
	plan_warn(&p->plan, options->notes);
	*ret = p;
	return 0;
}

void probes_close(struct probes *p)
{
	if (!p)
		return;
	recorded_release(&p->recorded);
	if (p->has_server)
		server_close(&p->server);
	kernel_programs_close(p->kernel);
	plan_release(&p->plan);
	free(p);
}

int probes_poll_fd(const struct probes *p)
{
	return p->server.epoll;
}

bool probes_ran(const struct probes *p)
{
	return p->server.kernels.count > 0;
}

uint64_t probes_due_ns(const struct probes *p)
{
	uint64_t due_ns = p->turn_ns ? p->turned_ns + p->turn_length_ns : UINT64_MAX;
	uint64_t snapshot_ns = p->wanted_ns ? p->wanted_ns + ANSWERS_NS : p->snapshot_due_ns;

	return p->snapshot_ns && snapshot_ns < due_ns ? snapshot_ns : due_ns;
}

/* When all have answered, or have had their time for it: then later ones do not wait for them. */
static int take_snapshot(struct probes *p, uint64_t now)
{
	if (!p->wanted_ns)
		return 0;
	if (!server_has_answers(&p->server)) {
		if (now - p->wanted_ns < ANSWERS_NS)
			return 0;
		p->recorded.late += server_give_up(&p->server);
	}
	p->wanted_ns = 0;
	return recorded_snapshot(&p->recorded);
}

/* Not while answers are waited for: they would be to another question. */
static void ask(struct probes *p, uint64_t now)
{
	bool due = p->snapshot_ns && now >= p->snapshot_due_ns;

	if (p->wanted_ns || (!due && now - p->asked_ns < READ_NS))
		return;
	if (due) {
		p->wanted_ns = now;
		p->snapshot_due_ns = now + p->snapshot_ns;
	}
	p->asked_ns = now;
	server_ask(&p->server);
}

int probes_drain(struct probes *p, bool *ret_busy)
{
	uint64_t now = clock_now_ns();
	int error;

	*ret_busy |= server_drain(&p->server);
	ask(p, now);
	if (p->turn_ns && now - p->turned_ns >= p->turn_length_ns) {
		server_switch(&p->server, !p->server.off);
		begin_turn(p, now);
	}
	error = recorded_contexts(&p->recorded);
	return error ?: take_snapshot(p, now);
}

/* How it goes on from here is not measured. */
static void end_turns(struct probes *p)
{
	struct server_switch s = {
		.state = SERVER_UNKNOWN, .from_ns = clock_now_ns(), .to_ns = UINT64_MAX};

	if (!p->turn_ns)
		return;
	p->turn_ns = 0;
	vec_foreach (a, &p->server.arenas) {
		s.arena = (uint32_t)(a - p->server.arenas.items);
		if (!a->ended)
			recorded_switch(&p->recorded, &s);
	}
}

int probes_stop(struct probes *p)
{
	uint64_t until_ns = clock_now_ns() + ANSWERS_NS;
	struct pollfd wait = {.fd = p->server.epoll, .events = POLLIN};

	server_ask(&p->server);
	server_expect_all(&p->server);
	while (!server_has_answers(&p->server) && clock_now_ns() < until_ns)
		if (!server_drain(&p->server))
			(void)poll(&wait, 1, WAIT_MS);
	end_turns(p);
	server_switch(&p->server, true);
	while (server_drain(&p->server) && clock_now_ns() < until_ns)
		;
	return recorded_contexts(&p->recorded);
}

int probes_finish(struct probes *p)
{
	return recorded_finish(&p->recorded);
}
