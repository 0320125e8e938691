// SPDX-License-Identifier: MIT
/*
 * The command on events that every kernel has: a thread sleeps and is woken (sched), processes
 * begin and end. A child runs it with its output in a file or a pipe, while this program makes the
 * events.
 */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "cmd/monitor/monitor.h"
#include "tap.h"

enum { OBJECT_CALL };

enum { CALLS, CALL_TIME };

#define SOURCE_ENTER                                                                               \
	{                                                                                          \
		.kind = SOURCE_TRACEPOINT, .name = "raw_syscalls:sys_enter", .fields = {           \
			{"number", "id", FIELD_NUMBER, .needed = true},                            \
			{"thread", NULL, FIELD_THREAD}                                             \
		}                                                                                  \
	}
#define SOURCE_EXIT                                                                                \
	{                                                                                          \
		.kind = SOURCE_TRACEPOINT, .name = "raw_syscalls:sys_exit", .fields = {            \
			{"number", "id", FIELD_NUMBER, .needed = true},                            \
			{"result", "ret", FIELD_NUMBER},                                           \
			{"thread", NULL, FIELD_THREAD}                                             \
		}                                                                                  \
	}

static const struct monitor_event events[] = {
	{
		.name = "ENTER",
		.says = "a system call begins",
		.sources = {SOURCE_ENTER},
		.acts = {{.kind = ACT_OPEN,
			.object = OBJECT_CALL,
			.key = {"thread"},
			.label = {"number"}}},
		.counts = {{CALLS, VALUE_ONE, .label = {"number"}}},
		.label = {"number"},
		.column = {"{ring}", "{comm}",
			"in a long line of text that is cut where the terminal ends"},
	},
	{
		.name = "EXIT",
		.says = "it ends",
		.sources = {SOURCE_EXIT},
		.acts = {{.kind = ACT_CLOSE, .object = OBJECT_CALL, .stage = 1, .key = {"thread"}}},
		.counts = {{CALL_TIME, VALUE_DURATION, .act = 0, .from = 0, .label = {"number"}}},
		.label = {"number"},
		.above = 1,
		.column = {"{ring}", "{comm}", "result={result}[ time={#0:time}]"},
	},
	{
		.name = "NEVER",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "nobody:never",
			.module = "nobody_has_this"}},
		.label = {"ring"},
	},
	{0},
};

static const struct monitor_object_row objects[] = {
	[OBJECT_CALL] = {.name = "call", .left = "calls that did not end"},
	{0},
};

static const struct monitor_series series[] = {
	[CALLS] = {.name = "calls", .title = "Calls", .by_process = true, .label = {"number"}},
	[CALL_TIME] = {.name = "call_time",
		.title = "Time of calls",
		.unit = UNIT_NANOSECONDS,
		.histogram = true,
		.by_process = true,
		.busy = true,
		.label = {"number"}},
	{0},
};

static const struct monitor table = {
	.name = "calls",
	.summary = "system calls",
	.ring = "number",
	.column = {"NUMBER", "COMM", "DETAILS"},
	.width = {8, 16},
	.events = events,
	.objects = objects,
	.series = series,
	.note = "this is a test",
};

struct run {
	pid_t pid;
	int out, err; /* to be read */
	struct buf text, errors;
	int status;
};

static struct monitor_args args_of(uint32_t pid)
{
	return (struct monitor_args){
		.monitor = &table, .pid = pid, .lines = true, .above_event = -1};
}

static void begin(struct run *r, const struct monitor_args *a)
{
	int out[2], err[2];

	*r = (struct run){0};
	CHECK(!pipe(out) && !pipe(err));
	fflush(stdout);
	r->pid = fork();
	if (!r->pid) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		close(out[0]);
		close(out[1]);
		close(err[0]);
		close(err[1]);
		_exit(monitor_watch(a));
	}
	close(out[1]);
	close(err[1]);
	r->out = out[0];
	r->err = err[0];
}

static void read_rest(int fd, struct buf *text)
{
	char part[4096];
	ssize_t size;

	while ((size = read(fd, part, sizeof(part))) > 0)
		buf_append(text, part, (size_t)size);
	buf_puts(text, "");
	close(fd);
}

static void finish(struct run *r)
{
	read_rest(r->out, &r->text);
	read_rest(r->err, &r->errors);
	waitpid(r->pid, &r->status, 0);
}

static void release(struct run *r)
{
	buf_release(&r->text);
	buf_release(&r->errors);
}

/* A process that makes `count` calls that nobody else makes, once it is told to, and then waits to
 * be killed. */
struct caller {
	pid_t pid;
	int go, done;
};

/* With bad pointers it fails at once. */
#define CALL_NUMBER	 SYS_pivot_root
#define AS_TEXT(number)	 AS_TEXT_(number)
#define AS_TEXT_(number) #number
#define N		 AS_TEXT(SYS_pivot_root)

static void start_caller(struct caller *c, int count)
{
	int go[2], done[2];
	char byte = 0;

	CHECK(!pipe(go) && !pipe(done));
	fflush(stdout);
	c->pid = fork();
	if (!c->pid) {
		if (read(go[0], &byte, 1) == 1)
			for (int i = 0; i < count; i++)
				syscall(CALL_NUMBER, NULL, NULL);
		(void)!write(done[1], &byte, 1);
		pause();
		_exit(0);
	}
	close(go[0]);
	close(done[1]);
	c->go = go[1];
	c->done = done[0];
}

static void let_call(struct caller *c)
{
	char byte = 0;

	CHECK(write(c->go, &byte, 1) == 1);
	CHECK(read(c->done, &byte, 1) == 1);
}

static void stop_caller(struct caller *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->go);
	close(c->done);
}

/* Waits until the watch has printed its first line, or has ended. */
static void wait_for_heading(struct run *r)
{
	char c;

	while (read(r->out, &c, 1) == 1 && c != '\n')
		buf_append(&r->text, &c, 1);
	buf_puts(&r->text, "\n");
}

/* The same where nothing is printed: what it says on standard error. */
static void wait_for_word(struct run *r)
{
	char c;

	while (read(r->err, &c, 1) == 1 && c != '\n')
		buf_append(&r->errors, &c, 1);
	buf_puts(&r->errors, "\n");
}

static size_t count_of(const struct buf *text, const char *what)
{
	size_t count = 0;

	for (const char *at = strstr(buf_text(text), what); at; at = strstr(at + 1, what))
		count++;
	return count;
}

static bool has(const struct buf *text, const char *what)
{
	return strstr(buf_text(text), what) != NULL;
}

static bool cannot_watch(void)
{
	struct monitor_args a = args_of(0);
	struct run r;
	bool cannot;

	a.lines = false;
	a.seconds = 0.01;
	begin(&r, &a);
	finish(&r);
	cannot = !WIFEXITED(r.status) || WEXITSTATUS(r.status);
	if (cannot)
		printf("# %s\n", buf_text(&r.errors));
	release(&r);
	return cannot;
}

static void every_event_is_a_line_and_counted_until_a_signal_comes(void)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 100);
	a = args_of((uint32_t)c.pid);
	begin(&r, &a);
	wait_for_heading(&r);
	let_call(&c);
	kill(r.pid, SIGINT);
	finish(&r);
	CHECK(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	CHECK(!strncmp(buf_text(&r.text),
		"TIME(ms)         EVENT        NUMBER   COMM             DETAILS\n", 64));
	CHECK(count_of(&r.text, " ENTER        " N " ") == 100);
	CHECK(count_of(&r.text, " EXIT         " N " ") == 100);
	CHECK(count_of(&r.text, "result=-14 time=") == 100);
	CHECK(has(&r.text, "\ncalls: "));
	CHECK(has(&r.text, ", only process "));
	CHECK(has(&r.text, "\nTime of calls\n"));
	CHECK(has(&r.text, "\nLost\n   nothing\n") || has(&r.text, "nothing\n"));
	CHECK(has(&r.text, "\nnot watched: ") && has(&r.text, ":\n       NEVER\n"));
	CHECK(has(&r.text, "\nnote: this is a test\n"));
	CHECK(has(&r.errors, "1 of 3 events of calls are not watched"));
	stop_caller(&c);
	release(&r);
}

static void json_has_the_same_numbers(void)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 100);
	a = args_of((uint32_t)c.pid);
	a.form = FORM_JSON;
	a.ring = N;
	begin(&r, &a);
	wait_for_word(&r);
	let_call(&c);
	kill(r.pid, SIGTERM);
	finish(&r);
	CHECK(count_of(&r.text, "\"event\":\"ENTER\",\"pid\":") == 100);
	CHECK(count_of(&r.text, "\"ring\":" N ",\"number\":" N) == 200);
	CHECK(count_of(&r.text, "\"result\":-14,") == 100);
	CHECK(count_of(&r.text, "\"call_time_ns\":") == 100);
	CHECK(count_of(&r.text, "{\"statistics\":{\"monitor\":\"calls\",") == 1);
	CHECK(has(&r.text, "\"rows\":[{\"number\":\"" N "\",\"count\":100,\"sum\":"));
	CHECK(has(&r.text, "\"event\":\"NEVER\",\"watched\":false,\"reason\":\""));
	stop_caller(&c);
	release(&r);
}

static size_t commas(const char *line)
{
	size_t count = 0;

	for (; *line && *line != '\n'; line++)
		count += *line == ',';
	return count;
}

static void check_columns(const struct buf *text)
{
	const char *line = buf_text(text);
	size_t columns = commas(line);

	CHECK(columns > 5);
	for (; *line; line += strcspn(line, "\n") + 1)
		CHECK(commas(line) == columns);
}

static void csv_lines_have_the_columns_of_their_heading(void)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 10);
	a = args_of((uint32_t)c.pid);
	a.form = FORM_CSV;
	begin(&r, &a);
	wait_for_heading(&r);
	let_call(&c);
	kill(r.pid, SIGINT);
	finish(&r);
	CHECK(!strncmp(buf_text(&r.text),
		"t_ns,event,pid,tid,comm,client,ring,other,call_time_ns,number,thread,result\n",
		76));
	check_columns(&r.text);
	CHECK(count_of(&r.text, "," N ",,," N ",") == 10);
	stop_caller(&c);
	release(&r);
}

static void a_summary_counts_without_lines(void)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 1000);
	a = args_of((uint32_t)c.pid);
	a.lines = false;
	a.form = FORM_CSV;
	begin(&r, &a);
	wait_for_heading(&r);
	let_call(&c);
	kill(r.pid, SIGINT);
	finish(&r);
	check_columns(&r.text);
	CHECK(has(&r.text, ",calls,count," N ",,"));
	CHECK(count_of(&r.text, ",1000,") >= 2);
	CHECK(has(&r.text, ",events_seen,count,ENTER,"));
	stop_caller(&c);
	release(&r);
}

/* Of the call that is looked at, over all lines that begin with `what`. */
static unsigned long sum_of_calls(const char *text, const char *what)
{
	static const char row[] =
		"\"calls\":{\"title\":\"Calls\",\"unit\":\"count\",\"rows\":[{\"number\":\"" N
		"\",\"count\":";
	unsigned long sum = 0;

	for (; *text; text += strcspn(text, "\n") + 1) {
		const char *at = strstr(text, row);

		if (!strncmp(text, what, strlen(what)) && at && at < text + strcspn(text, "\n"))
			sum += strtoul(at + sizeof(row) - 1, NULL, 10);
	}
	return sum;
}

/* Reads on until the intervals have so many calls, and there are two of them; or to the end. */
static void read_intervals(struct run *r, unsigned long calls)
{
	char c;

	while (sum_of_calls(buf_text(&r->text), "{\"interval\":") < calls ||
		count_of(&r->text, "{\"interval\":") < 2)
		do {
			if (read(r->out, &c, 1) != 1)
				return;
			buf_append(&r->text, &c, 1);
		} while (c != '\n');
}

static void intervals_add_up_to_the_total(void)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 1000);
	a = args_of((uint32_t)c.pid);
	a.lines = false;
	a.form = FORM_JSON;
	a.ring = N;
	a.interval = 0.1;
	a.seconds = 60; /* should they never */
	begin(&r, &a);
	wait_for_word(&r);
	let_call(&c);
	read_intervals(&r, 1000);
	kill(r.pid, SIGINT);
	finish(&r);
	CHECK(count_of(&r.text, "{\"interval\":") >= 2);
	CHECK(count_of(&r.text, "{\"statistics\":") == 1);
	CHECK(sum_of_calls(buf_text(&r.text), "{\"interval\":") == 1000);
	CHECK(sum_of_calls(buf_text(&r.text), "{\"statistics\":") == 1000);
	stop_caller(&c);
	release(&r);
}

static void only_what_is_slow_is_printed_when_that_is_asked(void)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 100);
	a = args_of((uint32_t)c.pid);
	CHECK(!monitor_parse_above(&table, "exit:10s", &a.above_event, &a.above_ns));
	CHECK(a.above_event == 1 && a.above_ns == 10000000000);
	begin(&r, &a);
	wait_for_heading(&r);
	let_call(&c);
	kill(r.pid, SIGINT);
	finish(&r);
	CHECK(!has(&r.text, " ENTER        " N " ") && !has(&r.text, " EXIT         " N " "));
	CHECK(has(&r.text, "       100 "));
	stop_caller(&c);
	release(&r);
}

static void wrong_events_and_times_are_told_with_what_there_is(void)
{
	static const struct {
		const char *text, *told;
	} wrong[] = {{"ENTER:5ms", "has no event 'ENTER' with a duration: EXIT"},
		{"NOBODY:5ms", "'NOBODY'"}, {"EXIT:5", "with its unit"}, {"EXIT:", "with its unit"},
		{"EXIT:-5ms", "with its unit"}, {"EXIT", "EVENT:TIME"},
		{"EXIT:5 ms", "with its unit"}};
	int event;
	uint64_t ns;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK(monitor_parse_above(&table, wrong[i].text, &event, &ns) == -EINVAL);
		CHECK(strstr(error_text(), wrong[i].told));
	}
	CHECK(!monitor_parse_above(&table, "EXIT:1.5us", &event, &ns) && ns == 1500);
}

static void a_reader_that_leaves_ends_it_without_a_word(void)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 10);
	a = args_of((uint32_t)c.pid);
	begin(&r, &a);
	wait_for_heading(&r);
	close(r.out);
	r.out = open("/dev/null", O_RDONLY);
	finish(&r);
	CHECK(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	CHECK(!has(&r.errors, "cannot write"));
	stop_caller(&c);
	release(&r);
}

static void wait_until_full(int pipe_end)
{
	int size = 0;

	while (size < fcntl(pipe_end, F_GETPIPE_SZ) - 4096 && !ioctl(pipe_end, FIONREAD, &size))
		usleep(1000);
}

/* Until the first signal was taken: then the next one is not blocked any more. */
static void wait_until_not_ours(pid_t pid)
{
	char path[32];
	uint64_t blocked = 1 << (SIGINT - 1);

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	while (blocked & 1 << (SIGINT - 1)) {
		struct buf status = BUF_INIT;
		const char *at;

		CHECK(!io_read_file(path, 1 << 16, &status));
		at = strstr(buf_text(&status), "SigBlk:");
		blocked = at ? strtoull(at + 7, NULL, 16) : 0;
		buf_release(&status);
		usleep(1000);
	}
}

static void a_reader_that_does_not_read_does_not_keep_it_from_ending(void)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 3000);
	a = args_of((uint32_t)c.pid);
	begin(&r, &a);
	wait_for_heading(&r);
	let_call(&c);
	wait_until_full(r.out);
	kill(r.pid, SIGINT);
	wait_until_not_ours(r.pid);
	kill(r.pid, SIGINT);
	waitpid(r.pid, &r.status, 0);
	CHECK(WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGINT);
	close(r.out);
	close(r.err);
	stop_caller(&c);
	release(&r);
}

/* Reads lines of a terminal until one has `what`; its length without the end. */
static size_t length_of_line_with(int terminal, const char *what)
{
	char line[512];
	size_t length = 0;

	while (length < sizeof(line) - 1 && read(terminal, line + length, 1) == 1) {
		if (line[length++] != '\n')
			continue;
		line[length] = '\0';
		if (strstr(line, what))
			return strcspn(line, "\r\n");
		length = 0;
	}
	return 0;
}

static void lines_are_cut_where_the_terminal_ends_also_when_it_changes(void)
{
	struct winsize narrow = {.ws_row = 24, .ws_col = 60}, wide = {.ws_row = 24, .ws_col = 200};
	struct caller first, second;
	struct monitor_args a = args_of(0);
	int terminal, output;
	pid_t pid;

	start_caller(&first, 1);
	start_caller(&second, 1);
	a.ring = N;
	CHECK(!openpty(&terminal, &output, NULL, NULL, &narrow));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		unsetenv("COLUMNS");
		dup2(output, STDOUT_FILENO);
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		_exit(monitor_watch(&a));
	}
	CHECK(length_of_line_with(terminal, "TIME(ms)") <= 60);
	let_call(&first);
	CHECK(length_of_line_with(terminal, " ENTER ") == 60);
	CHECK(!ioctl(terminal, TIOCSWINSZ, &wide));
	let_call(&second);
	CHECK(length_of_line_with(terminal, " ENTER ") > 60);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(terminal);
	close(output);
	stop_caller(&first);
	stop_caller(&second);
}

static void the_end_of_the_process_is_told_and_ends_it(void)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 10);
	a = args_of((uint32_t)c.pid);
	begin(&r, &a);
	wait_for_heading(&r);
	let_call(&c);
	stop_caller(&c);
	finish(&r);
	CHECK(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
	CHECK(has(&r.errors, "ended\n"));
	CHECK(has(&r.text, "\nCalls\n"));
	release(&r);
}

static void a_process_that_is_not_there_is_told(void)
{
	struct monitor_args a = args_of(4194303);
	struct run r;

	begin(&r, &a);
	finish(&r);
	CHECK(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 1);
	CHECK_TEXT(buf_text(&r.errors), "xpuprof: there is no process 4194303\n");
	CHECK(!r.text.size);
	release(&r);
}

static void a_ring_that_nobody_has_is_told_with_those_that_are(void)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 100);
	a = args_of(0);
	a.ring = "9999";
	begin(&r, &a);
	wait_for_heading(&r);
	let_call(&c);
	kill(r.pid, SIGINT);
	finish(&r);
	CHECK(has(&r.text, "\nNothing was of number '9999'. Seen were: "));
	CHECK(has(&r.text, N));
	CHECK(count_of(&r.text, " ENTER ") <= 1);
	stop_caller(&c);
	release(&r);
}

static void check_ring(const struct monitor *m, const char *ring)
{
	struct caller c;
	struct monitor_args a;
	struct run r;

	start_caller(&c, 100);
	a = args_of((uint32_t)c.pid);
	a.monitor = m;
	a.ring = ring;
	begin(&r, &a);
	wait_for_heading(&r);
	let_call(&c);
	kill(r.pid, SIGINT);
	finish(&r);
	CHECK(count_of(&r.text, " ENTER        " N " ") == 100);
	CHECK(count_of(&r.text, " EXIT         " N " ") == 100);
	CHECK(!has(&r.text, "Nothing was of"));
	stop_caller(&c);
	release(&r);
}

static void a_ring_may_be_a_number_in_any_form_or_a_name_of_one(void)
{
	static const struct monitor_name names[] = {{CALL_NUMBER, "the call"}, {0, NULL}};
	static const struct monitor_list lists[] = {{.name = "numbers", .names = names}, {0}};
	struct monitor named = table;
	char hexadecimal[16];

	named.lists = lists;
	named.ring_list = "numbers";
	snprintf(hexadecimal, sizeof(hexadecimal), "0x%x", CALL_NUMBER);
	check_ring(&table, hexadecimal);
	check_ring(&named, "The Call");
	check_ring(&named, N);
}

static void that_nothing_happened_is_told(void)
{
	struct monitor_args a = args_of(0);
	struct monitor quiet = table;
	static const struct monitor_event of_hotplug[] = {
		{.name = "HOTPLUG",
			.sources = {{.kind = SOURCE_TRACEPOINT,
				.name = "cpuhp:cpuhp_enter",
				.fields = {{"cpu", "cpu", FIELD_NUMBER}}}},
			.counts = {{CALLS, VALUE_ONE}}},
		{0},
	};
	struct run r;

	quiet.events = of_hotplug;
	a.monitor = &quiet;
	a.lines = false;
	a.seconds = 0.05;
	begin(&r, &a);
	finish(&r);
	CHECK(has(&r.text, "\nNothing happened: "));
	release(&r);
}

int main(void)
{
	signal(SIGINT, SIG_DFL); /* we may run in the background, where it is ignored */
	RUN(wrong_events_and_times_are_told_with_what_there_is);
	RUN(a_process_that_is_not_there_is_told);
	if (cannot_watch()) {
		puts("# this machine lets us watch nothing");
		return tap_end();
	}
	RUN(every_event_is_a_line_and_counted_until_a_signal_comes);
	RUN(json_has_the_same_numbers);
	RUN(csv_lines_have_the_columns_of_their_heading);
	RUN(a_summary_counts_without_lines);
	RUN(intervals_add_up_to_the_total);
	RUN(only_what_is_slow_is_printed_when_that_is_asked);
	RUN(a_reader_that_leaves_ends_it_without_a_word);
	RUN(a_reader_that_does_not_read_does_not_keep_it_from_ending);
	RUN(lines_are_cut_where_the_terminal_ends_also_when_it_changes);
	RUN(the_end_of_the_process_is_told_and_ends_it);
	RUN(a_ring_that_nobody_has_is_told_with_those_that_are);
	RUN(a_ring_may_be_a_number_in_any_form_or_a_name_of_one);
	RUN(that_nothing_happened_is_told);
	return tap_end();
}
