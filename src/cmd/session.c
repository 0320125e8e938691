// SPDX-License-Identifier: MIT
/*
 * A round of the loop is: snapshot the GPU rings, drain the kernel's rings, drain the GPU rings up to
 * the snapshot. A launch marker fires before its call or its work can be in a GPU ring, so whatever the
 * snapshot covers finds its stack already taken: the join needs no waiting and no guessing.
 *
 * How often: every 50 ms at most, every 5 ms while there is much. Nothing wakes the recorder on the
 * launch path of the program.
 *
 * Signals. The program shares our process group, so what the terminal sends (Ctrl-C, Ctrl-\) reaches it
 * without us; what somebody sends to us alone is passed on once. Signals arrive through a signalfd, and
 * the program starts with the mask and dispositions that we were started with.
 */
#include "cmd/session.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/capture.h"
#include "cmd/cmd.h"
#include "cmd/locate.h"
#include "cmd/status.h"
#include "cmd/target.h"
#include "correlate/correlate.h"
#include "gpu/backend.h"
#include "symbolize/symbolize.h"

#define ROUND_IDLE_MS   50
#define ROUND_BUSY_MS   5
#define FLUSH_PERIOD_NS NS_PER_SECOND
#define STATUS_PERIOD_NS (NS_PER_SECOND / 2)
#define STOP_TIMEOUT_MS 3000
#define STOP_POLL_US    2000

struct session {
	struct session_options options;
	struct profile_writer *writer;
	struct tasks *tasks;
	struct correlator *correlator;
	struct capture *capture; /* NULL: no rights, or not wanted */
	const struct gpu_backend_ops *gpu_ops;
	struct gpu_backend *gpu; /* NULL: not wanted */
	struct target_user *user;
	struct target target;
	struct buf library;
	struct buf notes;
	struct profile_totals totals;
	char runtime_dir[64]; /* "" until made */
	int attached;         /* pidfd of -p, or -1 */
	int signals;          /* signalfd, or -1 */
	int epoll;
	sigset_t handled;
	sigset_t original_mask;
	uint64_t stacks_taken;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t next_flush_ns;
	uint64_t next_status_ns;
	bool status_line;
	bool exec_failed;
	bool program_ended;
	bool signal_passed_on;
	bool stop_requested;
	int wait_status;
};

static int note(struct session *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int note(struct session *s, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buf_printf(&s->notes, "%s\n", text);
	return s->notes.failed ? -ENOMEM : 0;
}

/* --- opening ------------------------------------------------------------------------------------ */

static int make_runtime_dir(struct session *s)
{
	snprintf(s->runtime_dir, sizeof(s->runtime_dir), "/tmp/xpuprof-XXXXXX");
	if (!mkdtemp(s->runtime_dir)) {
		s->runtime_dir[0] = '\0';
		return error_errno(-errno, "cannot make a folder in /tmp for the recording");
	}
	if (s->user->switched && chown(s->runtime_dir, s->user->uid, s->user->gid))
		return error_errno(-errno, "cannot give '%s' to the program's user", s->runtime_dir);
	return 0;
}

static int new_correlator(struct session *s, bool have_markers)
{
	struct correlator_options options = {.have_markers = have_markers};

	correlator_free(s->correlator);
	s->correlator = NULL;
	return correlator_new(&s->correlator, s->writer, &options);
}

/* A launch from the marker goes to the correlator, and its stack to the GPU side, which may then hear of
 * the same stack by number. */
static int take_launch(void *context, const struct gpu_launch *e)
{
	struct session *s = context;
	struct gpu_sink sink = correlator_sink(s->correlator);
	int error = s->gpu ? s->gpu_ops->learn_stack(s->gpu, e) : 0;

	s->stacks_taken++;
	return error ?: sink.launch(sink.context, e);
}

static int take_code_mapped(void *context, uint32_t pid)
{
	struct session *s = context;

	if (s->gpu)
		s->gpu_ops->forget_stacks(s->gpu, pid);
	return 0;
}

static struct gpu_sink capture_sink(struct session *s)
{
	return (struct gpu_sink){
		.context = s, .launch = take_launch, .code_mapped = take_code_mapped};
}

/* The CPU side may be refused for want of rights; the GPU side then records without stacks. */
static int open_capture(struct session *s)
{
	struct capture_options options = {
		.sample_hz = s->options.cpu ? s->options.sample_hz : 0,
		.launches = s->options.gpu,
		.whole_system = s->options.whole_system,
		.library = buf_text(&s->library),
	};
	int error = new_correlator(s, true);

	if (error)
		return error;
	error = capture_open(&s->capture, &options, s->writer, s->tasks, capture_sink(s));
	if (!error)
		return 0;
	s->capture = NULL;
	if (!s->options.gpu)
		return error;
	note(s, "no CPU samples and no launch stacks: %s", error_text());
	return new_correlator(s, false);
}

static int add_environment(void *context, const char *name, const char *value)
{
	struct session *s = context;

	return target_user_setenv(s->user, name, value);
}

static int open_gpu(struct session *s)
{
	const char *other = target_user_getenv(s->user, "CUDA_INJECTION64_PATH");
	struct gpu_options options = {
		.runtime_dir = s->runtime_dir,
		.library = buf_text(&s->library),
		.target_uid = s->user->uid,
		.target_gid = s->user->gid,
		.marker = s->capture ? capture_marker(s->capture) : LAUNCH_MARKER_NONE,
		.queue_times = s->options.queue_times,
	};
	int error;

	if (other && *other)
		return note(s, "no GPU work is recorded: CUDA_INJECTION64_PATH already names '%s'", other);
	error = make_runtime_dir(s);
	if (error)
		return error;
	s->gpu_ops = gpu_backends[0];
	error = s->gpu_ops->open(&s->gpu, &options, s->writer, s->tasks,
		correlator_sink(s->correlator));
	return error ?: s->gpu_ops->environment(s->gpu, add_environment, s);
}

static void describe_command(struct session *s)
{
	struct buf line = BUF_INIT;

	if (s->options.command)
		for (char **word = s->options.command; *word; word++)
			buf_printf(&line, "%s%s", line.size ? " " : "", *word);
	else if (s->options.pid)
		buf_printf(&line, "process %d", (int)s->options.pid);
	else
		buf_puts(&line, "the whole system");
	profile_set_meta(s->writer, META_COMMAND, buf_text(&line));
	buf_release(&line);
}

static void set_number(struct session *s, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	profile_set_meta(s->writer, key, text);
}

static void describe_machine(struct session *s)
{
	struct timespec real;
	struct utsname name;

	if (!uname(&name)) {
		profile_set_meta(s->writer, META_HOSTNAME, name.nodename);
		profile_set_meta(s->writer, META_KERNEL, name.release);
	}
	clock_gettime(CLOCK_REALTIME, &real);
	set_number(s, META_REALTIME_NS,
		(uint64_t)real.tv_sec * NS_PER_SECOND + (uint64_t)real.tv_nsec - clock_now_ns());
	set_number(s, META_CPUS, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	set_number(s, META_SAMPLE_HZ, s->options.cpu && s->capture ? s->options.sample_hz : 0);
	profile_set_meta(s->writer, META_STACK_SOURCE, s->capture ? "bpf" : "none");
	profile_set_meta(s->writer, META_VERSION, XPUPROF_VERSION);
}

static int open_parts(struct session *s)
{
	int error = locate_library(&s->library);

	error = error ?: profile_writer_open(&s->writer, s->options.profile_path);
	error = error ?: tasks_new(&s->tasks, s->writer);
	error = error ?: open_capture(s);
	if (!error && s->options.gpu)
		error = open_gpu(s);
	if (error)
		return error;
	describe_command(s);
	describe_machine(s);
	return 0;
}

int session_open(struct session **ret, const struct session_options *options)
{
	struct session *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return error_set(-ENOMEM, "out of memory");
	s->options = *options;
	s->user = options->user;
	s->target = TARGET_INIT;
	s->attached = s->signals = s->epoll = -1;
	s->status_line = !options->quiet && isatty(STDERR_FILENO);
	error = open_parts(s);
	if (error) {
		session_close(s);
		return error;
	}
	*ret = s;
	return 0;
}

/* --- starting ----------------------------------------------------------------------------------- */

/* After the fork, so that the program inherits the mask we were started with. */
static int take_signals(struct session *s)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGCHLD};

	sigemptyset(&s->handled);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&s->handled, numbers[i]);
	if (sigprocmask(SIG_BLOCK, &s->handled, &s->original_mask))
		return error_errno(-errno, "cannot block signals");
	s->signals = signalfd(-1, &s->handled, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0)
		return error_errno(-errno, "cannot receive signals");
	return 0;
}

static int watch(struct session *s, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (fd < 0)
		return 0;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event))
		return error_errno(-errno, "cannot watch the recording's events");
	return 0;
}

static int watch_all(struct session *s)
{
	int error;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return error_errno(-errno, "cannot watch the recording's events");
	error = watch(s, s->signals);
	error = error ?: watch(s, s->target.pidfd);
	error = error ?: watch(s, s->attached);
	if (!error && s->capture)
		error = watch(s, capture_poll_fd(s->capture));
	if (!error && s->gpu)
		error = watch(s, s->gpu_ops->poll_fd(s->gpu));
	return error;
}

static int attach(struct session *s)
{
	if (!s->options.pid)
		return 0;
	s->attached = (int)syscall(SYS_pidfd_open, s->options.pid, 0);
	if (s->attached < 0)
		return error_errno(-errno, "cannot watch process %d", (int)s->options.pid);
	return capture_track(s->capture, s->options.pid);
}

static int spawn(struct session *s)
{
	int error;

	if (!s->options.command)
		return attach(s);
	error = target_spawn(&s->target, s->user, s->options.command);
	if (!error && s->capture)
		error = capture_track(s->capture, s->target.pid);
	return error;
}

int session_start(struct session *s)
{
	int error = spawn(s);

	error = error ?: take_signals(s);
	error = error ?: watch_all(s);
	if (!error && s->capture)
		error = capture_start(s->capture);
	if (error)
		return error;
	s->start_ns = clock_now_ns();
	s->next_flush_ns = s->start_ns + FLUSH_PERIOD_NS;
	s->next_status_ns = s->start_ns + STATUS_PERIOD_NS;
	set_number(s, META_START_NS, s->start_ns);
	if (!s->options.command)
		return 0;
	error = target_release(&s->target, *s->options.command);
	s->exec_failed = error != 0;
	return error;
}

/* --- running ------------------------------------------------------------------------------------ */

static int drain(struct session *s, bool *ret_busy)
{
	bool cpu_busy = false, gpu_busy = false;
	int error = s->gpu ? s->gpu_ops->snapshot(s->gpu) : 0;

	if (!error && s->capture)
		error = capture_drain(s->capture, &cpu_busy);
	if (!error && s->gpu)
		error = s->gpu_ops->drain(s->gpu, &gpu_busy);
	if (!error)
		*ret_busy = cpu_busy || gpu_busy;
	return error;
}

/* A signal the terminal or the kernel sent to the whole group has reached the program by itself. */
static bool sent_to_us_alone(const struct signalfd_siginfo *info)
{
	return info->ssi_code <= 0;
}

static void handle_signal(struct session *s, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo == SIGCHLD)
		return;
	if (s->target.pid < 0) {
		s->stop_requested = true;
		return;
	}
	if (!sent_to_us_alone(info))
		return;
	if (s->signal_passed_on) {
		s->stop_requested = true;
		return;
	}
	s->signal_passed_on = true;
	kill(s->target.pid, (int)info->ssi_signo);
}

static void handle_signals(struct session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info))
		handle_signal(s, &info);
}

static bool attached_ended(const struct session *s)
{
	return s->attached >= 0 &&
		syscall(SYS_pidfd_send_signal, s->attached, 0, NULL, 0) && errno == ESRCH;
}

static bool is_over(struct session *s, enum session_end *ret_end)
{
	if (target_reap(&s->target, &s->wait_status)) {
		s->program_ended = true;
		*ret_end = SESSION_PROGRAM_ENDED;
		return true;
	}
	if (attached_ended(s)) {
		*ret_end = SESSION_PROGRAM_ENDED;
		return true;
	}
	if (s->stop_requested) {
		*ret_end = SESSION_STOPPED;
		return true;
	}
	if (s->options.duration_ns && clock_now_ns() - s->start_ns >= s->options.duration_ns) {
		*ret_end = SESSION_DURATION_OVER;
		return true;
	}
	return false;
}

static int next_timeout_ms(const struct session *s, bool busy)
{
	int timeout = busy ? ROUND_BUSY_MS : ROUND_IDLE_MS;
	uint64_t now = clock_now_ns(), left_ms;

	if (!s->options.duration_ns)
		return timeout;
	if (now - s->start_ns >= s->options.duration_ns)
		return 0;
	left_ms = (s->start_ns + s->options.duration_ns - now) / NS_PER_MS + 1;
	return left_ms < (uint64_t)timeout ? (int)left_ms : timeout;
}

static int housekeeping(struct session *s)
{
	uint64_t now = clock_now_ns();

	if (s->status_line && now >= s->next_status_ns) {
		profile_writer_totals(s->writer, &s->totals);
		status_show(&s->totals, now - s->start_ns, correlator_outstanding(s->correlator));
		s->next_status_ns = now + STATUS_PERIOD_NS;
	}
	if (now < s->next_flush_ns)
		return 0;
	s->next_flush_ns = now + FLUSH_PERIOD_NS;
	return profile_writer_flush(s->writer);
}

int session_wait(struct session *s, enum session_end *ret_end)
{
	struct epoll_event events[8];
	bool busy = false;
	int error = 0;

	while (!error && !is_over(s, ret_end)) {
		if (epoll_wait(s->epoll, events, 8, next_timeout_ms(s, busy)) < 0 && errno != EINTR)
			return error_errno(-errno, "cannot wait for events");
		handle_signals(s);
		error = drain(s, &busy);
		error = error ?: housekeeping(s);
	}
	return error;
}

/* --- finishing ---------------------------------------------------------------------------------- */

struct unconnected {
	struct session *s;
	uint64_t count;
};

static void visit_cuda_process(void *context, uint32_t pid, uint32_t process)
{
	struct unconnected *u = context;

	if (!u->s->gpu_ops->has_connected(u->s->gpu, process))
		u->count++;
}

static void count_unconnected(struct session *s)
{
	struct unconnected u = {.s = s};

	if (!s->gpu || !s->capture)
		return;
	capture_each_mapping(s->capture, "libcuda.so", visit_cuda_process, &u);
	profile_count_loss(s->writer, LOSS_GPU_NEVER_CONNECTED, u.count);
}

/* Gives the live libraries time to flush, and keeps emptying their rings meanwhile. */
static int stop_gpu(struct session *s)
{
	uint64_t deadline_ns = clock_now_ns() + STOP_TIMEOUT_MS * NS_PER_MS;
	int error = s->gpu_ops->stop(s->gpu);
	struct gpu_stats stats;
	bool busy;

	for (;;) {
		error = error ?: drain(s, &busy);
		s->gpu_ops->stats(s->gpu, &stats);
		if (error || !stats.instances_live || clock_now_ns() > deadline_ns)
			return error;
		usleep(STOP_POLL_US);
	}
}

/* The GPU side first: its last records still need markers drained after their snapshot. */
static int stop_sources(struct session *s)
{
	bool busy = true;
	int error = s->gpu ? stop_gpu(s) : 0;

	if (!error && s->capture)
		error = capture_stop(s->capture);
	while (!error && busy)
		error = drain(s, &busy);
	if (!error && s->gpu)
		error = s->gpu_ops->finish(s->gpu);
	return error;
}

static void describe_gpu(struct session *s)
{
	struct gpu_stats stats;

	if (!s->gpu)
		return;
	s->gpu_ops->stats(s->gpu, &stats);
	set_number(s, META_STACKS_TAKEN, s->stacks_taken);
	set_number(s, META_GPU_REPORTED, stats.reported_ns);
}

static int finish_profile(struct session *s)
{
	struct symbolize_stats names;
	int error = correlator_finish(s->correlator);

	error = error ?: symbolize_profile(s->writer, &names);
	set_number(s, META_END_NS, s->end_ns);
	describe_gpu(s);
	if (s->program_ended)
		set_number(s, META_EXIT_STATUS, (uint64_t)target_shell_status(s->wait_status));
	error = error ?: profile_writer_flush(s->writer);
	profile_writer_totals(s->writer, &s->totals);
	return error;
}

/* Takes the probes away, also when the program outlives its recording. */
static void close_sources(struct session *s)
{
	if (s->gpu)
		s->gpu_ops->close(s->gpu);
	s->gpu = NULL;
	capture_close(s->capture);
	s->capture = NULL;
}

int session_finish(struct session *s)
{
	int error, close_error;

	s->end_ns = clock_now_ns();
	error = stop_sources(s);
	if (s->status_line)
		status_clear();
	count_unconnected(s);
	error = error ?: finish_profile(s);
	close_error = profile_writer_close(s->writer);
	s->writer = NULL;
	close_sources(s);
	return error ?: close_error;
}

bool session_exec_failed(const struct session *s)
{
	return s->exec_failed;
}

bool session_program(struct session *s, int *ret_wait_status)
{
	struct epoll_event events[8];

	while (s->target.pid > 0 && !s->stop_requested) {
		epoll_wait(s->epoll, events, 8, 1000);
		handle_signals(s);
		s->program_ended = target_reap(&s->target, &s->wait_status);
	}
	if (s->program_ended)
		*ret_wait_status = s->wait_status;
	return s->program_ended;
}

void session_close(struct session *s)
{
	if (!s)
		return;
	target_close(&s->target);
	close_sources(s);
	correlator_free(s->correlator);
	tasks_free(s->tasks);
	if (s->writer)
		profile_writer_abort(s->writer);
	if (s->runtime_dir[0])
		rmdir(s->runtime_dir);
	if (s->signals >= 0)
		close(s->signals);
	if (s->attached >= 0)
		close(s->attached);
	if (s->epoll >= 0)
		close(s->epoll);
	buf_release(&s->library);
	buf_release(&s->notes);
	free(s);
}

const struct profile_totals *session_totals(const struct session *s)
{
	return &s->totals;
}

uint64_t session_elapsed_ns(const struct session *s)
{
	return s->end_ns - s->start_ns;
}

const struct buf *session_notes(const struct session *s)
{
	return &s->notes;
}
