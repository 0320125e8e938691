// SPDX-License-Identifier: MIT
/*
 * Each monitor has a watch with a ring of its own. An event does not wake the recorder: the rounds
 * of the recording come often enough (WATCH_READ_MS), and a ring that fills wakes it.
 */
#include "record/drivers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "monitor/driver_events.h"
#include "monitor/suits.h"
#include "monitor/watch.h"

struct watched {
	const struct monitor *monitor;
	struct watch *watch;
	struct driver_events *events;
};

struct drivers {
	struct profile_writer *writer;
	struct vec(struct watched) watched;
	struct buf refusals;
};

/* --- names ---------------------------------------------------------------------------------- */

/* Splits the first name off the list "drm,vblank"; its length. */
static size_t first_name(const char **list, const char **ret_name)
{
	size_t size = strcspn(*list, ",");

	*ret_name = *list;
	*list += size + ((*list)[size] == ',');
	return size;
}

static bool is_named(const struct monitor *m, const char *name, size_t size)
{
	return strlen(m->name) == size && !strncmp(m->name, name, size);
}

static bool is_named_in(const struct monitor *m, const char *list)
{
	bool named = false;
	const char *name;

	while (*list && !named) {
		size_t size = first_name(&list, &name);

		named = is_named(m, name, size);
	}
	return named;
}

static bool is_known(const char *name, size_t size)
{
	for (size_t n = 0; monitor_at(n); n++)
		if (is_named(monitor_at(n), name, size))
			return true;
	return false;
}

int drivers_check_names(const char *monitors)
{
	struct buf known = BUF_INIT;
	const char *name;
	size_t size = 0;
	bool wrong = !*monitors;

	name = monitors;
	while (*monitors && !wrong) {
		size = first_name(&monitors, &name);
		wrong = !is_known(name, size);
	}
	if (!wrong)
		return 0;
	for (size_t n = 0; monitor_at(n); n++)
		buf_printf(&known, "%s%s", n ? ", " : "", monitor_at(n)->name);
	error_set(-EINVAL, "takes monitors (%s) with commas between them, not '%.*s'",
		buf_text(&known), (int)size, name);
	buf_release(&known);
	return -EINVAL;
}

/* --- opening -------------------------------------------------------------------------------- */

static int note_refusal(
	struct drivers *d, const struct drivers_options *o, const char *what, const char *why)
{
	buf_printf(&d->refusals, "%s%s\n", what, why);
	buf_printf(o->notes, "%s%s\n", what, why);
	return d->refusals.failed || o->notes->failed ? error_memory(NULL) : 0;
}

/* Events that do not exist, or that this kernel was built without, are nothing unusual; events that
 * exist and cannot be read are. */
static int note_unreadable(struct drivers *d, const struct drivers_options *o,
	const struct watched *w, size_t event, const struct watch_event_status *status)
{
	enum monitor_presence presence = status->plan->presence;
	struct buf what = BUF_INIT;
	int error;

	if (presence != ABSENT_FORMAT && presence != ABSENT_RIGHTS && presence != ABSENT_REFUSED)
		return 0;
	buf_printf(&what, "no driver events '%s' of '%s': ", w->monitor->events[event].name,
		w->monitor->name);
	error = note_refusal(d, o, buf_text(&what), status->plan->reason);
	buf_release(&what);
	return error;
}

static int open_events(
	struct drivers *d, const struct drivers_options *o, struct watched *w, struct tasks *t)
{
	struct driver_events_options options = {
		.monitor = w->monitor, .whole_system = o->whole_system};
	struct watch_event_status status;
	int error = 0;

	for (size_t n = 0; !error && n < monitor_event_count(w->monitor); n++) {
		error = watch_status(w->watch, n, &status);
		if (error)
			break;
		if (status.attached)
			options.plans[n] = status.plan;
		error = note_unreadable(d, o, w, n, &status);
	}
	return error ?: driver_events_new(&options, d->writer, t, &w->events);
}

static void close_watched(struct watched *w)
{
	driver_events_free(w->events);
	watch_close(w->watch);
}

/* -ENOENT with error_text: this kernel has none of its events. */
static int open_monitor(struct drivers *d, const struct drivers_options *o, const struct monitor *m,
	const struct monitor_kernel *kernel, struct tasks *t)
{
	const struct watch_options options = {
		.monitor = m, .records = true, .quiet_too = true, .above_event = -1};
	struct watched w = {.monitor = m};
	int error = watch_open(&options, kernel, &w.watch);

	if (error)
		return error;
	error = open_events(d, o, &w, t);
	if (!error && vec_push(&d->watched, w))
		error = error_memory(NULL);
	if (error)
		close_watched(&w);
	return error == -ENOENT ? -EIO : error;
}

#define NO_EVENTS "no driver events: "

/* Why there is nothing at all to watch, whatever the monitor; NULL: there may be. */
static const char *general_refusal(const struct monitor_kernel *kernel)
{
	if (kernel->no_rights)
		return "this needs root, or the capabilities CAP_BPF and CAP_PERFMON";
	return *kernel->tracefs ? NULL : kernel->tracefs_reason;
}

static int open_monitors(struct drivers *d, const struct drivers_options *o,
	const struct monitor_kernel *kernel, struct tasks *t)
{
	const char *refusal = general_refusal(kernel);
	int error = 0;

	if (refusal)
		return note_refusal(d, o, NO_EVENTS, refusal);
	for (size_t n = 0; !error && monitor_at(n); n++) {
		const struct monitor *m = monitor_at(n);

		if (*o->monitors ? !is_named_in(m, o->monitors) : !monitor_suits(m, kernel, NULL))
			continue;
		error = open_monitor(d, o, m, kernel, t);
		if (error == -ENOENT)
			error = *o->monitors ? note_refusal(d, o, "", error_text()) : 0;
		else if (error && error != -ENOMEM)
			return note_refusal(d, o, NO_EVENTS, error_text());
	}
	if (!error && !d->watched.count && !d->refusals.size)
		error = note_refusal(d, o, NO_EVENTS,
			"this machine has no GPU driver that reports any (see 'xpuprof monitor "
			"list')");
	return error;
}

static int describe(struct drivers *d)
{
	struct buf names = BUF_INIT;
	int error = 0;

	vec_foreach (w, &d->watched)
		buf_printf(&names, "%s%s", names.size ? "," : "", w->monitor->name);
	if (names.failed)
		error = error_memory(NULL);
	else if (names.size)
		error = profile_set_meta(d->writer, META_DRIVERS, names.data);
	if (!error && d->refusals.size) {
		d->refusals.data[d->refusals.size - 1] = '\0';
		error = profile_set_meta(d->writer, META_DRIVERS_REFUSED, d->refusals.data);
	}
	buf_release(&names);
	return error;
}

int drivers_open(struct drivers **ret, const struct drivers_options *options,
	struct profile_writer *w, struct tasks *t)
{
	struct drivers *d = calloc(1, sizeof(*d));
	struct monitor_kernel kernel;
	int error;

	if (!d)
		return error_memory(NULL);
	d->writer = w;
	monitor_kernel_look("", &kernel);
	error = open_monitors(d, options, &kernel, t);
	monitor_kernel_release(&kernel);
	error = error ?: describe(d);
	if (error)
		drivers_close(d);
	else
		*ret = d;
	return error;
}

void drivers_close(struct drivers *d)
{
	if (!d)
		return;
	vec_foreach (w, &d->watched)
		close_watched(w);
	vec_release(&d->watched);
	buf_release(&d->refusals);
	free(d);
}

/* --- running -------------------------------------------------------------------------------- */

int drivers_poll_fd(const struct drivers *d, size_t n)
{
	return n < d->watched.count ? watch_fd(d->watched.items[n].watch) : -1;
}

void drivers_begin(struct drivers *d, uint64_t from_ns)
{
	vec_foreach (w, &d->watched)
		driver_events_begin(w->events, from_ns);
}

static int add_record(void *context, const struct monitor_record *r)
{
	return driver_events_add(context, r);
}

int drivers_drain(struct drivers *d)
{
	int error = 0;

	vec_foreach (w, &d->watched) {
		const struct watch_sink sink = {.context = w->events, .record = add_record};

		error = error ?: watch_read(w->watch, &sink);
	}
	return error;
}

int drivers_write(struct drivers *d)
{
	int error = 0;

	vec_foreach (w, &d->watched)
		error = error ?: driver_events_write(w->events);
	return error;
}

/* --- ending --------------------------------------------------------------------------------- */

/* Whether events have vanished can only be seen as long as they are watched. */
int drivers_stop(struct drivers *d)
{
	struct watch_event_status status;
	int error = 0;

	vec_foreach (w, &d->watched) {
		for (size_t n = 0; !error && w->monitor->events[n].name; n++) {
			error = watch_status(w->watch, n, &status);
			if (!error && status.vanished)
				error = profile_count_loss(d->writer, LOSS_DRIVER_VANISHED, 1);
		}
		watch_stop(w->watch);
	}
	return error;
}

static int count_losses(struct drivers *d, const struct watched *w, size_t event)
{
	struct watch_event_status status;
	int error = watch_status(w->watch, event, &status);

	if (error)
		return error;
	error = profile_count_loss(d->writer, LOSS_DRIVER_RING_FULL, status.totals.records);
	error = error ?: profile_count_loss(d->writer, LOSS_DRIVER_MISSED, status.missed);
	error = error ?: profile_count_loss(d->writer, LOSS_DRIVER_OBJECTS, status.totals.objects);
	return error ?: profile_count_loss(d->writer, LOSS_DRIVER_UNREAD, status.totals.unread);
}

struct leftovers {
	struct driver_events *events;
	uint64_t end_ns;
};

static int add_left(
	void *context, const struct monitor_object_key *key, const struct monitor_object *object)
{
	const struct leftovers *l = context;

	return driver_events_add_left(l->events, key, object, l->end_ns);
}

static int finish_watched(struct drivers *d, const struct watched *w, uint64_t end_ns)
{
	struct leftovers l = {.events = w->events, .end_ns = end_ns};
	int error = 0;

	for (unsigned int kind = 0; !error && kind < MONITOR_OBJECTS; kind++)
		if (driver_events_wants_left(w->events, (uint8_t)kind))
			error = watch_objects(w->watch, (uint8_t)kind, add_left, &l);
	error = error ?: driver_events_write(w->events);
	for (size_t n = 0; !error && w->monitor->events[n].name; n++)
		error = count_losses(d, w, n);
	return error;
}

int drivers_finish(struct drivers *d, uint64_t end_ns)
{
	int error = 0;

	vec_foreach (w, &d->watched)
		error = error ?: finish_watched(d, w, end_ns);
	return error;
}
