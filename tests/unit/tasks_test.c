// SPDX-License-Identifier: MIT
/* Which process and thread a pid and a tid mean, as events come and go. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/reader.h"
#include "profile/tasks.h"
#include "tap.h"

/* Above what a kernel gives out: not there in /proc. */
#define PID 5000000u

static char path[] = "/tmp/xpuprof-tasks-test-XXXXXX";
static struct profile_writer *w;
static struct tasks *tasks;
static struct profile_reader *r;

static void begin(void)
{
	CHECK(!profile_writer_open(&w, path));
	CHECK(!tasks_new(&tasks, w));
}

/* Ends the recording and opens it for reading. */
static void look(void)
{
	struct profile_event e;

	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0 && !profile_reader_incomplete(r));
}

static void end(void)
{
	profile_reader_close(r);
	tasks_free(tasks);
}

static uint32_t process_of(uint32_t pid)
{
	uint32_t process = 0;

	CHECK(!tasks_process(tasks, pid, &process) && process);
	return process;
}

static uint32_t thread_of(uint32_t pid, uint32_t tid)
{
	uint32_t thread = 0;

	CHECK(!tasks_thread(tasks, pid, tid, NULL, &thread) && thread);
	return thread;
}

static const char *comm_of(uint32_t process)
{
	return profile_string(r, profile_process(r, process)->comm, NULL);
}

static const char *cmdline_of(uint32_t process)
{
	return profile_string(r, profile_process(r, process)->cmdline, NULL);
}

static const char *name_of(uint32_t thread)
{
	return profile_string(r, profile_thread(r, thread)->name, NULL);
}

static void a_forked_process_is_a_new_one_with_its_parents_name(void)
{
	uint32_t parent, child;

	begin();
	CHECK(!tasks_exec(tasks, PID, 100, "sh", "sh -c x"));
	CHECK(!tasks_fork(tasks, PID, PID + 1, 200));
	parent = process_of(PID);
	child = process_of(PID + 1);
	look();
	CHECK(parent != child && profile_process(r, child)->parent == parent);
	CHECK(profile_process(r, child)->start_ns == 200 &&
		profile_process(r, child)->pid == PID + 1);
	CHECK_TEXT(comm_of(child), "sh");
	CHECK_TEXT(cmdline_of(child), "sh -c x");
	end();
}

static void exec_begins_a_new_process_image_under_the_same_pid(void)
{
	uint32_t root, before, after, old_thread, new_thread, late;

	begin();
	CHECK(!tasks_exec(tasks, PID, 100, "bash", "bash"));
	root = process_of(PID);
	CHECK(!tasks_fork(tasks, PID, PID + 1, 200));
	before = process_of(PID + 1);
	old_thread = thread_of(PID + 1, PID + 1);
	CHECK(!tasks_exec(tasks, PID + 1, 300, "python3", "python3 train.py"));
	after = process_of(PID + 1);
	new_thread = thread_of(PID + 1, PID + 1);
	CHECK(before != after && old_thread != new_thread);
	/* Records of the earlier image may still be under way. */
	CHECK(!tasks_thread_of(tasks, before, PID + 1, NULL, &late) && late == old_thread);
	look();
	CHECK(profile_process(r, after)->parent == root &&
		profile_process(r, after)->start_ns == 300);
	CHECK_TEXT(comm_of(before), "bash");
	CHECK_TEXT(comm_of(after), "python3");
	CHECK_TEXT(cmdline_of(after), "python3 train.py");
	CHECK(profile_thread(r, old_thread)->process == before);
	CHECK(profile_thread(r, new_thread)->process == after);
	CHECK_TEXT(name_of(old_thread), "bash");
	CHECK_TEXT(name_of(new_thread), "python3");
	end();
}

static void a_thread_of_the_profilers_stays_one_whatever_it_is_called(void)
{
	uint32_t own, other;

	begin();
	CHECK(!tasks_exec(tasks, PID, 100, "train", "train"));
	other = thread_of(PID, PID);
	own = thread_of(PID, PID + 1);
	CHECK(!tasks_is_profiler(tasks, own));
	CHECK(!tasks_set_profiler(tasks, own) && tasks_is_profiler(tasks, own));
	CHECK(!tasks_rename(tasks, PID, PID + 1, "xpuprof") &&
		!tasks_rename(tasks, PID, PID, "xpuprof"));
	CHECK(tasks_is_profiler(tasks, own) && !tasks_is_profiler(tasks, other));
	look();
	CHECK(profile_is_profiler(r, own) && !profile_is_profiler(r, other));
	CHECK_TEXT(name_of(own), "xpuprof");
	CHECK_TEXT(profile_thread_name(r, profile_thread(r, own), NULL), "xpuprof (profiler)");
	CHECK_TEXT(profile_thread_name(r, profile_thread(r, other), NULL), "xpuprof");
	end();
}

static void its_number_may_be_that_of_a_thread_of_the_programs_later(void)
{
	uint32_t own, next = 0, same;

	begin();
	CHECK(!tasks_exec(tasks, PID, 100, "train", "train"));
	CHECK(!tasks_thread(tasks, PID, PID + 1, "xpuprof", &own));
	tasks_new_thread(tasks, PID, PID + 1);
	CHECK(thread_of(PID, PID + 1) == own);
	CHECK(!tasks_set_profiler(tasks, own));
	tasks_new_thread(tasks, PID, PID + 1);
	CHECK(!tasks_thread(tasks, PID, PID + 1, "xpuprof", &next) && next != own);
	tasks_new_thread(tasks, PID, PID + 1);
	CHECK(!tasks_thread(tasks, PID, PID + 1, "xpuprof", &same) && same == next);
	look();
	CHECK(profile_is_profiler(r, own) && !profile_is_profiler(r, next));
	end();
}

static uint32_t thread_at(uint32_t pid, uint64_t time_ns)
{
	uint32_t thread = 0;

	CHECK(!tasks_thread_at(tasks, pid, pid, time_ns, "name", &thread));
	return thread;
}

static void a_thread_of_the_past_is_that_of_the_process_which_the_pid_was_then(void)
{
	uint32_t forked, executed, reused, none = 77;

	begin();
	CHECK(!tasks_fork(tasks, 0, PID, 200));
	CHECK(!tasks_exec(tasks, PID, 300, "one", ""));
	CHECK(!tasks_exit(tasks, PID, 400));
	executed = thread_at(PID, 300);
	CHECK(thread_at(PID, 1000) == executed);
	CHECK(!tasks_fork(tasks, 0, PID, 500));
	forked = thread_at(PID, 299);
	reused = thread_at(PID, 500);
	CHECK(thread_at(PID, 499) == executed);
	CHECK(tasks_thread_at(tasks, PID, PID, 199, NULL, &none) == -ENOENT && none == 77);
	CHECK(tasks_thread_at(tasks, PID + 1, PID + 1, 500, NULL, &none) == -ENOENT && none == 77);
	look();
	CHECK(profile_process(r, profile_thread(r, forked)->process)->start_ns == 200);
	CHECK(profile_process(r, profile_thread(r, executed)->process)->start_ns == 300);
	CHECK(profile_process(r, profile_thread(r, reused)->process)->start_ns == 500);
	CHECK_TEXT(name_of(executed), "name");
	end();
}

static void what_comes_long_after_a_process_ended_is_not_its_own(void)
{
	const uint64_t last_ns = 400 + TASKS_AFTER_EXIT_NS;
	uint32_t thread = 77;

	begin();
	CHECK(!tasks_fork(tasks, 0, PID, 200));
	CHECK(!tasks_exit(tasks, PID, 400));
	CHECK(thread_at(PID, last_ns) == thread_at(PID, 300));
	CHECK(tasks_thread_at(tasks, PID, PID, last_ns + 1, NULL, &thread) == -ENOENT &&
		thread == 77);
	CHECK(!tasks_fork(tasks, 0, PID, last_ns + 100));
	CHECK(tasks_thread_at(tasks, PID, PID, last_ns + 1, NULL, &thread) == -ENOENT &&
		thread == 77);
	CHECK(thread_at(PID, last_ns + 100) != thread_at(PID, 300));
	look();
	end();
}

static void a_pid_that_is_reused_is_another_process(void)
{
	uint32_t first, second, third, thread, late;

	begin();
	CHECK(!tasks_exec(tasks, PID, 100, "one", ""));
	first = process_of(PID);
	thread = thread_of(PID, PID);
	CHECK(!tasks_exit(tasks, PID, 200));
	CHECK(!tasks_fork(tasks, 0, PID, 300));
	second = process_of(PID);
	CHECK(first != second && thread_of(PID, PID) != thread);
	/* Its exit was missed: the fork alone says so. */
	CHECK(!tasks_fork(tasks, 0, PID, 400));
	third = process_of(PID);
	CHECK(third != second && third != first);
	CHECK(!tasks_exit(tasks, PID, 200) && !tasks_exit(tasks, PID, 200));
	CHECK(process_of(PID) != third);
	CHECK(!tasks_thread_of(tasks, first, PID, NULL, &late) && late == thread);
	look();
	CHECK_TEXT(comm_of(first), "one");
	CHECK_TEXT(comm_of(second), "");
	end();
}

static void the_same_thread_is_found_again(void)
{
	uint32_t thread, again;

	begin();
	CHECK(!tasks_thread(tasks, PID, PID + 7, "worker", &thread));
	CHECK(!tasks_thread(tasks, PID, PID + 7, "ignored", &again) && again == thread);
	CHECK(!tasks_thread(tasks, PID, PID + 8, "other", &again) && again != thread);
	look();
	CHECK_TEXT(name_of(thread), "worker");
	CHECK(profile_thread(r, thread)->tid == PID + 7);
	CHECK(profile_thread(r, thread)->process == profile_thread(r, again)->process);
	end();
}

static void a_new_name_replaces_the_old_one(void)
{
	uint32_t process, main_thread, worker, unseen;

	begin();
	CHECK(!tasks_exec(tasks, PID, 100, "python3", "python3 x.py"));
	process = process_of(PID);
	main_thread = thread_of(PID, PID);
	worker = thread_of(PID, PID + 1);
	CHECK(!tasks_rename(tasks, PID, PID, "pt_main"));
	CHECK(!tasks_rename(tasks, PID, PID + 1, "pt_worker"));
	CHECK(!tasks_rename(tasks, PID, PID + 2, "pt_unseen"));
	unseen = thread_of(PID, PID + 2);
	CHECK(thread_of(PID, PID) == main_thread && process_of(PID) == process);
	look();
	CHECK_TEXT(comm_of(process), "pt_main");
	CHECK_TEXT(cmdline_of(process), "python3 x.py");
	CHECK_TEXT(name_of(main_thread), "pt_main");
	CHECK_TEXT(name_of(worker), "pt_worker");
	CHECK_TEXT(name_of(unseen), "pt_unseen");
	end();
}

/* A child that waits, and goes on as a waiting shell when it is sent a byte. */
static pid_t start_child(int *ret_fd)
{
	int fds[2];
	char byte;
	pid_t pid;

	CHECK(!pipe(fds));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(fds[1]);
		prctl(PR_SET_NAME, "my child");
		dup2(fds[0], 0);
		if (read(0, &byte, 1) == 1)
			execl("/bin/sh", "sh", "-c", "read line; : a  b", NULL);
		_exit(0);
	}
	close(fds[0]);
	*ret_fd = fds[1];
	return pid;
}

static void stop_child(pid_t pid, int fd)
{
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Waits until a file of /proc/PID, NULs aside, begins with `text`: the child is under way by
 * itself. */
static void wait_for(pid_t pid, const char *name, const char *text)
{
	char file[64], found[64];

	snprintf(file, sizeof(file), "/proc/%d/%s", pid, name);
	for (int i = 0; i < 5000; i++) {
		FILE *f = fopen(file, "r");
		size_t size = f ? fread(found, 1, sizeof(found), f) : 0;

		if (f)
			fclose(f);
		if (size >= strlen(text) && !memcmp(found, text, strlen(text)))
			return;
		usleep(1000);
	}
}

static void an_unknown_pid_is_looked_up_with_its_names_start_and_parent(void)
{
	uint64_t before_ns = clock_now_ns();
	uint32_t own, child, thread;
	int fd;
	pid_t pid;

	begin();
	own = process_of((uint32_t)getpid());
	pid = start_child(&fd);
	wait_for(pid, "comm", "my child");
	child = process_of((uint32_t)pid);
	thread = thread_of((uint32_t)pid, (uint32_t)pid);
	CHECK(process_of((uint32_t)pid) == child);
	stop_child(pid, fd);
	look();
	CHECK_TEXT(comm_of(child), "my child");
	CHECK_TEXT(name_of(thread), "my child");
	CHECK(strstr(cmdline_of(own), "tasks_test"));
	CHECK(profile_process(r, child)->parent == own);
	/* The kernel counts in hundredths of a second. */
	CHECK(profile_process(r, child)->start_ns + 20 * NS_PER_MS > before_ns);
	CHECK(profile_process(r, child)->start_ns < clock_now_ns());
	end();
}

static void exec_is_noticed_by_a_look_up_where_no_events_come(void)
{
	uint32_t before, after;
	int fd;
	pid_t pid;

	begin();
	pid = start_child(&fd);
	wait_for(pid, "comm", "my child");
	before = process_of((uint32_t)pid);
	CHECK(write(fd, "x", 1) == 1);
	wait_for(pid, "cmdline", "sh");
	after = process_of((uint32_t)pid);
	CHECK(before != after && process_of((uint32_t)pid) == after);
	stop_child(pid, fd);
	look();
	CHECK_TEXT(comm_of(before), "my child");
	CHECK_TEXT(comm_of(after), "sh");
	CHECK_TEXT(cmdline_of(after), "sh -c read line; : a  b");
	end();
}

static void a_process_that_ends_is_still_the_one_it_was(void)
{
	siginfo_t ended;
	uint32_t child;
	int fd;
	pid_t pid;

	begin();
	pid = start_child(&fd);
	wait_for(pid, "comm", "my child");
	child = process_of((uint32_t)pid);
	kill(pid, SIGKILL);
	/* It has ended and stays in /proc until it is waited for. */
	CHECK(!waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT));
	CHECK(process_of((uint32_t)pid) == child);
	stop_child(pid, fd);
	CHECK(process_of((uint32_t)pid) == child);
	look();
	end();
}

static void events_from_before_a_look_up_are_about_what_was_found(void)
{
	uint64_t fork_ns = clock_now_ns();
	uint32_t child, own;
	int fd;
	pid_t pid;

	begin();
	own = process_of((uint32_t)getpid());
	pid = start_child(&fd);
	wait_for(pid, "comm", "my child");
	child = process_of((uint32_t)pid);
	CHECK(!tasks_fork(tasks, (uint32_t)getpid(), (uint32_t)pid, fork_ns));
	CHECK(!tasks_exec(tasks, (uint32_t)pid, fork_ns + 1, "my child", NULL));
	CHECK(process_of((uint32_t)pid) == child);
	CHECK(!tasks_exec(tasks, (uint32_t)pid, clock_now_ns(), "next", NULL));
	CHECK(process_of((uint32_t)pid) != child);
	stop_child(pid, fd);
	look();
	CHECK(profile_process(r, child)->parent == own);
	CHECK(profile_process(r, child)->start_ns == fork_ns);
	end();
}

static void long_command_lines_are_cut(void)
{
	static char cmdline[100000];
	uint32_t process;

	memset(cmdline, 'x', sizeof(cmdline) - 1);
	begin();
	CHECK(!tasks_exec(tasks, PID, 1,
		"a name that no kernel would have given to any thread at all, ever", cmdline));
	process = process_of(PID);
	look();
	CHECK(strlen(cmdline_of(process)) == 4096);
	CHECK(strlen(comm_of(process)) == 64);
	end();
}

static void a_long_command_line_of_a_running_process_is_cut_not_lost(void)
{
	static char argument[20000];
	uint32_t process;
	int fds[2];
	pid_t pid;

	memset(argument, 'y', sizeof(argument) - 1);
	CHECK(!pipe(fds));
	fflush(stdout);
	begin();
	pid = fork();
	if (!pid) {
		dup2(fds[0], 0);
		close(fds[1]);
		execl("/bin/sh", "sh", "-c", "read line", argument, NULL);
		_exit(1);
	}
	wait_for(pid, "cmdline", "sh");
	process = process_of((uint32_t)pid);
	stop_child(pid, fds[1]);
	close(fds[0]);
	look();
	CHECK(strlen(cmdline_of(process)) == 4096);
	CHECK(!strncmp(cmdline_of(process), "sh -c read line yyy", 19));
	end();
}

/* ------------------------------------------------------------------ without an end */

static void begin_with(struct tasks_limits limits)
{
	begin();
	tasks_limit(tasks, limits);
}

static uint64_t lost(enum profile_loss loss)
{
	return profile_loss_count(r, loss);
}

static void processes_beyond_a_number_are_one_and_counted(void)
{
	const struct tasks_limits two = {.processes = 2 * 256, .threads = 4096, .names = 4096};
	uint32_t first, second, third, fourth, thread;

	begin_with(two);
	CHECK(!tasks_exec(tasks, PID, 100, "sh", "sh"));
	CHECK(!tasks_fork(tasks, PID, PID + 1, 200));
	CHECK(!tasks_fork(tasks, PID, PID + 2, 300) && !tasks_fork(tasks, PID + 2, PID + 3, 310));
	CHECK(!tasks_rename(tasks, PID + 2, PID + 2, "other"));
	first = process_of(PID);
	second = process_of(PID + 1);
	third = process_of(PID + 2);
	fourth = process_of(PID + 3);
	thread = thread_of(PID + 2, PID + 9);
	CHECK(first != second && second != third && third == fourth);
	CHECK(thread == thread_of(PID + 3, PID + 3));
	/* What was there stays what it was. */
	CHECK(process_of(PID) == first && thread_of(PID, PID) != thread);
	CHECK(!tasks_exit(tasks, PID + 2, 400) && !tasks_exit(tasks, PID + 3, 400));
	CHECK(process_of(PID + 2) == third); /* looked up in /proc, where it is not */
	look();
	CHECK_TEXT(comm_of(third), PROCESSES_LEFT_OUT);
	CHECK_TEXT(name_of(thread), THREADS_LEFT_OUT);
	CHECK(lost(LOSS_PROCESSES_CUT) == 3 && !lost(LOSS_THREADS_CUT));
	end();
}

static void a_pid_of_a_process_that_is_left_out_is_not_an_earlier_one(void)
{
	uint32_t first, thread;

	begin_with((struct tasks_limits){256, 4096, 4096});
	CHECK(!tasks_exec(tasks, PID, 100, "sh", "sh"));
	first = process_of(PID);
	CHECK(!tasks_fork(tasks, 1, PID, 200)); /* its end was lost */
	CHECK(process_of(PID) != first);
	CHECK(tasks_thread_at(tasks, PID, PID, 2ull * TASKS_AFTER_EXIT_NS, NULL, &thread) ==
		-ENOENT);
	look();
	end();
}

static void threads_beyond_a_number_are_one_of_their_process(void)
{
	uint32_t first, second, third, other;

	begin_with((struct tasks_limits){4096, 2 * 128, 4096});
	CHECK(!tasks_exec(tasks, PID, 100, "sh", "sh") &&
		!tasks_exec(tasks, PID + 5, 100, "x", "x"));
	first = thread_of(PID, PID);
	CHECK(thread_of(PID, PID + 1) != first);
	second = thread_of(PID, PID + 2);
	third = thread_of(PID, PID + 3);
	other = thread_of(PID + 5, PID + 5);
	CHECK(second == third && second != first && other != second);
	CHECK(!tasks_rename(tasks, PID, PID + 2, "mine"));
	CHECK(!tasks_set_profiler(tasks, second) && !tasks_is_profiler(tasks, second));
	CHECK(thread_of(PID, PID) == first);
	look();
	CHECK_TEXT(name_of(second), THREADS_LEFT_OUT);
	CHECK(profile_thread(r, second)->process != profile_thread(r, other)->process);
	CHECK(lost(LOSS_THREADS_CUT) == 4);
	end();
}

static void without_room_a_thread_keeps_its_name(void)
{
	uint32_t thread, process;

	begin_with((struct tasks_limits){4096, 4096, 200});
	CHECK(!tasks_exec(tasks, PID, 100, "first", "first"));
	thread = thread_of(PID, PID);
	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		CHECK(!tasks_rename(tasks, PID, PID, name));
	}
	CHECK(!tasks_exec(tasks, PID + 1, 200, "sh", "sh -c true"));
	process = process_of(PID + 1);
	/* What is there already costs nothing. */
	CHECK(!tasks_rename(tasks, PID, PID, "first"));
	look();
	CHECK_TEXT(name_of(thread), "first");
	CHECK_TEXT(cmdline_of(process), NAME_LEFT_OUT);
	CHECK(lost(LOSS_TASK_NAMES_CUT) > 90);
	end();
}

static size_t in_use(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

#define MOST ((uint64_t)4 << 20)

/* At most twice as much, as arrays double. */
static void what_programs_make_it_keep_takes_as_much_memory_as_it_may(void)
{
	uint32_t number = 0;
	size_t before;

	begin_with((struct tasks_limits){MOST, MOST, MOST});
	before = in_use();
	for (uint32_t pid = PID; pid < PID + 200000; pid++) {
		char name[16];

		snprintf(name, sizeof(name), "n%x", number++);
		CHECK(!tasks_fork(tasks, pid - 1, pid, number));
		CHECK(!tasks_exec(tasks, pid, number, name, "x"));
		CHECK(!tasks_rename(tasks, pid, pid, name));
		CHECK(!tasks_exit(tasks, pid, number));
	}
	CHECK(in_use() - before < 4 * MOST + (8 << 20)); /* and buffers of the file's */
	look();
	CHECK(lost(LOSS_PROCESSES_CUT));
	end();
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	RUN(a_forked_process_is_a_new_one_with_its_parents_name);
	RUN(a_thread_of_the_profilers_stays_one_whatever_it_is_called);
	RUN(its_number_may_be_that_of_a_thread_of_the_programs_later);
	RUN(exec_begins_a_new_process_image_under_the_same_pid);
	RUN(a_thread_of_the_past_is_that_of_the_process_which_the_pid_was_then);
	RUN(what_comes_long_after_a_process_ended_is_not_its_own);
	RUN(a_pid_that_is_reused_is_another_process);
	RUN(the_same_thread_is_found_again);
	RUN(a_new_name_replaces_the_old_one);
	RUN(an_unknown_pid_is_looked_up_with_its_names_start_and_parent);
	RUN(exec_is_noticed_by_a_look_up_where_no_events_come);
	RUN(a_process_that_ends_is_still_the_one_it_was);
	RUN(events_from_before_a_look_up_are_about_what_was_found);
	RUN(long_command_lines_are_cut);
	RUN(a_long_command_line_of_a_running_process_is_cut_not_lost);
	RUN(processes_beyond_a_number_are_one_and_counted);
	RUN(a_pid_of_a_process_that_is_left_out_is_not_an_earlier_one);
	RUN(threads_beyond_a_number_are_one_of_their_process);
	RUN(without_room_a_thread_keeps_its_name);
	RUN(what_programs_make_it_keep_takes_as_much_memory_as_it_may);
	unlink(path);
	return tap_end();
}
