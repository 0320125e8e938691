// SPDX-License-Identifier: MIT
/* The command line of `xpuprof record`. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/record/record.h"
#include "gpu/backend.h"
#include "record/drivers.h"

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
int record_add_output(void *target, const char *value)
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
uint32_t record_overhead(const struct record *r)
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
int record_parse(struct record *r, int argc, char **argv)
{
	const struct option_spec specs[] = {
		OPTION_CALL('o', "output", "[FORM:]FILE", record_add_output, r,
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

int record_check(const struct record *r, char **command)
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
	if (r->times_one_in && (r->cpu_only || record_overhead(r)))
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
