// SPDX-License-Identifier: MIT
/* Writing from a thread of its own (base/write_behind.h). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/write_behind.h"
#include "tap.h"

#define LIMIT	   (1u << 20)
#define PIPE_BYTES 65536 /* what a pipe holds at most by itself */

static bool has_data(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 10000) == 1;
}

/* Reads numbers that count up; how many came until the end. */
static void *count_numbers(void *context)
{
	uint32_t number, *count = context;
	int fd = (int)*count;

	for (*count = 0; read(fd, &number, sizeof(number)) == sizeof(number) && number == *count;)
		++*count;
	return NULL;
}

static void data_arrives_in_order_and_whole(void)
{
	struct write_behind *wb;
	uint32_t count;
	pthread_t reader;
	int fds[2];

	CHECK(!pipe(fds) && !write_behind_new(&wb, fds[1], 4096));
	count = (uint32_t)fds[0];
	pthread_create(&reader, NULL, count_numbers, &count);
	for (uint32_t n = 0; n < 100000; n++)
		CHECK(!write_behind_put(wb, &n, sizeof(n)));
	write_behind_free(wb);
	close(fds[1]);
	pthread_join(reader, NULL);
	CHECK(count == 100000);
	close(fds[0]);
}

static void a_file_that_stalls_does_not_stop_the_caller_before_the_limit(void)
{
	static char block[PIPE_BYTES], back[PIPE_BYTES];
	struct write_behind *wb;
	size_t total = 0;
	int fds[2];

	CHECK(!pipe(fds) && !write_behind_new(&wb, fds[1], LIMIT));
	alarm(20); /* it would stand still for ever */
	for (; total + sizeof(block) <= LIMIT; total += sizeof(block))
		CHECK(!write_behind_put(wb, block, sizeof(block)));
	alarm(0);
	while (total && has_data(fds[0]))
		total -= (size_t)read(fds[0], back, sizeof(back));
	CHECK(total == 0);
	CHECK(!write_behind_wait(wb));
	write_behind_free(wb);
	close(fds[0]);
	close(fds[1]);
}

static void a_signal_ends_the_wait_for_a_reader_that_does_not_read(void)
{
	static char block[2 * PIPE_BYTES];
	struct write_behind *wb;
	sigset_t term, before;
	int fds[2], number;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, &before);
	CHECK(!pipe(fds) && !write_behind_new(&wb, fds[1], LIMIT));
	CHECK(!write_behind_put(wb, block, sizeof(block)));
	kill(getpid(), SIGTERM);
	alarm(20); /* it would stand still for ever */
	CHECK(write_behind_wait(wb) == -EINTR);
	write_behind_free(wb);
	alarm(0);
	CHECK(!sigwait(&term, &number) && number == SIGTERM);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(fds[0]);
	close(fds[1]);
}

static void after_waiting_everything_is_in_the_file(void)
{
	char path[] = "/tmp/xpuprof-test-XXXXXX";
	static char block[300000];
	struct write_behind *wb;
	int fd = mkstemp(path);

	CHECK(fd >= 0 && !write_behind_new(&wb, fd, LIMIT));
	for (int i = 0; i < 10; i++)
		CHECK(!write_behind_put(wb, block, sizeof(block)));
	CHECK(!write_behind_wait(wb));
	CHECK(lseek(fd, 0, SEEK_END) == 10 * (off_t)sizeof(block));
	write_behind_free(wb);
	close(fd);
	unlink(path);
}

static void a_full_disk_is_told_and_told_again(void)
{
	struct write_behind *wb = NULL;
	int fd = open("/dev/full", O_WRONLY);

	CHECK(fd >= 0 && !write_behind_new(&wb, fd, LIMIT));
	(void)write_behind_put(wb, "lost", 4); /* told now or later */
	CHECK(write_behind_wait(wb) == -ENOSPC);
	CHECK(write_behind_put(wb, "more", 4) == -ENOSPC);
	CHECK(write_behind_wait(wb) == -ENOSPC);
	write_behind_free(wb);
	close(fd);
}

static void a_file_that_is_full_ends_with_a_whole_put(void)
{
	char path[] = "/tmp/xpuprof-test-XXXXXX";
	static char block[3000];
	struct rlimit before, small;
	struct write_behind *wb;
	int fd = mkstemp(path);

	signal(SIGXFSZ, SIG_IGN);
	CHECK(fd >= 0 && write(fd, "head", 4) == 4 && !write_behind_new(&wb, fd, LIMIT));
	CHECK(!getrlimit(RLIMIT_FSIZE, &before));
	small = (struct rlimit){.rlim_cur = 10000, .rlim_max = before.rlim_max};
	CHECK(!setrlimit(RLIMIT_FSIZE, &small));
	for (int i = 0; i < 5; i++)
		(void)write_behind_put(wb, block, sizeof(block)); /* told now or later */
	CHECK(write_behind_wait(wb) == -EFBIG);
	CHECK(write_behind_written(wb) == 9000);
	CHECK(lseek(fd, 0, SEEK_END) == 9004);
	CHECK(!setrlimit(RLIMIT_FSIZE, &before));
	write_behind_free(wb);
	close(fd);
	unlink(path);
}

static void nothing_is_written_after_a_failure(void)
{
	struct write_behind *wb;
	int fds[2], again[2];
	char byte;

	signal(SIGPIPE, SIG_IGN);
	CHECK(!pipe(fds));
	close(fds[0]);
	CHECK(!write_behind_new(&wb, fds[1], LIMIT));
	(void)write_behind_put(wb, "lost", 4);
	CHECK(write_behind_wait(wb) == -EPIPE);
	/* From here on the descriptor would take everything. */
	CHECK(!pipe2(again, O_NONBLOCK) && dup2(again[1], fds[1]) == fds[1]);
	CHECK(write_behind_put(wb, "more", 4) == -EPIPE);
	write_behind_free(wb);
	CHECK(read(again[0], &byte, 1) < 0 && errno == EAGAIN);
	close(again[0]);
	close(again[1]);
	close(fds[1]);
}

static void freeing_nothing_or_what_was_never_used_is_fine(void)
{
	struct write_behind *wb;

	write_behind_free(NULL);
	CHECK(!write_behind_new(&wb, -1, LIMIT));
	CHECK(!write_behind_wait(wb));
	write_behind_free(wb);
}

int main(void)
{
	RUN(data_arrives_in_order_and_whole);
	RUN(a_file_that_stalls_does_not_stop_the_caller_before_the_limit);
	RUN(a_signal_ends_the_wait_for_a_reader_that_does_not_read);
	RUN(after_waiting_everything_is_in_the_file);
	RUN(a_full_disk_is_told_and_told_again);
	RUN(a_file_that_is_full_ends_with_a_whole_put);
	RUN(nothing_is_written_after_a_failure);
	RUN(freeing_nothing_or_what_was_never_used_is_fine);
	return tap_end();
}
