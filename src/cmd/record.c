// SPDX-License-Identifier: MIT
/*
 * xpuprof record: makes one session and its outputs from the command line.
 *
 * One recording can leave several files. The profile itself is written while the program runs;
 * every other form is made from it afterwards. When no profile is asked for, it lives in a
 * temporary file beside the first output that is a file.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/place.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "record/drivers.h"
#include "cmd/options.h"
#include "record/session.h"
#include "cmd/status.h"
#include "cmd/view_args.h"
#include "export/exporter.h"
#include "export/output_claim.h"
#include "probe/programs.h"
#include "gpu/backend.h"
#include "profile/runtimes.h"
#include "view/view.h"

/* Of those that sudo had changed. */
#define VARIABLES_SHOWN_MAX 8

struct output {
	const char *path;
	const struct exporter *exporter; /* NULL: the profile itself */
	struct output_claim claim;
	bool made;
};

struct record {
	struct vec(struct output) outputs;
	struct buf temporary; /* path of the profile nobody asked for, or empty */
	const char *profile_path;
	struct place profile; /* where it is, from when the recording was opened */
	unsigned long hz;
	unsigned long pid;
	double seconds;
	enum session_stacks stacks;
	enum gpu_stalls stalls;
	unsigned int stall_period;
	double overhead;   /* percent; 0: all GPU work is recorded; negative: not said */
	long times_one_in; /* of OpenCL's commands; 0: all have times */
	uint64_t counter_interval_ns, wait_min_ns;
	double wait_seconds;
	double probe_seconds; /* of --probe-interval; 0: none */
	bool sanitizer;	      /* which is refused */
	const char *drivers;  /* NULL: not wanted; "": all */
	bool off_cpu;
	bool whole_system, observes, cpu_only, gpu_only, as_root, queue_times, markers, finalize,
		inlines, quiet, wants_status;
	const char *metrics;
	struct programs programs; /* of --probe */
	int *ret_wait_status;	  /* NULL: we end as the command ended */
	struct status status;
};

static const struct option_usage usage = {
	.command = "record",
	.operands = "COMMAND",
	.synopsis = "[options] [--] COMMAND [ARGUMENT...] | -p PID | -a",
	.summary =
		"Runs COMMAND and records where its CPU time went, what it asked of the GPU, and\n"
		"how long that took. Other commands show it: 'xpuprof flame', 'report', "
		"'export'.\n\n"
		"The suffix of an output says its form: .svg (flame graph), .folded, .events\n"
		"(extended-folded), .json (chrome), and those of 'xpuprof export'; any other, as "
		".xpu,\n"
		"is the recording itself. A FORM before it says it instead: one of those of\n"
		"'export --to', as in -o chrome:gpu.txt.",
	.examples =
		"  xpuprof record -- python3 train.py   then 'xpuprof report', 'xpuprof flame'\n"
		"  xpuprof record --off-cpu -o run.xpu -o run.svg -- ./app --size 8\n"
		"                                       also when threads wait; with a picture\n"
		"  sudo xpuprof record -d 10 -p 1234    ten seconds of a process that runs\n",
	.stop_at_operand = true,
};

/* The exporter that "FORM:FILE" names, and where FILE begins; NULL when there is no such prefix. */
static const struct exporter *named_exporter(const char *value, const char **ret_path)
{
	const char *colon = strchr(value, ':');
	const struct exporter *e = NULL;
	char *name = colon ? strndup(value, (size_t)(colon - value)) : NULL;

	if (name)
		e = exporter_by_name(name);
	if (e)
		*ret_path = colon + 1;
	free(name);
	return e;
}

/* Whether two outputs would be written into one file, or one behind the other to standard
 * output. */
static bool is_taken(const struct record *r, const char *path)
{
	if (!output_is_file(path) && strcmp(path, "-"))
		return false;
	vec_foreach (output, &r->outputs)
		if (!strcmp(output->path, path))
			return true;
	return false;
}

/* Without a form, the suffix of the file decides. */
static int add_output(void *target, const char *value)
{
	struct record *r = target;
	struct output output = {.path = value, .claim = OUTPUT_CLAIM_NONE};

	if (!*value)
		return error_set(-1, "needs a file name");
	output.exporter = named_exporter(value, &output.path);
	if (!output.exporter)
		output.exporter = exporter_by_suffix(value);
	if (!*output.path)
		return error_set(-1, "needs a file name after '%s'", value);
	if (!output.exporter && r->profile_path)
		return error_set(-1, "names two profiles: '%s' and '%s'", r->profile_path, value);
	if (!output.exporter && !strcmp(value, "-"))
		output.path = "/dev/stdout";
	if ((!output.exporter || !strcmp(output.exporter->name, "svg")) &&
		export_check_suffix(output.path, ".svg", EXPORT_PICTURES_ARE))
		return -1;
	if (is_taken(r, output.path))
		return error_set(-1, "names '%s' twice", output.path);
	if (!output.exporter)
		r->profile_path = output.path;
	return vec_push(&r->outputs, output) ? error_set(-1, "out of memory") : 0;
}

static int parse_stack_source(void *target, const char *value)
{
	static const char *const names[] = {
		[SESSION_STACKS_AUTO] = "auto",
		[SESSION_STACKS_INPROCESS] = "inprocess",
		[SESSION_STACKS_BPF] = "bpf",
		[SESSION_STACKS_NONE] = "none",
	};
	struct record *r = target;

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
		if (!strcmp(value, names[n])) {
			r->stacks = (enum session_stacks)n;
			return 0;
		}
	return error_set(-1, "takes auto, inprocess, bpf or none, not '%s'", value);
}

/* "4096", "4k", "2m": the power of two that it is; 0: it is none, or no number. */
static unsigned int power_of_two(const char *text)
{
	unsigned long long number;
	unsigned int power = 0;
	char *end;

	if (!isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (*end && strchr("kmgKMG", *end) && !errno && number < 1ull << 32) {
		number <<= tolower((unsigned char)*end) == 'k'	 ? 10
			   : tolower((unsigned char)*end) == 'm' ? 20
								 : 30;
		end++;
	}
	if (*end || errno || !number || number & (number - 1))
		return 0;
	while (number >>= 1)
		power++;
	return power;
}

/* The periods that GPUs know. */
#define STALL_PERIOD_MIN 5
#define STALL_PERIOD_MAX 31

static int parse_stalls(void *target, const char *value)
{
	struct record *r = target;
	bool exact = value && !strcmp(value, "exact");
	unsigned int period = value && !exact ? power_of_two(value) : 0;

	if (value && !exact && (period < STALL_PERIOD_MIN || period > STALL_PERIOD_MAX))
		return error_set(-1,
			"takes 'exact' or a number of GPU clock cycles that is a power of two from "
			"32 to 2048m, "
			"not '%s'",
			value);
	r->stalls = exact ? GPU_STALLS_EXACT : GPU_STALLS_CONTINUOUS;
	r->stall_period = period;
	return 0;
}

#define COUNTER_INTERVAL_DEFAULT_NS NS_PER_MS
#define COUNTER_INTERVAL_MIN_NS	    (NS_PER_MS / 10)
#define COUNTER_INTERVAL_MAX_NS	    NS_PER_SECOND

/* "100us", "1ms", "1s": nanoseconds; 0: it is none. */
static uint64_t time_with_unit(const char *text)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", NS_PER_MS}, {"s", NS_PER_SECOND}};
	unsigned long number;
	char *end;

	if (!isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	number = strtoul(text, &end, 10);
	for (size_t n = 0; !errno && n < sizeof(units) / sizeof(units[0]); n++)
		if (!strcmp(end, units[n].name) && number <= COUNTER_INTERVAL_MAX_NS / units[n].ns)
			return number * units[n].ns;
	return 0;
}

static int parse_counters(void *target, const char *value)
{
	struct record *r = target;

	r->counter_interval_ns = value ? time_with_unit(value) : COUNTER_INTERVAL_DEFAULT_NS;
	if (r->counter_interval_ns < COUNTER_INTERVAL_MIN_NS)
		return error_set(-1,
			"takes a time from 100us to 1s with its unit (us, ms or s), not '%s'",
			value);
	return 0;
}

/* In millionths, as the library has it: 10 at least. */
#define OVERHEAD_MIN 0.001

static int parse_overhead(void *target, const char *value)
{
	struct record *r = target;
	char *end;

	if (!strcmp(value, "off")) {
		r->overhead = 0;
		return 0;
	}
	errno = 0;
	r->overhead = strtod(value, &end);
	if (end == value || *end || errno || !(r->overhead >= OVERHEAD_MIN) || r->overhead > 100)
		return error_set(
			-1, "takes a percentage from 0.001 to 100, or 'off', not '%s'", value);
	return 0;
}

/* In millionths. Programs that nobody asked for by name are hardly to notice it. */
static uint32_t overhead(const struct record *r)
{
	double percent = r->overhead < 0 ? r->whole_system : r->overhead;

	return (uint32_t)(percent * 1e4 + 0.5);
}

static int parse_opencl_times(void *target, const char *value)
{
	struct record *r = target;
	char *end = "";

	errno = 0;
	r->times_one_in = strncmp(value, "1/", 2) ? 0 : strtol(value + 2, &end, 10);
	if (r->times_one_in < 1 || r->times_one_in > (long)WORK_STANDS_FOR_MAX || *end || errno)
		return error_set(-1, "takes a part like 1/16, not '%s'", value);
	if (r->times_one_in == 1)
		r->times_one_in = 0;
	return 0;
}

static int parse_gpu(void *target, const char *value)
{
	struct record *r = target;

	if (strcmp(value, "observe"))
		return error_set(-1, "takes observe, not '%s'", value);
	r->observes = true;
	return 0;
}

static int parse_drivers(void *target, const char *value)
{
	struct record *r = target;

	r->drivers = value ? value : "";
	return value && drivers_check_names(value) ? -1 : 0;
}

static int parse_off_cpu(void *target, const char *value)
{
	struct record *r = target;

	r->off_cpu = true;
	r->wait_min_ns = value ? time_with_unit(value) : 0;
	if (value && !r->wait_min_ns)
		return error_set(-1,
			"takes a time up to 1s with its unit (ns, us, ms or s), not '%s'", value);
	return 0;
}

static int parse_wait(void *target, const char *value)
{
	struct record *r = target;
	char *end;

	errno = 0;
	r->wait_seconds = strtod(value, &end);
	if (end == value || *end || errno || !(r->wait_seconds >= 0) || r->wait_seconds > 1e9)
		return error_set(-1, "takes a number of seconds, 0 or more, not '%s'", value);
	return 0;
}

static int add_probe(void *target, const char *value)
{
	struct record *r = target;

	return vec_push(&r->programs.objects, value) ? error_set(-1, "out of memory") : 0;
}

/* xpu-perf's words for what to record, as its users type them: "record gpu -o x.folded ./app". */
static bool parse_mode(struct record *r, const char *word)
{
	if (!strcmp(word, "cpu"))
		r->cpu_only = true;
	else if (!strcmp(word, "gpu"))
		r->gpu_only = true;
	else if (strcmp(word, "merge"))
		return false;
	return true;
}

/* The index of the command in argv, or the negative result of options_parse. */
static int parse(struct record *r, int argc, char **argv)
{
	const struct option_spec specs[] = {
		OPTION_CALL('o', "output", "[FORM:]FILE", add_output, r,
			"write FILE (default profile.xpu), as often as there are forms wanted"),
		OPTION_NUMBER(
			'F', "freq", "HZ", &r->hz, 1, 10000, "CPU samples a second (default 99)"),
		OPTION_SECONDS(
			'd', "duration", "SECONDS", &r->seconds, "stop recording after SECONDS"),
		OPTION_CALL(0, "wait", "SECONDS", parse_wait, r,
			"when COMMAND has ended, wait so long for what it left running (default "
			"1)"),
		OPTION_NUMBER('p', "pid", "PID", &r->pid, 1, 4194304,
			"record a process that runs, what it has started and starts"),
		OPTION_FLAG('a', "all", &r->whole_system,
			"record the whole system; GPU work with '--overhead 1'"),
		OPTION_CALL(0, "overhead", "PERCENT", parse_overhead, r,
			"record GPU work now and then only, so that it costs PERCENT at most"),
		OPTION_CALL(0, "opencl-times", "1/N", parse_opencl_times, r,
			"of OpenCL's commands, only one in N gets times; all have their calls and "
			"stacks"),
		OPTION_FLAG(0, "finalize", &r->finalize,
			"take the vendor's tracer out of programs that go on, where it is safe"),
		OPTION_WORD(0, "gpu", "observe", "observe", parse_gpu, r,
			"of running programs that the library cannot be put into, see at least "
			"the calls"),
		OPTION_FLAG(0, "cpu-only", &r->cpu_only, "no GPU work"),
		OPTION_FLAG(
			0, "gpu-only", &r->gpu_only, "no CPU samples; launches keep their stacks"),
		OPTION_WORD(0, "stack-source", "SOURCE", "auto inprocess bpf none",
			parse_stack_source, r,
			"who walks the stacks of launches: auto, inprocess, bpf or none"),
		OPTION_MAYBE("stalls", "PERIOD|exact", parse_stalls, r,
			"also sample which GPU instructions run or wait and why, every PERIOD "
			"cycles"),
		OPTION_MAYBE("counters", "INTERVAL", parse_counters, r,
			"also sample hardware counters of the GPUs, every INTERVAL (default 1ms)"),
		OPTION_MAYBE("drivers", "MONITOR,...", parse_drivers, r,
			"also record what the kernel's GPU drivers do (default: those that suit "
			"the machine)"),
		OPTION_CALL(0, "probe", "TOOL|FILE", add_probe, r,
			"also run these eBPF programs inside GPU kernels (see 'xpuprof probe'); "
			"may be "
			"repeated"),
		OPTION_CALL(0, "probe-only", "GLOB", programs_add_only, &r->programs,
			"run them only in kernels of this name, mangled or readable"),
		OPTION_FLAG(0, "sanitizer", &r->sanitizer,
			"refused: it is of 'xpuprof probe', as recordings need what it takes"),
		OPTION_SECONDS(0, "probe-interval", "SECONDS", &r->probe_seconds,
			"write what changes in their maps each SECONDS, not only at the end"),
		OPTION_MAYBE("probe-cost", "MS", programs_parse_turn, &r->programs,
			"switch them off in turns of MS (125), and measure what they cost each "
			"kernel"),
		OPTION_MAYBE("off-cpu", "MIN", parse_off_cpu, r,
			"also record when threads do not run, and why; with stacks if it lasts "
			"MIN"),
		OPTION_FLAG(0, "queue-times", &r->queue_times,
			"also ask when work was queued and submitted (costs more)"),
		OPTION_FLAG(0, "nvtx", &r->markers,
			"also record the ranges that COMMAND names with NVTX, as markers"),
		OPTION_STRING(0, "metrics", "FILE", &r->metrics,
			"also take in numbers that FILE has at the end: lines 'SECONDS NAME "
			"VALUE'"),
		OPTION_FLAG(0, "inline", &r->inlines,
			"also find source lines and inlined functions (takes longer at the end)"),
		OPTION_FLAG(0, "as-root", &r->as_root,
			"under sudo, run COMMAND as root and not as the calling user"),
		OPTION_FLAG(0, "status", &r->wants_status,
			"keep a status line in the last row, also while COMMAND prints there"),
		OPTION_FLAG('q', "quiet", &r->quiet, "no status line and no summary"),
		OPTION_END,
	};
	int first = options_parse(&usage, specs, argc, argv), rest;

	if (first < 0 || first + 1 >= argc || !strcmp(argv[first - 1], "--") ||
		!parse_mode(r, argv[first]))
		return first;
	rest = options_parse(&usage, specs, argc - first, argv + first);
	return rest < 0 ? rest : first + rest;
}

static int check(const struct record *r, char **command)
{
	int subjects = !!*command + !!r->pid + r->whole_system;

	if (!subjects)
		return options_wrong(&usage, "no command to record");
	if (subjects > 1)
		return options_wrong(&usage, "give one of COMMAND, -p and -a");
	if (r->cpu_only && r->gpu_only)
		return options_wrong(&usage, "--cpu-only and --gpu-only leave nothing to record");
	if (r->profile_path && cmd_is_terminal(r->profile_path))
		return options_wrong(&usage,
			"a recording is no text for a terminal: give '-o' a file or a pipe");
	if (r->wants_status && r->quiet)
		return options_wrong(&usage, "--status and --quiet exclude each other");
	if (r->wants_status && !status_is_possible())
		return options_wrong(&usage, "--status needs a terminal on standard error");
	if (r->stalls && r->cpu_only)
		return options_wrong(
			&usage, "--stalls samples GPU work, and --cpu-only wants none");
	if (r->observes && (*command || r->cpu_only || r->stacks == SESSION_STACKS_NONE))
		return options_wrong(
			&usage, *command      ? "--gpu=observe needs -p or -a"
				: r->cpu_only ? "--gpu=observe and --cpu-only exclude each other"
					      : "--gpu=observe needs stacks");
	if (r->overhead > 0 && r->cpu_only)
		return options_wrong(
			&usage, "--overhead is that of GPU work, and --cpu-only wants none");
	if (r->times_one_in && (r->cpu_only || overhead(r)))
		return options_wrong(&usage, r->cpu_only ? "--opencl-times and --cpu-only exclude "
							   "each other: times are of GPU work"
							 : "--opencl-times and --overhead exclude "
							   "each other: give one of them");
	if (r->finalize && r->cpu_only)
		return options_wrong(
			&usage, "--finalize is about GPU work, and --cpu-only wants none");
	if (r->finalize && r->stalls)
		return options_wrong(&usage,
			"--finalize is not known to be safe after --stalls: give one of them");
	if (r->overhead > 0 && r->stalls)
		return options_wrong(&usage,
			"--stalls samples instructions all the time, --overhead only lets it "
			"record now and then: give one of them");
	if (r->markers && (r->cpu_only || !*command))
		return options_wrong(&usage,
			r->cpu_only ? "--nvtx and --cpu-only exclude each other: a GPU's tracer "
				      "reports markers"
				    : "--nvtx needs a command to start");
	if (r->counter_interval_ns && r->cpu_only)
		return options_wrong(&usage, "--counters samples GPUs, and --cpu-only wants none");
	if (r->counter_interval_ns && !*command)
		return options_wrong(&usage, "--counters needs a command to start");
	/* An H200 switches both on, and then there are no samples of instructions. */
	if (r->counter_interval_ns && r->stalls)
		return options_wrong(&usage,
			"a GPU takes either --stalls or --counters: record one after the other");
	if (r->programs.objects.count && (r->cpu_only || !*command))
		return options_wrong(
			&usage, r->cpu_only ? "--probe is about GPU work, and --cpu-only wants none"
					    : "--probe needs a command to start");
	if (r->sanitizer)
		return options_wrong(&usage,
			"--sanitizer is for 'xpuprof probe': its library takes the interface that "
			"recordings need");
	if (r->programs.plan.only && !r->programs.objects.count)
		return options_wrong(&usage, "--probe-only needs --probe");
	if (r->programs.plan.turn_ns && !r->programs.objects.count)
		return options_wrong(&usage, "--probe-cost needs --probe");
	if (r->probe_seconds > 0 && !r->programs.objects.count)
		return options_wrong(&usage, "--probe-interval needs --probe");
	if (r->stalls && !*command && !r->pid)
		return options_wrong(&usage, "--stalls needs a command to start, or -p");
	if (r->stalls == GPU_STALLS_EXACT && r->pid)
		return options_wrong(&usage, "--stalls=exact needs a command to start");
	if (r->stacks == SESSION_STACKS_BPF && !*command)
		return options_wrong(&usage, "--stack-source=bpf needs a command to start");
	if (r->gpu_only && r->whole_system)
		return options_wrong(&usage, "--gpu-only needs a command to start, or -p");
	return EXIT_OK;
}

/* Beside the first output that is to be a file; where all go to pipes or devices, here. */
static const char *place_of_temporary(const struct record *r)
{
	vec_foreach (output, &r->outputs)
		if (output_is_file(output->path))
			return output->path;
	return "xpuprof";
}

static int choose_profile(struct record *r)
{
	if (!r->outputs.count)
		r->profile_path = "profile.xpu";
	if (r->profile_path)
		return 0;
	buf_printf(&r->temporary, "%s.%d.xpu", place_of_temporary(r), (int)getpid());
	if (r->temporary.failed)
		return error_memory(NULL);
	r->profile_path = r->temporary.data;
	return 0;
}

/* Finds out now, and not after a long run, that an output cannot be written, or is to be another
 * recorder's. */
static int claim_outputs(const struct record *r, const struct target_user *u)
{
	int error = 0;

	vec_foreach (output, &r->outputs)
		if (output->exporter)
			error = error ?: output_claim(&output->claim, &u->account, output->path);
	return error;
}

static void release_outputs(const struct record *r)
{
	vec_foreach (output, &r->outputs)
		output_claim_release(&output->claim);
}

/* Samples of instructions are there to be seen, where there are any and the form can show them. */
static const struct view *view_for(
	const struct record *r, const struct session *s, const struct exporter *e)
{
	bool sampled = r->stalls && session_totals(s)->window_samples;

	return sampled && e->heeds & EXPORT_HEEDS_TREE ? view_by_name("stall") : NULL;
}

static int make_output(const struct record *r, const struct target_user *u, const struct session *s,
	const char *profile, struct output *output)
{
	struct export_options options = EXPORT_OPTIONS_INIT;
	struct export_result result;

	options.view.view = view_for(r, s, output->exporter);
	options.user = &u->account;
	if (export_file(output->exporter, profile, output->path, &options, &result))
		return cmd_failed();
	view_warn(output->exporter, r->profile_path, &result);
	output->made = !result.not_written;
	return EXIT_OK;
}

/* What was recorded: the file that is open, whatever has its name by now. */
static int open_profile(const struct record *r)
{
	struct stat st;
	int error = place_stat(&r->profile, &st);
	int fd = error ?: place_open_present(&r->profile, &st, O_RDONLY);

	return fd < 0 ? place_error(r->profile.user, fd, "read", r->profile_path) : fd;
}

static int make_from(
	struct record *r, const struct target_user *u, const struct session *s, const char *profile)
{
	int status = EXIT_OK;

	vec_foreach (output, &r->outputs) {
		if (!output->exporter)
			continue;
		status = make_output(r, u, s, profile, output) ? EXIT_FAILED : status;
	}
	return status;
}

static bool is_converted(const struct record *r)
{
	vec_foreach (output, &r->outputs)
		if (output->exporter)
			return true;
	return false;
}

static int make_outputs(struct record *r, const struct target_user *u, const struct session *s)
{
	char path[32];
	int status, fd;

	if (!is_converted(r))
		return EXIT_OK;
	if (r->profile.folder < 0)
		return make_from(r, u, s, r->profile_path);
	fd = open_profile(r);
	if (fd < 0)
		return cmd_failed();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = make_from(r, u, s, path);
	close(fd);
	return status;
}

/* The first of "LD_LIBRARY_PATH, PATH": sudo removes dozens where little is set up to be kept. */
static void print_user(const struct target_user *u)
{
	const char *end = u->changed_by_sudo;
	size_t shown = 0, more = 0;

	for (; *end && (*end != ',' || ++shown < VARIABLES_SHOWN_MAX); end++)
		;
	for (const char *c = end; *c; c++)
		more += *c == ',';
	if (more)
		cmd_error("the program runs as %s, with what sudo had changed put back: %.*s and "
			  "%zu more",
			u->account.name, (int)(end - u->changed_by_sudo), u->changed_by_sudo, more);
	else
		cmd_error("the program runs as %s, with what sudo had changed put back: %s",
			u->account.name, u->changed_by_sudo);
}

/* What there is of a profile that could not be written to its end. */
static void print_rest(const struct record *r)
{
	int fd = r->profile.folder < 0 ? -1 : open_profile(r);

	if (fd < 0)
		return;
	status_rest(r->profile_path, fd);
	close(fd);
}

static void print_lines(const struct buf *lines)
{
	char *text = strdup(buf_text(lines)), *rest = text, *line;

	while (text && (line = strsep(&rest, "\n")))
		if (*line)
			cmd_error("%s", line);
	free(text);
}

static void print_notes(const struct target_user *u, const struct session *s)
{
	if (u->changed_by_sudo)
		print_user(u);
	print_lines(session_notes(s));
}

static void print_summary(const struct record *r, const struct session *s, bool whole)
{
	status_summary(session_totals(s), session_elapsed_ns(s),
		r->temporary.size || !whole ? NULL : r->profile_path);
	if (session_left_behind(s))
		cmd_error("left process %s", session_left_behind(s));
	if (session_stripped(s))
		cmd_error("'%s' has no symbols: its debug package, or DEBUGINFOD_URLS, would name "
			  "its "
			  "functions ('xpuprof report' says more)",
			session_stripped(s));
	if (session_nameless_jit(s))
		cmd_error("code that %s made while it ran has no names: %s",
			session_nameless_jit(s)->name, session_nameless_jit(s)->hint);
	vec_foreach (output, &r->outputs)
		if (output->exporter && output->made && strcmp(output->path, "-"))
			cmd_error("wrote %s", output->path);
}

/* The shell's statuses for commands that cannot be run. */
static int exec_status(int error)
{
	cmd_failed();
	return error == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Ends the recording and makes the outputs; the status is ours, not the program's. What `failed`
 * while it ran (a full disk) fails here again and was reported. */
static int finish(struct record *r, const struct target_user *u, struct session *s, int failed)
{
	int error = session_finish(s), status = failed;

	if (error && !failed)
		status = cmd_failed();
	print_lines(session_refusals(s));
	if ((error || failed) && !r->temporary.size)
		print_rest(r);
	if (!error || !r->temporary.size)
		status = make_outputs(r, u, s) ?: status;
	if (!r->quiet)
		print_summary(r, s, !error && !failed);
	return status;
}

static int start(struct session *s)
{
	int error = session_start(s);

	if (!error)
		return EXIT_OK;
	if (session_interrupted(s))
		return 128 + session_interrupted(s);
	return session_exec_failed(s) ? exec_status(error) : cmd_failed();
}

/* How a recording went. */
struct outcome {
	int status;	 /* ours */
	int wait_status; /* how we are to end instead; 0: by our status */
};

/* Ends as the program ended, unless it succeeded and we did not. */
static struct outcome outcome_of(struct session *s, int status)
{
	struct outcome o = {.status = status};
	int wait_status;

	if (session_program(s, &wait_status) && (wait_status || !status))
		o = (struct outcome){
			.status = target_shell_status(wait_status), .wait_status = wait_status};
	return o;
}

/* From its start to its outputs. */
static struct outcome record(struct record *r, struct target_user *u, struct session *s)
{
	enum session_end end;
	int status, failed;

	print_notes(u, s);
	status = start(s);
	if (status)
		return (struct outcome){status, session_interrupted(s)};
	failed = session_wait(s, &end);
	if (!r->quiet)
		status_program_ended(&r->status);
	failed = failed ? cmd_failed() : EXIT_OK;
	status = finish(r, u, s, failed);
	if (r->temporary.size)
		(void)place_remove(&r->profile);
	return outcome_of(s, status);
}

/* The folder where the recording will open it. Before that, while a fork still costs little. */
static int find_profile(struct record *r, const struct target_user *u)
{
	if (place_descriptor(r->profile_path) >= 0)
		return 0;
	return place_find(&r->profile, &u->account, r->profile_path, "create");
}

static struct outcome open_and_record(
	struct record *r, struct target_user *u, const struct signals *signals, char **command)
{
	r->programs.plan.snapshot_ns = (uint64_t)(r->probe_seconds * 1e9) + (r->probe_seconds > 0);
	const struct session_options options = {
		.profile_path = r->profile_path,
		.sandbox = "/proc/self/exe",
		.signals = signals,
		.progress = !r->quiet && isatty(STDERR_FILENO) ? status_report : NULL,
		.progress_context = &r->status,
		.user = u,
		.command = *command ? command : NULL,
		.pid = (pid_t)r->pid,
		.whole_system = r->whole_system,
		.cpu = !r->gpu_only,
		.gpu = !r->cpu_only,
		.overhead = overhead(r),
		.times_one_in = (uint32_t)r->times_one_in,
		.observes = r->observes,
		.stacks = r->stacks,
		.stalls = r->stalls,
		.stall_period = r->stall_period,
		.probes = r->programs.objects.count ? &r->programs : NULL,
		.drivers = r->drivers,
		.counter_interval_ns = r->counter_interval_ns,
		.waits = r->off_cpu,
		.wait_min_ns = r->wait_min_ns,
		.finalize = r->finalize,
		.queue_times = r->queue_times,
		.markers = r->markers,
		.metrics = r->metrics,
		.inlines = r->inlines,
		.sample_hz = (unsigned int)r->hz,
		.duration_ns = (uint64_t)(r->seconds * 1e9) + (r->seconds > 0), /* 0: none */
		.wait_ns = (uint64_t)(r->wait_seconds * 1e9),
	};
	struct outcome o = {.status = EXIT_FAILED};
	struct session *s;

	status_begin(&r->status, *command != NULL, (pid_t)r->pid, r->wants_status);
	if (find_profile(r, u) || session_open(&s, &options)) {
		cmd_failed();
	} else {
		o = record(r, u, s);
		session_close(s);
	}
	place_release(&r->profile);
	return o;
}

static int run(struct record *r, struct target_user *u, char **command)
{
	struct signals signals = SIGNALS_INIT;
	struct outcome o;

	if (signals_open(&signals))
		return cmd_failed();
	o = open_and_record(r, u, &signals, command);
	signals_close(&signals);
	release_outputs(r);
	if (r->ret_wait_status)
		*r->ret_wait_status = o.wait_status;
	else if (o.wait_status)
		cmd_end_like(o.wait_status);
	return o.status;
}

static int prepare_and_run(struct record *r, char **command)
{
	struct target_user user;
	int status, error;

	if (choose_profile(r) || target_user_find(&user, r->as_root))
		return cmd_failed();
	if (claim_outputs(r, &user)) {
		status = cmd_failed();
	} else {
		error = *command ? target_check_command(&user, *command) : 0;
		status = error ? exec_status(error) : run(r, &user, command);
	}
	release_outputs(r);
	target_user_release(&user);
	return status;
}

#define RECORD_INIT                                                                                \
	{                                                                                          \
		.hz = 99, .overhead = -1, .wait_seconds = 1, .profile = PLACE_NONE,                \
		.programs.plan = PLAN_OPTIONS_INIT                                                 \
	}

int cmd_record_probes(const struct programs *p, const struct record_probes *how, char **command)
{
	struct record r = RECORD_INIT;
	int status;

	r.programs = *p;
	r.seconds = how->seconds;
	r.as_root = how->as_root;
	r.probe_seconds = how->interval;
	r.ret_wait_status = how->ret_wait_status;
	if (how->only_times) {
		r.gpu_only = r.quiet = true;
		r.stacks = SESSION_STACKS_NONE;
	}
	if (add_output(&r, how->output)) {
		cmd_error("-o %s", error_text());
		status = EXIT_USAGE;
	} else {
		status = check(&r, command) ?: prepare_and_run(&r, command);
	}
	vec_release(&r.outputs);
	buf_release(&r.temporary);
	return status;
}

int cmd_record(int argc, char **argv)
{
	struct record r = RECORD_INIT;
	int first = parse(&r, argc, argv);
	int status = first < 0 ? options_status(first) : check(&r, argv + first);

	if (first >= 0 && !status)
		status = prepare_and_run(&r, argv + first);
	programs_release(&r.programs);
	vec_release(&r.outputs);
	buf_release(&r.temporary);
	return status;
}
