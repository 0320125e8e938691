// SPDX-License-Identifier: MIT
/* `xpuprof monitor list`: what there is to be watched, and what of it this kernel has. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "base/json_writer.h"
#include "cmd/monitor/monitor.h"
#include "cmd/monitor/absent.h"
#include "base/text.h"
#include "monitor/suits.h"

static const char *const presence_keys[] = {
	[PRESENT] = "present",
	[ABSENT_MODULE] = "module",
	[ABSENT_CONFIG] = "config",
	[ABSENT_KERNEL] = "kernel",
	[ABSENT_KPROBES] = "kprobes",
	[ABSENT_RIGHTS] = "rights",
	[ABSENT_FORMAT] = "format",
	[ABSENT_TYPES] = "types",
};

struct listing {
	struct monitor_kernel kernel;
	struct buf *out;
	struct json_writer w;
	struct buf suiting; /* names of those that suit, with something to watch */
	bool json;
};

static void text_present(
	struct listing *l, const struct monitor_event *e, const struct monitor_event_plan *p)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "  yes  %-14s %s", e->name, e->says ? e->says : p->source->name);
	text_fit(l->out, buf_text(&line), 0);
	buf_putc(l->out, '\n');
	l->out->failed |= line.failed;
	buf_release(&line);
}

/* Those that are there, then those that are not, by reason. */
static void text_events(
	struct listing *l, const struct monitor *m, const struct monitor_event_plan *plans)
{
	const char *reasons[MONITOR_EVENTS] = {NULL};

	for (size_t e = 0; m->events[e].name; e++) {
		if (plans[e].presence == PRESENT)
			text_present(l, &m->events[e], &plans[e]);
		else
			reasons[e] = plans[e].reason;
	}
	monitor_absent_text(m, reasons, "  no   ", l->out);
}

static void json_event(
	struct listing *l, const struct monitor_event *e, const struct monitor_event_plan *p)
{
	json_begin(&l->w, NULL, '{');
	json_text(&l->w, "event", e->name);
	json_text(&l->w, "says", e->says);
	json_bool(&l->w, "available", p->presence == PRESENT);
	if (p->source)
		json_text(&l->w, "source", p->source->name);
	if (p->presence != PRESENT) {
		json_text(&l->w, "missing", presence_keys[p->presence]);
		json_text(&l->w, "reason", p->reason);
	}
	json_end(&l->w, '}');
}

/* How many of its events are there. */
static size_t list_events(struct listing *l, const struct monitor *m)
{
	struct monitor_event_plan plans[MONITOR_EVENTS];
	size_t present = 0;

	for (size_t e = 0; m->events[e].name; e++) {
		monitor_event_plan(m, e, &l->kernel, &plans[e]);
		present += plans[e].presence == PRESENT;
		if (l->json)
			json_event(l, &m->events[e], &plans[e]);
	}
	if (!l->json)
		text_events(l, m, plans);
	return present;
}

static void list_monitor(struct listing *l, const struct monitor *m)
{
	struct buf why = BUF_INIT;
	bool suits = monitor_suits(m, &l->kernel, &why);
	size_t present;

	if (l->json) {
		json_begin(&l->w, NULL, '{');
		json_text(&l->w, "name", m->name);
		json_text(&l->w, "summary", m->summary);
		json_bool(&l->w, "suits", suits);
		json_text(&l->w, "why", buf_text(&why));
		json_begin(&l->w, "events", '[');
	} else {
		buf_printf(l->out, "%s%s: %s\n  %s this machine: %s\n", l->out->size ? "\n" : "",
			m->name, m->summary, suits ? "suits" : "is not for", buf_text(&why));
	}
	present = list_events(l, m);
	if (l->json) {
		json_end(&l->w, ']');
		json_end(&l->w, '}');
	}
	if (suits && present)
		buf_printf(&l->suiting, "%s%s", l->suiting.size ? ", " : "", m->name);
	l->out->failed |= why.failed;
	buf_release(&why);
}

static void list_all(struct listing *l)
{
	struct utsname kernel;

	uname(&kernel);
	if (l->json) {
		json_begin(&l->w, NULL, '{');
		json_text(&l->w, "kernel", kernel.release);
		json_begin(&l->w, "monitors", '[');
	}
	for (size_t n = 0; monitor_at(n); n++)
		list_monitor(l, monitor_at(n));
	if (l->json) {
		json_end(&l->w, ']');
		json_end(&l->w, '}');
		buf_putc(l->out, '\n');
	} else if (l->suiting.size) {
		buf_printf(l->out, "\nfor this machine: %s\n", l->suiting.data);
	} else {
		buf_printf(
			l->out, "\nfor this machine (Linux %s): none, see above\n", kernel.release);
	}
}

int monitor_list(bool json)
{
	struct buf out = BUF_INIT;
	struct listing l = {.out = &out, .w = {.out = &out}, .json = json};
	int error;

	monitor_kernel_look("", &l.kernel);
	list_all(&l);
	monitor_kernel_release(&l.kernel);
	out.failed |= l.suiting.failed;
	error = cmd_print(STDOUT_FILENO, &out);
	buf_release(&out);
	buf_release(&l.suiting);
	if (!error || error == -EPIPE)
		return EXIT_OK;
	error_errno(error, "cannot print the monitors");
	return cmd_failed();
}
