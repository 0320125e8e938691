// SPDX-License-Identifier: MIT
/* `xpuprof probe`: eBPF programs inside GPU kernels. */
#include "cmd/probe/probe.h"

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "ebpf/tools/tools.h"

#define MIB ((uint64_t)1 << 20)

static const struct option_usage usage = {
	.command = "probe",
	.synopsis = "[options] TOOL|-e FILE [--] COMMAND [ARGUMENT]... | --check FILE | --list",
	.summary = "Runs eBPF programs inside the GPU kernels of a command, and prints what is in "
		   "their maps.",
	.examples = "  xpuprof probe blocktime -- ./app\n"
		    "  xpuprof probe coalesce -k 'gemm*' -- ./app\n"
		    "  xpuprof probe -e mine.bpf.o -i 1 -- ./app\n"
		    "  xpuprof probe --list\n"
		    "  xpuprof probe --check mine.bpf.o\n",
	.operands = "COMMAND",
	.stop_at_operand = true,
};

static int add_object(void *target, const char *value)
{
	struct probe_request *r = target;

	return vec_push(&r->programs.objects, value) ? (error_memory(NULL), -1) : 0;
}

static int add_setting(void *target, const char *value)
{
	struct probe_request *r = target;

	return vec_push(&r->programs.settings, value) ? (error_memory(NULL), -1) : 0;
}

static int add_launch(void *target, const char *value)
{
	struct probe_request *r = target;

	return vec_push(&r->programs.launches, value) ? (error_memory(NULL), -1) : 0;
}

/* Options up to the first operand; completions offer the names of tools there. */
static int parse_options(const struct option_spec *specs, int argc, char **argv)
{
	struct option_usage with_tools = usage;
	struct buf names = BUF_INIT;
	int first;

	for (size_t i = 0; ebpf_tool(i); i++)
		buf_printf(&names, "%s%s", i ? " " : "", ebpf_tool(i)->name);
	with_tools.tools = names.size ? buf_text(&names) : NULL;
	first = options_parse(&with_tools, specs, argc, argv);
	buf_release(&names);
	return first;
}

/* A tool is the first operand; options may stand behind it, too. */
static int parse(struct probe_request *r, const struct option_spec *specs, int argc, char **argv)
{
	int first = parse_options(specs, argc, argv), more;

	if (first < 0 || r->programs.objects.count || first == argc ||
		!ebpf_tool_named(argv[first]))
		return first;
	if (add_object(r, argv[first]))
		return OPTIONS_WRONG;
	more = options_parse(&usage, specs, argc - first, argv + first);
	return more < 0 ? more : first + more;
}

static int run(struct probe_request *r, int argc, char **argv, int first)
{
	if (!r->programs.objects.count && first < argc && !ebpf_tool(0))
		return probe_list();
	if (!r->programs.objects.count)
		return options_wrong(&usage,
			first < argc ? "'%s' is no tool; --list prints those there are"
				     : "needs a tool, -e FILE, --check FILE or --list",
			first < argc ? argv[first] : "");
	if (first == argc)
		return options_wrong(&usage, "needs a command to run");
	if (r->json && r->interval > 0)
		return options_wrong(&usage, "--json prints once, and does not go with -i");
	if (r->output && r->json)
		return options_wrong(&usage, "-o records; 'xpuprof report --probes' prints");
	if (r->interval > 0 && r->programs.plan.turn_ns && !r->output)
		return options_wrong(&usage, "--cost prints once, and does not go with -i");
	if (r->sanitizer && (r->output || r->programs.plan.turn_ns))
		return options_wrong(&usage, "--sanitizer does not go with -o or --cost: its "
					     "library takes the interface "
					     "that recordings need");
	if (r->programs.plan.turn_ns && !r->output)
		return probe_cost(r, argv + first);
	if (r->output)
		return cmd_record_probes(&r->programs,
			&(struct record_probes){.output = r->output,
				.seconds = r->seconds,
				.interval = r->interval,
				.as_root = r->as_root},
			argv + first);
	return probe_run(r, argv + first);
}

int cmd_probe(int argc, char **argv)
{
	const char *check = NULL;
	unsigned long map_memory = LAYOUT_MAP_BYTES / MIB, threads = LAYOUT_THREADS;
	unsigned long accesses = LAYOUT_ACCESSES;
	bool per_thread = false, per_warp = false, list = false;
	struct probe_request r = {.rows = PROBE_ROWS};
	struct check_options *allowed = &r.programs.plan.bodies.check;
	const struct option_spec specs[] = {
		OPTION_CALL('e', "ebpf", "FILE", add_object, &r,
			"run the programs of this object file, or of this tool; may be repeated"),
		OPTION_CALL('k', "kernels-only", "GLOB", programs_add_only, &r.programs,
			"only in kernels of this name, mangled or readable; may be repeated"),
		OPTION_SECONDS('d', "duration", "SECONDS", &r.seconds,
			"switch the programs off after so long; the command goes on"),
		OPTION_SECONDS('i', "interval", "SECONDS", &r.interval,
			"print the tables each SECONDS, too; with -o write what changes in maps"),
		OPTION_STRING('o', "output", "[FORM:]FILE", &r.output,
			"record, as 'xpuprof record --probe', into FILE"),
		OPTION_FLAG(0, "json", &r.json, "print JSON: all maps, as their types say"),
		OPTION_NUMBER('n', "rows", "N", &r.rows, 1, 1000000, "rows of each table (20)"),
		OPTION_CALL(0, "set", "NAME[KEY]=NUMBER", add_setting, &r,
			"begin with this value in a variable, or an entry of an array or hash"),
		OPTION_CALL(0, "attach", "PROGRAM=FILE:FUNCTION", programs_add_attach, &r.programs,
			"run this uprobe of an object file there"),
		OPTION_CALL(0, "run", "PROGRAM=BLOCKS:THREADS", add_launch, &r,
			"launch a program that is a kernel of its own like that (1:1)"),
		OPTION_FLAG(0, "thread", &per_thread, "run the programs in every thread"),
		OPTION_FLAG(0, "warp", &per_warp, "run the programs in one thread of each warp"),
		OPTION_MAYBE("cost", "MS", programs_parse_turn, &r.programs,
			"switch the programs off in turns of MS (125), and say what they cost each "
			"kernel"),
		OPTION_FLAG(0, "kernels", &r.kernels,
			"list the kernels in which programs ran, with what they take"),
		OPTION_NUMBER(0, "map-memory", "MIB", &map_memory, 1, 4096,
			"memory that one map may take (256)"),
		OPTION_NUMBER(0, "threads", "N", &threads, 1, 1ul << 32,
			"threads that per-thread arrays have values for (1048576)"),
		OPTION_NUMBER(0, "accesses", "N", &accesses, 1, 1ul << 20,
			"accesses in the code that arrays by access have values for (2000)"),
		OPTION_FLAG(0, "allow-exit", &allowed->allow_exit,
			"programs may end the thread they run in"),
		OPTION_FLAG(0, "allow-reads", &allowed->allow_reads,
			"programs may read any memory; nothing guards it"),
		OPTION_FLAG(0, "sanitizer", &r.sanitizer,
			"also in kernels of machine code only, by the Sanitizer library: slower"),
		OPTION_FLAG(0, "as-root", &r.as_root,
			"under sudo, run the command as root and not as you"),
		OPTION_STRING(0, "check", "FILE", &check,
			"check the programs of an object file, or of a tool, and show them as PTX"),
		OPTION_FLAG(0, "list", &list, "print the tools that there are"),
		OPTION_END,
	};
	int first = parse(&r, specs, argc, argv), status;

	r.programs.plan.bodies.layout = (struct layout_options){
		.threads = threads, .map_bytes = map_memory * MIB, .accesses = (uint32_t)accesses};
	r.programs.plan.measures = r.kernels;
	r.programs.plan.per_thread = per_thread ? 1 : per_warp ? 0 : -1;
	if (first < 0)
		status = options_status(first);
	else if ((list || check) && (first != argc || r.programs.objects.count))
		status = options_wrong(&usage, "--list and --check run no command");
	else if (per_thread && per_warp)
		status = options_wrong(&usage, "--thread and --warp exclude each other");
	else if (list)
		status = probe_list();
	else
		status = check ? probe_check(check, &r.programs.plan, r.sanitizer)
			       : run(&r, argc, argv, first);
	programs_release(&r.programs);
	return status;
}
