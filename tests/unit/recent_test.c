// SPDX-License-Identifier: MIT
/* The latest part of a recording that comes as a stream: whole tables, the events that are kept,
 * nothing of what is damaged. */
#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "folder.h"
#include "profile/format.h"
#include "profile/reader.h"
#include "profile/recent.h"
#include "profile/writer.h"
#include "tap.h"

#define CHUNKS	 4
#define SAMPLES	 1000 /* between flushes */
#define NO_LIMIT UINT64_MAX

/* Of the n-th sample. */
static uint64_t time_of(uint64_t n)
{
	return 1000000 + 3 * n;
}

/* A profile with CHUNKS flushes of events, each with a stack and a name of its own. */
static void make(struct buf *bytes)
{
	struct profile_writer *w;
	struct profile_sample sample = {.period_ns = 10, .thread = 1};
	char name[32];
	uint32_t id;

	CHECK(!profile_writer_open(&w, in_folder("recent.xpu")));
	CHECK(!profile_set_meta(w, META_START_NS, "77"));
	CHECK(!profile_add_process(w, &(struct profile_process){.pid = 7}, &id));
	CHECK(!profile_add_thread(w, &(struct profile_thread){.process = id, .tid = 7}, &id));
	for (unsigned int c = 1; c <= CHUNKS; c++) {
		struct profile_location l = {.kind = FRAME_PYTHON};

		snprintf(name, sizeof(name), "function %u", c);
		CHECK(!profile_add_string(w, name, strlen(name), &l.name));
		CHECK(!profile_add_location(w, &l, &id));
		CHECK(!profile_add_stack_node(w, 0, id, &sample.stack));
		for (unsigned int n = 0; n < SAMPLES; n++) {
			sample.time_ns = time_of((c - 1) * SAMPLES + n);
			CHECK(!profile_write_sample(w, &sample));
		}
		CHECK(!profile_count_loss(w, LOSS_TABLES_FULL, 1));
		CHECK(!profile_writer_flush(w));
	}
	CHECK(!profile_writer_close(w));
	CHECK(!io_read_file(in_folder("recent.xpu"), 1 << 24, bytes));
}

struct seen {
	uint64_t samples, first_ns, losses, start_ns;
	uint32_t stacks;
	bool damaged;
};

static struct seen look(const struct recent *r)
{
	struct seen seen = {0};
	struct profile_reader *reader;
	struct profile_event e;

	CHECK(!profile_reader_open(&reader, recent_path(r)));
	while (profile_reader_next(reader, &e) > 0) {
		seen.first_ns = seen.samples++ ? seen.first_ns : e.sample.time_ns;
		CHECK(profile_stack_node(reader, e.sample.stack));
	}
	seen.losses = profile_loss_count(reader, LOSS_TABLES_FULL);
	seen.start_ns = profile_meta_number(reader, META_START_NS, 0);
	seen.stacks = profile_counts(reader).stack_nodes;
	seen.damaged = !strstr(profile_reader_incomplete(reader) ?: "", "without");
	profile_reader_close(reader);
	return seen;
}

static void add_all(struct recent *r, const struct buf *bytes, size_t step)
{
	for (size_t at = 0; at < bytes->size; at += step)
		CHECK(!recent_add(r, bytes->data + at,
			bytes->size - at < step ? bytes->size - at : step, 1000 + at));
}

static void it_comes_in_pieces_of_any_size(void)
{
	static const size_t steps[] = {1, 7, 4096, 1 << 20};
	struct buf bytes = BUF_INIT;

	make(&bytes);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct recent *r;
		struct seen seen;

		CHECK(!recent_new(&r));
		CHECK(recent_publish(r) == -EAGAIN);
		add_all(r, &bytes, steps[i]);
		CHECK(!recent_publish(r));
		seen = look(r);
		CHECK(seen.samples == CHUNKS * SAMPLES && seen.stacks == CHUNKS);
		CHECK(seen.losses == CHUNKS && seen.start_ns == 77);
		CHECK(recent_since_ns(r) == 0);
		recent_free(r);
	}
	buf_release(&bytes);
}

static void what_is_forgotten_leaves_its_tables(void)
{
	struct buf bytes = BUF_INIT;
	struct recent *r;
	struct seen seen;
	uint64_t kept;

	make(&bytes);
	CHECK(!recent_new(&r));
	add_all(r, &bytes, 16);
	recent_forget(r, 1000 + bytes.size / 2, NO_LIMIT);
	CHECK(recent_since_ns(r) > 1000 && recent_since_ns(r) < 1000 + bytes.size / 2);
	CHECK(!recent_publish(r));
	seen = look(r);
	kept = seen.samples;
	CHECK(kept && kept < CHUNKS * SAMPLES && seen.stacks == CHUNKS);
	CHECK(seen.first_ns == time_of(CHUNKS * SAMPLES - kept));
	/* It goes on, behind what readers have seen. */
	recent_forget(r, 0, bytes.size / 4);
	CHECK(!recent_publish(r));
	seen = look(r);
	CHECK(seen.samples && seen.samples < kept);
	CHECK(seen.first_ns == time_of(CHUNKS * SAMPLES - seen.samples));
	recent_forget(r, UINT64_MAX, NO_LIMIT);
	CHECK(!recent_publish(r));
	seen = look(r);
	CHECK(!seen.samples && seen.stacks == CHUNKS && seen.losses == CHUNKS);
	recent_free(r);
	buf_release(&bytes);
}

static void what_is_no_recording_is_refused(void)
{
	static const char text[] = "this is text, and no recording at all";
	struct buf bytes = BUF_INIT;
	struct recent *r;

	CHECK(!recent_new(&r));
	CHECK(recent_add(r, text, sizeof(text), 1) == -EINVAL);
	recent_free(r);
	make(&bytes);
	put_u32((uint8_t *)bytes.data + FILE_HEADER_BYTES + 4, CHUNK_MAX_BYTES + 1);
	CHECK(!recent_new(&r));
	CHECK(recent_add(r, bytes.data, bytes.size, 1) == -EINVAL);
	recent_free(r);
	buf_release(&bytes);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(it_comes_in_pieces_of_any_size);
	RUN(what_is_forgotten_leaves_its_tables);
	RUN(what_is_no_recording_is_refused);
	unlink(in_folder("recent.xpu"));
	rmdir(folder);
	return tap_end();
}
