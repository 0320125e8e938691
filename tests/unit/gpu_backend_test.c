// SPDX-License-Identifier: MIT
/* The NVIDIA backend against clients that do what libraries do, and what they never should. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <signal.h>

#include "gpu_client.h"
#include "base/clock.h"
#include "gpu/injected/instance.h"
#include "vendor/nvidia/calls.h"
#include "wire/ring.h"
#include "tap.h"

static void put_kernel_op(struct client *c, uint32_t id, uint32_t name)
{
	struct wire_op op = {
		.type = WIRE_OP, .kind = OP_KERNEL, .id = id, .name = name, .grid = {1, 1, 1}};

	ring_put_long(&c->ring, &op, sizeof(op), NULL, 0);
}

static void put_call(struct client *c, uint32_t correlation, uint32_t api)
{
	uint64_t now = clock_now_ns();
	struct wire_call call = {
		.type = WIRE_CALL,
		.kind = CALL_LAUNCH,
		.tid = (uint32_t)getpid(),
		.correlation = correlation,
		.start_ns = now - 1000,
		.end_ns = now,
		.api = api,
	};

	ring_put(&c->ring, &call);
}

static void put_work(
	struct client *c, uint32_t correlation, uint32_t op, uint64_t start, uint64_t end)
{
	struct wire_work work = {
		.type = WIRE_WORK,
		.kind = OP_KERNEL,
		.op = op,
		.correlation = correlation,
		.start_ns = start,
		.end_ns = end,
	};

	ring_put(&c->ring, &work);
}

#define LAUNCH_KERNEL CUDA_CALL_ID(CUDA_RUNTIME, 211)

static void a_library_connects_and_its_records_reach_the_sink(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	uint64_t now = clock_now_ns();
	struct client c;

	CHECK(join(&c, r));
	put_device(&c, "Simulated GPU 0");
	put_string(&c, 1, "_Z4axpyv");
	put_kernel_op(&c, 1, 1);
	put_call(&c, 7, LAUNCH_KERNEL);
	put_work(&c, 7, 1, now, now + 500);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->calls.count == 1 && r->works.count == 1);
	CHECK(r->calls.items[0].instance == 1 && r->calls.items[0].correlation == 7);
	CHECK_TEXT(profile_writer_string(r->writer, r->calls.items[0].api), "cudaLaunchKernel");
	CHECK(r->calls.items[0].thread != 0);
	CHECK(r->works.items[0].correlation == 7 && r->works.items[0].op == 1);
	CHECK(r->works.items[0].end_ns - r->works.items[0].start_ns == 500);
	leave(&c);
	test_recorder_close(r);
}

static void every_connection_gets_its_own_number(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c[20];
	struct gpu_stats stats;

	for (uint32_t n = 0; n < 20; n++) {
		CHECK(join(&c[n], r));
		CHECK(c[n].ring.control->instance == n + 1);
	}
	stats = test_recorder_stats(r);
	CHECK(r->shared.last_instance == 20 && stats.instances_live == 20);
	for (int n = 0; n < 20; n++)
		leave(&c[n]);
	test_recorder_close(r);
}

static void the_configuration_reaches_the_library(void)
{
	struct gpu_options o = {.target_uid = getuid(),
		.marker = 2,
		.queue_times = true,
		.syncs = true,
		.ring_bytes = 1 << 20};
	struct test_recorder *r = test_recorder_open(NULL, &o);
	struct client c;

	CHECK(join(&c, r));
	CHECK(c.ring.control->marker == 2 && c.ring.control->queue_times == 1);
	CHECK(c.ring.control->syncs == 1);
	CHECK(c.ring.control->slots == (1 << 20) / WIRE_SLOT_BYTES);
	CHECK_TEXT(r->injection, "/nowhere/libxpuprof-inject.so");
	leave(&c);
	test_recorder_close(r);
}

static void put_wait(struct client *c, uint8_t kind, uint8_t waits_for)
{
	uint64_t now = clock_now_ns();
	struct wire_call call = {.type = WIRE_CALL,
		.kind = kind,
		.tid = (uint32_t)gettid(),
		.correlation = 7,
		.start_ns = now,
		.end_ns = now,
		.api = CUDA_CALL_ID(CUDA_DRIVER, 126),
		.context = 2,
		.stream = 13,
		.event = 1ull << 40,
		.waits_for = waits_for};

	ring_put(&c->ring, &call);
}

static void waits_for_the_gpu_events_and_launches_of_graphs_reach_the_sink(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct wire_op op = {
		.type = WIRE_OP, .kind = OP_KERNEL, .id = 1, .context = 2, .grid = {1, 1, 1}};
	struct wire_event_record e = {.type = WIRE_EVENT_RECORD,
		.context = 2,
		.stream = 13,
		.event = 1ull << 40,
		.time_ns = clock_now_ns()};
	const struct gpu_wait_target *target;
	struct client c;

	CHECK(join(&c, r));
	CHECK(c.ring.control->syncs == 0);
	put_device(&c, "Simulated GPU 0");
	ring_put_long(&c.ring, &op, sizeof(op), NULL, 0);
	ring_put(&c.ring, &e);
	put_wait(&c, CALL_SYNC, SYNC_STREAM);
	put_wait(&c, CALL_SYNC, 0);
	put_wait(&c, CALL_GRAPH, 0);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->calls.count == 3 && r->event_records.count == 1);
	target = &r->calls.items[0].waits_for;
	CHECK(target->kind == SYNC_STREAM && target->context == 2 && target->stream == 13);
	CHECK(target->event == 1ull << 40 && target->device == 1);
	CHECK(!r->calls.items[1].waits_for.kind && !r->calls.items[1].waits_for.context);
	CHECK(!r->calls.items[1].graph_context && !r->calls.items[1].graph_stream);
	CHECK(r->calls.items[2].graph_context == 2 && r->calls.items[2].graph_stream == 13);
	CHECK(!r->calls.items[2].waits_for.kind && r->event_records.items[0].device == 1);
	CHECK(r->event_records.items[0].instance == 1 && r->event_records.items[0].context == 2);
	CHECK(r->event_records.items[0].stream == 13 &&
		r->event_records.items[0].event == 1ull << 40 &&
		r->event_records.items[0].time_ns == e.time_ns);
	leave(&c);
	test_recorder_close(r);
}

static void impossible_waits_are_counted(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct wire_event_record never = {.type = WIRE_EVENT_RECORD, .event = 1};
	struct client c;

	CHECK(join(&c, r));
	put_wait(&c, CALL_SYNC, SYNC_KINDS);
	put_wait(&c, CALL_LAUNCH, SYNC_STREAM);
	ring_put(&c.ring, &never);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->calls.count == 0 && r->event_records.count == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_INVALID) == 3);
	leave(&c);
	test_recorder_close(r);
}

static void put_end(struct client *c, const char *message, uint32_t size)
{
	struct wire_tracer_ended e = {
		.type = WIRE_TRACER_ENDED,
		.result = 999,
		.since_ns = clock_now_ns() + 2 * NS_PER_SECOND,
		.message_size = size,
	};

	ring_put_long(&c->ring, &e, sizeof(e), message, strlen(message));
}

static const char *ended_lines(struct test_recorder *r)
{
	struct gpu_stats stats;

	stats = test_recorder_stats(r);
	return stats.ended;
}

static void a_library_whose_cupti_ended_is_counted_and_reported_once(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c;

	CHECK(join(&c, r));
	CHECK_TEXT(ended_lines(r), "");
	put_end(&c, "bad\nluck", 8);
	put_end(&c, "", 0);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_TRACER_ENDED) == 1);
	CHECK(strstr(ended_lines(r), ", 2.") &&
		strstr(ended_lines(r), "(CUPTI error 999: bad\\x0aluck)"));
	CHECK(!strchr(ended_lines(r), '\n') && !r->broken);
	c.ring.control->state = WIRE_DONE;
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->broken == 1 && r->ended == 1 && !test_recorder_loss(r, LOSS_GPU_CORRUPT));
	leave(&c);
	test_recorder_close(r);
}

static void of_many_libraries_whose_cupti_ended_some_are_named(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c[12];
	size_t lines = 1;

	for (int n = 0; n < 12; n++) {
		CHECK(join(&c[n], r));
		put_end(&c[n], "", 0);
	}
	CHECK(test_recorder_pump(r) == 0);
	for (const char *at = ended_lines(r); (at = strchr(at, '\n')); at++)
		lines++;
	CHECK(lines == 9 && strstr(ended_lines(r), "\nCUPTI ended in more processes"));
	CHECK(test_recorder_loss(r, LOSS_GPU_TRACER_ENDED) == 12);
	for (int n = 0; n < 12; n++)
		leave(&c[n]);
	test_recorder_close(r);
}

static void an_end_whose_message_is_longer_than_its_record_ends_the_ring(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c;

	CHECK(join(&c, r));
	put_end(&c, "short", 4000);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_CORRUPT) == 1);
	CHECK(!test_recorder_loss(r, LOSS_GPU_TRACER_ENDED));
	leave(&c);
	test_recorder_close(r);
}

static void the_ring_cannot_be_truncated_or_grown(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c;

	CHECK(join(&c, r));
	CHECK(ftruncate(c.memfd, 0) < 0 && errno == EPERM);
	CHECK(ftruncate(c.memfd, 1 << 28) < 0 && errno == EPERM);
	leave(&c);
	test_recorder_close(r);
}

static void a_library_of_another_version_gets_ours_and_is_refused(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct wire_welcome welcome = {0};
	struct gpu_stats stats;
	int fd = connect_to(r);

	say_hello(fd, WIRE_MAGIC, WIRE_VERSION + 1);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(receive_memfd(fd, &welcome) == -1);
	CHECK(welcome.version == WIRE_VERSION);
	stats = test_recorder_stats(r);
	CHECK(r->shared.last_instance == 0 && stats.instances_live == 0);
	close(fd);
	test_recorder_close(r);
}

static void a_client_that_does_not_speak_the_protocol_is_dropped(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct wire_welcome welcome;
	int fd = connect_to(r), silent = connect_to(r);

	say_hello(fd, 0x12345678, WIRE_VERSION);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(receive_memfd(fd, &welcome) == -2);
	CHECK(test_recorder_loss(r, LOSS_GPU_STRANGERS) == 1);
	close(fd);
	close(silent);
	CHECK(test_recorder_pump(r) == 0);
	test_recorder_close(r);
}

static void a_client_that_speaks_in_another_process_s_name_is_dropped_and_counted(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct wire_hello hello = {
		.magic = WIRE_MAGIC, .version = WIRE_VERSION, .pid = (uint32_t)getppid()};
	struct wire_welcome welcome;
	int fd = connect_to(r);

	send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(receive_memfd(fd, &welcome) == -2);
	CHECK(test_recorder_loss(r, LOSS_GPU_STRANGERS) == 1);
	close(fd);
	test_recorder_close(r);
}

/* The grandchild has the connection that its parent made, who is gone. */
static void nobody_speaks_for_a_process_that_is_gone(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	pid_t pid = fork();

	if (!pid) {
		int fd = connect_to(r);
		struct wire_hello hello = {
			.magic = WIRE_MAGIC, .version = WIRE_VERSION, .pid = (uint32_t)getpid()};

		send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
		if (!fork())
			sleep(1);
		_exit(0);
	}
	CHECK(injected_backend.snapshot(r->backend) == 0);
	usleep(50000);
	CHECK(injected_backend.snapshot(r->backend) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(injected_backend.drain(r->backend, &(bool){false}) == 0);
	CHECK(r->shared.last_instance == 0);
	test_recorder_close(r);
}

static void a_process_may_connect_so_often_and_no_more(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	int fds[70];

	for (int n = 0; n < 70; n++)
		fds[n] = connect_to(r);
	CHECK(test_recorder_pump(r) == 0 && test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_STRANGERS) == 6);
	for (int n = 0; n < 70; n++)
		close(fds[n]);
	CHECK(test_recorder_pump(r) == 0);
	fds[0] = connect_to(r);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_STRANGERS) == 6);
	close(fds[0]);
	test_recorder_close(r);
}

static void another_user_is_refused(void)
{
	struct gpu_options o = {.target_uid = 12345, .target_gid = 12345};
	struct test_recorder *r;
	struct wire_welcome welcome;
	int fd;

	if (getuid()) {
		SKIP("needs root, to be somebody else than the target's user");
		return;
	}
	r = test_recorder_open(NULL, &o);
	fd = connect_to(r);
	CHECK(fd >= 0); /* root may open anything, so the peer check has to find it */
	say_hello(fd, WIRE_MAGIC, WIRE_VERSION);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(receive_memfd(fd, &welcome) == -2);
	CHECK(test_recorder_loss(r, LOSS_GPU_STRANGERS) == 1);
	close(fd);
	test_recorder_close(r);
}

static void the_socket_belongs_to_the_target_and_nobody_else_may_open_it(void)
{
	struct gpu_options o = {.target_uid = 12345, .target_gid = 23456};
	struct test_recorder *r;
	struct stat st;

	if (getuid()) {
		SKIP("needs root, to give the socket away");
		return;
	}
	r = test_recorder_open(NULL, &o);
	CHECK(stat(r->socket_path, &st) == 0);
	CHECK(st.st_uid == 12345 && st.st_gid == 23456 && (st.st_mode & 0777) == 0600);
	test_recorder_close(r);
}

/* What a child process wrote before it was killed. */
static void what_a_killed_process_wrote_is_read_after_it_is_gone(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct wire_welcome welcome;
	struct client c;
	siginfo_t info;
	int go[2];
	pid_t child;

	CHECK(!pipe(go));
	child = fork();
	if (!child) {
		uint64_t position;

		c.fd = connect_to(r);
		say_hello(c.fd, WIRE_MAGIC, WIRE_VERSION);
		while ((c.memfd = receive_memfd(c.fd, &welcome)) < 0)
			usleep(1000);
		c.bytes = ring_bytes(65536);
		c.ring = ring_at(
			mmap(NULL, c.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c.memfd, 0), 65536);
		c.ring.control->state = WIRE_RUNNING;
		put_call(&c, 1, LAUNCH_KERNEL);
		ring_reserve(&c.ring, 1, &position); /* died in the middle of one */
		put_call(&c, 3, LAUNCH_KERNEL);
		CHECK(write(go[1], "x", 1) == 1);
		pause();
	}
	fcntl(go[0], F_SETFL, O_NONBLOCK);
	while (read(go[0], &(char){0}, 1) != 1)
		test_recorder_pump(r);
	kill(child, SIGKILL);
	CHECK(!waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT)); /* nobody reaps it yet */
	for (int n = 0; n < 3; n++)
		CHECK(test_recorder_pump(r) == 0);
	CHECK(r->calls.count == 2);
	CHECK(r->ended == 1);
	CHECK(test_recorder_loss(r, LOSS_GPU_ABANDONED) == 1);
	CHECK(test_recorder_loss(r, LOSS_GPU_CORRUPT) == 0);
	waitpid(child, NULL, 0);
	close(go[0]);
	close(go[1]);
	test_recorder_close(r);
}

/* Here for want of descriptors. */
static void a_library_for_which_there_is_no_ring_is_refused_and_others_go_on(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct rlimit before, none;
	struct wire_welcome welcome;
	struct client first, third;
	int second;

	CHECK(join(&first, r));
	second = connect_to(r);
	say_hello(second, WIRE_MAGIC, WIRE_VERSION);
	CHECK(injected_backend.snapshot(r->backend) == 0);
	getrlimit(RLIMIT_NOFILE, &before);
	none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK(injected_backend.drain(r->backend, &(bool){false}) == 0);
	setrlimit(RLIMIT_NOFILE, &before);
	CHECK(receive_memfd(second, &welcome) == -1);
	put_call(&first, 1, LAUNCH_KERNEL);
	CHECK(join(&third, r));
	CHECK(r->calls.count == 1 && third.ring.control->instance == 2);
	close(second);
	leave(&first);
	leave(&third);
	test_recorder_close(r);
}

static void a_library_that_hangs_up_and_lives_is_still_read(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c;

	CHECK(join(&c, r));
	close(c.fd);
	CHECK(test_recorder_pump(r) == 0);
	put_call(&c, 1, LAUNCH_KERNEL);
	c.ring.control->echo = c.ring.control->heartbeat;
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->calls.count == 1 && r->ended == 0);
	c.ring.control->state = WIRE_DONE;
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->ended == 1);
	c.fd = -1;
	leave(&c);
	test_recorder_close(r);
}

static void a_library_that_reports_why_it_is_quiet_is_counted(void)
{
	static const struct {
		uint32_t reason;
		enum profile_loss loss;
	} cases[] = {
		{WIRE_REASON_IN_USE, LOSS_GPU_TAKEN},
		{WIRE_REASON_NO_TRACER, LOSS_GPU_NO_TRACER},
		{WIRE_REASON_REFUSED, LOSS_GPU_REFUSED},
		{WIRE_REASON_MEMORY, LOSS_GPU_MEMORY},
		{WIRE_REASON_OVERHEAD, LOSS_GPU_OVERHEAD},
		{WIRE_REASON_NONE, LOSS_GPU_CORRUPT},
		{WIRE_REASONS, LOSS_GPU_CORRUPT},
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct test_recorder *r = test_recorder_open(NULL, NULL);
		struct client c;

		CHECK(join(&c, r));
		c.ring.control->reason = cases[n].reason;
		c.ring.control->state = WIRE_QUIET;
		CHECK(test_recorder_pump(r) == 0);
		CHECK(test_recorder_loss(r, cases[n].loss) == 1);
		CHECK(r->ended == 1);
		leave(&c);
		test_recorder_close(r);
	}
}

static void what_the_library_counted_becomes_losses(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c;

	CHECK(join(&c, r));
	c.ring.control->counts[WIRE_LOST_CALLS] = 3;
	c.ring.control->counts[WIRE_LOST_WORK] = 4;
	c.ring.control->counts[WIRE_DROPPED_BY_TRACER] = 5;
	c.ring.control->counts[WIRE_UNKNOWN] = 6;
	CHECK(test_recorder_pump(r) == 0);
	c.ring.control->counts[WIRE_LOST_CALLS] = 10;
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_RING_FULL) == 14);
	CHECK(test_recorder_loss(r, LOSS_GPU_DROPPED) == 5);
	CHECK(test_recorder_loss(r, LOSS_GPU_UNKNOWN) == 6);
	leave(&c);
	test_recorder_close(r);
}

static void what_libraries_added_up_is_the_reported_time_of_all(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct gpu_stats stats;
	struct client a, b;

	CHECK(join(&a, r) && join(&b, r));
	a.ring.control->reported_ns = 5;
	b.ring.control->reported_ns = 100;
	CHECK(test_recorder_pump(r) == 0);
	a.ring.control->reported_ns = 12;
	CHECK(test_recorder_pump(r) == 0);
	stats = test_recorder_stats(r);
	CHECK(stats.reported_ns == 112);
	leave(&a);
	leave(&b);
	test_recorder_close(r);
}

static void scribble_head(struct client *c)
{
	c->ring.control->head = 1ull << 40;
}

static void scribble_word(struct client *c)
{
	put_call(c, 1, LAUNCH_KERNEL);
	c->ring.slots[0].word = 0xdeadbeefdeadbeefull;
}

static void scribble_type(struct client *c)
{
	uint8_t record[WIRE_PAYLOAD_BYTES] = {200};

	ring_put(&c->ring, record);
}

static void scribble_string_size(struct client *c)
{
	struct wire_string s = {.type = WIRE_STRING, .id = 1, .size = 1u << 31};

	ring_put_long(&c->ring, &s, sizeof(s), NULL, 0);
}

static void scribble_string_id(struct client *c)
{
	put_string(c, 5, "x");
}

static void scribble_op_name(struct client *c)
{
	put_kernel_op(c, 1, 99);
}

static void scribble_work_op(struct client *c)
{
	put_work(c, 1, 77, 1, 2);
}

static void scribble_device(struct client *c)
{
	struct wire_device d = {.type = WIRE_DEVICE, .number = 1u << 20};

	ring_put_long(&c->ring, &d, sizeof(d), NULL, 0);
}

static void put_own_thread(struct client *c, uint32_t tid)
{
	struct wire_thread t = {.type = WIRE_THREAD, .tid = tid};

	ring_put(&c->ring, &t);
}

static void scribble_second_thread(struct client *c)
{
	put_own_thread(c, (uint32_t)gettid());
	put_own_thread(c, (uint32_t)gettid() + 1);
}

static void scribble_counter(struct client *c)
{
	c->ring.control->counts[0] = UINT64_MAX;
}

static void a_ring_that_was_scribbled_over_is_given_up_and_counted(void)
{
	static void (*const ways[])(struct client *) = {scribble_head, scribble_word, scribble_type,
		scribble_string_size, scribble_string_id, scribble_op_name, scribble_work_op,
		scribble_device, scribble_second_thread, scribble_counter};

	for (size_t n = 0; n < sizeof(ways) / sizeof(ways[0]); n++) {
		struct test_recorder *r = test_recorder_open(NULL, NULL);
		struct client c;

		CHECK(join(&c, r));
		ways[n](&c);
		CHECK(test_recorder_pump(r) == 0);
		CHECK(test_recorder_loss(r, LOSS_GPU_CORRUPT) == 1);
		CHECK(r->ended == 1);
		leave(&c);
		test_recorder_close(r);
	}
}

static void a_library_identifies_its_own_thread(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	uint32_t pid = (uint32_t)getpid(), own, other;
	struct client c;

	CHECK(join(&c, r));
	put_own_thread(&c, pid + 1);
	put_call(&c, 1, LAUNCH_KERNEL);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(!tasks_thread(r->tasks, pid, pid + 1, NULL, &own) &&
		tasks_is_profiler(r->tasks, own));
	CHECK(!tasks_thread(r->tasks, pid, pid, NULL, &other) &&
		!tasks_is_profiler(r->tasks, other));
	CHECK(r->calls.count == 1 && r->calls.items[0].thread == other);
	leave(&c);
	test_recorder_close(r);
}

static void one_scribbled_ring_does_not_disturb_the_others(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client bad, good;

	CHECK(join(&bad, r) && join(&good, r));
	scribble_type(&bad);
	put_call(&good, 1, LAUNCH_KERNEL);
	CHECK(test_recorder_pump(r) == 0);
	put_call(&good, 2, LAUNCH_KERNEL);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->calls.count == 2 && r->calls.items[1].instance == 2);
	leave(&bad);
	leave(&good);
	test_recorder_close(r);
}

static void work_with_impossible_times_is_counted_and_left_out(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	uint64_t now = clock_now_ns();
	struct client c;

	CHECK(join(&c, r));
	put_kernel_op(&c, 1, 0);
	put_work(&c, 1, 1, 0, 0);			     /* never measured */
	put_work(&c, 2, 1, now, now - 1);		     /* ends before it begins */
	put_work(&c, 3, 1, now - 3600 * NS_PER_SECOND, now); /* long before the recording */
	put_work(&c, 4, 1, now, now + 3600 * NS_PER_SECOND); /* in the future */
	put_work(&c, 5, 1, now, now);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->works.count == 1 && r->works.items[0].correlation == 5);
	CHECK(test_recorder_loss(r, LOSS_GPU_INVALID) == 4);
	CHECK(test_recorder_loss(r, LOSS_GPU_CORRUPT) == 0);
	leave(&c);
	test_recorder_close(r);
}

static void ids_start_anew_after_the_library_forgot(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	uint8_t forget[WIRE_PAYLOAD_BYTES] = {WIRE_FORGET};
	uint64_t now = clock_now_ns();
	struct client c;

	CHECK(join(&c, r));
	put_string(&c, 1, "first");
	put_kernel_op(&c, 1, 1);
	put_work(&c, 1, 1, now, now + 1);
	ring_put(&c.ring, forget);
	put_string(&c, 1, "second");
	put_kernel_op(&c, 1, 1);
	put_work(&c, 2, 1, now, now + 1);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->works.count == 2);
	CHECK(r->works.items[0].op != r->works.items[1].op);
	leave(&c);
	test_recorder_close(r);
}

static void put_launch(struct client *c, uint32_t correlation, uint32_t stack)
{
	struct wire_launch launch = {
		.type = WIRE_LAUNCH,
		.kind = CALL_LAUNCH,
		.tid = (uint32_t)getpid(),
		.correlation = correlation,
		.stack = stack,
		.time_ns = clock_now_ns(),
	};

	ring_put(&c->ring, &launch);
}

/* What the resolver below got last, and how often. */
static struct walked_stack resolved;
static uint64_t resolved_user[WALK_FRAMES_MAX];
static struct walk_python_frame resolved_python[WALK_PYTHON_FRAMES_MAX];
static int resolved_count;

static int resolve_stack(
	void *context, const struct walked_stack *s, uint32_t *ret_stack, uint32_t *ret_incomplete)
{
	resolved = *s;
	memcpy(resolved_user, s->user, s->user_depth * sizeof(resolved_user[0]));
	memcpy(resolved_python, s->python, s->python_depth * sizeof(resolved_python[0]));
	resolved_count++;
	*ret_stack = (uint32_t)(4700 + s->user[0]);
	*ret_incomplete = s->walk_end == WALK_COMPLETE ? 0 : LOSS_WALK_NO_RULE;
	return 0;
}

static int prepared, prepared_beginning;

static int prepare(void *context, uint32_t pid, bool begins)
{
	CHECK(pid == (uint32_t)getpid());
	prepared++;
	prepared_beginning += begins;
	return 0;
}

static int done_count;

static int done(void *context, uint32_t pid)
{
	CHECK(pid == (uint32_t)getpid());
	done_count++;
	return 0;
}

static struct test_recorder *open_walking(void)
{
	const struct gpu_options options = {.target_uid = getuid(),
		.ring_bytes = 1 << 20,
		.walk = true,
		.stacks = {.prepare = prepare, .resolve = resolve_stack, .done = done}};

	resolved_count = prepared = prepared_beginning = done_count = 0;
	return test_recorder_open(NULL, &options);
}

/* A stack of one native frame, `frame`, and two of Python. */
static struct wire_stack stack_of(uint32_t number)
{
	return (struct wire_stack){.type = WIRE_STACK,
		.walk_end = WALK_COMPLETE,
		.number = number,
		.user_depth = 1,
		.python_depth = 2,
		.time_ns = clock_now_ns()};
}

static void put_stack(struct client *c, const struct wire_stack *head, uint64_t frame)
{
	const uint64_t words[] = {frame, 21, 22, 31, 32};

	ring_put_long(&c->ring, head, sizeof(*head), words, sizeof(words));
}

static void a_stack_is_sent_once_and_named_by_its_number_from_then_on(void)
{
	struct test_recorder *r = open_walking();
	struct wire_stack stack = stack_of(9);
	struct client c;

	CHECK(join(&c, r));
	CHECK(c.ring.control->walk == 1);
	put_stack(&c, &stack, 11);
	put_launch(&c, 5, 9);
	put_launch(&c, 6, 10);
	put_launch(&c, 7, 9);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(resolved_count == 1 && resolved.pid == (uint32_t)getpid());
	CHECK(resolved.user_depth == 1 && resolved.python_depth == 2 &&
		resolved.walk_end == WALK_COMPLETE);
	CHECK(resolved_user[0] == 11 && resolved_python[0].code == 21 &&
		resolved_python[1].at == 32);
	CHECK(r->launches.count == 3);
	CHECK(r->launches.items[0].stack == 4711 && r->launches.items[0].correlation == 5);
	CHECK(r->launches.items[1].stack == 0);
	CHECK(r->launches.items[2].stack == 4711);
	CHECK(test_recorder_loss(r, LOSS_STACKS_INCOMPLETE) == 0);
	leave(&c);
	test_recorder_close(r);
}

static void an_incomplete_stack_is_counted_for_each_launch_that_names_it(void)
{
	struct test_recorder *r = open_walking();
	struct wire_stack stack = stack_of(1);
	struct client c;

	CHECK(join(&c, r));
	stack.walk_end = WALK_NO_RULE;
	put_stack(&c, &stack, 11);
	put_launch(&c, 5, 1);
	put_launch(&c, 6, 1);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->launches.items[1].incomplete == LOSS_WALK_NO_RULE);
	CHECK(test_recorder_loss(r, LOSS_WALK_NO_RULE) == 2);
	leave(&c);
	test_recorder_close(r);
}

static void a_stack_without_number_is_that_of_one_launch(void)
{
	struct test_recorder *r = open_walking();
	struct wire_stack stack = stack_of(0);
	struct client c;

	CHECK(join(&c, r));
	stack.kind = CALL_COPY;
	stack.tid = (uint32_t)getpid();
	stack.correlation = 77;
	stack.flags = WIRE_STACK_DOUBTFUL;
	put_stack(&c, &stack, 11);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->launches.count == 1 && resolved.doubtful);
	CHECK(r->launches.items[0].stack == 4711 && r->launches.items[0].correlation == 77);
	CHECK(r->launches.items[0].kind == CALL_COPY && r->launches.items[0].thread);
	leave(&c);
	test_recorder_close(r);
}

/* They say by which code they were walked, and are made anew by what is mapped now. */
static void stacks_of_launches_from_the_moment_code_was_replaced_are_looked_up_again(void)
{
	struct test_recorder *r = open_walking();
	struct code_change change = {.pid = (uint32_t)getpid(), .replaced = true};
	struct wire_stack stack = stack_of(9);
	struct client c;

	CHECK(join(&c, r));
	stack.generation = 33;
	put_stack(&c, &stack, 11);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(resolved_count == 1);
	put_launch(&c, 5, 9);
	change.time_ns = clock_now_ns() + 1;
	usleep(1);
	put_launch(&c, 6, 9);
	injected_backend.code_mapped(r->backend, &change);
	CHECK(c.ring.control->code_epoch == 1);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->launches.count == 2 && resolved_count == 2);
	CHECK(resolved.generation == 33 && resolved.time_ns >= change.time_ns &&
		resolved_user[0] == 11);
	CHECK(r->launches.items[0].stack == 4711);
	CHECK(r->launches.items[1].stack == 4711);
	change.replaced = false;
	injected_backend.code_mapped(r->backend, &change);
	CHECK(c.ring.control->code_epoch == 1);
	leave(&c);
	test_recorder_close(r);
}

static void a_marker_counts_only_in_the_process_of_its_instance(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct gpu_launch e = {.instance = 1, .pid = (uint32_t)getpid()};
	struct client c;

	CHECK(join(&c, r));
	CHECK(injected_backend.is_plausible(r->backend, &e));
	e.pid++;
	CHECK(!injected_backend.is_plausible(r->backend, &e));
	leave(&c);
	test_recorder_close(r);
}

static void a_launch_by_a_number_out_of_range_is_counted_as_invalid(void)
{
	struct test_recorder *r = open_walking();
	struct client c;

	CHECK(join(&c, r));
	put_launch(&c, 5, WIRE_STACKS + 1);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->launches.count == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_INVALID) == 1);
	leave(&c);
	test_recorder_close(r);
}

/* Each in a ring of its own, since it ends with it. */
static void stacks_that_no_library_would_send_end_the_ring(void)
{
	for (int n = 0; n < 6; n++) {
		struct test_recorder *r = open_walking();
		struct wire_stack stack = stack_of(1);
		struct client c;

		stack.number = n == 0 ? WIRE_STACKS + 1 : 1;
		stack.user_depth = n == 1 ? 0 : n == 2 ? WALK_FRAMES_MAX + 1 : 1;
		stack.python_depth = n == 3 ? WALK_PYTHON_FRAMES_MAX : 2;
		stack.walk_end = n == 4 ? WALK_ENDS : WALK_COMPLETE;
		CHECK(join(&c, r));
		put_stack(&c, &stack, 11);
		if (n == 5)
			put_stack(&c, &stack, 11);
		CHECK(test_recorder_pump(r) == 0);
		CHECK(resolved_count == (n == 5));
		CHECK(test_recorder_loss(r, LOSS_GPU_CORRUPT) == 1);
		leave(&c);
		test_recorder_close(r);
	}
}

static void report_space(struct test_recorder *r, uint32_t count, enum walk_mapping_kind kind)
{
	const struct walk_mapping mappings[] = {
		{.start = 4096, .end = 8192, .table = 16, .kind = kind},
		{.start = 12288, .end = 16384, .kind = WALK_MAPPING_FRAME_POINTERS},
	};
	const struct walk_python python = {.layout = WALK_PYTHON_CURRENT, .version = 0x30e};
	const struct walker_space space = {.pid = (uint32_t)getpid(),
		.mappings = mappings,
		.mapping_count = count,
		.python = &python};

	CHECK(injected_backend.space(r->backend, &space) == 0);
}

static void a_library_gets_what_its_process_maps(void)
{
	struct test_recorder *r = open_walking();
	const struct wire_space *space;
	struct client c;

	report_space(r, 2, WALK_MAPPING_PENDING);
	CHECK(join(&c, r));
	space = ring_space(&c.ring);
	CHECK(space->sequence == 2 && space->count == 2 && space->pending == 1);
	CHECK(space->mappings[1].start == 12288 && space->python.version == 0x30e);
	report_space(r, 1, WALK_MAPPING_TABLE);
	CHECK(space->sequence == 4 && space->count == 1 && space->pending == 0);
	CHECK(space->mappings[0].table == 16);
	leave(&c);
	test_recorder_close(r);
}

/* Another may hold its connection, and what it runs next may be no program of its user's. */
static void what_is_mapped_by_the_program_that_comes_next_is_not_sent(void)
{
	struct test_recorder *r = open_walking();
	struct client c;

	report_space(r, 2, WALK_MAPPING_TABLE);
	CHECK(join(&c, r));
	CHECK(injected_backend.leaves(r->backend, (uint32_t)getpid()) == 0);
	report_space(r, 1, WALK_MAPPING_TABLE);
	CHECK(ring_space(&c.ring)->count == 2);
	leave(&c);
	test_recorder_close(r);
}

static void a_process_maps_nothing_once_it_is_gone(void)
{
	struct test_recorder *r = open_walking();
	struct client c;

	report_space(r, 2, WALK_MAPPING_TABLE);
	report_space(r, 0, WALK_MAPPING_TABLE);
	CHECK(join(&c, r));
	CHECK(ring_space(&c.ring)->sequence == 0);
	leave(&c);
	test_recorder_close(r);
}

static void of_too_many_mappings_those_at_the_highest_addresses_are_sent(void)
{
	struct walk_mapping *mappings = calloc(WIRE_MAPPINGS + 5, sizeof(*mappings));
	struct walker_space space = {.pid = (uint32_t)getpid(),
		.mappings = mappings,
		.mapping_count = WIRE_MAPPINGS + 5};
	struct test_recorder *r = open_walking();
	struct client c;

	for (uint32_t n = 0; n < space.mapping_count; n++)
		mappings[n] = (struct walk_mapping){.start = n * 4096, .end = n * 4096 + 1};
	CHECK(injected_backend.space(r->backend, &space) == 0);
	CHECK(join(&c, r));
	CHECK(ring_space(&c.ring)->count == WIRE_MAPPINGS);
	CHECK(ring_space(&c.ring)->mappings[0].start == 5 * 4096);
	leave(&c);
	test_recorder_close(r);
	free(mappings);
}

static void a_process_is_done_with_when_its_last_library_is_over(void)
{
	struct test_recorder *r = open_walking();
	struct client first, second;

	CHECK(join(&first, r) && join(&second, r));
	first.ring.control->state = WIRE_DONE;
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->ended == 1 && done_count == 0);
	second.ring.control->state = WIRE_DONE;
	CHECK(test_recorder_pump(r) == 0);
	CHECK(r->ended == 2 && done_count == 1);
	leave(&first);
	leave(&second);
	test_recorder_close(r);
}

static void a_library_that_asks_has_its_answer_after_the_drain(void)
{
	struct test_recorder *r = open_walking();
	struct client c;

	CHECK(join(&c, r));
	CHECK(test_recorder_pump(r) == 0);
	CHECK(c.ring.control->space_answered == 0);
	c.ring.control->space_asked = 1;
	CHECK(injected_backend.snapshot(r->backend) == 0);
	CHECK(c.ring.control->space_answered == 0);
	report_space(r, 1, WALK_MAPPING_TABLE);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(c.ring.control->space_answered == 1 && ring_space(&c.ring)->sequence == 2);
	CHECK(prepared == 1 && prepared_beginning == 1);
	c.ring.control->space_asked = 2;
	CHECK(test_recorder_pump(r) == 0);
	CHECK(c.ring.control->space_answered == 2);
	CHECK(prepared == 2 && prepared_beginning == 1);
	leave(&c);
	test_recorder_close(r);
}

static void what_a_library_has_sent_is_drained_before_its_program_leaves(void)
{
	struct test_recorder *r = open_walking();
	struct wire_stack stack = stack_of(1);
	struct client c;

	CHECK(join(&c, r));
	put_stack(&c, &stack, 11);
	put_launch(&c, 5, 1);
	c.ring.control->space_asked = 1; /* nobody is there to be answered */
	CHECK(injected_backend.leaves(r->backend, (uint32_t)getpid() + 1) == 0);
	CHECK(r->launches.count == 0);
	CHECK(injected_backend.leaves(r->backend, (uint32_t)getpid()) == 0);
	CHECK(r->launches.count == 1 && r->launches.items[0].stack == 4711);
	CHECK(prepared == 0);
	leave(&c);
	test_recorder_close(r);
}

/* The index of the chunk that has come, and a byte of it; -1: none has. */
static int receive_chunk(const struct client *c, char *ret_byte)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct wire_chunk chunk;
	struct iovec part = {&chunk, sizeof(chunk)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	int fd;

	if (recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof(chunk) ||
		chunk.magic != WIRE_MAGIC || !CMSG_FIRSTHDR(&m))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	if (pread(fd, ret_byte, 1, 0) != 1)
		return -1;
	close(fd);
	return (int)chunk.index;
}

static void libraries_get_the_chunks_of_tables_that_are_there_and_those_that_come(void)
{
	struct test_recorder *r = open_walking();
	int first = memfd_create("first", 0), second = memfd_create("second", 0);
	struct client c;
	char byte = 0;

	CHECK(write(first, "a", 1) == 1 && write(second, "b", 1) == 1);
	CHECK(injected_backend.table_chunk(r->backend, 0, first) == 0);
	CHECK(join(&c, r));
	CHECK(receive_chunk(&c, &byte) == 0 && byte == 'a');
	CHECK(receive_chunk(&c, &byte) == -1);
	CHECK(injected_backend.table_chunk(r->backend, 1, second) == 0);
	CHECK(injected_backend.table_chunk(r->backend, WALK_CHUNKS_MAX, second) == 0);
	CHECK(receive_chunk(&c, &byte) == 1 && byte == 'b');
	CHECK(test_recorder_pump(r) == 0);
	CHECK(receive_chunk(&c, &byte) == -1);
	close(first);
	close(second);
	leave(&c);
	test_recorder_close(r);
}

static void stop_asks_every_library_and_finish_waits_for_none(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct gpu_stats stats;
	struct client a, b;

	CHECK(join(&a, r) && join(&b, r));
	CHECK(injected_backend.stop(r->backend) == 0);
	CHECK(a.ring.control->command == WIRE_COMMAND_STOP &&
		b.ring.control->command == WIRE_COMMAND_STOP);
	put_call(&a, 1, LAUNCH_KERNEL);
	a.ring.control->state = WIRE_DONE;
	CHECK(test_recorder_pump(r) == 0);
	stats = test_recorder_stats(r);
	CHECK(r->calls.count == 1 && r->ended == 1 && stats.instances_live == 1);
	put_call(&b, 1, LAUNCH_KERNEL);
	CHECK(injected_backend.finish(r->backend) == 0);
	stats = test_recorder_stats(r);
	CHECK(r->calls.count == 2 && r->ended == 2 && stats.instances_live == 0);
	leave(&a);
	leave(&b);
	test_recorder_close(r);
}

static void a_nudge_makes_the_poll_descriptor_readable_until_drained(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c;

	CHECK(join(&c, r));
	c.ring.control->fills = 1;
	CHECK(send(c.fd, "", 1, 0) == 1);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(c.ring.control->fills == 0);
	leave(&c);
	test_recorder_close(r);
}

static void a_process_image_that_connected_is_found(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	uint32_t process;
	struct client c;

	CHECK(join(&c, r));
	CHECK(tasks_process(r->tasks, (uint32_t)getpid(), &process) == 0);
	CHECK(injected_backend.has_connected(r->backend, process));
	CHECK(!injected_backend.has_connected(r->backend, process + 1));
	leave(&c);
	test_recorder_close(r);
}

/* ---- budgets ---- */

/* The lowest number that is free: as many descriptors are open below it. */
static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static void send_descriptors(int fd, const void *data, size_t size, size_t count)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)(uintptr_t)data, size};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int))};
	int all[8];

	for (size_t n = 0; n < count; n++)
		all[n] = fd;
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&control.header), all, count * sizeof(int));
	CHECK(sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)size);
}

static void descriptors_are_closed_whatever_they_came_with(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct wire_hello hello = {
		.magic = WIRE_MAGIC, .version = WIRE_VERSION, .pid = (uint32_t)getpid()};
	struct wire_image image = {.magic = WIRE_MAGIC, .size = 1};
	struct client c;
	int before = next_descriptor(), fd;

	for (size_t count = 1; count <= 8; count++) {
		fd = connect_to(r);
		send_descriptors(fd, "", 0, count); /* as good as a hang-up */
		CHECK(test_recorder_pump(r) == 0);
		close(fd);
		fd = connect_to(r);
		send_descriptors(fd, &hello, sizeof(hello), count);
		CHECK(test_recorder_pump(r) == 0);
		close(fd);
		CHECK(test_recorder_pump(r) == 0);
		CHECK(join(&c, r));
		send_descriptors(c.fd, "?", 1, count);
		send_descriptors(c.fd, &image, sizeof(image), count);
		send_descriptors(c.fd, "", 0, count);
		CHECK(test_recorder_pump(r) == 0);
		c.ring.control->state = WIRE_DONE;
		CHECK(test_recorder_pump(r) == 0);
		leave(&c);
	}
	CHECK(next_descriptor() == before);
	test_recorder_close(r);
}

/* In the name of several processes, as one has fewer places. */
static void of_too_many_connections_without_a_hello_the_oldest_goes(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	int silent[GREETINGS_MAX + 1];
	char byte;
	pid_t pid;

	silent[0] = connect_to(r);
	CHECK(test_recorder_pump(r) == 0);
	pid = fork();
	if (!pid) {
		close_range(3, ~0u, 0); /* the recorder's are not ours to hold */
		for (size_t n = 1; n < GREETINGS_MAX; n++)
			silent[n] = connect_to(r);
		raise(SIGSTOP);
	}
	CHECK(waitpid(pid, NULL, WUNTRACED) == pid);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(recv(silent[0], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	silent[GREETINGS_MAX] = connect_to(r);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(recv(silent[0], &byte, 1, MSG_DONTWAIT) == 0);
	CHECK(recv(silent[GREETINGS_MAX], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(silent[0]);
	close(silent[GREETINGS_MAX]);
	test_recorder_close(r);
}

#define RINGS 60

static void rings_get_smaller_when_there_are_many(void)
{
	struct gpu_options o = {.target_uid = getuid(), .ring_bytes = 16 << 20};
	struct test_recorder *r = test_recorder_open(NULL, &o);
	struct client c[RINGS];
	uint64_t sum = 0;

	for (uint32_t n = 0; n < RINGS; n++) {
		CHECK(join(&c[n], r));
		sum += c[n].ring.control->slots * (uint64_t)WIRE_SLOT_BYTES;
	}
	CHECK(c[0].ring.control->slots * WIRE_SLOT_BYTES == 16 << 20);
	CHECK(c[7].ring.control->slots * WIRE_SLOT_BYTES == 16 << 20);
	CHECK(c[RINGS - 1].ring.control->slots == WIRE_MIN_SLOTS &&
		sum < RINGS_MAX_BYTES + (1 << 20));
	for (int n = 0; n < RINGS; n++)
		leave(&c[n]);
	CHECK(test_recorder_pump(r) == 0);
	test_recorder_close(r);
}

#define LONG_NAME 50000

/* A kernel of another name each time: what its name was is forgotten at once. */
static void put_named_work(struct client *c, uint32_t number)
{
	uint8_t forget[WIRE_PAYLOAD_BYTES] = {WIRE_FORGET};
	char name[LONG_NAME + 1];
	uint64_t now = clock_now_ns();

	snprintf(name, sizeof(name), "%0*u", LONG_NAME, number);
	ring_put(&c->ring, forget);
	put_string(c, 1, name);
	put_kernel_op(c, 1, 1);
	put_work(c, number, 1, now - 1, now);
}

static void kernels_with_too_many_names_share_one_and_none_is_lost(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c, other;
	struct profile_op op = {.kind = OP_KERNEL, .process = 1};
	uint64_t cut;

	CHECK(join(&c, r) && join(&other, r));
	for (uint32_t n = 1; n <= 1000; n++) {
		put_named_work(&c, n);
		CHECK(test_recorder_pump(r) == 0);
	}
	CHECK(r->works.count == 1000 && !test_recorder_loss(r, LOSS_GPU_CORRUPT));
	cut = test_recorder_loss(r, LOSS_GPU_NAMES_CUT);
	CHECK(cut > 100 && cut < 1000);
	op.name = profile_find_string(r->writer, NAME_LEFT_OUT, strlen(NAME_LEFT_OUT));
	CHECK(op.name && r->works.items[999].op == profile_find_op(r->writer, &op));
	CHECK(r->works.items[998].op == r->works.items[999].op);
	put_named_work(&c, 1); /* it is there: nothing is added */
	put_named_work(&other, 2000);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_NAMES_CUT) == cut);
	CHECK(r->works.items[1000].op == r->works.items[0].op);
	CHECK(r->works.items[1001].op != r->works.items[999].op);
	leave(&c);
	leave(&other);
	test_recorder_close(r);
}

static void put_call_of(struct client *c, uint32_t tid)
{
	uint64_t now = clock_now_ns();
	struct wire_call call = {.type = WIRE_CALL,
		.kind = CALL_LAUNCH,
		.tid = tid,
		.correlation = tid,
		.start_ns = now,
		.end_ns = now,
		.api = LAUNCH_KERNEL};

	ring_put(&c->ring, &call);
}

#define KNOWN_THREADS (((size_t)16 << 20) / THREAD_COST_BYTES)

static void calls_of_too_many_threads_are_recorded_without_theirs(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c;

	CHECK(join(&c, r));
	for (uint32_t n = 1; n <= KNOWN_THREADS + 100; n++) {
		put_call_of(&c, 5000000 + n);
		if (n % 1000 == 0)
			CHECK(test_recorder_pump(r) == 0);
	}
	put_call_of(&c, 5000001);
	while (r->calls.count < KNOWN_THREADS + 101)
		CHECK(test_recorder_pump(r) == 0);
	CHECK(r->calls.items[0].thread && !r->calls.items[KNOWN_THREADS + 50].thread);
	CHECK(r->calls.items[KNOWN_THREADS + 100].thread == r->calls.items[0].thread);
	CHECK(test_recorder_loss(r, LOSS_GPU_THREADS_UNKNOWN) == 100);
	leave(&c);
	test_recorder_close(r);
}

/* Whatever the numbers are: looks end when their share of the time is spent. */
static void looks_for_threads_that_are_not_there_take_a_part_of_the_time(void)
{
	struct thread_numbers numbers = {0};
	uint32_t outer, invented = 5000000;
	int error = 0;

	CHECK(namespace_outer_tid(&numbers, (uint32_t)getpid(), (uint32_t)gettid(), &outer) == 0);
	CHECK(outer == (uint32_t)gettid());
	while (!error)
		error = namespace_outer_tid(&numbers, (uint32_t)getpid(), ++invented, &outer);
	CHECK(error == -EAGAIN && invented > 5000001);
	CHECK(namespace_outer_tid(&numbers, (uint32_t)getpid(), (uint32_t)gettid(), &outer) == 0);
	CHECK(outer == (uint32_t)gettid());
	namespace_release(&numbers);
}

static void a_device_is_what_it_was_described_as_first(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c;

	CHECK(join(&c, r));
	put_device(&c, "a GPU");
	for (int n = 0; n < 10; n++)
		put_device(&c, "another GPU");
	CHECK(test_recorder_pump(r) == 0);
	CHECK(!profile_find_string(r->writer, "another GPU", 11));
	leave(&c);
	test_recorder_close(r);
}

static void say_sent(struct client *c, uint64_t sent, uint64_t missing)
{
	struct wire_sent m = {.magic = WIRE_MAGIC, .sent = sent, .missing = missing};

	CHECK(send(c->fd, &m, sizeof(m), 0) == sizeof(m));
}

static void what_went_to_memory_mapped_over_the_ring_is_counted_once(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c;

	CHECK(join(&c, r));
	put_call(&c, 1, LAUNCH_KERNEL);
	say_sent(&c, 1, 100);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_RING_REPLACED) == 100);
	say_sent(&c, 1, 300);
	say_sent(&c, 1, 200);
	say_sent(&c, 1, 1ull << 60);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_RING_REPLACED) == 300);
	leave(&c); /* its process lives, and the ring does not show that: nothing more can come */
	CHECK(test_recorder_pump(r) == 0 && r->ended == 1);
	CHECK(test_recorder_loss(r, LOSS_GPU_RING_REPLACED) == 300 && r->calls.count == 1);
	test_recorder_close(r);
}

static void what_was_sent_and_is_not_in_the_ring_is_counted_at_its_end(void)
{
	struct test_recorder *r = test_recorder_open(NULL, NULL);
	struct client c;

	CHECK(join(&c, r));
	put_call(&c, 1, LAUNCH_KERNEL);
	say_sent(&c, 20001, 0);
	c.ring.control->state = WIRE_DONE;
	CHECK(test_recorder_pump(r) == 0 && r->ended == 1);
	CHECK(r->calls.count == 1 && test_recorder_loss(r, LOSS_GPU_RING_REPLACED) == 20000);
	leave(&c);
	test_recorder_close(r);
}

static void how_long_it_took_to_stop_is_known_where_it_makes_sense(void)
{
	static const struct {
		uint32_t us, tracer_us;
		bool known;
	} cases[] = {{63000, 12000, true}, {0, 0, false}, {12000, 63000, false}};

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct test_recorder *r = test_recorder_open(NULL, NULL);
		struct gpu_stop_time time = {0};
		struct client c;
		uint32_t process;
		bool known;

		CHECK(join(&c, r));
		CHECK(tasks_process(r->tasks, (uint32_t)getpid(), &process) == 0);
		CHECK(!injected_backend.stop_time(r->backend, process, &time));
		c.ring.control->stop_us = cases[n].us;
		c.ring.control->stop_tracer_us = cases[n].tracer_us;
		c.ring.control->state = WIRE_DONE;
		CHECK(test_recorder_pump(r) == 0 && r->ended == 1);
		known = injected_backend.stop_time(r->backend, process, &time);
		CHECK(known == cases[n].known);
		CHECK(!known || (time.ns == 63000000 && time.tracer_ns == 12000000));
		leave(&c);
		test_recorder_close(r);
	}
}

static void an_answer_is_not_given_again_because_the_program_says_so(void)
{
	struct test_recorder *r = open_walking();
	struct client c;

	CHECK(join(&c, r));
	c.ring.control->space_asked = 1;
	CHECK(test_recorder_pump(r) == 0 && prepared == 1);
	c.ring.control->space_answered = 0;
	CHECK(test_recorder_pump(r) == 0 && prepared == 1);
	leave(&c);
	test_recorder_close(r);
}

int main(void)
{
	RUN(a_library_connects_and_its_records_reach_the_sink);
	RUN(every_connection_gets_its_own_number);
	RUN(the_configuration_reaches_the_library);
	RUN(waits_for_the_gpu_events_and_launches_of_graphs_reach_the_sink);
	RUN(impossible_waits_are_counted);
	RUN(the_ring_cannot_be_truncated_or_grown);
	RUN(a_library_whose_cupti_ended_is_counted_and_reported_once);
	RUN(of_many_libraries_whose_cupti_ended_some_are_named);
	RUN(an_end_whose_message_is_longer_than_its_record_ends_the_ring);
	RUN(a_library_of_another_version_gets_ours_and_is_refused);
	RUN(a_client_that_does_not_speak_the_protocol_is_dropped);
	RUN(a_client_that_speaks_in_another_process_s_name_is_dropped_and_counted);
	RUN(nobody_speaks_for_a_process_that_is_gone);
	RUN(a_process_may_connect_so_often_and_no_more);
	RUN(another_user_is_refused);
	RUN(the_socket_belongs_to_the_target_and_nobody_else_may_open_it);
	RUN(what_a_killed_process_wrote_is_read_after_it_is_gone);
	RUN(a_library_for_which_there_is_no_ring_is_refused_and_others_go_on);
	RUN(a_library_that_hangs_up_and_lives_is_still_read);
	RUN(a_library_that_reports_why_it_is_quiet_is_counted);
	RUN(what_the_library_counted_becomes_losses);
	RUN(what_libraries_added_up_is_the_reported_time_of_all);
	RUN(a_ring_that_was_scribbled_over_is_given_up_and_counted);
	RUN(a_library_identifies_its_own_thread);
	RUN(one_scribbled_ring_does_not_disturb_the_others);
	RUN(work_with_impossible_times_is_counted_and_left_out);
	RUN(ids_start_anew_after_the_library_forgot);
	RUN(a_stack_is_sent_once_and_named_by_its_number_from_then_on);
	RUN(an_incomplete_stack_is_counted_for_each_launch_that_names_it);
	RUN(a_stack_without_number_is_that_of_one_launch);
	RUN(stacks_of_launches_from_the_moment_code_was_replaced_are_looked_up_again);
	RUN(a_marker_counts_only_in_the_process_of_its_instance);
	RUN(a_launch_by_a_number_out_of_range_is_counted_as_invalid);
	RUN(stacks_that_no_library_would_send_end_the_ring);
	RUN(a_library_gets_what_its_process_maps);
	RUN(what_is_mapped_by_the_program_that_comes_next_is_not_sent);
	RUN(a_process_maps_nothing_once_it_is_gone);
	RUN(of_too_many_mappings_those_at_the_highest_addresses_are_sent);
	RUN(a_process_is_done_with_when_its_last_library_is_over);
	RUN(a_library_that_asks_has_its_answer_after_the_drain);
	RUN(what_a_library_has_sent_is_drained_before_its_program_leaves);
	RUN(libraries_get_the_chunks_of_tables_that_are_there_and_those_that_come);
	RUN(stop_asks_every_library_and_finish_waits_for_none);
	RUN(a_nudge_makes_the_poll_descriptor_readable_until_drained);
	RUN(a_process_image_that_connected_is_found);
	RUN(descriptors_are_closed_whatever_they_came_with);
	RUN(of_too_many_connections_without_a_hello_the_oldest_goes);
	RUN(rings_get_smaller_when_there_are_many);
	RUN(kernels_with_too_many_names_share_one_and_none_is_lost);
	RUN(calls_of_too_many_threads_are_recorded_without_theirs);
	RUN(looks_for_threads_that_are_not_there_take_a_part_of_the_time);
	RUN(a_device_is_what_it_was_described_as_first);
	RUN(what_went_to_memory_mapped_over_the_ring_is_counted_once);
	RUN(what_was_sent_and_is_not_in_the_ring_is_counted_at_its_end);
	RUN(how_long_it_took_to_stop_is_known_where_it_makes_sense);
	RUN(an_answer_is_not_given_again_because_the_program_says_so);
	return tap_end();
}
