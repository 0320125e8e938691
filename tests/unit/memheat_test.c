// SPDX-License-Identifier: MIT
/* The picture of memory, of a recording that may say anything. */
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "ebpf/tools/tools.h"
#include "export/exporter.h"
#include "folder.h"
#include "profile/writer.h"
#include "tap.h"

#define PICTURE_MAX (1u << 20)

static uint32_t string(struct profile_writer *w, const void *text, size_t size)
{
	uint32_t id = 0;

	CHECK(!profile_add_string(w, text, size, &id));
	return id;
}

static struct profile_writer *begin(void)
{
	const struct ebpf_tool *tool = ebpf_tool_named("memheat");
	struct profile_probe_object o = {0};
	struct profile_probe_context context = {0};
	struct profile_probe_map map = {.object = 1, .number = 0};
	struct profile_writer *w = NULL;
	uint32_t id;

	CHECK(!profile_writer_open(&w, in_folder("m.xpu")));
	o.name = o.tool = string(w, "memheat", 7);
	o.file = string(w, tool->start, (size_t)(tool->end - tool->start));
	CHECK(!profile_add_probe_object(w, &o, &id));
	CHECK(!profile_add_probe_map(w, &map, &id));
	CHECK(!profile_add_probe_context(w, &context, &id));
	return w;
}

static void cell(struct profile_writer *w, uint64_t page, uint64_t time, uint64_t bytes)
{
	uint64_t numbers[] = {page, time, bytes};
	struct profile_found f = {
		.map = 1, .context = 1, .size = sizeof(numbers), .bytes = (const uint8_t *)numbers};

	CHECK(!profile_write_found(w, &f));
}

static void draw(struct profile_writer *w, struct buf *picture)
{
	struct export_options options = EXPORT_OPTIONS_INIT;
	struct export_result result = {0};
	struct output *o = NULL;

	CHECK(!profile_writer_close(w));
	CHECK(!output_open(&o, NULL, in_folder("m.svg")));
	CHECK(!export_memheat(in_folder("m.xpu"), &options, o, &result));
	CHECK(!output_commit(o));
	CHECK(!io_read_file(in_folder("m.svg"), PICTURE_MAX, picture));
}

/* As many cells as there are, each with a colour. */
static size_t count_colours(const char *picture)
{
	size_t count = 0;

	for (const char *at = picture; (at = strstr(at, "fill=\"#")); count++) {
		at += strlen("fill=\"#");
		CHECK(strspn(at, "0123456789abcdef") == 6 && at[6] == '"');
	}
	return count;
}

static void sums_that_are_too_large_are_the_largest(void)
{
	struct profile_writer *w = begin();
	struct buf picture = BUF_INIT;

	/* So long that two times are one column each: the sums are 2^64. */
	for (uint64_t time = 0; time < 400; time += 398) {
		cell(w, 7, time, 1ull << 63);
		cell(w, 7, time + 1, 1ull << 63);
	}
	draw(w, &picture);
	CHECK(count_colours(buf_text(&picture)) == 1 + 2);
	CHECK(strstr(buf_text(&picture), "darkest: ") && !strstr(buf_text(&picture), "darkest: 0"));
	buf_release(&picture);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(sums_that_are_too_large_are_the_largest);
	unlink(in_folder("m.xpu"));
	unlink(in_folder("m.svg"));
	rmdir(folder);
	return tap_end();
}
