// SPDX-License-Identifier: MIT
/*
 * Events planned for kernels that are folders of files: formats of Debian's kernels
 * (tests/data/formats), modules, options and functions of our own.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "checks/monitor.h"
#include "folder.h"
#include "monitor/plan.h"
#include "monitor/suits.h"
#include "monitor/kernel/tracefs.h"
#include "tap.h"

#define FORMATS "tests/data/formats/"

/* ------------------------------------------------------------------ a table */

enum { OBJECT_JOB, OBJECT_TICKET };
enum { SERIES_QUEUED, SERIES_DELAY, SERIES_DEPTH, SERIES_CONTEXT, SERIES_PAIRED, SERIES_AGE };

enum { QUEUE, RUN, DONE, LOW_LEVEL, CALL, RETURN, UNKNOWN, KERNEL, BO };

static const struct monitor_event events[] = {
	[QUEUE] = {
		.name = "QUEUE",
		.says = "a job is queued",
		.sources = {{.kind = SOURCE_TRACEPOINT,
				    .name = "gpu_scheduler:drm_sched_job_queue",
				    .module = "gpu_sched",
				    .since = "Linux 6.17",
				    .fields = {{"job", "fence_context", FIELD_NUMBER, .needed = true},
					    {"job2", "fence_seqno", FIELD_NUMBER, .needed = true},
					    {"ring", "name", FIELD_STRING, .needed = true},
					    {"client", "client_id", FIELD_NUMBER}}},
			{.kind = SOURCE_TRACEPOINT,
				.name = "gpu_scheduler:drm_sched_job",
				.module = "gpu_sched",
				.fields = {{"job", "fence", FIELD_NUMBER, .needed = true},
					{"ring", "name", FIELD_STRING, .needed = true},
					{"same", "name", FIELD_STRING},
					{"id", "id", FIELD_NUMBER}}}},
		.acts = {{.kind = ACT_OPEN, .object = OBJECT_JOB, .key = {"job", "job2"}, .label = {"ring"}},
			{.kind = ACT_OPEN, .object = OBJECT_TICKET, .key = {"id", "ring"}, .label = {"@0.0"}}},
		.counts = {{SERIES_QUEUED, VALUE_ONE, .label = {"client|ring"}},
			{SERIES_DELAY, VALUE_DURATION, .act = 1, .label = {"ring"}}},
		.label = {"ring", "@1.1|client"},
		.process_act = 2,
		.above = 2,
	},
	[RUN] = {
		.name = "RUN",
		.says = "a job runs",
		.sources = {{.kind = SOURCE_TRACEPOINT,
				    .name = "gpu_scheduler:drm_sched_job_run",
				    .module = "gpu_sched",
				    .fields = {{"job", "fence_context", FIELD_NUMBER, .needed = true},
					    {"job2", "fence_seqno", FIELD_NUMBER, .needed = true},
					    {"thread", NULL, FIELD_THREAD},
					    {"ring", "name", FIELD_STRING, .needed = true},
					    {"device", "dev", FIELD_STRING},
					    {"hw", "hw_job_count", FIELD_NUMBER, .shift = 12, .add = -1}}},
			{.kind = SOURCE_TRACEPOINT,
				.name = "gpu_scheduler:drm_run_job",
				.module = "gpu_sched",
				.fields = {{"job", "fence", FIELD_NUMBER, .needed = true},
					{"thread", NULL, FIELD_THREAD},
					{"ring", "name", FIELD_STRING, .needed = true},
					{"device", "dev", FIELD_STRING},
					{"hw", "hw_job_count", FIELD_NUMBER, .shift = 12, .add = -1}}}},
		.acts = {{.kind = ACT_MARK, .object = OBJECT_JOB, .stage = 1, .key = {"job", "job2"}},
			{.kind = ACT_CLOSE, .object = OBJECT_TICKET, .stage = 1, .key = {"thread"}},
			{.kind = ACT_LOOK, .object = OBJECT_TICKET, .key = {"device"}}},
		.counts = {{SERIES_DELAY, VALUE_DURATION, .act = 0, .from = 0, .label = {"@2.1|@1.0|@0.1|@0.0"}},
			{SERIES_DEPTH, VALUE_FIELD, .field = "hw", .label = {"ring"}},
			{SERIES_PAIRED, VALUE_PAIRED, .field = "hw", .act = 1},
			{SERIES_AGE, VALUE_AGE, .field = "device"}},
		.label = {"ring"},
		.process_act = 1,
		.above = 1,
	},
	[DONE] = {
		.name = "DONE",
		.says = "a job is done",
		.sources = {{.kind = SOURCE_TRACEPOINT,
				    .name = "gpu_scheduler:drm_sched_job_done",
				    .module = "gpu_sched",
				    .fields = {{"job", "fence_context", FIELD_NUMBER, .needed = true},
					    {"job2", "fence_seqno", FIELD_NUMBER, .needed = true}}},
			{.kind = SOURCE_TRACEPOINT,
				.name = "gpu_scheduler:drm_sched_process_job",
				.module = "gpu_sched",
				.fields = {{"job", "fence", FIELD_NUMBER, .needed = true}}}},
		.acts = {{.kind = ACT_CLOSE, .object = OBJECT_JOB, .stage = 2, .key = {"job", "job2"}}},
	},
	[LOW_LEVEL] = {
		.name = "LOW_LEVEL",
		.says = "i915 submits",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "i915:i915_request_submit",
			.module = "i915",
			.config = "CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS"}},
	},
	[CALL] = {
		.name = "CALL",
		.says = "the driver is called",
		.sources = {{.kind = SOURCE_FUNCTION,
			.name = "nvidia_unlocked_ioctl",
			.module = "nvidia",
			.fields = {{"file", NULL, FIELD_NUMBER, .argument = 0, .bytes = 8},
				{"cmd", NULL, FIELD_NUMBER, .argument = 1, .bytes = 4, .is_signed = true}}}},
		.acts = {{.kind = ACT_OPEN, .object = OBJECT_JOB, .key = {"file"}}},
	},
	[RETURN] = {
		.name = "RETURN",
		.says = "the call returns",
		.sources = {{.kind = SOURCE_RETURN,
			.name = "nvidia_unlocked_ioctl",
			.module = "nvidia",
			.fields = {{"result", NULL, FIELD_NUMBER, .bytes = 8, .is_signed = true},
				{"flags", NULL, FIELD_NUMBER, .bytes = 4}}}},
	},
	[UNKNOWN] = {
		.name = "UNKNOWN",
		.says = "nobody has this",
		.sources = {{.kind = SOURCE_TRACEPOINT, .name = "gpu_scheduler:drm_nothing", .module = "gpu_sched",
				    .since = "Linux 9.1"},
			{.kind = SOURCE_FUNCTION, .name = "drm_nothing", .module = "gpu_sched"}},
	},
	[KERNEL] = {
		.name = "KERNEL",
		.says = "an event of the kernel's own",
		.sources = {{.kind = SOURCE_TRACEPOINT, .name = "sched:sched_nothing"}},
	},
	[BO] = {
		.name = "BO",
		.says = "a buffer goes",
		.sources = {{.kind = SOURCE_FUNCTION,
			.name = "amdgpu_bo_destroy",
			.module = "amdgpu",
			.fields = {{"bo", NULL, FIELD_NUMBER, .needed = true, .bytes = 8, .within = "amdgpu_bo.tbo"}}}},
	},
	{0},
};

static const struct monitor_object_row objects[] = {{.name = "job"}, {.name = "ticket"}, {0}};

static const struct monitor_series series[] = {
	[SERIES_QUEUED] = {.name = "queued", .by_process = true},
	[SERIES_DELAY] = {.name = "delay", .histogram = true, .busy = true},
	[SERIES_DEPTH] = {.name = "depth", .histogram = true, .busy = true},
	[SERIES_CONTEXT] = {.name = "context"},
	[SERIES_PAIRED] = {.name = "paired"},
	[SERIES_AGE] = {.name = "age"},
	{0},
};

static const struct monitor table = {
	.name = "table",
	.events = events,
	.objects = objects,
	.series = series,
	.drivers = "gpu_sched|xe",
};

/* ------------------------------------------------------------------ kernels */

static struct monitor_event_plan plan;

/* Fills a folder with what a kernel has; `files`: shell commands that add to it or spoil it. */
static const char *make_kernel(const char *release, const char *files)
{
	char *formats = realpath(FORMATS, NULL), command[832];

	snprintf(command, sizeof(command),
		"rm -rf root && mkdir -p root/sys/kernel/tracing root/proc/self "
		"root/proc/sys/kernel root/boot "
		"root/sys/bus/event_source/devices/kprobe root/lib/modules/1.2-test && "
		"cp -rL %s/%s root/sys/kernel/tracing/events && cd root && "
		"echo 1.2-test >proc/sys/kernel/osrelease && echo 8 "
		">sys/bus/event_source/devices/kprobe/type && "
		"printf 'CapEff:\\t000001ffffffffff\\n' >proc/self/status && "
		"printf 'ext4 1 0 - Live 0x0\\ngpu_sched 57344 1 xe, Live 0xffffffffc0\\n' "
		">proc/modules && cd ..",
		formats, release);
	free(formats);
	CHECK(shell(command));
	if (*files) {
		snprintf(command, sizeof(command), "cd root && {\n%s\n}", files);
		CHECK(shell(command));
	}
	return in_folder("root");
}

/* Plans an event of the table for such a kernel: "" or why it cannot be had. */
static const char *planned(const char *release, const char *files, size_t event)
{
	struct monitor_kernel kernel;

	monitor_kernel_look(make_kernel(release, files), &kernel);
	monitor_event_plan(&table, event, &kernel, &plan);
	monitor_kernel_release(&kernel);
	return plan.reason;
}

#define EVENT_FILE(event) "sys/kernel/tracing/events/gpu_scheduler/" event "/format"

/* ------------------------------------------------------------------ what is planned */

static const char *const both[] = {"5.10", "6.12", "7.2"};

static void both_generations_of_events_are_planned(void)
{
	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++)
		for (size_t event = QUEUE; event <= DONE; event++) {
			CHECK_TEXT(planned(both[i], "", event), "");
			CHECK(plan.presence == PRESENT);
			CHECK(plan.plan.event == event);
			CHECK(plan.source == &events[event].sources[i < 2]);
			CHECK(plan.tracepoint_id > 0);
		}
}

static bool field_is(uint8_t i, uint8_t read, uint16_t offset, uint8_t size, uint8_t string)
{
	const struct monitor_field_plan *f = &plan.plan.field[i];

	return f->read == read && f->offset == offset && f->size == size && f->string == string;
}

static void fields_are_where_the_kernel_says(void)
{
	planned("5.10", "", RUN);
	CHECK(plan.tracepoint_id == 1281);
	CHECK(field_is(0, READ_UNSIGNED, 16, 8, MONITOR_NONE));
	CHECK(field_is(2, READ_POINTER, 24, 8, 0));
	CHECK(field_is(4, READ_SIGNED, 44, 4, MONITOR_NONE));
	planned("6.12", "", RUN);
	CHECK(field_is(0, READ_UNSIGNED, 16, 8, MONITOR_NONE));
	CHECK(field_is(2, READ_DATA_LOC, 24, 4, 0));
	planned("7.2", "", RUN);
	CHECK(field_is(0, READ_UNSIGNED, 24, 8, MONITOR_NONE));
	CHECK(field_is(1, READ_UNSIGNED, 32, 8, MONITOR_NONE));
	CHECK(field_is(2, READ_THREAD, 0, 0, MONITOR_NONE));
	CHECK(field_is(3, READ_DATA_LOC, 8, 4, 0));
	CHECK(field_is(4, READ_DATA_LOC, 20, 4, 1));
	CHECK(plan.plan.field[5].shift == 12);
	CHECK(plan.plan.field[5].subtract == 1);
}

static void a_string_read_twice_is_kept_once(void)
{
	planned("6.12", "", QUEUE);
	CHECK(plan.plan.field[1].string == 0);
	CHECK(plan.plan.field[2].string == 0);
}

static void what_a_kernel_does_not_tell_is_nothing(void)
{
	planned("6.12", "", RUN);
	CHECK(field_is(3, READ_NOTHING, 0, 0, MONITOR_NONE));
	CHECK(plan.plan.field[3].subtract == 0);
	CHECK(plan.plan.client == MONITOR_NONE);
	planned("7.2", "", QUEUE);
	CHECK(plan.plan.client == 3);
}

static void acts_without_their_key_are_left_out(void)
{
	planned("7.2", "", QUEUE);
	CHECK(plan.plan.act[0].kind == ACT_OPEN);
	CHECK(plan.plan.act[0].key[0] == 0);
	CHECK(plan.plan.act[0].key[1] == 1);
	CHECK(plan.plan.act[1].kind == ACT_NOTHING);
	planned("6.12", "", QUEUE);
	CHECK(plan.plan.act[0].key[0] == 0);
	CHECK(plan.plan.act[0].key[1] == MONITOR_NONE);
	CHECK(plan.plan.act[0].value == MONITOR_NONE);
	CHECK(plan.plan.act[1].kind == ACT_OPEN);
	CHECK(plan.plan.act[1].object == OBJECT_TICKET);
	CHECK(plan.plan.act[1].key[0] == 3);
	CHECK(plan.plan.act[1].key[1] == 1);
}

static void what_depends_on_an_act_that_is_left_out_is_nothing(void)
{
	planned("7.2", "", QUEUE);
	CHECK(plan.plan.count[1].value == VALUE_NOTHING);
	CHECK(plan.plan.process_act == MONITOR_NONE);
	CHECK(plan.plan.above_count == MONITOR_NONE);
	planned("6.12", "", QUEUE);
	CHECK(plan.plan.count[1].value == VALUE_DURATION);
	CHECK(plan.plan.process_act == 1);
	CHECK(plan.plan.above_count == 1);
}

static bool label_is(const struct monitor_label_plan *l, uint8_t from, uint8_t index, uint8_t which,
	uint8_t other)
{
	return l->from == from && l->index == index && l->which == which && l->other == other;
}

static void labels_come_from_the_first_that_there_is(void)
{
	planned("7.2", "", QUEUE);
	CHECK(label_is(&plan.plan.count[0].label[0], LABEL_FIELD, 3, 0, MONITOR_NONE));
	CHECK(label_is(&plan.plan.count[0].label[1], LABEL_EMPTY, 0, 0, MONITOR_NONE));
	CHECK(label_is(&plan.plan.label[0], LABEL_FIELD, 2, 0, MONITOR_NONE));
	CHECK(label_is(&plan.plan.label[1], LABEL_FIELD, 3, 0, MONITOR_NONE));
	planned("6.12", "", QUEUE);
	CHECK(label_is(&plan.plan.count[0].label[0], LABEL_FIELD, 1, 0, MONITOR_NONE));
	CHECK(label_is(&plan.plan.label[1], LABEL_ACT, 1, 1, MONITOR_NONE));
	CHECK(label_is(&plan.plan.act[1].label[0], LABEL_ACT, 0, 0, MONITOR_NONE));
}

static void a_label_may_be_that_of_one_of_two_acts(void)
{
	planned("7.2", "", RUN);
	CHECK(label_is(&plan.plan.count[0].label[0], LABEL_ACT, 2, 1, 0));
	planned("6.12", "", RUN); /* without a device, act 2 is not there */
	CHECK(label_is(&plan.plan.count[0].label[0], LABEL_ACT, 1, 0, 0));
}

static void counts_are_as_their_series_say(void)
{
	planned("7.2", "", RUN);
	CHECK(plan.plan.count[0].value == VALUE_DURATION && plan.plan.count[0].index == 0);
	CHECK(plan.plan.count[0].series == SERIES_DELAY);
	CHECK(plan.plan.count[0].histogram && plan.plan.count[0].busy &&
		!plan.plan.count[0].by_process);
	CHECK(plan.plan.count[1].value == VALUE_FIELD && plan.plan.count[1].index == 5);
	CHECK(plan.plan.count[1].histogram && !plan.plan.count[1].busy);
	CHECK(plan.plan.count[2].value == VALUE_PAIRED && plan.plan.count[2].index == 5);
	CHECK(plan.plan.count[2].from == 1);
	CHECK(plan.plan.count[3].value == VALUE_AGE && plan.plan.count[3].index == 4);
	CHECK(plan.plan.above_count == 0);
	CHECK(plan.plan.process_act == 0);
	planned("6.12", "", RUN);
	CHECK(plan.plan.count[3].value == VALUE_NOTHING);
	planned("6.12", "", QUEUE);
	CHECK(plan.plan.count[0].by_process);
}

/* ------------------------------------------------------- formats that are not as they should be */

static void a_needed_field_that_is_missing_is_named(void)
{
	CHECK_TEXT(planned("6.12", "sed -i '/ fence;/d' " EVENT_FILE("drm_run_job"), RUN),
		"the kernel's gpu_scheduler:drm_run_job has no field 'fence'");
	CHECK(plan.presence == ABSENT_FORMAT);
	CHECK(plan.source == &events[RUN].sources[1]);
	CHECK(!plan.plan.field[0].read && !plan.plan.act[0].kind);
	planned("7.2", "sed -i '/ fence_seqno;/d' " EVENT_FILE("drm_sched_job_done"), DONE);
	CHECK(plan.presence == ABSENT_FORMAT);
}

static void a_field_of_another_size_is_named_and_not_read(void)
{
	CHECK_TEXT(
		planned("7.2",
			"sed -i '/ fence_seqno;/s/size:8/size:4/' " EVENT_FILE("drm_sched_job_run"),
			RUN),
		"field 'fence_seqno' of the kernel's gpu_scheduler:drm_sched_job_run, of 4 bytes "
		"at 32, cannot be read");
	CHECK(plan.presence == ABSENT_FORMAT);
	CHECK_TEXT(planned("6.12", "sed -i '/ name;/s/size:4/size:2/' " EVENT_FILE("drm_run_job"),
			   RUN),
		"field 'name' of the kernel's gpu_scheduler:drm_run_job, of 2 bytes at 24, cannot "
		"be read");
	CHECK(plan.presence == ABSENT_FORMAT);
}

static void a_field_of_another_type_is_named_and_not_read(void)
{
	CHECK_TEXT(planned("6.12",
			   "sed -i 's/__data_loc char.. name/u32 name/' " EVENT_FILE("drm_run_job"),
			   RUN),
		"field 'name' of the kernel's gpu_scheduler:drm_run_job is not a string");
	CHECK(plan.presence == ABSENT_FORMAT);
	CHECK_TEXT(planned("6.12",
			   "sed -i 's/struct dma_fence . fence/const char * fence/' " EVENT_FILE(
				   "drm_run_job"),
			   RUN),
		"field 'fence' of the kernel's gpu_scheduler:drm_run_job is not a number");
	CHECK(plan.presence == ABSENT_FORMAT);
	planned("6.12",
		"sed -i 's/struct dma_fence . fence/struct dma_fence fence/' " EVENT_FILE(
			"drm_run_job"),
		RUN);
	CHECK(plan.presence == ABSENT_FORMAT);
}

static void a_field_that_is_not_needed_has_to_be_right_too(void)
{
	planned("6.12", "sed -i '/ hw_job_count;/s/size:4/size:3/' " EVENT_FILE("drm_run_job"),
		RUN);
	CHECK(plan.presence == ABSENT_FORMAT);
	CHECK_TEXT(
		planned("6.12", "sed -i '/ hw_job_count;/d' " EVENT_FILE("drm_run_job"), RUN), "");
	CHECK(plan.presence == PRESENT);
	CHECK(plan.plan.count[1].value == VALUE_NOTHING);
}

static void what_the_kernel_hides_from_programs_is_not_read(void)
{
	CHECK_TEXT(
		planned("6.12",
			"sed -i '/common_/d; s/offset:16;/offset:0;/' " EVENT_FILE("drm_run_job"),
			RUN),
		"field 'fence' of the kernel's gpu_scheduler:drm_run_job, of 8 bytes at 0, cannot "
		"be read");
	CHECK(plan.presence == ABSENT_FORMAT);
}

static void a_format_that_is_not_understood_is_no_missing_event(void)
{
	CHECK_TEXT(planned("6.12", "sed -i 5,99d " EVENT_FILE("drm_run_job"), RUN),
		"gpu_scheduler:drm_run_job: the event's format stops before its end");
	CHECK(plan.presence == ABSENT_FORMAT);
}

static void where_one_source_is_broken_another_is_taken(void)
{
	planned("7.2",
		"cp -r sys/kernel/tracing/events/gpu_scheduler/drm_sched_job_run x; mv x "
		"sys/kernel/tracing/events/gpu_scheduler/drm_run_job; sed -i 's/name: .*/name: "
		"drm_run_job/; "
		"s/fence_context/fence/' " EVENT_FILE(
			"drm_run_job") "; sed -i '/fence_seqno/d' " EVENT_FILE("drm_sched_job_run"),
		RUN);
	CHECK_TEXT(plan.reason, "");
	CHECK(plan.presence == PRESENT);
	CHECK(plan.source == &events[RUN].sources[1]);
}

/* ------------------------------------------------------------------ why an event is not there */

#define NO_EVENTS "rm -r sys/kernel/tracing/events/*; "

static void a_module_that_is_not_loaded_is_told_from_one_that_does_not_exist(void)
{
	CHECK_TEXT(
		planned("7.2", NO_EVENTS "rm proc/modules", RUN), "module gpu_sched is not loaded");
	CHECK(plan.presence == ABSENT_MODULE);
	CHECK_TEXT(planned("7.2",
			   NO_EVENTS "echo 'gpu_sched 1 0 - Loading 0x0' >proc/modules; echo "
				     "'kernel/drivers/gpu/drm/scheduler/gpu-sched.ko.xz:' "
				     ">lib/modules/1.2-test/modules.dep",
			   RUN),
		"module gpu_sched is not loaded (modprobe gpu_sched)");
	CHECK(plan.presence == ABSENT_MODULE);
	CHECK_TEXT(planned("7.2",
			   NO_EVENTS "rm proc/modules; echo 'kernel/gpu-sched-not.ko:' "
				     ">lib/modules/1.2-test/modules.dep",
			   RUN),
		"this kernel has no module gpu_sched");
	CHECK(plan.presence == ABSENT_MODULE);
}

static void an_event_that_a_kernel_has_not_is_told_from_a_module_that_is_not_loaded(void)
{
	CHECK_TEXT(planned("7.2", "", UNKNOWN),
		"this kernel has no event gpu_scheduler:drm_nothing (since Linux 9.1)");
	CHECK(plan.presence == ABSENT_KERNEL);
	CHECK_TEXT(planned("7.2",
			   "rm proc/modules; echo kernel/gpu-sched.ko "
			   ">lib/modules/1.2-test/modules.builtin",
			   UNKNOWN),
		"this kernel has no event gpu_scheduler:drm_nothing (since Linux 9.1)");
	CHECK_TEXT(planned("7.2", "rm proc/modules; mkdir -p sys/module/gpu_sched", UNKNOWN),
		"this kernel has no event gpu_scheduler:drm_nothing (since Linux 9.1)");
	CHECK_TEXT(planned("7.2", "", KERNEL), "this kernel has no event sched:sched_nothing");
}

static void a_missing_option_is_named_wherever_options_are_told(void)
{
	static const char *const places[] = {
		"echo \"$O\" | gzip >proc/config.gz",
		"echo \"$O\" >boot/config-1.2-test",
		"echo \"$O\" >lib/modules/1.2-test/config",
		"mkdir lib/modules/1.2-test/build; echo \"$O\" >lib/modules/1.2-test/build/.config",
	};
	char files[512];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(files, sizeof(files),
			"O='# CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS is not set'; echo 'i915 1 0 - "
			"Live 0' "
			">proc/modules; %s",
			places[i]);
		CHECK_TEXT(planned("7.2", files, LOW_LEVEL),
			"this kernel was built without CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS");
		CHECK(plan.presence == ABSENT_CONFIG);
		snprintf(files, sizeof(files),
			"O='CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS=y'; echo 'i915 1 0 - Live 0' "
			">proc/modules; %s",
			places[i]);
		CHECK_TEXT(planned("7.2", files, LOW_LEVEL),
			"this kernel has no event i915:i915_request_submit");
	}
}

static void a_kernel_that_does_not_tell_its_options_is_not_accused(void)
{
	struct monitor_kernel kernel;

	planned("7.2", "echo 'i915 1 0 - Live 0' >proc/modules", LOW_LEVEL);
	CHECK(plan.presence == ABSENT_KERNEL);
	monitor_kernel_look(in_folder("root"), &kernel);
	CHECK(monitor_kernel_option(&kernel, "CONFIG_KPROBES") == -1);
	CHECK(shell("printf 'CONFIG_KPROBES=y\\nCONFIG_DRM=m\\nCONFIG_HZ=250\\n' "
		    ">root/boot/config-1.2-test"));
	CHECK(monitor_kernel_option(&kernel, "CONFIG_KPROBES") == 1);
	CHECK(monitor_kernel_option(&kernel, "CONFIG_DRM") == 1);
	CHECK(monitor_kernel_option(&kernel, "CONFIG_KPROBE") == 0);
	monitor_kernel_release(&kernel);
}

static void without_tracefs_its_own_reason_is_told(void)
{
	CHECK_TEXT(planned("7.2", "rm -r sys/kernel/tracing", RUN),
		"tracefs is not mounted: as root, 'mount -t tracefs nodev /sys/kernel/tracing' "
		"mounts it");
	CHECK(plan.presence == ABSENT_RIGHTS);
	CHECK_TEXT(planned("7.2", "rm -r sys/kernel/tracing proc/modules", RUN),
		"module gpu_sched is not loaded");
}

static void without_rights_nothing_is_present(void)
{
	CHECK_TEXT(planned("7.2", "printf 'CapEff:\\t0000000000000000\\n' >proc/self/status", RUN),
		"needs root, or CAP_BPF and CAP_PERFMON");
	CHECK(plan.presence == ABSENT_RIGHTS);
	CHECK_TEXT(planned("7.2", "printf 'CapEff:\\t0000004000000000\\n' >proc/self/status", RUN),
		"needs root, or CAP_BPF and CAP_PERFMON");
	CHECK_TEXT(planned("7.2", "printf 'CapEff:\\t000000c000000000\\n' >proc/self/status", RUN),
		"");
	CHECK_TEXT(planned("7.2", "printf 'CapEff:\\t0000000000200000\\n' >proc/self/status", RUN),
		"");
}

/* ------------------------------------------------------------------ functions */

#define NVIDIA                                                                                     \
	"echo 'nvidia 1 0 - Live 0' >proc/modules; "                                               \
	"printf '0 t nvidia_poll\\t[nvidia]\\n0 t nvidia_unlocked_ioctl\\t[nvidia]\\n"             \
	"0 t nvidia_unlocked_ioctl.cold\\t[nvidia]\\n0 d nvidia_open\\t[nvidia]\\n' "              \
	">proc/kallsyms; "

static void functions_are_planned_by_their_arguments_and_results(void)
{
	CHECK_TEXT(planned("7.2", NVIDIA, CALL), "");
	CHECK(plan.presence == PRESENT);
	CHECK_TEXT(plan.function ? plan.function : "", "nvidia_unlocked_ioctl");
	CHECK(field_is(0, READ_ARGUMENT, 0, 8, MONITOR_NONE));
	CHECK(field_is(1, READ_ARGUMENT_SIGNED, 1, 4, MONITOR_NONE));
	CHECK(plan.plan.act[0].kind == ACT_OPEN && plan.plan.act[0].key[0] == 0);
	CHECK_TEXT(planned("7.2", NVIDIA, RETURN), "");
	CHECK(field_is(0, READ_RESULT_SIGNED, 0, 8, MONITOR_NONE));
	CHECK(field_is(1, READ_RESULT, 0, 4, MONITOR_NONE));
}

static void a_function_needs_kprobes_a_module_and_to_be_there(void)
{
	CHECK_TEXT(planned("7.2", NVIDIA "rm -r sys/bus/event_source", CALL),
		"this kernel was built without CONFIG_KPROBE_EVENTS");
	CHECK(plan.presence == ABSENT_KPROBES);
	CHECK_TEXT(planned("7.2", NVIDIA ": >proc/kallsyms", CALL),
		"this kernel has no function nvidia_unlocked_ioctl");
	CHECK(plan.presence == ABSENT_KERNEL);
	CHECK_TEXT(planned("7.2", "", CALL), "module nvidia is not loaded");
	CHECK(plan.presence == ABSENT_MODULE);
}

static void of_two_functions_with_one_name_none_is_taken(void)
{
	CHECK_TEXT(planned("7.2", NVIDIA "echo '0 t nvidia_unlocked_ioctl' >>proc/kallsyms", CALL),
		"this kernel has 2 functions nvidia_unlocked_ioctl, of which none can be chosen");
	CHECK(plan.presence == ABSENT_KERNEL);
}

static void only_functions_are_functions(void)
{
	struct monitor_kernel kernel, forgetful;

	monitor_kernel_look(make_kernel("7.2", NVIDIA), &kernel);
	forgetful = kernel;
	forgetful.kept = NULL;
	CHECK(monitor_kernel_functions(&kernel, "nvidia_poll") == 1);
	CHECK(monitor_kernel_functions(&forgetful, "nvidia_poll") == 1);
	CHECK(monitor_kernel_functions(&kernel, "nvidia_open") != 1);
	CHECK(monitor_kernel_functions(&kernel, "nvidia") != 1);
	CHECK(monitor_kernel_functions(&kernel, "poll") != 1);
	CHECK(monitor_kernel_functions(&forgetful, "nvidia_unlocked") != 1);
	monitor_kernel_release(&kernel);
}

static void without_type_information_a_struct_around_a_member_is_not_found(void)
{
	CHECK(planned("7.2",
		"echo 'amdgpu 1 0 - Live 0' >proc/modules; echo '0 t amdgpu_bo_destroy' "
		">proc/kallsyms",
		BO)[0]);
	CHECK(plan.presence == ABSENT_TYPES);
	CHECK_TEXT(planned("7.2", "", BO), "module amdgpu is not loaded");
}

/* ------------------------------------------------------------------ which monitors suit */

static struct buf why;

static const char *suits(const char *files)
{
	struct monitor_kernel kernel;
	static char text[256];
	bool suitable;

	monitor_kernel_look(make_kernel("7.2", files), &kernel);
	suitable = monitor_suits(&table, &kernel, &why);
	snprintf(text, sizeof(text), "%s: %s", suitable ? "yes" : "no", buf_text(&why));
	CHECK(suitable == monitor_suits(&table, &kernel, NULL));
	monitor_kernel_release(&kernel);
	return text;
}

#define DEVICE(class, vendor)                                                                      \
	"mkdir -p sys/bus/pci/devices/0000:00:02.0; echo " class " >sys/bus/pci/devices/"          \
								 "0000:00:02.0/class; "            \
								 "echo " vendor                    \
								 " >sys/bus/pci/devices/"          \
								 "0000:00:02.0/vendor; "
#define DRIVER(name)                                                                               \
	"ln -s ../../../bus/pci/drivers/" name " sys/bus/pci/devices/0000:00:02.0/driver; "

static void a_monitor_suits_where_its_driver_is(void)
{
	CHECK_TEXT(suits(""), "yes: module gpu_sched is loaded");
	CHECK_TEXT(suits("rm proc/modules"), "no: none of its drivers is loaded");
	CHECK_TEXT(suits(DEVICE("0x030000", "0x8086") DRIVER("xe")), "yes: xe drives 0000:00:02.0");
	CHECK_TEXT(suits("rm proc/modules;" DEVICE("0x030000", "0x8086") DRIVER("i915")),
		"no: none of its drivers is loaded");
}

static void a_monitor_suits_a_gpu_that_waits_for_its_driver(void)
{
	CHECK_TEXT(suits("rm proc/modules;" DEVICE("0x038000", "0x8086")),
		"yes: 0000:00:02.0 is Intel's, but has no driver");
	CHECK_TEXT(suits("mkdir -p sys/bus/pci/devices/0000:00:01.0; cd "
			 "sys/bus/pci/devices/0000:00:01.0;"
			 "echo 0x030000 >class; echo 0x8086 >vendor; cd ../../../../..;" DEVICE(
				 "0x030000", "0x8086") DRIVER("xe")),
		"yes: xe drives 0000:00:02.0");
	CHECK_TEXT(suits("rm proc/modules;" DEVICE("0x030200", "0x10de")),
		"no: none of its drivers is loaded");
	CHECK_TEXT(suits("rm proc/modules;" DEVICE("0x020000", "0x8086")),
		"no: none of its drivers is loaded");
}

/* ------------------------------------------------------------------ tables */

static void the_table_of_every_monitor_means_something(void)
{
	for (size_t i = 0; monitor_at(i); i++)
		if (monitor_check(monitor_at(i))) {
			printf("# %s\n", error_text());
			CHECK(!"a table without mistakes");
		}
}

/* What is said of a table with one event. */
static const char *mistake(struct monitor_event event)
{
	struct monitor_event rows[] = {event, {0}};
	struct monitor m = table;

	if (!rows[0].name)
		rows[0].name = "E";
	rows[0].says = "something";
	if (!rows[0].sources[0].kind) {
		struct monitor_source source = {.kind = SOURCE_TRACEPOINT,
			.name = "g:e",
			.fields = {{"a", "a", FIELD_NUMBER}}};

		memcpy(&rows[0].sources[0], &source, sizeof(source));
	}
	m.events = rows;
	return monitor_check(&m) ? error_text() : "none";
}

#define MISTAKE(...) mistake((struct monitor_event){__VA_ARGS__})

static void mistakes_in_tables_are_found(void)
{
	CHECK_TEXT(MISTAKE(.label = {"a"}), "none");
	CHECK_TEXT(MISTAKE(.label = {"a|b"}),
		"monitor table, event E: label 'a|b' names what is not a field");
	CHECK_TEXT(MISTAKE(.label = {"@0.0"}),
		"monitor table, event E: label '@0.0' names what is not an act's label");
	CHECK_TEXT(MISTAKE(.acts = {{.kind = ACT_OPEN, .key = {"b"}}}),
		"monitor table, event E: key 'b' is not a field");
	CHECK_TEXT(MISTAKE(.acts = {{.kind = ACT_OPEN, .object = 2, .key = {"a"}}}),
		"monitor table, event E: act 0 is about an object that is not in the table");
	CHECK_TEXT(MISTAKE(.acts = {{.kind = ACT_MARK, .stage = MONITOR_STAGES, .key = {"a"}}}),
		"monitor table, event E: act 0 is about stage 4");
	CHECK_TEXT(MISTAKE(.acts = {{.kind = ACT_ADVANCE, .key = {"a"}}}),
		"monitor table, event E: act 0 needs a value");
	CHECK_TEXT(MISTAKE(.acts = {{.kind = ACT_OPEN, .key = {"a"}, .label = {"@0.0"}}}),
		"monitor table, event E: label '@0.0' names what is not an act's label");
	CHECK_TEXT(MISTAKE(.counts = {{99, VALUE_ONE}}),
		"monitor table, event E: count 0 is of a series that is not in the table");
	CHECK_TEXT(MISTAKE(.counts = {{0, VALUE_ONE}, {0, VALUE_FIELD, .field = "a"}}),
		"monitor table, series queued: has values and mere counts");
	CHECK_TEXT(MISTAKE(.counts = {{0, VALUE_FIELD}}),
		"monitor table, event E: count 0 does not say of which field");
	CHECK_TEXT(MISTAKE(.counts = {{0, VALUE_DURATION}}),
		"monitor table, event E: count 0 is of an act that is not there");
	CHECK_TEXT(MISTAKE(.process_act = 1),
		"monitor table, event E: its process is that of an act that is not there");
	CHECK_TEXT(MISTAKE(.above = 1),
		"monitor table, event E: --above is about a count that is not there");
	CHECK_TEXT(MISTAKE(.sources = {{.kind = SOURCE_TRACEPOINT, .name = "e"}}),
		"monitor table, event E: source 'e' has not the name of one");
	CHECK_TEXT(MISTAKE(.sources = {{.kind = SOURCE_FUNCTION,
				   .name = "f",
				   .fields = {{"a", NULL, FIELD_NUMBER}}}}),
		"monitor table, event E: field 'a' has 0 bytes");
	CHECK_TEXT(
		MISTAKE(.sources = {{.kind = SOURCE_TRACEPOINT,
				.name = "g:e",
				.fields = {{"a", "a", FIELD_NUMBER}, {"a", "b", FIELD_NUMBER}}}}),
		"monitor table, event E: field 'a' is there twice");
	CHECK_TEXT(MISTAKE(.sources = {{.kind = SOURCE_TRACEPOINT,
				   .name = "g:e",
				   .fields = {{"a", "a", FIELD_STRING}, {"b", "b", FIELD_STRING},
					   {"c", "c", FIELD_STRING}, {"d", "d", FIELD_STRING}}}}),
		"monitor table, event E: 'g:e' has 4 strings, and only 3 are kept");
	CHECK(!monitor_check(&table));
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(both_generations_of_events_are_planned);
	RUN(fields_are_where_the_kernel_says);
	RUN(a_string_read_twice_is_kept_once);
	RUN(what_a_kernel_does_not_tell_is_nothing);
	RUN(acts_without_their_key_are_left_out);
	RUN(what_depends_on_an_act_that_is_left_out_is_nothing);
	RUN(labels_come_from_the_first_that_there_is);
	RUN(a_label_may_be_that_of_one_of_two_acts);
	RUN(counts_are_as_their_series_say);
	RUN(a_needed_field_that_is_missing_is_named);
	RUN(a_field_of_another_size_is_named_and_not_read);
	RUN(a_field_of_another_type_is_named_and_not_read);
	RUN(a_field_that_is_not_needed_has_to_be_right_too);
	RUN(what_the_kernel_hides_from_programs_is_not_read);
	RUN(a_format_that_is_not_understood_is_no_missing_event);
	RUN(where_one_source_is_broken_another_is_taken);
	RUN(a_module_that_is_not_loaded_is_told_from_one_that_does_not_exist);
	RUN(an_event_that_a_kernel_has_not_is_told_from_a_module_that_is_not_loaded);
	RUN(a_missing_option_is_named_wherever_options_are_told);
	RUN(a_kernel_that_does_not_tell_its_options_is_not_accused);
	RUN(without_tracefs_its_own_reason_is_told);
	RUN(without_rights_nothing_is_present);
	RUN(functions_are_planned_by_their_arguments_and_results);
	RUN(a_function_needs_kprobes_a_module_and_to_be_there);
	RUN(of_two_functions_with_one_name_none_is_taken);
	RUN(only_functions_are_functions);
	RUN(without_type_information_a_struct_around_a_member_is_not_found);
	RUN(a_monitor_suits_where_its_driver_is);
	RUN(a_monitor_suits_a_gpu_that_waits_for_its_driver);
	RUN(the_table_of_every_monitor_means_something);
	RUN(mistakes_in_tables_are_found);
	buf_release(&why);
	shell("rm -rf \"$PWD\"");
	return tap_end();
}
