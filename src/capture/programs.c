// SPDX-License-Identifier: MIT
#include "capture/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/vec.h"
#include "bpf/capture.skel.h"
#include "capture/cpus.h"
#include "bpfload/refusal.h"
#include "capture/uprobe.h"
#include "elf/elf_file.h"

#define BTF_PATH       "/sys/kernel/btf/vmlinux"
#define KPROBES_PATH   "/sys/bus/event_source/devices/kprobe"
#define STRANGERS_PATH "/proc/sys/kernel/unprivileged_bpf_disabled"

/* Inode of the initial pid namespace: PROC_PID_INIT_INO, include/linux/proc_ns.h. */
#define INITIAL_PID_NS "pid:[4026531836]"

/* A ring this full is worth waking the reader for. */
#define WAKEUP_BYTES (512 << 10)

/* Of wait_programs.h, but for each_thread, which is run and not attached. */
#define WAIT_PROGRAMS 4

#define PASSED_OVER_NS                                                                             \
	(NS_PER_SECOND / 2) /* to ask the kernel costs more than all else of a quiet round */

struct programs {
	struct capture_bpf *bpf;
	unsigned int sample_hz;
	bool launches;
	bool waits;
	bool observes;
	bool probes_drivers;
	bool pid_namespace; /* we are in one, and count pids as it does */
	bool sees_maps;	    /* the programs see when code is mapped */
	char *library;
	uint64_t marker_offset; /* in the library's file */
	struct ring samples;
	struct ring launch_ring;
	struct ring tasks;
	struct ring wait_ring;
	struct walk_mapping *mappings;
	struct bpf_observed *observed; /* NULL: no calls are observed */
	pthread_mutex_t writing;       /* guards `staged` */
	void *staged;
	struct uprobe launch_probe;
	struct vec(struct bpf_link *) sample_links;
	struct bpf_link *wait_links[WAIT_PROGRAMS];
	uint64_t passed_over;	 /* as of when it was last looked at, */
	uint64_t passed_over_ns; /* which is then */
};

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

static void wait_programs(const struct programs *p, struct bpf_program *ret[WAIT_PROGRAMS])
{
	ret[0] = p->bpf->progs.on_new_thread;
	ret[1] = p->bpf->progs.on_exec_waits;
	ret[2] = p->bpf->progs.on_switch;
	ret[3] = p->bpf->progs.on_waking;
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

#define LINE_BYTES     (WALK_TABLE_ALIGN * sizeof(uint32_t))
#define MAPPINGS_BYTES (BPF_MAPPINGS_MAX * sizeof(struct walk_mapping))
#define OBSERVED_BYTES (BPF_OBSERVED_MAX * sizeof(struct bpf_observed))
#define STAGED_BYTES   (BPF_STAGED_LINES * LINE_BYTES)

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

/* Reading the iterator to its end runs the program for every task. */
static int track_within_namespace(struct programs *p, pid_t pid)
{
	int fd = bpf_iter_create(bpf_link__fd(p->bpf->links.track_wanted));
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return refusal_explain(fd, "look through the processes");
	p->bpf->bss->wanted_pid = (uint32_t)pid;
	n = io_read_full(fd, nothing, sizeof(nothing));
	close(fd);
	if (n < 0)
		return error_errno((int)n, "cannot track process %d", pid);
	return p->bpf->bss->wanted_pid ? error_errno(-ESRCH, "cannot track process %d", pid) : 0;
}

int programs_track(struct programs *p, pid_t pid)
{
	struct {
		uint64_t leader;
		uint32_t pid, padding;
	} value = {.pid = (uint32_t)pid};
	uint32_t key = (uint32_t)pid;

	if (p->pid_namespace)
		return track_within_namespace(p, pid);
	/* A process that is followed already, as its parent is, stays so. */
	if (bpf_map__update_elem(
		    p->bpf->maps.tracked, &key, sizeof(key), &value, sizeof(value), BPF_NOEXIST) &&
		errno != EEXIST)
		return error_errno(-errno, "cannot track process %d", pid);
	return 0;
}

void programs_note_signals(struct programs *p, pid_t pid)
{
	__atomic_store_n(&p->bpf->bss->recorder_pid, (uint32_t)getpid(), __ATOMIC_RELAXED);
	__atomic_store_n(&p->bpf->bss->program_pid, (uint32_t)pid, __ATOMIC_RELEASE);
}

bool programs_signal_came_to_both(const struct programs *p, int number, uint64_t within_ns)
{
	uint64_t ours_ns, program_ns;

	if (number <= 0 || number >= BPF_SIGNALS)
		return false;
	ours_ns = __atomic_load_n(&p->bpf->bss->recorder_signals_ns[number], __ATOMIC_RELAXED);
	program_ns = __atomic_load_n(&p->bpf->bss->program_signals_ns[number], __ATOMIC_RELAXED);
	if (!ours_ns || !program_ns)
		return false;
	return (ours_ns > program_ns ? ours_ns - program_ns : program_ns - ours_ns) <= within_ns;
}

/* ------------------------------------------------------------------ samples and launches */

static int start_samples(void *context, int cpu)
{
	struct programs *p = context;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NS_PER_SECOND / p->sample_hz,
		.exclude_idle = 1,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		return refusal_explain(-errno, "sample the CPUs");
	link = bpf_program__attach_perf_event(p->bpf->progs.on_sample, fd);
	if (!link) {
		int error = -errno;

		close(fd);
		return refusal_explain(error, "sample the CPUs");
	}
	if (vec_push(&p->sample_links, link) < 0) {
		bpf_link__destroy(link);
		return error_errno(-ENOMEM, "cannot sample the CPUs");
	}
	return 0;
}

static int start_launches(struct programs *p)
{
	struct bpf_program *program = bpf_program__autoload(p->bpf->progs.on_launch)
					      ? p->bpf->progs.on_launch
					      : p->bpf->progs.on_launch_without_storage;
	int error = uprobe_attach(&p->launch_probe, program, p->library, &p->marker_offset, 1);

	return error ? refusal_explain(error, "put a probe on the launch marker") : 0;
}

/* Reading an iterator to its end runs the program for every task. */
static int run_iterator(struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -errno;
	char nothing[64];
	ssize_t n = fd < 0 ? fd : io_read_full(fd, nothing, sizeof(nothing));

	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return n < 0 ? (int)n : 0;
}

static int start_waits(struct programs *p)
{
	struct bpf_program *programs[WAIT_PROGRAMS];
	int error;

	wait_programs(p, programs);
	for (int n = 0; n < WAIT_PROGRAMS; n++) {
		p->wait_links[n] = bpf_program__attach(programs[n]);
		if (!p->wait_links[n])
			return refusal_explain(-errno, "watch threads wait");
	}
	error = run_iterator(p->bpf->progs.each_thread);
	return error ? refusal_explain(error, "look through the threads") : 0;
}

/* Waits that go on are reported up to now. */
static int stop_waits(struct programs *p)
{
	int error = 0;

	if (!p->wait_links[0])
		return 0;
	for (int n = 0; n < WAIT_PROGRAMS; n++) {
		bpf_link__destroy(p->wait_links[n]);
		p->wait_links[n] = NULL;
	}
	p->bpf->bss->ending = 1;
	error = run_iterator(p->bpf->progs.each_thread);
	return error ? refusal_explain(error, "look through the threads") : 0;
}

void programs_note_clock(struct programs *p)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	struct timespec own;

	/* Brings the account of this thread, and with it the clock of the CPU's run queue, up to
	 * date. */
	if (p->sample_hz && !clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own))
		(void)bpf_prog_test_run_opts(bpf_program__fd(p->bpf->progs.note_rq_clock), &run);
}

static int start_accounts(struct programs *p)
{
	int error;

	p->bpf->bss->accounts_since_ns = clock_now_ns();
	programs_note_clock(p);
	error = run_iterator(p->bpf->progs.each_account);
	return error ? refusal_explain(error, "look through the threads") : 0;
}

/* Threads that have ended and that the kernel has not freed. That takes milliseconds, or seconds on
 * a machine that has much to do. */
static int report_unfreed(struct programs *p)
{
	int map = bpf_map__fd(p->bpf->maps.accounts), error = 0;
	uint64_t task, *last = NULL;
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &task, .ctx_size_in = sizeof(task));

	while (!error && !bpf_map_get_next_key(map, last, &task)) {
		last = &task;
		error = bpf_prog_test_run_opts(bpf_program__fd(p->bpf->progs.report_unfreed), &run);
	}
	return error;
}

/* Whoever runs on is reported up to now. */
static int stop_accounts(struct programs *p)
{
	int error;

	if (!p->bpf || !p->bpf->bss->accounts_since_ns || p->bpf->bss->accounts_ended)
		return 0;
	p->bpf->bss->accounts_ended = 1;
	programs_note_clock(p);
	error = run_iterator(p->bpf->progs.each_account) ?: report_unfreed(p);
	return error ? refusal_explain(error, "look through the threads") : 0;
}

int programs_start(struct programs *p)
{
	int error = p->launches ? start_launches(p) : 0;

	if (!error && p->sample_hz)
		error = cpus_each_online(start_samples, p) ?: start_accounts(p);
	if (!error && p->waits)
		error = start_waits(p);
	return error;
}

int programs_stop(struct programs *p)
{
	int error = stop_waits(p), failed;

	error = error ?: stop_accounts(p);
	vec_foreach (link, &p->sample_links) {
		failed = bpf_link__destroy(*link);
		error = error ?: failed;
	}
	vec_release(&p->sample_links);
	failed = uprobe_detach(&p->launch_probe);
	error = error ?: failed;
	return error ? error_errno(error, "cannot stop sampling") : 0;
}

void programs_close(struct programs *p)
{
	if (!p)
		return;
	(void)programs_stop(p); /* closing ends them in any case */
	ring_close(&p->samples);
	ring_close(&p->launch_ring);
	ring_close(&p->tasks);
	ring_close(&p->wait_ring);
	if (p->mappings)
		munmap(p->mappings, MAPPINGS_BYTES);
	if (p->staged)
		munmap(p->staged, STAGED_BYTES);
	if (p->observed)
		munmap(p->observed, OBSERVED_BYTES);
	pthread_mutex_destroy(&p->writing);
	capture_bpf__destroy(p->bpf);
	free(p->library);
	free(p);
}

/* ------------------------------------------------------------------ observed calls */

struct bpf_observed *programs_observed(struct programs *p)
{
	return p->observed;
}

int programs_observe(struct programs *p, const struct uprobe_places *places)
{
	return uprobe_attach_within(
		places->at_return ? p->bpf->progs.on_observed_return : p->bpf->progs.on_observed,
		places);
}

/* ------------------------------------------------------------------ probes of drivers */

bool programs_can_probe_drivers(const struct programs *p)
{
	return p->probes_drivers;
}

int programs_put_probe_sites(
	struct programs *p, uint32_t first, const struct bpf_probe_site *sites, size_t count)
{
	int map = bpf_map__fd(p->bpf->maps.probe_sites);

	for (size_t i = 0; i < count; i++) {
		uint32_t index = first + (uint32_t)i;

		if (bpf_map_update_elem(map, &index, &sites[i], BPF_ANY))
			return -errno;
	}
	return 0;
}

int programs_probe_driver(struct programs *p, const struct uprobe_places *places)
{
	return uprobe_attach_within(p->bpf->progs.on_driver_probe, places);
}

/* ------------------------------------------------------------------ data for walks */

int programs_new_chunk(struct programs *p, uint32_t index, int *ret_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int error = 0, fd;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "table_chunk", sizeof(uint32_t), LINE_BYTES,
		WALK_CHUNK_BYTES / LINE_BYTES, &options);
	if (fd < 0)
		return error_errno(-errno, "cannot make room for unwind tables");
	if (bpf_map_freeze(fd) ||
		bpf_map_update_elem(bpf_map__fd(p->bpf->maps.table_chunks), &index, &fd, BPF_ANY))
		error = error_errno(-errno, "cannot make room for unwind tables");
	if (error)
		close(fd);
	else
		*ret_fd = fd;
	return error;
}

/* Lines of one chunk. */
static int write_lines(struct programs *p, uint32_t first, const uint32_t *words, uint32_t count)
{
	uint64_t arguments[] = {first, count};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
	int error;

	pthread_mutex_lock(&p->writing);
	memcpy(p->staged, words, count * LINE_BYTES);
	error = bpf_prog_test_run_opts(bpf_program__fd(p->bpf->progs.write_lines), &run);
	pthread_mutex_unlock(&p->writing);
	if (!error && run.retval != count)
		error = -EIO;
	return error ? error_errno(error, "cannot write an unwind table") : 0;
}

int programs_write_words(struct programs *p, uint32_t at, const uint32_t *words, uint32_t count)
{
	const uint32_t per_chunk = WALK_CHUNK_WORDS / WALK_TABLE_ALIGN;
	uint32_t first = at / WALK_TABLE_ALIGN, left = count / WALK_TABLE_ALIGN;
	int error = 0;

	while (!error && left) {
		uint32_t room = per_chunk - first % per_chunk, now = left;

		if (now > room)
			now = room;
		if (now > BPF_STAGED_LINES)
			now = BPF_STAGED_LINES;
		error = write_lines(p, first, words, now);
		words += now * WALK_TABLE_ALIGN;
		first += now;
		left -= now;
	}
	return error;
}

/* Such a program may write to any map whose descriptor its maker has. */
bool programs_can_share_chunks(const struct programs *p)
{
	char allowed = '0';
	int fd = open(STRANGERS_PATH, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)io_read_full(fd, &allowed, 1);
		close(fd);
	}
	return allowed != '0';
}

bool programs_see_maps(const struct programs *p)
{
	return p->sees_maps;
}

struct walk_mapping *programs_mappings(struct programs *p)
{
	return p->mappings;
}

int programs_put_space(struct programs *p, uint32_t pid, const struct bpf_space *space)
{
	if (bpf_map_update_elem(bpf_map__fd(p->bpf->maps.spaces), &pid, space, BPF_ANY))
		return error_errno(-errno, "cannot publish the mappings of process %u", pid);
	return 0;
}

int programs_put_python(struct programs *p, uint32_t pid, const struct walk_python *python)
{
	if (bpf_map_update_elem(bpf_map__fd(p->bpf->maps.pythons), &pid, python, BPF_ANY))
		return error_errno(-errno, "cannot publish the Python in process %u", pid);
	return 0;
}

void programs_drop_space(struct programs *p, uint32_t pid)
{
	/* it need not be there */
	(void)bpf_map_delete_elem(bpf_map__fd(p->bpf->maps.spaces), &pid);
	(void)bpf_map_delete_elem(bpf_map__fd(p->bpf->maps.pythons), &pid);
}

struct ring *programs_samples(struct programs *p)
{
	return &p->samples;
}

struct ring *programs_launches(struct programs *p)
{
	return &p->launch_ring;
}

struct ring *programs_tasks(struct programs *p)
{
	return &p->tasks;
}

struct ring *programs_waits(struct programs *p)
{
	return &p->wait_ring;
}

/*
 * Counts changes to tasks that came while their program was already running on that CPU: the kernel
 * does not run it then. On Linux 7.2 these programs can be preempted, and this does happen.
 */
static uint64_t count_passed_over(const struct programs *p)
{
	const struct bpf_program *const programs[] = {p->bpf->progs.on_fork, p->bpf->progs.on_exec,
		p->bpf->progs.on_rename, p->bpf->progs.on_free};
	uint64_t count = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(programs[i]), &info, &size))
			count += info.recursion_misses;
	}
	return count;
}

struct bpf_losses programs_losses(struct programs *p, bool last)
{
	const struct bpf_losses *lost = &p->bpf->bss->lost;
	uint64_t now_ns = clock_now_ns();

	if (last || now_ns - p->passed_over_ns >= PASSED_OVER_NS) {
		p->passed_over = count_passed_over(p);
		p->passed_over_ns = now_ns;
	}
	return (struct bpf_losses){
		.samples = __atomic_load_n(&lost->samples, __ATOMIC_RELAXED),
		.launches = __atomic_load_n(&lost->launches, __ATOMIC_RELAXED),
		.tasks = __atomic_load_n(&lost->tasks, __ATOMIC_RELAXED) + p->passed_over,
		.waits = __atomic_load_n(&lost->waits, __ATOMIC_RELAXED),
		.accounts = __atomic_load_n(&lost->accounts, __ATOMIC_RELAXED),
		.observed = __atomic_load_n(&lost->observed, __ATOMIC_RELAXED),
		.probed = __atomic_load_n(&lost->probed, __ATOMIC_RELAXED),
	};
}

int programs_each_fd(const struct programs *p, int (*add)(void *context, int fd), void *context)
{
	int error = add(context, bpf_map__fd(p->bpf->maps.tasks));

	if (!error && p->sample_hz)
		error = add(context, bpf_map__fd(p->bpf->maps.samples));
	if (!error && p->launches)
		error = add(context, bpf_map__fd(p->bpf->maps.launches));
	if (!error && p->waits)
		error = add(context, bpf_map__fd(p->bpf->maps.waits));
	return error;
}
