// SPDX-License-Identifier: MIT
/*
 * A round of the loop is: snapshot the GPU rings, drain the kernel's rings, drain the GPU rings up
 * to the snapshot. A launch marker fires before its call or its work can be in a GPU ring, so
 * whatever the snapshot covers finds its stack already drained: the join needs no waiting and no
 * guessing.
 *
 * Events of GPU drivers are drained before that and written after it: by then the kernel's rings
 * have reported the processes of these events.
 *
 * How often: every 50 ms at most, every 5 ms while there is much, and at once when code was mapped,
 * so that walkers get the new mappings before the code runs for long; but never without a pause.
 * Nothing wakes the recorder on the launch path of the program.
 *
 * Signals. The program shares our process group, so what the terminal sends (Ctrl-C, Ctrl-\)
 * reaches it without us, and what somebody sends to us alone is passed on once. Others (kill %1,
 * timeout, systemd) send a signal to each process of a group. No field of the signal shows that,
 * but the BPF side sees that the program got the same signal at the same moment. A signal that
 * comes before the program has begun ends the recording, and the program never begins.
 */
#include "record/session_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "gpucode/kept_images.h"
#include "record/joins.h"
#include "record/rest.h"

#define ROUND_IDLE_MS	   50
#define ROUND_BUSY_MS	   5
#define ROUND_QUIET_MS	   250 /* when nothing has woken us for so many rounds */
#define QUIET_ROUNDS	   10
#define ROUND_PROBES_MS	   10 /* their rings are small: one for each multiprocessor */
#define ROUND_RECORDS_MS   1
#define ROUND_PAUSE_NS	   NS_PER_MS
#define ROUND_MAPS_MS	   10 /* for which new mappings alone are gathered */
#define PROGRESS_PERIOD_NS (NS_PER_SECOND / 2)
#define SAME_SIGNAL_NS	   (100 * NS_PER_MS)

int session_open(struct session **ret, const struct session_options *options)
{
	struct session *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return error_memory(NULL);
	s->options = *options;
	s->user = options->user;
	s->target = TARGET_INIT;
	s->attached = s->epoll = -1;
	s->runtime_dir = RUNTIME_DIR_INIT;
	error = session_open_parts(s);
	if (error) {
		profile_writer_remove(s->writer);
		session_close(s);
		return error;
	}
	*ret = s;
	return 0;
}

/* --- starting --------------------------------------------------------------------------------- */

static int watch_as(struct session *s, int operation, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	if (fd < 0)
		return 0;
	if (epoll_ctl(s->epoll, operation, fd, &event))
		return error_errno(-errno, "cannot watch the recording's events");
	return 0;
}

static int watch(struct session *s, int fd)
{
	return watch_as(s, EPOLL_CTL_ADD, fd, EPOLLIN);
}

static int watch_fd(void *context, int fd)
{
	return watch(context, fd);
}

/* Becomes readable once, until it is armed again. */
static int watch_maps(struct session *s, int operation)
{
	s->maps_fd_silent = false;
	return watch_as(s, operation, capture_maps_fd(s->capture), EPOLLIN | EPOLLONESHOT);
}

static int watch_all(struct session *s)
{
	int error;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return error_errno(-errno, "cannot watch the recording's events");
	error = watch(s, s->options.signals ? s->options.signals->fd : -1);
	error = error ?: watch(s, s->target.pidfd);
	error = error ?: watch(s, s->attached);
	if (!error && s->capture)
		error = watch(s, capture_poll_fd(s->capture)) ?: watch_maps(s, EPOLL_CTL_ADD);
	error = error ?: gpu_each_poll_fd(s->gpu, watch_fd, s);
	if (!error && s->probes)
		error = watch(s, probes_poll_fd(s->probes));
	for (size_t n = 0; !error && s->drivers && drivers_poll_fd(s->drivers, n) >= 0; n++)
		error = watch(s, drivers_poll_fd(s->drivers, n));
	return error;
}

/* A recording should not end when there are more processes than the usual limit of descriptors.
 * Without the right to raise it, the limit stays. */
static void allow_many_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int attach(struct session *s)
{
	if (!s->options.pid)
		return 0;
	allow_many_descriptors();
	s->attached = (int)syscall(SYS_pidfd_open, s->options.pid, 0);
	if (s->attached < 0)
		return error_errno(-errno, "cannot watch process %d", (int)s->options.pid);
	return capture_track_tree(s->capture, s->options.pid);
}

static int spawn(struct session *s)
{
	int error;

	if (!s->options.command)
		return attach(s);
	error = target_spawn(&s->target, s->user, s->options.signals, s->options.command);
	allow_many_descriptors(); /* after the fork: the program's limit is its own */
	if (!error && s->capture)
		error = capture_track(s->capture, s->target.pid);
	if (error || !s->capture)
		return error;
	capture_ignore_until_exec(s->capture, s->target.pid);
	capture_note_signals(s->capture, s->target.pid);
	return 0;
}

/* The next signal to us that has come; 0: none. */
static int next_signal(const struct session *s, bool *ret_alone)
{
	return s->options.signals ? signals_next(s->options.signals, ret_alone) : 0;
}

/* Whether a signal wants the end before there was a beginning. */
static bool was_interrupted(struct session *s)
{
	bool alone;
	int number;

	while (!s->interrupted && (number = next_signal(s, &alone)))
		s->interrupted = number == SIGCHLD ? 0 : number;
	return s->interrupted;
}

static int release(struct session *s)
{
	int error;

	if (was_interrupted(s))
		return error_set(
			-EINTR, "interrupted before '%s' could start", *s->options.command);
	error = target_release(&s->target, *s->options.command);
	s->exec_failed = error != 0;
	return error;
}

static int start(struct session *s)
{
	int error = spawn(s);

	error = error ?: watch_all(s);
	if (!error && s->capture)
		error = capture_start(s->capture);
	if (error)
		return error;
	s->start_ns = clock_now_ns();
	s->start_cpu_ns = clock_own_cpu_ns();
	if (s->drivers)
		drivers_begin(s->drivers, s->start_ns);
	s->next_progress_ns = s->start_ns + PROGRESS_PERIOD_NS;
	error = session_describe(s, META_START_NS, s->start_ns);
	/* From here on an earlier profile of this name is lost. */
	error = error ?: profile_writer_begin(s->writer);
	error = error ?: profile_writer_push(s->writer);
	return error || !s->options.command ? error : release(s);
}

int session_start(struct session *s)
{
	int error = start(s);

	if (error)
		profile_writer_remove(s->writer);
	return error;
}

/* --- running ---------------------------------------------------------------------------------- */

int session_drain(struct session *s, bool *ret_busy)
{
	bool cpu_busy = false, gpu_busy = false;
	int error = s->drivers ? drivers_drain(s->drivers) : 0;

	error = error ?: gpu_snapshot(s->gpu);
	if (!error && s->capture)
		error = capture_drain(s->capture, &cpu_busy);
	error = error ?: gpu_drain(s->gpu, &gpu_busy);
	if (!error && s->probes)
		error = probes_drain(s->probes, &gpu_busy);
	if (!error && s->drivers)
		error = drivers_write(s->drivers);
	if (!error)
		*ret_busy = cpu_busy || gpu_busy;
	return error;
}

/* Whether the program has got (or gets, in a moment) this signal from whoever sent it to us. */
static bool program_has_it_too(const struct session *s, int number)
{
	if (!s->capture || capture_refusal(s->capture))
		return false;
	usleep(SAME_SIGNAL_NS / 1000);
	return capture_signal_came_to_both(s->capture, number, SAME_SIGNAL_NS);
}

/* A signal the terminal or the kernel sent to the whole group has reached the program by itself. */
static void handle_signal(struct session *s, int number, bool alone)
{
	if (number == SIGCHLD)
		return;
	if (s->target.pid < 0) {
		s->stop_requested = true;
		return;
	}
	if (!alone || program_has_it_too(s, number))
		return;
	if (s->signal_passed_on) {
		s->stop_requested = true;
		return;
	}
	s->signal_passed_on = true;
	kill(s->target.pid, number);
}

bool session_handle_signals(struct session *s)
{
	bool alone, any = false;
	int number;

	while ((number = next_signal(s, &alone))) {
		handle_signal(s, number, alone);
		any |= number != SIGCHLD;
	}
	return any;
}

/* Also true when nobody has reaped it yet. */
static bool attached_ended(const struct session *s)
{
	struct pollfd p = {.fd = s->attached, .events = POLLIN};

	return s->attached >= 0 && poll(&p, 1, 0) == 1;
}

/* The command ends once. What it has started before is seen in the drain that follows. */
static int notice_end(struct session *s)
{
	bool busy;

	if (s->command_ended)
		return 0;
	s->program_ended = target_reap(&s->target, &s->wait_status);
	s->command_ended = s->program_ended || attached_ended(s);
	if (!s->command_ended)
		return 0;
	/* They would stay readable. */
	(void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->target.pidfd, NULL);
	(void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->attached, NULL);
	return session_drain(s, &busy);
}

static bool is_over(struct session *s, enum session_end *ret_end)
{
	bool too_long =
		s->options.duration_ns && clock_now_ns() - s->start_ns >= s->options.duration_ns;

	if (s->command_ended) {
		*ret_end = SESSION_PROGRAM_ENDED;
		return too_long || !rest_is_awaited(s);
	}
	if (s->stop_requested) {
		*ret_end = SESSION_STOPPED;
		return true;
	}
	*ret_end = SESSION_DURATION_OVER;
	return too_long;
}

static int usual_timeout_ms(const struct session *s)
{
	bool busy = s->busy || s->command_ended;

	if (s->probes)
		return busy ? ROUND_RECORDS_MS : ROUND_PROBES_MS;
	if (busy)
		return ROUND_BUSY_MS;
	return s->quiet_rounds < QUIET_ROUNDS ? ROUND_IDLE_MS : ROUND_QUIET_MS;
}

static int next_timeout_ms(const struct session *s)
{
	int timeout = usual_timeout_ms(s);
	uint64_t now = clock_now_ns(), due_ns = s->joins ? joins_due_ns(s->joins) : UINT64_MAX;

	if (s->options.duration_ns && s->start_ns + s->options.duration_ns < due_ns)
		due_ns = s->start_ns + s->options.duration_ns;
	if (s->probes && probes_due_ns(s->probes) < due_ns)
		due_ns = probes_due_ns(s->probes);
	if (now >= due_ns)
		return 0;
	return (due_ns - now) / NS_PER_MS < (uint64_t)timeout
		       ? (int)((due_ns - now) / NS_PER_MS) + 1
		       : timeout;
}

void session_report(const struct session *s, const struct session_progress *p)
{
	if (s->options.progress)
		s->options.progress(s->options.progress_context, p);
}

static void report_totals(struct session *s, uint64_t now_ns)
{
	profile_writer_totals(s->writer, &s->totals);
	session_report(s, &(struct session_progress){.totals = &s->totals,
				  .elapsed_ns = now_ns - s->start_ns,
				  .outstanding = correlator_outstanding(s->correlator)});
}

static void report_rest(const struct session *s)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, "the command has ended; waiting (Ctrl-C ends that) for ");
	if (rest_count(s, &text) && !text.failed)
		session_report(s, &(struct session_progress){.text = text.data, .running = true});
	buf_release(&text);
}

static int housekeeping(struct session *s)
{
	uint64_t now = clock_now_ns();

	if (s->options.progress && now >= s->next_progress_ns) {
		if (s->command_ended)
			report_rest(s);
		else
			report_totals(s, now);
		s->next_progress_ns = now + PROGRESS_PERIOD_NS;
	}
	return profile_writer_push_due(s->writer, now);
}

/* A system that starts one program after another should not keep us running all the time. */
static void pause_between_rounds(uint64_t round_ns)
{
	uint64_t passed_ns = clock_now_ns() - round_ns;

	if (passed_ns < ROUND_PAUSE_NS)
		usleep((useconds_t)((ROUND_PAUSE_NS - passed_ns) / 1000));
}

static int wait_once(struct session *s, int timeout_ms, bool *ret_maps_only)
{
	struct epoll_event events[8];
	int count = epoll_wait(s->epoll, events, 8, timeout_ms);

	if (count < 0 && errno != EINTR)
		return error_errno(-errno, "cannot wait for events");
	if (count || s->busy || s->options.waits || gpu_is_live(s->gpu))
		s->quiet_rounds = 0;
	else
		s->quiet_rounds++;
	for (int i = 0; s->capture && i < count; i++)
		s->maps_fd_silent |= events[i].data.fd == capture_maps_fd(s->capture);
	*ret_maps_only = count == 1 && s->maps_fd_silent;
	return 0;
}

/* Until there is something to do. Libraries that walk stacks in their programs cannot keep any for
 * later, so they get new mappings at once. */
static int wait_for_events(struct session *s, int timeout_ms)
{
	bool maps_only = false;
	int error = s->maps_fd_silent ? watch_maps(s, EPOLL_CTL_MOD) : 0;

	error = error ?: wait_once(s, timeout_ms, &maps_only);
	if (!error && maps_only && !gpu_is_open(s->gpu))
		error = wait_once(
			s, timeout_ms < ROUND_MAPS_MS ? timeout_ms : ROUND_MAPS_MS, &maps_only);
	return error;
}

int session_poll_fd(const struct session *s)
{
	return s->epoll;
}

int session_round(struct session *s, int wait_ms, bool *ret_over, enum session_end *ret_end)
{
	int timeout_ms = next_timeout_ms(s), error;

	error = wait_for_events(s, timeout_ms < wait_ms ? timeout_ms : wait_ms);
	if (error)
		return error;
	pause_between_rounds(s->round_ns);
	s->round_ns = clock_now_ns();
	session_handle_signals(s);
	error = session_drain(s, &s->busy);
	if (!error && s->joins)
		error = joins_round(s->joins);
	error = error ?: notice_end(s);
	error = error ?: housekeeping(s);
	if (!error)
		*ret_over = is_over(s, ret_end);
	return error;
}

int session_wait(struct session *s, enum session_end *ret_end)
{
	bool over = is_over(s, ret_end);
	int error = 0;

	while (!error && !over)
		error = session_round(s, ROUND_QUIET_MS, &over, ret_end);
	return error;
}

/* --- the rest --------------------------------------------------------------------------------- */

/* Removes the probes, also when the program outlives its recording. */
void session_close_sources(struct session *s)
{
	joins_free(s->joins);
	s->joins = NULL;
	gpu_free(s->gpu);
	s->gpu = NULL;
	probes_close(s->probes);
	s->probes = NULL;
	drivers_close(s->drivers);
	s->drivers = NULL;
	capture_close(s->capture);
	s->capture = NULL;
}

int session_interrupted(const struct session *s)
{
	return s->interrupted;
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
		session_handle_signals(s);
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
	session_close_sources(s);
	kept_images_free(s->images);
	correlator_free(s->correlator);
	tasks_free(s->tasks);
	if (s->writer)
		profile_writer_abort(s->writer);
	runtime_dir_close(&s->runtime_dir);
	if (s->attached >= 0)
		close(s->attached);
	if (s->epoll >= 0)
		close(s->epoll);
	buf_release(&s->library);
	buf_release(&s->notes);
	buf_release(&s->refusals);
	buf_release(&s->stripped);
	buf_release(&s->left_behind);
	buf_release(&s->unseen);
	buf_release(&s->mark);
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

const char *session_left_behind(const struct session *s)
{
	return s->left_behind.size ? buf_text(&s->left_behind) : NULL;
}

const char *session_stripped(const struct session *s)
{
	return s->stripped.size ? buf_text(&s->stripped) : NULL;
}

const struct runtime *session_nameless_jit(const struct session *s)
{
	return s->nameless_jit;
}

const struct buf *session_refusals(const struct session *s)
{
	return &s->refusals;
}

const struct buf *session_notes(const struct session *s)
{
	return &s->notes;
}
