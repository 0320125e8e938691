// SPDX-License-Identifier: MIT
/* `xpuprof doctor`: a table of checks, printed as text or JSON. */
#include "cmd/doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "cmd/cmd.h"
#include "cmd/doctor/amd/checks.h"
#include "cmd/doctor/intel/checks.h"
#include "cmd/doctor/nvidia/checks.h"
#include "cmd/doctor/opencl/checks.h"
#include "cmd/options.h"

/* In the order they are shown; a check may use what those before it put into struct doctor. */
static const struct doctor_check machine_checks[] = {
	{"kernel", "kernel", SIDE_CPU, check_kernel},
	{"btf", "kernel types", SIDE_CPU, check_btf},
	{"rights", "rights", SIDE_CPU, check_rights},
	{"perf_events", "perf events", 0, check_perf_events},
	{"bpf_setting", "BPF for users", 0, check_bpf_setting},
	{"lockdown", "lockdown", SIDE_CPU, check_lockdown},
	{"memlock", "locked memory", 0, check_memlock},
	{"programs", "BPF programs", SIDE_CPU, check_programs},
	{"probe", "launch probe", SIDE_CPU, check_probe},
	{"tracefs", "tracefs", 0, check_tracefs},
	{"kernel_symbols", "kernel names", 0, check_kernel_symbols},
	{"names", "names", 0, check_names},
	{"debug_files", "debug files", 0, check_debug_files},
	{"metrics", "metrics", 0, check_metrics},
	{"library", "library", SIDE_GPU, check_library},
	{"joining", "joining", 0, check_joining},
	{NULL},
};

static const struct doctor_table machine_table = {.checks = machine_checks};

static const struct doctor_table *const tables[] = {
	&machine_table, &nvidia_table, &intel_table, &amd_table, &opencl_table};

#define TABLES (sizeof(tables) / sizeof(*tables))

static const char *const state_names[] = {"ok", "limited", "missing"};

/* The check that a side misses; NULL when it has all. */
struct side {
	const struct doctor_check *check;
	enum finding_state state;
};

struct verdict {
	struct side cpu;	  /* the first: others may follow from it */
	struct side gpu;	  /* of any vendor, the worst */
	struct side gpus[TABLES]; /* of each table's vendor */
};

void finding_is(struct finding *f, enum finding_state state, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	f->state = state;
	buf_reset(&f->text);
	printable_puts(&f->text, text);
}

void finding_step(struct finding *f, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buf_reset(&f->step);
	printable_puts(&f->step, text);
}

static void side_judge(struct side *side, const struct doctor_check *row, const struct finding *f)
{
	if (f->state > side->state)
		*side = (struct side){row, f->state};
}

static void judge(struct verdict *v, const struct doctor_table *table,
	const struct doctor_check *row, const struct finding *f)
{
	if ((row->sides & SIDE_CPU) && !v->cpu.check)
		side_judge(&v->cpu, row, f);
	if (!(row->sides & SIDE_GPU))
		return;
	side_judge(&v->gpu, row, f);
	for (size_t i = 0; i < TABLES; i++)
		if (!table->vendor || table == tables[i])
			side_judge(&v->gpus[i], row, f);
}

/* A vendor whose GPUs are not here is not missed where another's are. */
static void excuse(const struct doctor *d, const struct doctor_table *table, struct finding *f)
{
	if (f->state == FINDING_OK || !table->vendor || !d->gpus[0] || doctor_has_gpu(d, table))
		return;
	finding_is(f, FINDING_OK, "not needed: no GPU of %s's here", table->vendor);
	buf_reset(&f->step);
}

static void text_finding(struct buf *out, const struct doctor_check *row, const struct finding *f)
{
	buf_printf(out, "%-8s %-14s %s\n", state_names[f->state], row->title, buf_text(&f->text));
	if (f->step.size)
		buf_printf(out, "%23s step: %s\n", "", buf_text(&f->step));
}

static void text_side(
	struct buf *out, const char *name, const struct side *side, const char *missing)
{
	if (side->check)
		buf_printf(out, "%s: %s, see '%s' above\n", name,
			side->state == FINDING_LIMITED ? "in part" : missing, side->check->title);
	else
		buf_printf(out, "%s: yes\n", name);
}

/* Vendors are named where there are several. */
static void text_gpus(struct buf *out, const struct verdict *v, const struct doctor *d)
{
	bool is_one = !d->gpus[0] || !d->gpus[1];
	char name[64] = "records GPU work";

	if (!d->gpus[0])
		text_side(out, name, &v->gpu, "no, and there is no GPU here");
	for (size_t i = 0; i < TABLES; i++) {
		if (!doctor_has_gpu(d, tables[i]))
			continue;
		if (!is_one)
			snprintf(name, sizeof(name), "records GPU work (%s)", tables[i]->vendor);
		text_side(out, name, &v->gpus[i], "no");
	}
}

static void text_verdict(struct buf *out, const struct verdict *v, const struct doctor *d)
{
	buf_puts(out, "\n");
	text_side(out, "records CPU work", &v->cpu, "no");
	text_gpus(out, v, d);
	if (d->opencl)
		buf_puts(out, "records OpenCL: yes\n");
}

static void json_member(struct buf *out, const char *name, const char *text, const char *after)
{
	buf_printf(out, "\"%s\": ", name);
	json_string(out, text, strlen(text));
	buf_puts(out, after);
}

static void json_finding(struct buf *out, const struct doctor_check *row, const struct finding *f)
{
	buf_puts(out, row == machine_checks ? "    {" : ",\n    {");
	json_member(out, "check", row->key, ", ");
	json_member(out, "title", row->title, ", ");
	json_member(out, "state", state_names[f->state], ", ");
	buf_printf(out, "\"cpu\": %s, \"gpu\": %s, ", row->sides & SIDE_CPU ? "true" : "false",
		row->sides & SIDE_GPU ? "true" : "false");
	json_member(out, "text", buf_text(&f->text), "");
	if (f->step.size) {
		buf_puts(out, ", ");
		json_member(out, "step", buf_text(&f->step), "");
	}
	buf_puts(out, "}");
}

static void json_gpus(struct buf *out, const struct verdict *v, const struct doctor *d)
{
	const char *before = "";

	buf_puts(out, "  \"gpus\": [");
	for (size_t i = 0; i < TABLES; i++) {
		if (!doctor_has_gpu(d, tables[i]))
			continue;
		buf_printf(out, "%s\n    {", before);
		json_member(out, "vendor", tables[i]->vendor, ", ");
		buf_printf(out, "\"recorded\": %s}", v->gpus[i].check ? "false" : "true");
		before = ",";
	}
	buf_puts(out, "\n  ],\n");
}

static void run_check(struct doctor *d, const struct doctor_table *table,
	const struct doctor_check *row, bool json, struct buf *out, struct verdict *v)
{
	struct finding f = {0};

	row->run(d, &f);
	excuse(d, table, &f);
	judge(v, table, row, &f);
	if (json)
		json_finding(out, row, &f);
	else
		text_finding(out, row, &f);
	out->failed |= f.text.failed || f.step.failed;
	buf_release(&f.text);
	buf_release(&f.step);
}

static void run_checks(struct doctor *d, bool json, struct buf *out, struct verdict *v)
{
	for (size_t i = 0; i < TABLES; i++)
		if (tables[i]->has_gpu && tables[i]->has_gpu(d))
			doctor_add_gpu(d, tables[i]);
	if (json)
		buf_printf(out, "{\n  \"version\": \"%s\",\n  \"checks\": [\n", XPUPROF_VERSION);
	for (size_t i = 0; i < TABLES; i++)
		for (const struct doctor_check *row = tables[i]->checks; row->key; row++)
			run_check(d, tables[i], row, json, out, v);
	if (json) {
		buf_puts(out, "\n  ],\n");
		tried_json(out);
		json_gpus(out, v, d);
		buf_printf(out,
			"  \"cpu\": %s,\n  \"gpu\": %s,\n  \"has_gpu\": %s,\n  \"opencl\": "
			"%s\n}\n",
			v->cpu.check ? "false" : "true", v->gpu.check ? "false" : "true",
			d->gpus[0] ? "true" : "false", d->opencl ? "true" : "false");
	} else {
		tried_text(out);
		text_verdict(out, v, d);
	}
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option_usage usage = {
		.command = "doctor",
		.synopsis = "[options]",
		.summary =
			"Says what this machine can record, and the one step that would change it.",
	};
	bool json = false;
	const char *root = "";
	const struct option_spec specs[] = {
		OPTION_FLAG(0, "json", &json, "print JSON"),
		OPTION_STRING(0, "sysroot", "DIR", &root,
			"look at the files of /proc, /sys and /usr below DIR"),
		OPTION_END,
	};
	struct buf out = BUF_INIT;
	struct verdict verdict = {0};
	struct doctor d = {0};
	int first = options_parse(&usage, specs, argc, argv), error;

	if (first < 0)
		return options_status(first);
	if (first < argc)
		return options_wrong(&usage, "unexpected argument '%s'", argv[first]);
	d.root = root;
	doctor_gather(&d);
	run_checks(&d, json, &out, &verdict);
	error = cmd_print(STDOUT_FILENO, &out);
	buf_release(&out);
	if (error) {
		error_errno(error, "cannot print the findings");
		return cmd_failed();
	}
	/* A machine that has no GPU lacks nothing if it does not record GPU work. */
	return verdict.cpu.check || (verdict.gpu.check && d.gpus[0]) ? EXIT_FAILED : EXIT_OK;
}
