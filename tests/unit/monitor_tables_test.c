// SPDX-License-Identifier: MIT
/*
 * The tables of all monitors, beside the formats of Debian's kernels and of NVIDIA's driver
 * (tests/data/formats): no name in them is one that nobody has, and each event is had where it
 * should be.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "checks/monitor.h"
#include "folder.h"
#include "monitor/line.h"
#include "monitor/plan.h"
#include "monitor/totals.h"
#include "monitor/kernel/tracefs.h"
#include "tap.h"

#define FORMATS "tests/data/formats"

static const char *const releases[] = {"5.10", "6.1", "6.12", "7.2", "nvidia-580"};

#define RELEASES (sizeof(releases) / sizeof(releases[0]))

/* Formats of these are not at hand: no kernel of Debian's is built with them. */
#define LOW_LEVEL "CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS"

/* ------------------------------------------------------------------ what tables say */

static void tables_have_no_mistakes(void)
{
	for (size_t i = 0; monitor_at(i); i++) {
		const struct monitor *m = monitor_at(i);

		CHECK(monitor_event_count(m) > 0);
		if (monitor_check(m) || line_check(m))
			CHECK_TEXT(error_text(), "");
	}
}

static void no_two_series_have_the_same_name(void)
{
	for (size_t i = 0; monitor_at(i); i++)
		for (const struct monitor_series *a = monitor_at(i)->series; a->name; a++)
			for (const struct monitor_series *b = a + 1; b->name; b++) {
				CHECK(strcmp(a->name, b->name));
				CHECK(!a->metric || !b->metric || strcmp(a->metric, b->metric));
			}
}

static bool counts(const struct monitor_event *e, uint8_t series)
{
	for (size_t n = 0; n < MONITOR_COUNTS; n++)
		if (e->counts[n].value && e->counts[n].series == series)
			return true;
	return false;
}

static void every_series_is_counted_and_told(void)
{
	for (size_t i = 0; monitor_at(i); i++)
		for (uint8_t s = 0; monitor_at(i)->series[s].name; s++) {
			const struct monitor_series *row = &monitor_at(i)->series[s];
			bool found = false;

			for (const struct monitor_event *e = monitor_at(i)->events; e->name; e++)
				found = found || counts(e, s);
			if (!found || !row->metric || !row->help)
				CHECK_TEXT(row->name, "");
		}
}

/* A count that adds to a series has as many labels as the series says. */
static void counts_have_the_labels_of_their_series(void)
{
	for (size_t i = 0; monitor_at(i); i++)
		for (const struct monitor_event *e = monitor_at(i)->events; e->name; e++)
			for (size_t n = 0; n < MONITOR_COUNTS; n++) {
				const struct monitor_count *c = &e->counts[n];
				const char *const *titles = monitor_at(i)->series[c->series].label;

				for (size_t l = 0; c->value && l < MONITOR_LABELS; l++)
					if (c->label[l] && !titles[l])
						CHECK_TEXT(e->name, "");
			}
}

static void names_in_lists_fit_into_labels(void)
{
	for (size_t i = 0; monitor_at(i); i++)
		for (const struct monitor_list *l = monitor_at(i)->lists; l && l->name; l++) {
			size_t room = TOTAL_LABEL_BYTES - (l->numbered ? 7 : 1);

			for (const struct monitor_name *n = l->names; n->name; n++)
				CHECK(strlen(n->name) <= room);
			for (const struct monitor_range *r = l->ranges; r && r->name; r++)
				CHECK(strlen(r->name) <= room && r->first <= r->last);
		}
}

/* ------------------------------------------------------------------ what kernels have */

static bool read_format(const char *release, const char *event, struct trace_format *ret)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	int error;

	buf_printf(&path, FORMATS "/%s/%s/format", release, event);
	*strchr(path.data, ':') = '/';
	error = io_read_file(path.data, 1u << 16, &text);
	error = error ?: trace_format_parse(text.data, text.size, ret);
	buf_release(&path);
	buf_release(&text);
	return !error;
}

/* Whether there is a kernel with the event, and, unless it is NULL, a field of that name in it. */
static bool somewhere(const struct monitor_source *s, const char *field)
{
	for (size_t r = 0; r < RELEASES; r++) {
		struct trace_format format;

		if (read_format(releases[r], s->name, &format) &&
			(!field || trace_format_field(&format, field)))
			return true;
	}
	return false;
}

static void check_source(const struct monitor_source *s)
{
	if (s->kind != SOURCE_TRACEPOINT || s->config)
		return;
	if (!somewhere(s, NULL))
		CHECK_TEXT(s->name, "an event of some kernel");
	for (size_t f = 0; f < MONITOR_FIELDS && s->fields[f].name; f++)
		if (s->fields[f].kernel && !somewhere(s, s->fields[f].kernel)) {
			printf("# %s:\n", s->name);
			CHECK_TEXT(s->fields[f].kernel, "a field of some kernel's event");
		}
}

static void every_event_and_field_is_one_of_some_kernel(void)
{
	for (size_t i = 0; monitor_at(i); i++)
		for (const struct monitor_event *e = monitor_at(i)->events; e->name; e++)
			for (size_t s = 0; s < MONITOR_SOURCES && e->sources[s].name; s++)
				check_source(&e->sources[s]);
}

/* ------------------------------------------------------------------ what users read */

#define PAGE "docs/monitors.md"

/* Whether a section of the page has a row of this name. */
static bool page_has(const char *page, const char *section, const char *name)
{
	struct buf head = BUF_INIT, row = BUF_INIT;
	const char *from, *end, *at;

	buf_printf(&head, "\n## %s\n", section);
	buf_printf(&row, "\n| `%s`", name);
	from = strstr(page, head.data);
	end = from ? strstr(from + 1, "\n## ") : NULL;
	at = from ? strstr(from, row.data) : NULL;
	buf_release(&head);
	buf_release(&row);
	return at && (!end || at < end);
}

static void every_event_and_series_is_in_the_reference(void)
{
	struct buf page = BUF_INIT;

	CHECK(!io_read_file(PAGE, 1u << 20, &page));
	buf_putc(&page, 0);
	for (size_t i = 0; monitor_at(i); i++) {
		const struct monitor *m = monitor_at(i);

		for (const struct monitor_event *e = m->events; e->name; e++)
			if (!page_has(page.data, m->name, e->name))
				CHECK_TEXT(e->name, "an event in " PAGE);
		for (const struct monitor_series *s = m->series; s->name; s++)
			if (!page_has(page.data, m->name, s->name))
				CHECK_TEXT(s->name, "a series in " PAGE);
	}
	buf_release(&page);
}

/* ------------------------------------------------------------------ plans on kernels */

/* A kernel whose functions are those that tables name, without type information. */
static void make_kernel(const char *release)
{
	char *formats = realpath(FORMATS, NULL), command[900];

	snprintf(command, sizeof(command),
		"rm -rf root && mkdir -p root/sys/kernel/tracing root/proc/self "
		"root/proc/sys/kernel root/boot root/sys/bus/event_source/devices/kprobe && "
		"cp -rL %s/%s root/sys/kernel/tracing/events && cd root && "
		"echo 1.2-test >proc/sys/kernel/osrelease && echo CONFIG_DRM=m "
		">boot/config-1.2-test && "
		"echo 8 >sys/bus/event_source/devices/kprobe/type && "
		"printf 'CapEff:\\t000001ffffffffff\\n' >proc/self/status && "
		"for m in gpu_sched i915 amdgpu xe drm nvidia; do "
		"echo $m 1 0 - Live 0x0; done >proc/modules && "
		"for f in nvidia_open nvidia_close nvidia_mmap nvidia_poll "
		"nvidia_unlocked_ioctl; do echo ffffffffc0000000 t $f [nvidia]; done "
		">proc/kallsyms && "
		"echo ffffffffc0000000 t i915_gem_shrink [i915] >>proc/kallsyms && "
		"echo ffffffffc0000000 t amdgpu_bo_release_notify [amdgpu] >>proc/kallsyms",
		formats, release);
	free(formats);
	CHECK(shell(command));
}

/* Events that a release has not, or not in this way, and why. */
static const struct exception {
	const char *monitor, *event, *release;
	enum monitor_presence presence;
} exceptions[] = {
	{"drm", "DEPENDS", "5.10", ABSENT_KERNEL},
	{"drm", "DEPENDS", "6.1", ABSENT_KERNEL},
	{"drm", "DEPENDS", "6.12", ABSENT_KERNEL},
	{"i915", "SUBMIT", NULL, ABSENT_CONFIG},
	{"i915", "IN", NULL, ABSENT_CONFIG},
	{"i915", "OUT", NULL, ABSENT_CONFIG},
	{"amdgpu", "BO_FREE", NULL, ABSENT_TYPES},
	{"xe", NULL, "5.10", ABSENT_KERNEL},
	{"xe", NULL, "6.1", ABSENT_KERNEL},
	{"xe", "BO_CREATE", "6.12", ABSENT_KERNEL},
	{"xe", "GROUP_ERROR", "6.12", ABSENT_KERNEL},
	{"nvidia", "XID", "5.10", ABSENT_KERNEL},
	{"nvidia", "XID", "6.1", ABSENT_KERNEL},
	{"nvidia", "XID", "6.12", ABSENT_KERNEL},
	{"nvidia", "XID", "7.2", ABSENT_KERNEL},
	{"nvidia", "SXID", "5.10", ABSENT_KERNEL},
	{"nvidia", "SXID", "6.1", ABSENT_KERNEL},
	{"nvidia", "SXID", "6.12", ABSENT_KERNEL},
	{"nvidia", "SXID", "7.2", ABSENT_KERNEL},
};

static enum monitor_presence expected(const char *monitor, const char *event, const char *release)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++) {
		const struct exception *e = &exceptions[i];

		if (!strcmp(e->monitor, monitor) && (!e->event || !strcmp(e->event, event)) &&
			(!e->release || !strcmp(e->release, release)))
			return e->presence;
	}
	return PRESENT;
}

static void check_events(
	const struct monitor *m, const struct monitor_kernel *k, const char *release)
{
	for (size_t n = 0; m->events[n].name; n++) {
		struct monitor_event_plan plan;

		monitor_event_plan(m, n, k, &plan);
		if (plan.presence == expected(m->name, m->events[n].name, release))
			continue;
		printf("# %s %s on %s: presence %d\n", m->name, m->events[n].name, release,
			plan.presence);
		CHECK_TEXT(plan.reason, "");
	}
}

static void every_event_is_had_where_it_should_be(void)
{
	for (size_t r = 0; r < RELEASES; r++) {
		bool own = !strncmp(releases[r], "nvidia", 6);
		struct monitor_kernel kernel;

		make_kernel(releases[r]);
		monitor_kernel_look(in_folder("root"), &kernel);
		for (size_t i = 0; monitor_at(i); i++)
			if (!own || !strcmp(monitor_at(i)->name, "nvidia"))
				check_events(monitor_at(i), &kernel, releases[r]);
		monitor_kernel_release(&kernel);
	}
}

/* ------------------------------------------------------------------ generations */

static struct monitor_event_plan plan;

static const struct monitor_plan *planned(
	const char *monitor, const char *event, const char *release)
{
	const struct monitor *m = monitor_find(monitor);
	int n = monitor_event_find(m, event);
	struct monitor_kernel kernel;

	make_kernel(release);
	monitor_kernel_look(in_folder("root"), &kernel);
	monitor_event_plan(m, (size_t)n, &kernel, &plan);
	monitor_kernel_release(&kernel);
	CHECK_TEXT(plan.reason, "");
	return &plan.plan;
}

static bool same_place(const struct monitor_plan *p, uint8_t a, const char *field)
{
	for (uint8_t i = 0; i < MONITOR_FIELDS && plan.source->fields[i].name; i++)
		if (!strcmp(plan.source->fields[i].name, field))
			return p->field[a].offset == p->field[i].offset &&
			       p->field[a].read == p->field[i].read;
	return false;
}

static void a_job_is_known_by_what_its_kernel_tells_of_it(void)
{
	static const char *const old[] = {"5.10", "6.1", "6.12"};

	for (size_t i = 0; i < 3; i++) {
		const struct monitor_plan *p = planned("drm", "RUN", old[i]);

		CHECK(p->act[0].kind == ACT_MARK && p->act[0].key[1] == MONITOR_NONE);
		CHECK(same_place(p, p->act[1].key[0], "id"));
		CHECK(same_place(p, p->act[1].key[1], "ring"));
		CHECK(p->act[2].kind == ACT_CLOSE && p->act[2].optional);
		CHECK(p->client == MONITOR_NONE);
	}
	CHECK(planned("drm", "RUN", "7.2")->act[2].kind == ACT_NOTHING);
	CHECK(plan.plan.act[0].key[1] != MONITOR_NONE && plan.plan.client != MONITOR_NONE);
	CHECK(same_place(&plan.plan, plan.plan.act[1].key[0], "job"));
	CHECK(same_place(&plan.plan, plan.plan.act[1].key[1], "job2"));
}

static void who_is_waited_for_is_looked_up_by_its_finished_fence(void)
{
	const struct monitor_plan *p = planned("drm", "WAIT_DEP", "7.2");

	CHECK(p->act[0].kind == ACT_LOOK && p->act[1].kind == ACT_NOTHING);
	CHECK(p->act[2].kind == ACT_LOOK && p->act[3].kind == ACT_LOOK);
	CHECK(same_place(p, p->act[3].key[0], "fence"));
	CHECK(p->field[p->act[2].key[0]].subtract == 0);
	CHECK(p->field[p->act[3].key[0]].subtract == -1);
	CHECK(p->act[4].label[1].index == 2 && p->act[4].label[1].other == 3);
	CHECK(p->process_act == 0);

	p = planned("drm", "WAIT_DEP", "6.12");
	CHECK(p->act[0].kind == ACT_NOTHING && p->act[1].kind == ACT_LOOK);
	CHECK(p->act[3].kind == ACT_NOTHING);
	CHECK(p->act[4].label[1].index == 2 && p->act[4].label[1].other == MONITOR_NONE);
	CHECK(p->process_act == 1);
}

static void amd_submissions_are_known_until_done_where_the_kernel_tells(void)
{
	const struct monitor_plan *p = planned("amdgpu", "CS_IOCTL", "7.2");

	CHECK(p->act[0].kind == ACT_OPEN && p->act[1].kind == ACT_OPEN);
	CHECK(planned("amdgpu", "CS_PROCESS", "7.2")->act[0].kind == ACT_CLOSE);
	CHECK(plan.plan.count[0].value == VALUE_DURATION);
	p = planned("amdgpu", "CS_IOCTL", "6.12");
	CHECK(p->act[0].kind == ACT_OPEN && p->act[1].kind == ACT_NOTHING);
	CHECK(planned("amdgpu", "CS_PROCESS", "6.12")->act[0].kind == ACT_NOTHING);
	CHECK(plan.plan.count[0].value == VALUE_NOTHING);
	CHECK(plan.plan.count[2].value == VALUE_ONE);
}

static void ranges_of_pages_are_counted_from_start_to_last(void)
{
	const struct monitor_plan *p = planned("amdgpu", "VM_BO_MAP", "5.10");

	CHECK(p->count[0].value == VALUE_RANGE);
	CHECK(same_place(p, p->count[0].from, "start"));
	CHECK(same_place(p, p->count[0].index, "last"));
	CHECK(p->field[p->count[0].index].shift == 12);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(tables_have_no_mistakes);
	RUN(no_two_series_have_the_same_name);
	RUN(every_series_is_counted_and_told);
	RUN(counts_have_the_labels_of_their_series);
	RUN(names_in_lists_fit_into_labels);
	RUN(every_event_and_field_is_one_of_some_kernel);
	RUN(every_event_and_series_is_in_the_reference);
	RUN(every_event_is_had_where_it_should_be);
	RUN(a_job_is_known_by_what_its_kernel_tells_of_it);
	RUN(who_is_waited_for_is_looked_up_by_its_finished_fence);
	RUN(amd_submissions_are_known_until_done_where_the_kernel_tells);
	RUN(ranges_of_pages_are_counted_from_start_to_last);
	shell("rm -rf ./*");
	return rmdir(folder) ? 1 : tap_end();
}
