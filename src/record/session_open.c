// SPDX-License-Identifier: MIT
/*
 * Makes the parts of a recording, from the profile upwards: file, registry of processes,
 * correlator, GPU side, CPU side; and describes the recording in the profile. The parts are
 * connected to each other here; events pass between them directly:
 *
 *	capture  -- launches, news -->  gpu  -- events -->  correlator  -->  profile
 *	         <- walked stacks ----
 */
#include "record/session_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "record/joins.h"
#include "record/locate.h"
#include "base/text.h"
#include "base/trust.h"
#include "gpucode/kept_images.h"
#include "elf/kernel_id.h"

/* Of a process that is attached to. */
#define COMMAND_LINE_MAX_BYTES 65536

int session_note(struct session *s, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buf_printf(&s->notes, "%s\n", text);
	return s->notes.failed ? error_memory(NULL) : 0;
}

/* Libraries walk unless somebody asked for BPF: a probe costs a launch more than a walk does. */
static bool want_libraries_to_walk(const struct session *s)
{
	return s->options.gpu && (s->options.stacks == SESSION_STACKS_AUTO ||
					 s->options.stacks == SESSION_STACKS_INPROCESS);
}

static bool libraries_walk(const struct session *s)
{
	return s->capture && want_libraries_to_walk(s);
}

/* What CPU samples lack without the rights for BPF. */
static int note_samples(struct session *s)
{
	const char *perf = capture_perf_refusal(s->capture);

	if (perf)
		return session_note(
			s, "CPU: not sampled: %s; %s", capture_refusal(s->capture), perf);
	return session_note(s,
		"CPU samples are of the program itself, not of the kernel's work for it: %s%s",
		capture_refusal(s->capture),
		geteuid() ? " ('setcap cap_bpf,cap_perfmon+ep' on this file gives them to whoever "
			    "may run it: see 'xpuprof doctor')"
			  : "");
}

static int note_problems(struct session *s)
{
	const char *refusal = capture_refusal(s->capture),
		   *cache = capture_cache_problem(s->capture),
		   *sandbox = capture_sandbox_refusal(s->capture);
	int error = s->options.cpu && refusal ? note_samples(s) : 0;

	if (!error && s->options.waits && (refusal || capture_waits_refusal(s->capture)))
		error = session_note(
			s, "no waits: %s", refusal ? refusal : capture_waits_refusal(s->capture));
	if (!error && capture_observe_refusal(s->capture))
		error = session_note(
			s, "no calls are observed: %s", capture_observe_refusal(s->capture));
	if (!error && cache)
		error = session_note(
			s, "unwind tables are not kept for the next recording: %s", cache);
	if (!error && sandbox)
		error = session_note(s,
			"files of programs are read with our own rights, as the processes for that "
			"cannot begin: %s",
			sandbox);
	return error;
}

static int open_correlator(struct session *s)
{
	const struct correlator_options options = {
		.have_markers = s->options.stacks != SESSION_STACKS_NONE};

	return correlator_new(&s->correlator, s->writer, &options);
}

/* Those of the program's user. Other programs may be anybody's. */
static struct open_rights rights_if_gone(const struct session *s)
{
	if (!s->options.command)
		return (struct open_rights){OPEN_NOBODY, OPEN_NOBODY};
	if (s->user->account.switched)
		return (struct open_rights){s->user->account.uid, s->user->account.gid};
	return (struct open_rights){getuid(), getgid()};
}

/* BPF may be refused for want of rights; then there are launches with stacks, if libraries walk. */
static int open_capture(struct session *s)
{
	struct capture_options options = {
		.sample_hz = s->options.cpu ? s->options.sample_hz : 0,
		.launches = s->options.gpu && s->options.stacks != SESSION_STACKS_NONE,
		.waits = s->options.waits,
		.wait_min_ns = s->options.wait_min_ns,
		.observes = s->options.observes,
		.overhead = s->options.overhead,
		.whole_system = s->options.whole_system,
		.libraries_walk = want_libraries_to_walk(s),
		.library = buf_text(&s->library),
		.files = {.program = s->options.sandbox, .if_gone = rights_if_gone(s)},
	};
	int error;

	if (s->options.stalls)
		options.drivers = gpu_driver_news(s->gpu);
	error = capture_open(&s->capture, &options, s->writer, s->tasks,
		gpu_marker_launches(s->gpu), gpu_walker_news(s->gpu));

	if (!error && capture_refusal(s->capture) && !options.libraries_walk)
		correlator_expect_no_markers(s->correlator);
	if (!error)
		return note_problems(s);
	s->capture = NULL;
	if (!s->options.gpu || s->options.whole_system)
		return error;
	correlator_expect_no_markers(s->correlator);
	return session_note(s, "no CPU samples and no launch stacks: %s", error_text());
}

static const char *stack_source(const struct session *s)
{
	if (!s->capture || s->options.stacks == SESSION_STACKS_NONE)
		return "none";
	return libraries_walk(s) ? "inprocess" : "bpf";
}

static enum launch_marker marker(const struct session *s)
{
	bool wanted = s->capture && s->options.stacks != SESSION_STACKS_NONE;

	return wanted ? capture_marker(s->capture) : LAUNCH_MARKER_NONE;
}

static int add_environment(void *context, const char *name, const char *value)
{
	struct session *s = context;

	if (*s->runtime_dir.path &&
		!strncmp(value, s->runtime_dir.path, strlen(s->runtime_dir.path)))
		buf_printf(&s->mark, "%s=%s", name, value);
	return s->mark.failed ? error_memory(NULL) : target_user_setenv(s->user, name, value);
}

static int keep_images(struct session *s)
{
	if (!s->options.stalls)
		return 0;
	s->images = kept_images_new(KEPT_IMAGES_BUDGET_BYTES);
	return s->images ? 0 : error_memory(NULL);
}

const struct user *session_lesser_user(const struct session *s)
{
	const struct user *u = &s->user->account;

	return u->switched || (geteuid() && trust_is_due()) ? u : NULL;
}

/* The program finds the recorder by its environment. */
static int open_meeting_place(struct session *s, struct gpu_options *options)
{
	int error;

	if (!s->options.command)
		return 0;
	error = runtime_dir_open(&s->runtime_dir, s->user->account.switched);
	options->runtime_dir = s->runtime_dir.path;
	options->runtime_fd = s->runtime_dir.fd;
	return error;
}

/* Of programs that run already. */
static int open_joins(struct session *s)
{
	if (s->options.command || !s->capture)
		return 0;
	return joins_new(&s->joins, s->capture, s->gpu, s->options.sandbox, &s->refusals);
}

static int open_gpu(struct session *s)
{
	struct gpu_options options = {
		.library = buf_text(&s->library),
		.target_uid = s->user->account.uid,
		.target_gid = s->user->account.gid,
		.marker = marker(s),
		.queue_times = s->options.queue_times,
		.markers = s->options.markers,
		.syncs = s->options.waits,
		.grids = s->options.probes != NULL,
		.walk = libraries_walk(s),
		.stalls = s->options.stalls,
		.stall_period = s->options.stall_period,
		.overhead = s->options.overhead,
		.times_one_in = s->options.times_one_in,
		.finalize = s->options.finalize,
		.counter_interval_ns = s->options.counter_interval_ns,
		.environment = s->user->environment,
		.user = session_lesser_user(s),
		.receiver = geteuid() ? NULL : "/proc/self/exe",
		.notes = &s->notes,
	};
	int error = keep_images(s);

	error = error ?: open_meeting_place(s, &options);
	if (error)
		return error;
	options.images = s->images;
	if (s->capture)
		options.stacks = capture_stack_resolver(s->capture);
	error = gpu_open(s->gpu, &options);
	error = error ?: open_joins(s);
	return error || !s->options.command ? error : gpu_environment(s->gpu, add_environment, s);
}

/* Before the program's environment is given to what starts it. */
static int open_probes(struct session *s)
{
	const struct probes_options options = {.programs = s->options.probes,
		.user = s->user,
		.folder_fd = s->runtime_dir.fd,
		.folder = s->runtime_dir.path,
		.notes = &s->notes};

	return probes_open(&s->probes, &options, s->writer, s->tasks);
}

static int open_drivers(struct session *s)
{
	const struct drivers_options options = {.monitors = s->options.drivers,
		.whole_system = s->options.whole_system,
		.notes = &s->notes};

	return drivers_open(&s->drivers, &options, s->writer, s->tasks);
}

/* "process 1234: python3 server.py", as far as it can be read. */
static void describe_process(pid_t pid, struct buf *line)
{
	struct buf words = BUF_INIT;
	char path[32];

	buf_printf(line, "process %d", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	if (io_read_file(path, COMMAND_LINE_MAX_BYTES, &words))
		buf_reset(&words);
	/* One that has changed its title may have zeros behind it. */
	while (words.size && !words.data[words.size - 1])
		words.size--;
	buf_puts(line, words.size ? ":" : "");
	for (size_t i = 0; i < words.size; i += strlen(buf_text(&words) + i) + 1)
		text_shell_word(line, buf_text(&words) + i);
	buf_release(&words);
}

static int describe_command(struct session *s)
{
	struct buf line = BUF_INIT;
	int error;

	if (s->options.command)
		for (char **word = s->options.command; *word; word++)
			text_shell_word(&line, *word);
	else if (s->options.pid)
		describe_process(s->options.pid, &line);
	else
		buf_puts(&line, "the whole system");
	error = line.failed ? error_memory(NULL)
			    : profile_set_meta(s->writer, META_COMMAND, buf_text(&line));
	buf_release(&line);
	return error;
}

int session_describe(struct session *s, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return profile_set_meta(s->writer, key, text);
}

/* The wall clock at the zero of our own. */
static uint64_t realtime_of_zero_ns(void)
{
	struct timespec real;

	clock_gettime(CLOCK_REALTIME, &real);
	return (uint64_t)real.tv_sec * NS_PER_SECOND + (uint64_t)real.tv_nsec - clock_now_ns();
}

static bool takes_samples(const struct session *s)
{
	return s->options.cpu && s->capture && capture_samples(s->capture);
}

static bool takes_waits(const struct session *s)
{
	return s->options.waits && s->capture && !capture_refusal(s->capture) &&
	       !capture_waits_refusal(s->capture);
}

/* What is missing of them. */
static int describe_samples(struct session *s)
{
	const char *why = s->capture ? capture_perf_refusal(s->capture) : NULL;
	int error = 0;

	if (takes_samples(s) && capture_samples(s->capture) == CAPTURE_SAMPLES_USER)
		error = profile_set_meta(s->writer, META_SAMPLES_OF, "user");
	if (!error && s->options.cpu && why)
		error = profile_set_meta(s->writer, META_SAMPLES_REFUSED, why);
	return error;
}

static int describe_overhead(struct session *s)
{
	char percent[32];

	snprintf(percent, sizeof(percent), "%g", (double)s->options.overhead / 1e4);
	return profile_set_meta(s->writer, META_OVERHEAD, percent);
}

static int describe_times(struct session *s)
{
	char part[32];

	snprintf(part, sizeof(part), "1/%u", (unsigned int)s->options.times_one_in);
	return profile_set_meta(s->writer, META_OPENCL_TIMES, part);
}

static int describe_machine(struct session *s)
{
	struct utsname name;
	char boot_id[40];
	int error = 0;

	if (!uname(&name)) {
		error = profile_set_meta(s->writer, META_HOSTNAME, name.nodename);
		error = error ?: profile_set_meta(s->writer, META_KERNEL, name.release);
	}
	kernel_boot_id(boot_id);
	s->realtime_ns = realtime_of_zero_ns();
	error = error ?: profile_set_meta(s->writer, META_BOOT_ID, boot_id);
	error = error ?: session_describe(s, META_REALTIME_NS, s->realtime_ns);
	error = error ?: session_describe(s, META_CPUS, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	error = error
			?: session_describe(
				   s, META_SAMPLE_HZ, takes_samples(s) ? s->options.sample_hz : 0);
	if (!error)
		error = describe_samples(s);
	if (takes_waits(s))
		error = error ?: session_describe(s, META_OFF_CPU, s->options.wait_min_ns);
	if (s->options.gpu && s->options.overhead)
		error = error ?: describe_overhead(s);
	if (s->options.gpu && s->options.times_one_in)
		error = error ?: describe_times(s);
	error = error ?: profile_set_meta(s->writer, META_STACK_SOURCE, stack_source(s));
	return error ?: profile_set_meta(s->writer, META_VERSION, XPUPROF_VERSION);
}

int session_open_parts(struct session *s)
{
	int error = locate_library(&s->library);

	error = error
			?: profile_writer_open_for(
				   &s->writer, s->options.profile_path, &s->user->account);
	error = error ?: tasks_new(&s->tasks, s->writer);
	error = error ?: open_correlator(s);
	error = error ?: gpu_new(&s->gpu, s->writer, s->tasks, correlator_events(s->correlator));
	error = error ?: open_capture(s);
	if (!error && s->options.gpu)
		error = open_gpu(s);
	if (!error && s->options.probes)
		error = open_probes(s);
	if (!error && s->options.drivers)
		error = open_drivers(s);
	error = error ?: describe_command(s);
	return error ?: describe_machine(s);
}
