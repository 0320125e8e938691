// SPDX-License-Identifier: MIT
/* The checks of the kernel and of what it lets us do. */
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "capture/capture.h"
#include "cmd/doctor/doctor.h"
#include "serve/http.h"
#include "elf/dwarf.h"
#include "elf/mini_debug.h"
#include "record/locate.h"
#include "symbolize/fetch.h"

#define SMALL_FILE_BYTES ((size_t)64 << 10)

/* The oldest kernel that is supported. */
#define KERNEL_MAJOR 5
#define KERNEL_MINOR 10

/* Capabilities newer than some systems' headers (Linux 5.8). */
#define CAPABILITY_PERFMON 38
#define CAPABILITY_BPF	   39

static bool has_capability(const struct doctor *d, int capability)
{
	return d->capabilities >> capability & 1;
}

static void read_capabilities(struct doctor *d)
{
	struct buf status = BUF_INIT;
	const char *line;

	if (!io_read_file("/proc/self/status", SMALL_FILE_BYTES, &status)) {
		line = strstr(buf_text(&status), "\nCapEff:");
		if (line)
			d->capabilities = strtoull(line + strlen("\nCapEff:"), NULL, 16);
	}
	buf_release(&status);
}

void doctor_gather(struct doctor *d)
{
	d->uid = geteuid();
	read_capabilities(d);
	d->can_bpf = has_capability(d, CAP_SYS_ADMIN) ||
		     (has_capability(d, CAPABILITY_BPF) && has_capability(d, CAPABILITY_PERFMON));
	d->can_perf = !d->can_bpf && !capture_check_perf();
}

static void rooted(const struct doctor *d, const char *path, struct buf *ret)
{
	buf_printf(ret, "%s%s", d->root, path);
}

int doctor_read(const struct doctor *d, const char *path, struct buf *ret)
{
	struct buf name = BUF_INIT;
	int error;

	rooted(d, path, &name);
	error = io_read_file(buf_text(&name), SMALL_FILE_BYTES, ret);
	buf_release(&name);
	return error;
}

int doctor_read_number(const struct doctor *d, const char *path, long *ret)
{
	struct buf text = BUF_INIT;
	int error = doctor_read(d, path, &text);
	char *end;
	long number;

	if (!error) {
		number = strtol(buf_text(&text), &end, 10);
		if (end == buf_text(&text))
			error = -EINVAL;
		else
			*ret = number;
	}
	buf_release(&text);
	return error;
}

bool doctor_exists(const struct doctor *d, const char *path)
{
	struct buf name = BUF_INIT;
	bool there;

	rooted(d, path, &name);
	there = !access(buf_text(&name), F_OK);
	buf_release(&name);
	return there;
}

void check_kernel(struct doctor *d, struct finding *f)
{
	struct buf text = BUF_INIT;
	int major = 0, minor = 0;

	if (doctor_read(d, "/proc/sys/kernel/osrelease", &text)) {
		finding_is(f, FINDING_MISSING, "its version cannot be read");
		finding_step(f, "mount /proc");
		buf_release(&text);
		return;
	}
	text.data[strcspn(text.data, "\n")] = '\0';
	(void)sscanf(text.data, "%d.%d", &major, &minor);
	if (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR)) {
		finding_is(f, FINDING_OK, "Linux %s", text.data);
	} else {
		finding_is(f, FINDING_MISSING, "Linux %s, and %d.%d or later is needed", text.data,
			KERNEL_MAJOR, KERNEL_MINOR);
		finding_step(f, "install a newer kernel");
	}
	buf_release(&text);
}

void check_btf(struct doctor *d, struct finding *f)
{
	if (doctor_exists(d, "/sys/kernel/btf/vmlinux")) {
		finding_is(f, FINDING_OK, "the kernel describes its types (BTF)");
		return;
	}
	finding_is(
		f, FINDING_MISSING, "no '/sys/kernel/btf/vmlinux': BPF programs cannot be fitted");
	finding_step(f, "use a kernel built with CONFIG_DEBUG_INFO_BTF=y");
}

/* Where this program is, in `text`. */
static const char *own_path(char *text, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", text, size - 1);

	if (length <= 0)
		return "FILE";
	text[length] = '\0';
	return text;
}

/* What is lost without rights is reported once, here, and not by every check that depends on it. */
void check_rights(struct doctor *d, struct finding *f)
{
	char path[PATH_MAX];

	if (d->can_bpf) {
		finding_is(f, FINDING_OK, "user %u with%s%s%s%s", d->uid,
			has_capability(d, CAP_SYS_ADMIN) ? " CAP_SYS_ADMIN" : "",
			has_capability(d, CAPABILITY_BPF) ? " CAP_BPF" : "",
			has_capability(d, CAPABILITY_PERFMON) ? " CAP_PERFMON" : "",
			getauxval(AT_SECURE) ? ", which the file of xpuprof has: the environment "
					       "is not trusted"
					     : "");
		return;
	}
	if (d->can_perf)
		finding_is(f, FINDING_LIMITED,
			"user %u may not load BPF programs: CPU samples of one's own programs, but "
			"not of the kernel's work for them; GPU work with its launch stacks",
			d->uid);
	else
		finding_is(f, FINDING_MISSING,
			"user %u may not load BPF programs: no CPU samples, but GPU work with its "
			"launch stacks",
			d->uid);
	finding_step(f,
		"run it with sudo, or 'setcap cap_bpf,cap_perfmon+ep %s': whoever may run the file "
		"then sees stacks of all processes (docs/security.md)",
		own_path(path, sizeof(path)));
}

void check_perf_events(struct doctor *d, struct finding *f)
{
	long paranoid;

	if (doctor_read_number(d, "/proc/sys/kernel/perf_event_paranoid", &paranoid)) {
		finding_is(f, FINDING_MISSING, "the kernel has no perf events");
		finding_step(f, "use a kernel built with CONFIG_PERF_EVENTS=y");
		return;
	}
	if (d->can_bpf) {
		finding_is(f, FINDING_OK, "perf_event_paranoid is %ld, which does not bind us",
			paranoid);
	} else if (d->can_perf) {
		finding_is(f, paranoid > 1 ? FINDING_LIMITED : FINDING_OK,
			"perf_event_paranoid is %ld: samples of one's own programs", paranoid);
	} else {
		(void)capture_check_perf();
		finding_is(
			f, FINDING_MISSING, "no samples of one's own programs: %s", error_text());
		if (paranoid > 2)
			finding_step(f, "sysctl kernel.perf_event_paranoid=2");
	}
}

void check_bpf_setting(struct doctor *d, struct finding *f)
{
	long disabled;

	if (doctor_read_number(d, "/proc/sys/kernel/unprivileged_bpf_disabled", &disabled))
		finding_is(f, FINDING_OK, "unprivileged_bpf_disabled cannot be read");
	else if (d->can_bpf)
		finding_is(f, FINDING_OK,
			"unprivileged_bpf_disabled is %ld, which does not bind us", disabled);
	else
		finding_is(f, FINDING_LIMITED,
			"unprivileged_bpf_disabled is %ld; tracing needs rights at any value",
			disabled);
}

/* "[none] integrity confidentiality", the mode in force in brackets. */
void check_lockdown(struct doctor *d, struct finding *f)
{
	struct buf text = BUF_INIT;

	if (doctor_read(d, "/sys/kernel/security/lockdown", &text)) {
		finding_is(f, FINDING_OK, "none that can be seen");
	} else if (strstr(text.data, "[confidentiality]")) {
		finding_is(f, FINDING_MISSING,
			"mode 'confidentiality' keeps BPF programs from reading stacks");
		finding_step(f, "boot with lockdown=integrity, or without Secure Boot");
	} else {
		finding_is(f, FINDING_OK, "%s",
			strstr(text.data, "[integrity]")
				? "mode 'integrity', which BPF may live with"
				: "none");
	}
	buf_release(&text);
}

/* Since Linux 5.11 BPF memory counts towards the control group and not towards this limit. */
void check_memlock(struct doctor *d, struct finding *f)
{
	struct rlimit limit;
	char text[32] = "unlimited";

	if (getrlimit(RLIMIT_MEMLOCK, &limit)) {
		finding_is(f, FINDING_LIMITED, "the limit cannot be read: %s", strerror(errno));
		return;
	}
	if (limit.rlim_cur != RLIM_INFINITY)
		snprintf(text, sizeof(text), "%llu KiB", (unsigned long long)limit.rlim_cur / 1024);
	if (limit.rlim_cur == RLIM_INFINITY || has_capability(d, CAP_SYS_RESOURCE) ||
		has_capability(d, CAP_IPC_LOCK)) {
		finding_is(f, FINDING_OK, "limit %s, which does not bind us", text);
		return;
	}
	finding_is(f, FINDING_LIMITED, "limit %s: event buffers may not fit", text);
	finding_step(f, "ulimit -l unlimited");
}

void check_programs(struct doctor *d, struct finding *f)
{
	if (!capture_is_built()) {
		finding_is(f, FINDING_MISSING,
			"this xpuprof was built without clang, bpftool or libbpf");
		finding_step(
			f, "install them (Debian: clang, bpftool, libbpf-dev) and build again");
	} else if (!d->can_bpf) {
		finding_is(f, FINDING_MISSING, "not tried: no rights");
	} else if (capture_check()) {
		finding_is(f, FINDING_MISSING, "%s", error_text());
		finding_step(f, "use another kernel, and report this line");
	} else {
		finding_is(f, FINDING_OK, "this kernel takes all of them");
	}
}

static const char *const marker_names[LAUNCH_MARKER_KINDS] = {
	[LAUNCH_MARKER_NOP1] = "1-byte nop",
	[LAUNCH_MARKER_NOP5] = "5-byte nop",
	[LAUNCH_MARKER_NOP10] = "10-byte nop",
};

void check_probe(struct doctor *d, struct finding *f)
{
	uint32_t cost_ns[LAUNCH_MARKER_KINDS] = {0};
	struct buf text = BUF_INIT;
	enum launch_marker best;

	if (!capture_is_built()) {
		finding_is(f, FINDING_MISSING, "not tried: there are no BPF programs");
		return;
	}
	if (!d->can_bpf) {
		finding_is(f, FINDING_MISSING, "not measured: no rights");
		return;
	}
	best = capture_measure_markers(cost_ns);
	if (best == LAUNCH_MARKER_NONE) {
		finding_is(f, FINDING_MISSING, "no probe can be attached: %s", error_text());
		finding_step(f,
			"use a kernel built with CONFIG_UPROBE_EVENTS=y and CONFIG_BPF_EVENTS=y");
		return;
	}
	for (int kind = LAUNCH_MARKER_NOP1; kind < LAUNCH_MARKER_KINDS; kind++) {
		buf_printf(
			&text, "%s%s ", kind == LAUNCH_MARKER_NOP1 ? "" : ", ", marker_names[kind]);
		if (cost_ns[kind])
			buf_printf(&text, "%u ns", cost_ns[kind]);
		else
			buf_puts(&text, "not possible");
	}
	finding_is(f, FINDING_OK, "%s chosen (a launch: %s)", marker_names[best], buf_text(&text));
	buf_release(&text);
}

/* Recording opens its events without tracefs; the GPU driver's tracepoints are described there. */
void check_tracefs(struct doctor *d, struct finding *f)
{
	static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	bool hidden = false;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		struct buf events = BUF_INIT;

		buf_printf(&events, "%s/events", folders[i]);
		if (doctor_exists(d, buf_text(&events)))
			finding_is(f, FINDING_OK, "mounted at %s", folders[i]);
		else if (errno == EACCES)
			hidden = true;
		buf_release(&events);
		if (f->text.size)
			return;
	}
	if (hidden) {
		finding_is(f, FINDING_LIMITED, "this user may not look into it");
		return;
	}
	finding_is(f, FINDING_LIMITED,
		"not mounted: tracepoints cannot be listed (recording does without)");
	finding_step(f, "mount -t tracefs tracefs /sys/kernel/tracing");
}

/* True when the kernel shows us where its functions are. */
static bool shows_addresses(const struct doctor *d)
{
	struct buf name = BUF_INIT;
	char line[256];
	bool shown = false;
	FILE *list;

	rooted(d, "/proc/kallsyms", &name);
	list = fopen(buf_text(&name), "re");
	buf_release(&name);
	if (!list)
		return false;
	for (int i = 0; !shown && i < 1000 && fgets(line, sizeof(line), list); i++)
		shown = strtoull(line, NULL, 16) != 0;
	fclose(list);
	return shown;
}

void check_kernel_symbols(struct doctor *d, struct finding *f)
{
	long restricted = 0;

	(void)doctor_read_number(d, "/proc/sys/kernel/kptr_restrict", &restricted);
	if (shows_addresses(d)) {
		finding_is(f, FINDING_OK, "kernel functions can be named (kptr_restrict is %ld)",
			restricted);
		return;
	}
	finding_is(f, FINDING_LIMITED, "kernel functions stay without names (kptr_restrict is %ld)",
		restricted);
	if (restricted >= 2)
		finding_step(f, "sysctl kernel.kptr_restrict=1");
	else
		finding_step(f, "run it with sudo");
}

/* What the libraries that a build may go without are for. */
void check_names(struct doctor *d, struct finding *f)
{
	bool mini = mini_debug_supported(), lines = dwarf_supported();

	if (mini && lines) {
		finding_is(f, FINDING_OK,
			"mini debug info, source lines and inlined functions can be read");
		return;
	}
	finding_is(f, FINDING_LIMITED, "built without%s%s%s",
		mini ? "" : " liblzma (no mini debug info)", mini || lines ? "" : " and",
		lines ? "" : " libdw (no source lines and inlined functions)");
	finding_step(f, "install the missing (Debian: liblzma-dev, libdw-dev) and build again");
}

void check_debug_files(struct doctor *d, struct finding *f)
{
	const char *note = fetch_wanted() ? "; asked of $DEBUGINFOD_URLS" : "";
	struct library_probe servers = {.loaded = true};

	if (fetch_wanted())
		library_probe(FETCH_LIBRARY, NULL, &servers);
	if (!servers.loaded) {
		finding_is(f, FINDING_LIMITED,
			"$DEBUGINFOD_URLS is set, but " FETCH_LIBRARY
			" is missing: servers are not asked");
		finding_step(f, "install libdebuginfod (Debian: libdebuginfod1)");
		return;
	}

	if (doctor_exists(d, "/usr/lib/debug/.build-id")) {
		finding_is(f, FINDING_OK, "looked up by build id in /usr/lib/debug%s", note);
		return;
	}
	finding_is(f, FINDING_LIMITED,
		"none in /usr/lib/debug: stripped programs show exported functions only%s", note);
	finding_step(
		f, "install the debug packages (-dbgsym, -dbg or -debuginfo) of what you profile");
}

void check_metrics(struct doctor *d, struct finding *f)
{
	if (!http_check()) {
		finding_is(f, FINDING_OK, "monitors can be served to Prometheus");
		return;
	}
	finding_is(
		f, FINDING_LIMITED, "no pages, and no monitors for Prometheus: %s", error_text());
	finding_step(f, "install libmicrohttpd (Debian: libmicrohttpd12; to build with it: "
			"libmicrohttpd-dev)");
}

/* The kernel's rules for ptrace(2), with those of the Yama module. */
void check_joining(struct doctor *d, struct finding *f)
{
	enum { SCOPE_OWN = 0, SCOPE_NOBODY = 3 };
	bool may_trace = has_capability(d, CAP_SYS_PTRACE);
	/* memory of other users' programs is a file of theirs */
	bool may_all = may_trace && has_capability(d, CAP_DAC_OVERRIDE);
	long scope = SCOPE_OWN;

	(void)doctor_read_number(d, "/proc/sys/kernel/yama/ptrace_scope", &scope);
	if (scope >= SCOPE_NOBODY) {
		finding_is(f, FINDING_LIMITED,
			"no GPU work of running programs: kernel.yama.ptrace_scope is %ld", scope);
		finding_step(f, "change what sets it at boot, and boot again");
	} else if (may_all) {
		finding_is(f, FINDING_OK, "GPU work of running programs, of all users (record -p)");
	} else if (scope == SCOPE_OWN || may_trace) {
		finding_is(f, FINDING_OK, "GPU work of running programs of one's own (record -p)");
	} else {
		finding_is(f, FINDING_LIMITED,
			"no GPU work of running programs: kernel.yama.ptrace_scope is %ld", scope);
		finding_step(f, "run it with sudo, or 'sysctl kernel.yama.ptrace_scope=0'");
	}
}

void check_library(struct doctor *d, struct finding *f)
{
	struct buf path = BUF_INIT;

	if (locate_library(&path)) {
		finding_is(f, FINDING_MISSING, "%s", error_text());
		finding_step(f, "install xpuprof whole, or set $" LOCATE_LIBRARY_ENV);
	} else {
		finding_is(f, FINDING_OK, "%s", buf_text(&path));
	}
	buf_release(&path);
}
