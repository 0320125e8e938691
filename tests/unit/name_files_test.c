// SPDX-License-Identifier: MIT
/* What jitdumps may take of a recording's time. This program is also what reads them, as slowly as
 * it is told. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sandbox/limits.h"
#include "sandbox/reader.h"
#include "sandbox/sandbox.h"
#include "symbolize/name_files.h"
#include "tap.h"

#define TAKES_NS (30 * NS_PER_MS)
#define HANGS	 0xdead0000u /* an address */

static const char answer[] = "what the reader says";

static void answer_as_told(void)
{
	const int none[MESSAGE_FDS] = {-1, -1};
	const struct timespec takes = {.tv_nsec = TAKES_NS};
	struct buf request = BUF_INIT;
	struct jit_place place = {0};
	int kind, fds[MESSAGE_FDS];

	while (!sandbox_receive(SANDBOX_SOCKET, &request, REQUEST_BYTES, &kind, fds)) {
		sandbox_close(fds);
		if (kind == READER_JITDUMP)
			memcpy(&place, request.data + sizeof(struct places), sizeof(place));
		if (place.address == HANGS)
			pause();
		nanosleep(&takes, NULL);
		sandbox_send(SANDBOX_SOCKET, 0, answer, sizeof(answer), none);
	}
	buf_release(&request);
}

static struct child *reader;
static struct name_files files;

static void begin(uint64_t dumps_left_ns)
{
	reader = child_new("/proc/self/exe", SANDBOX_READER, -1);
	files = (struct name_files){0};
	name_files_init(&files, NULL, reader);
	CHECK(files.dumps_left_ns == DUMPS_READ_NS);
	files.dumps_left_ns = dumps_left_ns;
}

static void end(void)
{
	name_files_release(&files);
	child_free(reader);
}

static int ask(uint64_t address, struct buf *ret)
{
	const struct jit_place place = {.address = address};
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), error;

	buf_reset(ret);
	error = name_files_jitdump(&files, fd, &place, 1, ret);
	close(fd);
	return error;
}

static void a_jitdump_takes_its_time_also_if_it_is_answered(void)
{
	struct buf b = BUF_INIT;

	begin(10 * NS_PER_SECOND);
	for (uint64_t n = 1; n <= 3; n++) {
		CHECK(ask(1, &b) == 0 && b.size == sizeof(answer));
		CHECK(files.dumps_left_ns <= 10 * NS_PER_SECOND - n * TAKES_NS);
	}
	CHECK(files.dumps_left_ns && !files.failures && files.read_left_ns == NAMES_READ_LOST_NS);
	buf_release(&b);
	end();
}

static void when_the_time_is_spent_no_more_are_read(void)
{
	struct names_question q = {.fd = -1, .debug_fd = -1};
	struct buf b = BUF_INIT;
	int asked = 0, read = 0;

	begin(8 * TAKES_NS);
	for (; asked < 100 && files.dumps_left_ns >= 2 * NS_PER_MS; asked++)
		read += !ask(1, &b);
	CHECK(asked < 100 && read <= 8);
	CHECK(ask(1, &b) == -EBUSY);
	CHECK(name_files_map_names(&files, &q, &b) == 0 && b.size == sizeof(answer));
	buf_release(&b);
	end();
}

/* Each takes half of what is left. */
static void those_that_are_never_answered_take_no_more_than_that_together(void)
{
	uint64_t left_ns = 400 * NS_PER_MS;
	struct buf b = BUF_INIT;
	int asked = 0, error;

	begin(left_ns);
	while ((error = ask(HANGS, &b)) == -ETIME && asked < 9) {
		CHECK(files.dumps_left_ns <= left_ns - left_ns / 2);
		left_ns = files.dumps_left_ns;
		asked++;
	}
	CHECK(asked && asked < 9 && error == -EBUSY);
	buf_release(&b);
	end();
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], SANDBOX_COMMAND)) {
		answer_as_told();
		return 0;
	}
	RUN(a_jitdump_takes_its_time_also_if_it_is_answered);
	RUN(when_the_time_is_spent_no_more_are_read);
	RUN(those_that_are_never_answered_take_no_more_than_that_together);
	return tap_end();
}
