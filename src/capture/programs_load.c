// SPDX-License-Identifier: MIT
/* What the kernel can do, and loading what it is to run. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "bpfload/refusal.h"
#include "capture/cpus.h"
#include "capture/programs_internal.h"
#include "elf/elf_file.h"

#define BTF_PATH     "/sys/kernel/btf/vmlinux"
#define KPROBES_PATH "/sys/bus/event_source/devices/kprobe"

/* Inode of the initial pid namespace: PROC_PID_INIT_INO, include/linux/proc_ns.h. */
#define INITIAL_PID_NS "pid:[4026531836]"

/* A ring this full is worth waking the reader for. */
#define WAKEUP_BYTES (512 << 10)

/* What a thread waits for that sleeps in a system call. */
static const struct {
	long call;
	enum bpf_wait_reason reason;
} call_reasons[] = {
// clang-format off
#define CALL(name, what) {SYS_##name, BPF_REASON_##what}
	// clang-format on
	CALL(futex, LOCK),
#ifdef SYS_futex_waitv
	CALL(futex_waitv, LOCK),
#endif
	CALL(flock, LOCK),
	CALL(semop, LOCK),
	CALL(semtimedop, LOCK),
	CALL(nanosleep, SLEEP),
	CALL(clock_nanosleep, SLEEP),
	CALL(read, IO),
	CALL(write, IO),
	CALL(readv, IO),
	CALL(writev, IO),
	CALL(pread64, IO),
	CALL(pwrite64, IO),
	CALL(preadv, IO),
	CALL(pwritev, IO),
	CALL(preadv2, IO),
	CALL(pwritev2, IO),
	CALL(recvfrom, IO),
	CALL(recvmsg, IO),
	CALL(recvmmsg, IO),
	CALL(sendto, IO),
	CALL(sendmsg, IO),
	CALL(sendmmsg, IO),
	CALL(accept, IO),
	CALL(accept4, IO),
	CALL(connect, IO),
	CALL(splice, IO),
	CALL(tee, IO),
	CALL(vmsplice, IO),
	CALL(sendfile, IO),
	CALL(copy_file_range, IO),
	CALL(fsync, IO),
	CALL(fdatasync, IO),
	CALL(sync, IO),
	CALL(syncfs, IO),
	CALL(sync_file_range, IO),
	CALL(msync, IO),
	CALL(open, IO),
	CALL(openat, IO),
	CALL(close, IO),
	CALL(getdents64, IO),
	CALL(io_getevents, IO),
	CALL(io_uring_enter, IO),
	CALL(msgrcv, IO),
	CALL(msgsnd, IO),
	CALL(mq_timedreceive, IO),
	CALL(mq_timedsend, IO),
	CALL(poll, EVENTS),
	CALL(ppoll, EVENTS),
	CALL(select, EVENTS),
	CALL(pselect6, EVENTS),
	CALL(epoll_wait, EVENTS),
	CALL(epoll_pwait, EVENTS),
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2, EVENTS),
#endif
	CALL(pause, EVENTS),
	CALL(rt_sigtimedwait, EVENTS),
	CALL(rt_sigsuspend, EVENTS),
	CALL(wait4, PROCESS),
	CALL(waitid, PROCESS),
	CALL(vfork, PROCESS),
	CALL(ioctl, DEVICE),
#undef CALL
};

static const char *const marker_names[LAUNCH_MARKER_KINDS] = {
	[LAUNCH_MARKER_NOP1] = "xpuprof_launch_marker_nop1",
	[LAUNCH_MARKER_NOP5] = "xpuprof_launch_marker_nop5",
	[LAUNCH_MARKER_NOP10] = "xpuprof_launch_marker_nop10",
};

/* ------------------------------------------------------------------ the kernel */

static bool is_before(const struct utsname *u, int major, int minor)
{
	int has_major = 0, has_minor = 0;

	return sscanf(u->release, "%d.%d", &has_major, &has_minor) == 2 &&
	       (has_major < major || (has_major == major && has_minor < minor));
}

/* What can be checked without loading. */
static int check_kernel(void)
{
	struct utsname u;

	if (!uname(&u) && is_before(&u, 5, 10))
		return error_set(
			-ENOTSUP, "CPU stacks need Linux 5.10 or later, this is %s", u.release);
	if (access(BTF_PATH, R_OK))
		return error_set(-ENOTSUP, "cannot read '%s'", BTF_PATH);
	return 0;
}

static bool in_pid_namespace(void)
{
	char ns[64];
	ssize_t length = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);

	ns[length > 0 ? length : 0] = '\0';
	return strcmp(ns, INITIAL_PID_NS);
}

/* libbpf would print; failures are returned as errors instead. */
static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

/* ------------------------------------------------------------------ loading */

/* Task storage for tracing programs came in 2021 (commit a10787e6d58c). */
static bool has_task_storage(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_task_storage_get, NULL) == 1;
}

static void configure_waits(struct programs *p, bool wanted)
{
	struct bpf_program *programs[WAIT_PROGRAMS];

	wait_programs(p, programs);
	for (int n = 0; n < WAIT_PROGRAMS; n++) {
		bpf_program__set_autoload(programs[n], wanted);
		bpf_program__set_autoattach(programs[n], false);
	}
	bpf_program__set_autoload(p->bpf->progs.each_thread, wanted);
	bpf_map__set_autocreate(p->bpf->maps.waits, wanted);
	bpf_map__set_autocreate(p->bpf->maps.group_threads, wanted);
	bpf_map__set_autocreate(p->bpf->maps.waiting_threads, wanted);
	bpf_map__set_autocreate(p->bpf->maps.wait_prices, wanted);
	bpf_map__set_autocreate(p->bpf->maps.call_reasons, wanted);
}

static void configure_accounts(struct programs *p, bool wanted)
{
	bpf_program__set_autoload(p->bpf->progs.on_exit, wanted);
	bpf_program__set_autoload(p->bpf->progs.each_account, wanted);
	bpf_program__set_autoattach(p->bpf->progs.each_account, false);
	bpf_program__set_autoload(p->bpf->progs.report_unfreed, wanted);
	bpf_program__set_autoload(p->bpf->progs.note_rq_clock, wanted);
	if (!wanted)
		return; /* the maps stay small */
	bpf_map__set_max_entries(p->bpf->maps.accounts, BPF_ACCOUNTS_MAX);
}

/* Where calls are to be observed, there are multi links and task storage. */
static void configure_observing(struct programs *p, bool wanted)
{
	struct capture_bpf *bpf = p->bpf;

	bpf_program__set_autoload(bpf->progs.on_observed, wanted);
	bpf_program__set_autoload(bpf->progs.on_observed_return, wanted);
	bpf_map__set_autocreate(bpf->maps.observed, wanted);
	bpf_map__set_autocreate(bpf->maps.observed_waits, wanted);
	if (!wanted)
		return;
	uprobe_prepare_multi(bpf->progs.on_observed);
	uprobe_prepare_multi(bpf->progs.on_observed_return);
}

/* Before Linux 6.10 probes within a process see its first thread only. */
static void configure_driver_probes(struct programs *p, bool wanted)
{
	struct utsname u;

	wanted &= !uname(&u) && !is_before(&u, 6, 10);
	bpf_program__set_autoload(p->bpf->progs.on_driver_probe, wanted);
	bpf_map__set_autocreate(p->bpf->maps.probe_sites, wanted);
	if (wanted)
		uprobe_prepare_multi(p->bpf->progs.on_driver_probe);
	p->probes_drivers = wanted;
}

static void configure(struct programs *p, const struct capture_options *options, bool multi)
{
	struct capture_bpf *bpf = p->bpf;
	bool storage = options->launches && has_task_storage();

	bpf->rodata->whole_system = options->whole_system;
	bpf->rodata->observes = options->observes;
	bpf->rodata->wakeup_bytes = WAKEUP_BYTES;
	bpf_program__set_autoload(bpf->progs.find_pid_ns_level, p->pid_namespace);
	bpf_program__set_autoload(bpf->progs.track_wanted, p->pid_namespace);
	bpf_program__set_autoload(
		bpf->progs.on_map, options->sample_hz || options->launches || options->waits);
	bpf_program__set_autoattach(bpf->progs.on_map, false);
	bpf_program__set_autoload(bpf->progs.on_sample, options->sample_hz > 0);
	bpf_program__set_autoload(bpf->progs.on_launch, options->launches && storage);
	bpf_program__set_autoload(
		bpf->progs.on_launch_without_storage, options->launches && !storage);
	if (multi) {
		uprobe_prepare_multi(bpf->progs.on_launch);
		uprobe_prepare_multi(bpf->progs.on_launch_without_storage);
	}
	configure_observing(p, options->observes);
	configure_driver_probes(p, options->drivers.kernel && multi && storage);
	configure_waits(p, options->waits);
	configure_accounts(p, options->sample_hz > 0);
	bpf_map__set_autocreate(bpf->maps.samples, options->sample_hz > 0);
	bpf_map__set_autocreate(bpf->maps.launches, options->launches);
	bpf_map__set_autocreate(bpf->maps.thread_buffers, storage);
	bpf_map__set_autocreate(bpf->maps.thread_pythons, storage);
}

static int open_programs(struct programs *p, const struct capture_options *options, bool multi)
{
	libbpf_set_print(say_nothing);
	p->bpf = capture_bpf__open();
	if (!p->bpf)
		return error_errno(-errno, "cannot open the BPF programs");
	configure(p, options, multi);
	return 0;
}

/* The kernel refused them. It also reports a program that fails verification with -EACCES. */
static int explain_refusal(
	struct programs *p, const struct capture_options *options, bool multi, int error)
{
	struct buf why = BUF_INIT;

	capture_bpf__destroy(p->bpf);
	p->bpf = NULL;
	if (error != -EPERM && error != -EAGAIN && !open_programs(p, options, multi))
		refusal_find(p->bpf->obj, &why);
	error = why.size ? error_set(error, "cannot load BPF programs: the kernel does not take %s",
				   buf_text(&why))
			 : refusal_explain(error, "load BPF programs");
	buf_release(&why);
	return error;
}

/* Does without them where the kernel has no such probes. */
static void watch_maps(struct programs *p)
{
	if (!bpf_program__autoload(p->bpf->progs.on_map) || access(KPROBES_PATH, F_OK))
		return;
	p->bpf->links.on_map = bpf_program__attach(p->bpf->progs.on_map);
	p->sees_maps = p->bpf->links.on_map;
}

static int open_and_load(struct programs *p, const struct capture_options *options, bool multi)
{
	int tries = 0, error;

	do {
		capture_bpf__destroy(p->bpf);
		error = open_programs(p, options, multi);
		if (error)
			return error;
		error = capture_bpf__load(p->bpf);
	} while (refusal_was_interruption(error, ++tries));
	return error ? explain_refusal(p, options, multi, error) : 0;
}

static int load(struct programs *p, const struct capture_options *options, bool multi)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int error = open_and_load(p, options, multi);

	if (error)
		return error;
	if (p->pid_namespace)
		error = bpf_prog_test_run_opts(
			bpf_program__fd(p->bpf->progs.find_pid_ns_level), &run);
	error = error ?: capture_bpf__attach(p->bpf);
	if (!error)
		watch_maps(p);
	return error ? refusal_explain(error, "load BPF programs") : 0;
}

static int open_ring(struct ring *r, const struct bpf_map *map)
{
	return ring_open(r, bpf_map__fd(map), bpf_map__max_entries(map));
}

static int open_rings(struct programs *p)
{
	int error = open_ring(&p->tasks, p->bpf->maps.tasks);

	if (!error && p->sample_hz)
		error = open_ring(&p->samples, p->bpf->maps.samples);
	if (!error && p->launches)
		error = open_ring(&p->launch_ring, p->bpf->maps.launches);
	if (!error && p->waits)
		error = open_ring(&p->wait_ring, p->bpf->maps.waits);
	return error;
}

/* NULL with error_text. */
static void *map_array(const struct bpf_map *map, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (memory != MAP_FAILED)
		return memory;
	error_errno(-errno, "cannot share memory with the BPF programs");
	return NULL;
}

static int map_arrays(struct programs *p)
{
	p->mappings = map_array(p->bpf->maps.mappings, MAPPINGS_BYTES);
	if (p->mappings)
		p->staged = map_array(p->bpf->maps.staged_lines, STAGED_BYTES);
	if (p->staged && p->observes)
		p->observed = map_array(p->bpf->maps.observed, OBSERVED_BYTES);
	return p->staged && (p->observed || !p->observes) ? 0 : -ENOMEM;
}

/* Where the marker is in the library's file. */
static int find_marker(struct programs *p, const char *library, enum launch_marker marker)
{
	const char *name = marker_names[marker];
	struct elf_file *elf = NULL;
	int error;

	if (!name)
		return error_set(-ENOTSUP, "cannot put a probe on any launch marker");
	p->library = strdup(library);
	if (!p->library)
		return error_errno(-ENOMEM, "cannot find the launch marker");
	error = elf_file_open(&elf, library);
	if (!error && elf_file_find_function(elf, name, &p->marker_offset))
		error = error_set(-ENOENT, "cannot find '%s' in '%s'", name, library);
	elf_file_close(elf);
	return error;
}

static int put_call_reasons(const struct programs *p)
{
	int map = bpf_map__fd(p->bpf->maps.call_reasons);

	for (size_t n = 0; n < sizeof(call_reasons) / sizeof(call_reasons[0]); n++) {
		uint32_t call = (uint32_t)call_reasons[n].call;
		uint8_t reason = (uint8_t)call_reasons[n].reason;

		if (call < BPF_SYSTEM_CALLS && bpf_map_update_elem(map, &call, &reason, BPF_ANY))
			return error_errno(-errno, "cannot publish what system calls wait for");
	}
	return 0;
}

bool capture_is_built(void)
{
	return true;
}

int programs_can_record_waits(void)
{
	return has_task_storage() ? 0 : error_set(-ENOTSUP, "this takes Linux 5.12 or later");
}

int programs_open(struct programs **ret, const struct capture_options *options,
	const struct marker_costs *markers)
{
	struct programs *p = calloc(1, sizeof(*p));
	int error;

	if (!p)
		return error_errno(-ENOMEM, "cannot load BPF programs");
	p->launch_probe = UPROBE_INIT;
	pthread_mutex_init(&p->writing, NULL);
	p->sample_hz = options->sample_hz;
	p->launches = options->launches;
	p->waits = options->waits;
	p->observes = options->observes;
	p->pid_namespace = in_pid_namespace();
	error = check_kernel();
	error = error ?: load(p, options, markers->multi);
	if (!error && options->launches) /* behind it: without rights there is no marker either */
		error = find_marker(p, options->library, markers->best);
	error = error ?: open_rings(p);
	error = error ?: map_arrays(p);
	if (!error && options->waits)
		error = put_call_reasons(p);
	if (error) {
		programs_close(p);
		return error;
	}
	*ret = p;
	return 0;
}

int programs_check(const struct capture_options *options, bool multi)
{
	struct programs p = {.launch_probe = UPROBE_INIT, .pid_namespace = in_pid_namespace()};
	int error = check_kernel();

	error = error ?: load(&p, options, multi);
	capture_bpf__destroy(p.bpf);
	return error;
}
