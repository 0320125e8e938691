// SPDX-License-Identifier: MIT
/*
 * Formats of events as kernels print them (tests/data/formats: Debian's kernels, read from
 * tracefs), damaged ones, and the places where tracefs is looked for.
 */
#include <errno.h>
#include <mntent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "folder.h"
#include "monitor/kernel/tracefs.h"
#include "tap.h"

#define FORMATS "tests/data/formats/"

#define HEAD                                                                                       \
	"name: job\nID: 7\nformat:\n"                                                              \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"                                 \
	"\n"
#define TAIL "\nprint fmt: \"x\", REC->x\n"

static struct trace_format format; /* too large for many stacks */

/* A folder like tracefs with the events of one kernel, valid for three more calls. */
static const char *kernel(const char *release)
{
	char command[512], *formats = realpath(FORMATS, NULL);

	snprintf(command, sizeof(command), "mkdir -p %s && ln -sfn %s/%s %s/events", release,
		formats, release, release);
	CHECK(formats && shell(command));
	free(formats);
	return in_folder(release);
}

static int parse(const char *text)
{
	return trace_format_parse(text, strlen(text), &format);
}

/* Type, offset and size of a field in the last format: "unsigned 8 4"; "-" when it is not there. */
static const char *field(const char *name)
{
	static const char *const names[] = {
		[TRACE_UNSIGNED] = "unsigned",
		[TRACE_SIGNED] = "signed",
		[TRACE_CHARS] = "chars",
		[TRACE_DATA_LOC] = "data_loc",
		[TRACE_REL_LOC] = "rel_loc",
		[TRACE_POINTER] = "pointer",
		[TRACE_OTHER] = "other",
	};
	static char text[64];
	const struct trace_field *f = trace_format_field(&format, name);

	if (!f)
		return "-";
	snprintf(text, sizeof(text), "%s %u %u", names[f->type], f->offset, f->size);
	return text;
}

/* The same of a format with one line that describes it. */
static const char *one_field(const char *line, const char *name)
{
	char text[1024];

	snprintf(text, sizeof(text), HEAD "\tfield:%s\n" TAIL, line);
	return parse(text) ? error_text() : field(name);
}

/* ------------------------------------------------------------------ formats of kernels */

static void the_names_of_rings_are_read_as_each_kernel_keeps_them(void)
{
	CHECK(!trace_format_read(kernel("5.10"), "gpu_scheduler:drm_run_job", &format));
	CHECK_TEXT(field("name"), "pointer 24 8");
	CHECK(!trace_format_read(kernel("6.1"), "gpu_scheduler:drm_run_job", &format));
	CHECK_TEXT(field("name"), "data_loc 24 4");
	CHECK(!trace_format_read(kernel("6.12"), "gpu_scheduler:drm_run_job", &format));
	CHECK_TEXT(field("name"), "data_loc 24 4");
	CHECK(!trace_format_read(kernel("7.2"), "gpu_scheduler:drm_sched_job_run", &format));
	CHECK_TEXT(field("name"), "data_loc 8 4");
}

static void a_format_has_all_that_the_kernel_says(void)
{
	CHECK(!trace_format_read(kernel("6.12"), "gpu_scheduler:drm_run_job", &format));
	CHECK_TEXT(format.name, "drm_run_job");
	CHECK(format.id == 1501);
	CHECK(format.field_count == 10);
	CHECK_TEXT(field("common_type"), "unsigned 0 2");
	CHECK_TEXT(field("common_pid"), "signed 4 4");
	CHECK_TEXT(field("entity"), "unsigned 8 8");
	CHECK_TEXT(field("fence"), "unsigned 16 8");
	CHECK_TEXT(field("id"), "unsigned 32 8");
	CHECK_TEXT(field("job_count"), "unsigned 40 4");
	CHECK_TEXT(field("hw_job_count"), "signed 44 4");
	CHECK_TEXT(field("client_id"), "-");
}

static void times_and_truth_values_are_numbers(void)
{
	CHECK(!trace_format_read(kernel("6.12"), "drm:drm_vblank_event", &format));
	CHECK_TEXT(field("time"), "signed 16 8");
	CHECK_TEXT(field("high_prec"), "unsigned 24 1");
}

static void of_two_fields_with_one_name_neither_is_read(void)
{
	CHECK(!trace_format_read(kernel("6.12"), "amdgpu:amdgpu_vm_grab_id", &format));
	CHECK_TEXT(field("ring"), "other 12 4");
	CHECK_TEXT(field("vmid"), "unsigned 20 4");
}

static void every_event_of_this_kernel_is_understood(void)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	char command[512], line[512];
	size_t count = 0;
	FILE *list;

	if (tracefs_find_below("", &path)) {
		SKIP("no tracefs that can be read");
		return;
	}
	snprintf(command, sizeof(command), "ls %s/events/*/*/format", buf_text(&path));
	list = popen(command, "r");
	while (list && fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		buf_reset(&text);
		if (io_read_file(line, 1 << 20, &text))
			continue; /* gone with its module */
		count++;
		if (trace_format_parse(buf_text(&text), text.size, &format)) {
			printf("# %s: %s\n", line, error_text());
			CHECK(!"understood");
		}
	}
	if (list)
		pclose(list);
	CHECK(count > 100);
	buf_release(&path);
	buf_release(&text);
}

/* ------------------------------------------------------------------ types */

static void types_mean_what_they_mean_in_c(void)
{
	CHECK_TEXT(one_field("u32 x;\toffset:8;\tsize:4;\tsigned:0;", "x"), "unsigned 8 4");
	CHECK_TEXT(one_field("long x;\toffset:8;\tsize:8;\tsigned:1;", "x"), "signed 8 8");
	CHECK_TEXT(one_field("char x;\toffset:8;\tsize:1;\tsigned:1;", "x"), "signed 8 1");
	CHECK_TEXT(one_field("bool x;\toffset:8;\tsize:1;\tsigned:0;", "x"), "unsigned 8 1");
	CHECK_TEXT(one_field("dma_addr_t x;\toffset:8;\tsize:8;\tsigned:0;", "x"), "unsigned 8 8");
	CHECK_TEXT(one_field("enum pipe x;\toffset:8;\tsize:4;\tsigned:1;", "x"), "signed 8 4");
	CHECK_TEXT(one_field("void * x;\toffset:8;\tsize:8;\tsigned:0;", "x"), "unsigned 8 8");
	CHECK_TEXT(one_field("struct dma_fence *x;\toffset:8;\tsize:8;\tsigned:0;", "x"),
		"unsigned 8 8");
	CHECK_TEXT(one_field("const char *const x;\toffset:8;\tsize:8;\tsigned:0;", "x"),
		"pointer 8 8");
	CHECK_TEXT(one_field("char * x;\toffset:8;\tsize:8;\tsigned:0;", "x"), "pointer 8 8");
	CHECK_TEXT(
		one_field("const char * * x;\toffset:8;\tsize:8;\tsigned:0;", "x"), "unsigned 8 8");
	CHECK_TEXT(one_field("char x[16];\toffset:8;\tsize:16;\tsigned:0;", "x"), "chars 8 16");
	CHECK_TEXT(one_field("char x[TASK_COMM_LEN + (1)];\toffset:8;\tsize:17;\tsigned:0;", "x"),
		"chars 8 17");
	CHECK_TEXT(one_field("__data_loc char[] x;\toffset:8;\tsize:4;\tsigned:1;", "x"),
		"data_loc 8 4");
	CHECK_TEXT(one_field("__rel_loc char[] x;\toffset:8;\tsize:4;\tsigned:0;", "x"),
		"rel_loc 8 4");
}

static void what_is_neither_a_number_nor_a_string_is_not_read(void)
{
	CHECK_TEXT(one_field("unsigned long x[6];\toffset:8;\tsize:48;\tsigned:0;", "x"),
		"other 8 48");
	CHECK_TEXT(one_field("u8 x[2][4];\toffset:8;\tsize:8;\tsigned:0;", "x"), "other 8 8");
	CHECK_TEXT(one_field("struct timeval x;\toffset:8;\tsize:8;\tsigned:0;", "x"), "other 8 8");
	CHECK_TEXT(one_field("union bpf_attr x;\toffset:8;\tsize:8;\tsigned:0;", "x"), "other 8 8");
	CHECK_TEXT(
		one_field("__data_loc u64[] x;\toffset:8;\tsize:4;\tsigned:0;", "x"), "other 8 4");
	CHECK_TEXT(one_field("__data_loc cpumask_t x;\toffset:8;\tsize:4;\tsigned:0;", "x"),
		"other 8 4");
	CHECK_TEXT(one_field("__rel_loc u8[] x;\toffset:8;\tsize:4;\tsigned:0;", "x"), "other 8 4");
	CHECK_TEXT(one_field("char x[];\toffset:8;\tsize:0;\tsigned:0;", "x"), "other 8 0");
}

static void a_size_that_a_type_cannot_have_is_not_read(void)
{
	CHECK_TEXT(one_field("u64 x;\toffset:8;\tsize:4;\tsigned:0;", "x"), "other 8 4");
	CHECK_TEXT(one_field("int x;\toffset:8;\tsize:8;\tsigned:0;", "x"), "other 8 8");
	CHECK_TEXT(one_field("const u32 x;\toffset:8;\tsize:2;\tsigned:0;", "x"), "other 8 2");
	CHECK_TEXT(one_field("bool x;\toffset:8;\tsize:4;\tsigned:0;", "x"), "other 8 4");
	CHECK_TEXT(one_field("enum pipe x;\toffset:8;\tsize:3;\tsigned:0;", "x"), "other 8 3");
	CHECK_TEXT(one_field("cpumask_t x;\toffset:8;\tsize:16;\tsigned:0;", "x"), "other 8 16");
	CHECK_TEXT(one_field("void * x;\toffset:8;\tsize:4;\tsigned:0;", "x"), "other 8 4");
	CHECK_TEXT(one_field("char * x;\toffset:8;\tsize:4;\tsigned:0;", "x"), "other 8 4");
	CHECK_TEXT(
		one_field("__data_loc char[] x;\toffset:8;\tsize:8;\tsigned:0;", "x"), "other 8 8");
	CHECK_TEXT(
		one_field("__rel_loc char[] x;\toffset:8;\tsize:2;\tsigned:0;", "x"), "other 8 2");
}

/* ------------------------------------------------------------------ damage */

/* What is said of a format with this line as its seventh. */
static const char *complaint(const char *line)
{
	char text[1024];

	snprintf(text, sizeof(text), HEAD "%s\n" TAIL, line);
	return parse(text) == -EINVAL ? error_text() : "no complaint";
}

static void a_line_that_is_not_understood_is_named(void)
{
	CHECK_TEXT(complaint("\tfeld:int x;\toffset:8;\tsize:4;\tsigned:1;"),
		"line 7 of the event's format: neither a field nor the way to print them");
	CHECK_TEXT(
		complaint("\tfield:int x"), "line 7 of the event's format: a field without an end");
	CHECK_TEXT(complaint("\tfield:int x;\toffset:8;\tsize:4;"),
		"line 7 of the event's format: no 'offset:N; size:N; signed:N;'");
	CHECK_TEXT(complaint("\tfield:int x;\toffset:-8;\tsize:4;\tsigned:1;"),
		"line 7 of the event's format: no 'offset:N; size:N; signed:N;'");
	CHECK_TEXT(complaint("\tfield:int x;\toffset:8;\tsize:4;\tsigned:2;"),
		"line 7 of the event's format: no 'offset:N; size:N; signed:N;'");
	CHECK_TEXT(complaint("\tfield:int x;\toffset:8;\tsize:4;\tsigned:1; and more"),
		"line 7 of the event's format: no 'offset:N; size:N; signed:N;'");
	CHECK_TEXT(complaint("\tfield:x;\toffset:8;\tsize:4;\tsigned:1;"),
		"line 7 of the event's format: no type, or too long a one");
	CHECK_TEXT(complaint("\tfield:int ;\toffset:8;\tsize:4;\tsigned:1;"),
		"line 7 of the event's format: no field name, or too long a one");
	CHECK_TEXT(complaint("\tfield:char x]16];\toffset:8;\tsize:16;\tsigned:1;"),
		"line 7 of the event's format: brackets that do not pair");
}

static void a_field_outside_of_any_record_is_an_error(void)
{
	static const char outside[] =
		"line 7 of the event's format: the field is outside of any record";

	CHECK_TEXT(complaint("\tfield:int x;\toffset:8188;\tsize:4;\tsigned:1;"), "no complaint");
	CHECK_TEXT(complaint("\tfield:int x;\toffset:8189;\tsize:4;\tsigned:1;"), outside);
	CHECK_TEXT(complaint("\tfield:int x;\toffset:4294967295;\tsize:4;\tsigned:1;"), outside);
	CHECK_TEXT(
		complaint("\tfield:char x[9];\toffset:8;\tsize:4294967295;\tsigned:1;"), outside);
	CHECK_TEXT(complaint("\tfield:int x;\toffset:4294967296;\tsize:4;\tsigned:1;"),
		"line 7 of the event's format: no 'offset:N; size:N; signed:N;'");
}

static void a_field_in_the_place_of_another_is_an_error(void)
{
	CHECK_TEXT(complaint("\tfield:int x;\toffset:6;\tsize:4;\tsigned:1;"),
		"line 7 of the event's format: the field overlaps another");
	CHECK_TEXT(complaint("\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n"
			     "\tfield:u64 y;\toffset:11;\tsize:8;\tsigned:0;"),
		"line 8 of the event's format: the field overlaps another");
}

static void a_format_cut_short_anywhere_is_an_error(void)
{
	static const char whole[] = HEAD "\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n" TAIL;
	size_t enough = (size_t)(strstr(whole, "print fmt:") - whole) + strlen("print fmt:");

	for (size_t size = 0; size < enough; size++)
		CHECK(trace_format_parse(whole, size, &format) == -EINVAL);
	CHECK(!trace_format_parse(whole, enough, &format));
}

static void the_head_has_to_be_whole(void)
{
	CHECK(parse("") == -EINVAL);
	CHECK(parse("ID: 7\nformat:\n" TAIL) == -EINVAL);
	CHECK(parse("name: job\nID: x\nformat:\n" TAIL) == -EINVAL);
	CHECK(parse("name: job\nID: 4294967296\nformat:\n" TAIL) == -EINVAL);
	CHECK(parse("name: job\nID: 7\n" TAIL) == -EINVAL);
	CHECK(parse("name: a job\nID: 7\nformat:\n" TAIL) == -EINVAL);
	CHECK(!parse("name: job\nID: 7\nformat:\n" TAIL));
}

static void there_are_only_so_many_fields(void)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, HEAD);
	for (int i = 2; i < TRACE_FIELDS_MAX; i++)
		buf_printf(&text, "\tfield:int x%d;\toffset:%d;\tsize:4;\tsigned:1;\n", i, i * 4);
	buf_puts(&text, TAIL);
	CHECK(!parse(text.data));
	CHECK(format.field_count == TRACE_FIELDS_MAX);
	buf_reset(&text);
	buf_puts(&text, HEAD);
	for (int i = 2; i <= TRACE_FIELDS_MAX; i++)
		buf_printf(&text, "\tfield:int x%d;\toffset:%d;\tsize:4;\tsigned:1;\n", i, i * 4);
	buf_puts(&text, TAIL);
	CHECK(parse(text.data) == -EINVAL);
	buf_release(&text);
}

static void an_event_that_is_not_there_is_told_from_one_that_is_not_understood(void)
{
	CHECK(trace_format_read(kernel("7.2"), "gpu_scheduler:drm_run_job", &format) == -ENOENT);
	CHECK(trace_format_read(kernel("7.2"), "drm_run_job", &format) == -EINVAL);
	CHECK(trace_format_read(kernel("7.2"), "..:gpu_scheduler", &format) == -EINVAL);
	CHECK(trace_format_read(kernel("7.2"), "gpu_scheduler:", &format) == -EINVAL);
}

static void a_file_about_another_event_is_an_error(void)
{
	CHECK(shell("mkdir -p other/events/g/e && printf 'name: f\\nID: 1\\nformat:\\nprint fmt:' "
		    ">other/events/g/e/format"));
	CHECK(trace_format_read(in_folder("other"), "g:e", &format) == -EINVAL);
	CHECK(strstr(error_text(), "is about an event 'f'"));
}

/* ------------------------------------------------------------------ where tracefs is */

/* Where it is found below a folder of the test's, without that folder's path; else what is said. */
static const char *found(const char *root)
{
	static char text[512];
	struct buf path = BUF_INIT;
	const char *full = in_folder(root);

	snprintf(text, sizeof(text), "%s",
		tracefs_find_below(full, &path) ? error_text() : path.data + strlen(full));
	buf_release(&path);
	return text;
}

static void tracefs_is_found_where_it_usually_is(void)
{
	CHECK(shell("mkdir -p a/sys/kernel/tracing/events b/sys/kernel/debug/tracing/events"));
	CHECK_TEXT(found("a"), "/sys/kernel/tracing");
	CHECK_TEXT(found("b"), "/sys/kernel/debug/tracing");
}

static void tracefs_is_found_where_it_is_mounted(void)
{
	CHECK(shell("mkdir -p 'c/mnt/a b/events' c/proc d/dbg/tracing/events d/proc &&"
		    "printf 'proc /proc proc rw 0 0\\nx /mnt/a\\\\040b tracefs rw 0 0\\n' "
		    ">c/proc/mounts &&"
		    "printf 'none /dbg debugfs rw 0 0' >d/proc/mounts"));
	CHECK_TEXT(found("c"), "/mnt/a b");
	CHECK_TEXT(found("d"), "/dbg/tracing");
}

static void where_tracefs_is_not_mounted_the_remedy_is_told(void)
{
	CHECK(shell(
		"mkdir -p e/sys/kernel/tracing e/proc &&"
		"printf 'x\\n\\nx /gone tracefs rw 0 0\\nx /mnt\\\\04 tracefs' >e/proc/mounts"));
	CHECK_TEXT(found("e"), "tracefs is not mounted: as root, 'mount -t tracefs nodev "
			       "/sys/kernel/tracing' mounts it");
}

/* In a child that does something to itself first; what its function returns, or -1. */
static int in_child(int (*function)(void))
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(function());
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int look_without_rights(void)
{
	struct buf path = BUF_INIT;

	if (chmod(folder, 0755) || setgid(65534) || setuid(65534))
		return 77;
	if (tracefs_find_below(in_folder("f"), &path) != -EACCES)
		return 1;
	return strcmp(error_text(), "needs root, or CAP_PERFMON and read access to "
				    "/sys/kernel/tracing") != 0;
}

static void without_rights_the_rights_are_told(void)
{
	CHECK(shell("mkdir -p f/sys/kernel/tracing/events && chmod 700 f/sys/kernel/tracing"));
	if (geteuid()) {
		SKIP("needs root");
		return;
	}
	CHECK(!in_child(look_without_rights));
}

/* Each tracefs and debugfs, wherever they are: others may have mounted some (a container's, a
 * chroot's). */
static void unmount_all(void)
{
	bool found;

	do {
		FILE *mounts = setmntent("/proc/mounts", "r");
		struct mntent *m;

		found = false;
		while (mounts && !found && (m = getmntent(mounts)))
			if (!strcmp(m->mnt_type, "tracefs") || !strcmp(m->mnt_type, "debugfs"))
				found = !umount2(m->mnt_dir, MNT_DETACH);
		if (mounts)
			endmntent(mounts);
	} while (found);
}

static int look_where_nothing_is_mounted(void)
{
	struct buf path = BUF_INIT;
	int err;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 77;
	unmount_all();
	err = tracefs_find_below("", &path);
	if (err != -ENOENT)
		return err ? 77 : 2; /* also where this kernel has none */
	if (tracefs_find(&path))
		return 77;
	err = strcmp(buf_text(&path), "/sys/kernel/tracing") != 0;
	buf_release(&path);
	return err;
}

static void tracefs_is_mounted_where_nothing_is_mounted_and_we_may(void)
{
	int result = in_child(look_where_nothing_is_mounted);

	if (result == 77)
		SKIP("may not mount here, or the kernel has no tracefs");
	else
		CHECK(!result);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(the_names_of_rings_are_read_as_each_kernel_keeps_them);
	RUN(a_format_has_all_that_the_kernel_says);
	RUN(times_and_truth_values_are_numbers);
	RUN(of_two_fields_with_one_name_neither_is_read);
	RUN(every_event_of_this_kernel_is_understood);
	RUN(types_mean_what_they_mean_in_c);
	RUN(what_is_neither_a_number_nor_a_string_is_not_read);
	RUN(a_size_that_a_type_cannot_have_is_not_read);
	RUN(a_line_that_is_not_understood_is_named);
	RUN(a_field_outside_of_any_record_is_an_error);
	RUN(a_field_in_the_place_of_another_is_an_error);
	RUN(a_format_cut_short_anywhere_is_an_error);
	RUN(the_head_has_to_be_whole);
	RUN(there_are_only_so_many_fields);
	RUN(an_event_that_is_not_there_is_told_from_one_that_is_not_understood);
	RUN(a_file_about_another_event_is_an_error);
	RUN(tracefs_is_found_where_it_usually_is);
	RUN(tracefs_is_found_where_it_is_mounted);
	RUN(where_tracefs_is_not_mounted_the_remedy_is_told);
	RUN(without_rights_the_rights_are_told);
	RUN(tracefs_is_mounted_where_nothing_is_mounted_and_we_may);
	shell("rm -rf \"$PWD\"");
	return tap_end();
}
