// SPDX-License-Identifier: MIT
#include "record/probes.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "probe/recorded/recorded.h"
#include "record/preload.h"

/* How old the values of a program are at most that ends without a word. */
#define READ_NS	   NS_PER_SECOND
#define ANSWERS_NS (2 * NS_PER_SECOND)
#define WAIT_MS	   1

struct probes {
	struct plan plan;
	struct server server;
	struct recorded recorded;
	bool has_server;
	uint64_t asked_ns;
};

static int open_server(struct probes *p, const struct probes_options *o)
{
	const struct user *user = &o->user->account;
	const struct server_options options = {.folder_fd = o->folder_fd,
		.folder = o->folder,
		.uid = user->switched ? user->uid : geteuid(),
		.gid = user->switched ? user->gid : getegid()};
	int error = programs_plan(o->programs, user, &p->plan);

	error = error ?: server_open(&p->server, &p->plan, &options);
	if (error)
		return error;
	p->has_server = true;
	return preload_for_probes(o->user, server_address(&p->server), p->plan.hash);
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
	error = error ?: recorded_begin(&p->recorded, w, t, &p->server);
	if (error) {
		probes_close(p);
		return error;
	}
	p->server.on_record = recorded_record;
	p->server.context = &p->recorded;
	p->asked_ns = clock_now_ns();
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

int probes_drain(struct probes *p, bool *ret_busy)
{
	uint64_t now = clock_now_ns();

	*ret_busy |= server_drain(&p->server);
	if (now - p->asked_ns >= READ_NS) {
		p->asked_ns = now;
		server_ask(&p->server);
	}
	return recorded_contexts(&p->recorded);
}

int probes_stop(struct probes *p)
{
	uint64_t until_ns = clock_now_ns() + ANSWERS_NS;
	struct pollfd wait = {.fd = p->server.epoll, .events = POLLIN};

	server_ask(&p->server);
	while (!server_has_answers(&p->server) && clock_now_ns() < until_ns)
		if (!server_drain(&p->server))
			(void)poll(&wait, 1, WAIT_MS);
	server_switch_off(&p->server);
	while (server_drain(&p->server) && clock_now_ns() < until_ns)
		;
	return recorded_contexts(&p->recorded);
}

int probes_finish(struct probes *p)
{
	return recorded_finish(&p->recorded);
}
