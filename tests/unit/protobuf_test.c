// SPDX-License-Identifier: MIT
/* Messages as they are written: the examples of the encoding's description, and what protoc
 * reads. */
#include "base/protobuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

static bool is_bytes(const struct buf *b, const char *bytes, size_t size)
{
	return !b->failed && b->size == size && !memcmp(b->data, bytes, size);
}

static void bytes_are_those_of_the_description(void)
{
	struct buf b = BUF_INIT;
	size_t mark;

	protobuf_number(&b, 1, 150);
	CHECK(is_bytes(
		&b, "\x08\x96\x01", 3)); /* a number has seven bits a byte, the lowest first */
	buf_reset(&b);
	protobuf_bytes(&b, 2, "testing", 7);
	CHECK(is_bytes(&b, "\x12\x07testing", 9)); /* bytes have their size in front */
	buf_reset(&b);
	mark = protobuf_begin(&b, 3);
	protobuf_number(&b, 1, 150);
	protobuf_end(&b, mark);
	CHECK(is_bytes(&b, "\x1a\x03\x08\x96\x01", 5)); /* and so has a message */
	buf_reset(&b);
	mark = protobuf_begin(&b, 6);
	protobuf_packed(&b, 3);
	protobuf_packed(&b, 270);
	protobuf_packed(&b, 86942);
	protobuf_end(&b, mark);
	CHECK(is_bytes(
		&b, "\x32\x06\x03\x8e\x02\x9e\xa7\x05", 8)); /* packed numbers have no fields */
	buf_reset(&b);
	protobuf_double(&b, 1, 1.5);
	CHECK(is_bytes(
		&b, "\x09\0\0\0\0\0\0\xf8\x3f", 9)); /* a double is eight bytes, the lowest first */
	buf_reset(&b);
	protobuf_number(&b, 1, UINT64_MAX);
	CHECK(is_bytes(&b, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		11)); /* the largest number has ten bytes */
	buf_reset(&b);
	protobuf_printable(&b, 1, "a\033\xff", 3);
	CHECK(is_bytes(&b,
		"\x0a\x09"
		"a\\x1b\\xff",
		11)); /* strings are made printable */
	buf_release(&b);
}

/* Each message in the next, `depth` of them, around a string of `size` bytes. */
static void nest(struct buf *b, unsigned int depth, size_t size)
{
	char text[70000];
	size_t mark;

	memset(text, 'o', sizeof(text));
	if (!depth) {
		protobuf_bytes(b, 1, text, size);
		return;
	}
	mark = protobuf_begin(b, depth + 1);
	nest(b, depth - 1, size);
	protobuf_number(b, 1, depth);
	protobuf_end(b, mark);
}

/* What protoc reads from the bytes, without blanks and line ends; NULL: there is no protoc. */
static char *read_back(const struct buf *b)
{
	char path[] = "/tmp/protobuf_test.XXXXXX", command[128],
	     *text = calloc(1, b->size * 2 + 1000);
	int fd = mkstemp(path), c;
	size_t n = 0;
	FILE *pipe;

	if (!text || fd < 0 || write(fd, b->data, b->size) != (ssize_t)b->size)
		abort();
	close(fd);
	snprintf(command, sizeof(command), "protoc --decode_raw <%s 2>&1", path);
	pipe = popen(command, "r");
	while (pipe && (c = getc(pipe)) != EOF && n < b->size * 2 + 999)
		if (c != ' ' && c != '\n')
			text[n++] = (char)c;
	if (pipe)
		pclose(pipe);
	unlink(path);
	return text;
}

static void protoc_reads_messages_of_all_sizes(void)
{
	static const size_t sizes[] = {
		1, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 16370, 16384, 70000};

	if (system("protoc --version >/dev/null 2>&1")) {
		SKIP("no protoc (Debian: protobuf-compiler)");
		return;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct buf b = BUF_INIT, expected = BUF_INIT;
		char *got;

		nest(&b, 3, sizes[i]);
		protobuf_number(&b, 536870911, 7);
		got = read_back(&b);
		buf_puts(&expected, "4{3{2{1:\"");
		for (size_t x = 0; x < sizes[i]; x++)
			buf_putc(&expected, 'o');
		buf_puts(&expected, "\"1:1}1:2}1:3}536870911:7");
		CHECK(!strcmp(got, expected.data));
		free(got);
		buf_release(&b);
		buf_release(&expected);
	}
}

int main(void)
{
	RUN(bytes_are_those_of_the_description);
	RUN(protoc_reads_messages_of_all_sizes);
	return tap_end();
}
