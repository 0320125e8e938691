// SPDX-License-Identifier: MIT
/* Where code objects are, as AMD's runtime says it: what it means, and what is read of it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/rocprofiler/locations.h"
#include "random.h"
#include "tap.h"

static void a_path_has_bytes_as_numbers_and_a_part(void)
{
	struct location l;

	CHECK(location_parse("file:///opt/a%20b%2F%c3%BC#offset=8192&size=0x10", &l));
	CHECK_TEXT(l.path, "/opt/a b/\xc3\xbc");
	CHECK(l.offset == 8192 && l.size == 16);
	CHECK(location_parse("file:///a", &l) && !l.offset && !l.size);
}

static void what_is_in_no_file_or_makes_no_sense_is_refused(void)
{
	static const char *const bad[] = {"", "file:", "file://", "file://a",
		"memory://1#offset=2&size=3", "file:///a%", "file:///a%4", "file:///a%g0",
		"file:///a%00", "file:///a#", "file:///a#offset",
		"file:///a#offset=", "file:///a#offset=-1", "file:///a#offset=1x",
		"file:///a#offset=99999999999999999999", "file:///a#other=1", "file:///a#size=1&"};
	char longest[PATH_MAX + 32] = "file:///";
	struct location l;

	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++)
		if (location_parse(bad[n], &l)) {
			printf("# accepted: %s\n", bad[n]);
			tap_ok = false;
		}
	memset(longest + 8, 'a', PATH_MAX);
	CHECK(!location_parse(longest, &l));
}

static void any_bytes_are_read_within_their_end(void)
{
	static const char letters[] = "file:///%20#&?offset=size=0123456789abcxg";

	for (int n = 0; n < 200000; n++) {
		size_t size = random_below(64);
		char *text = malloc(size + 1);
		struct location l;

		if (!text)
			abort();
		for (size_t i = 0; i < size; i++)
			text[i] = i < 8 && n % 2 ? "file:///"[i]
						 : letters[random_below(sizeof(letters) - 1)];
		text[size] = '\0';
		if (location_parse(text, &l))
			CHECK(l.path[0] == '/' && strlen(l.path) < size);
		free(text);
	}
}

static void the_part_of_the_file_is_read(void)
{
	char path[] = "/tmp/locations_XXXXXX", fifo[64];
	int fd = mkstemp(path);
	struct location l = {.offset = 2, .size = 3};
	char *bytes;

	CHECK(fd >= 0 && write(fd, "abcdefgh", 8) == 8);
	close(fd);
	strcpy(l.path, path);
	bytes = location_read(&l);
	CHECK(bytes && !memcmp(bytes, "cde", 3));
	munmap(bytes, 3);
	l.size = 0;
	bytes = location_read(&l);
	CHECK(bytes && l.size == 6 && !memcmp(bytes, "cdefgh", 6));
	munmap(bytes, 6);
	l.size = 7;
	CHECK(!location_read(&l)); /* more than it has */
	l.offset = 8;
	l.size = 0;
	CHECK(!location_read(&l));
	l.offset = UINT64_MAX;
	l.size = 2;
	CHECK(!location_read(&l));
	unlink(path);
	l = (struct location){.path = "/tmp"};
	CHECK(!location_read(&l));
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	CHECK(!mkfifo(fifo, 0600));
	strcpy(l.path, fifo);
	CHECK(!location_read(&l)); /* and nobody is waited for */
	unlink(fifo);
}

int main(void)
{
	RUN(a_path_has_bytes_as_numbers_and_a_part);
	RUN(what_is_in_no_file_or_makes_no_sense_is_refused);
	RUN(any_bytes_are_read_within_their_end);
	RUN(the_part_of_the_file_is_read);
	return tap_end();
}
