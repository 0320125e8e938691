// SPDX-License-Identifier: MIT
/*
 * Fuzz target: any bytes as the chunks of a profile file. The file's header is put before them and
 * their checksums are made right, so that what they hold is looked at. Whatever the reader hands
 * out must stay within the tables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bare/hash_step.h"
#include "base/io.h"
#include "fuzz.h"
#include "profile/crc32c.h"
#include "profile/format.h"
#include "profile/reader.h"
#include "profile/writer.h"

#define MUST(condition) require(condition)
#include "profile_sense.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_meta(const struct profile_reader *r)
{
	const char *key, *value;

	for (size_t i = 0; profile_meta_at(r, i, &key, &value); i++)
		require(profile_meta(r, key) && strlen(value) < CHUNK_MAX_BYTES);
}

/* Fills in the header of the file and the checksums of the chunks, as far as they go. */
static void mend(uint8_t *file, size_t size)
{
	size_t at = FILE_HEADER_BYTES;

	memcpy(file, FILE_MAGIC, FILE_MAGIC_BYTES);
	put_u32(file + FILE_MAGIC_BYTES, FILE_VERSION);
	put_u32(file + 12, crc32c(0, file, 12));
	while (size - at >= CHUNK_HEADER_BYTES) {
		uint8_t *header = file + at;
		uint32_t payload = get_u32(header + 4);

		if (payload > size - at - CHUNK_HEADER_BYTES)
			return;
		put_u32(header + 8,
			crc32c(crc32c(0, header, 8), header + CHUNK_HEADER_BYTES, payload));
		at += CHUNK_HEADER_BYTES + payload;
	}
}

/* Adds a name to a copy of what was read: it must be there, and all else as whole or cut as
 * before. */
static void check_continued(struct profile_reader *r)
{
	bool whole = !profile_reader_incomplete(r);
	int fd = memfd_create("copy", MFD_CLOEXEC);
	const struct profile_location *l;
	struct profile_writer *w;
	struct profile_event e;
	uint32_t name = 0;
	char path[64];
	bool named;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!profile_writer_continue(&w, path, dup(fd), r)) {
		require(!profile_add_string(w, "a new name", 10, &name));
		named = !profile_add_symbol(w, 1, name, 0, 3, 0);
		require(!profile_writer_close(w));
		require(!profile_reader_open(&r, path));
		while (profile_reader_next(r, &e) > 0)
			;
		l = profile_location(r, 1);
		require(!profile_reader_incomplete(r) == whole);
		require(!named || (l && l->line == 3 && l->name == name));
		profile_reader_close(r);
	}
	close(fd);
}

static void read_all(const char *path)
{
	struct profile_reader *r;
	struct profile_event e;

	require(!profile_reader_open(&r, path));
	while (profile_reader_next(r, &e) > 0)
		check_event(r, &e);
	check_all_tables(r);
	check_meta(r);
	check_continued(r);
	profile_reader_close(r);
}

/* Chunks told by where they begin, not their content. */
static bool is_left_out(const void *none, uint64_t chunk)
{
	return chunk * HASH_FACTOR >> 63;
}

/* With the events of some chunks left out: what is read makes sense all the same. */
static void read_some(const char *path)
{
	struct profile_reader *r;
	struct profile_event e;

	require(!profile_reader_open(&r, path));
	profile_reader_skip(r, is_left_out, NULL);
	while (profile_reader_next(r, &e) > 0) {
		require(!is_left_out(NULL, profile_reader_chunk(r)));
		check_event(r, &e);
	}
	check_all_tables(r);
	check_meta(r);
	profile_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	uint8_t *file = malloc(FILE_HEADER_BYTES + size);
	char path[64];

	require(fd >= 0 && file);
	if (size)
		memcpy(file + FILE_HEADER_BYTES, data, size);
	mend(file, FILE_HEADER_BYTES + size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(!io_write_all(fd, file, FILE_HEADER_BYTES + size));
	read_all(path);
	read_some(path);
	free(file);
	close(fd);
	return 0;
}

static void write_tables(struct profile_writer *w)
{
	struct profile_module m = {.kind = MODULE_FILE, .path = 1, .build_id_size = 2};
	struct profile_location l = {.kind = FRAME_USER, .module = 1};
	struct profile_process p = {.comm = 1};
	struct profile_thread t = {.process = 1, .name = 2};
	struct profile_device d = {.name = 3};
	struct profile_op op = {.kind = OP_KERNEL, .process = 1, .device = 1, .name = 2};
	struct profile_inline in = {.name = 2, .line = 5};
	struct profile_segment segment = {.module = 1, .size = 100, .vaddr = 4096};
	uint32_t id;

	profile_add_string(w, "one", 3, &id);
	profile_add_string(w, "two", 3, &id);
	profile_add_string(w, "three", 5, &id);
	profile_add_module(w, &m, &id);
	for (l.address = 1; l.address <= 4; l.address++) {
		profile_add_location(w, &l, &id);
		profile_add_stack_node(w, id - 1, id, &id);
	}
	profile_add_symbol(w, 2, 3, 1, 12, 0);
	profile_add_inline(w, &in, &in.caller);
	profile_add_inline(w, &in, &id);
	profile_add_symbol(w, 3, 2, 1, 7, id);
	profile_add_segment(w, &segment, &id);
	for (p.pid = 1; p.pid <= 2; p.pid++) {
		p.parent = p.pid - 1;
		profile_add_process(w, &p, &id);
	}
	profile_add_thread(w, &t, &id);
	t.name = 3;
	profile_update_thread(w, id, &t);
	profile_add_device(w, &d, &id);
	profile_add_op(w, &op, &id);
	op.kind = OP_COPY;
	profile_add_op(w, &op, &id);
}

static void write_gpu_tables(struct profile_writer *w)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE, .path = 3, .build_id_size = 8};
	struct profile_gpu_function f = {.name = 2, .index = 5};
	struct profile_instruction i = {.offset = 16};
	struct profile_window window = {.process = 1,
		.instance = 1,
		.device = 1,
		.context = 1,
		.start_ns = 1000,
		.end_ns = 5000,
		.period_cycles = 4096,
		.samples = 70};
	struct profile_counter c = {.name = 1, .unit = 2};
	uint32_t id;

	profile_add_module(w, &m, &f.module);
	profile_add_gpu_function(w, &f, &i.function);
	profile_add_instruction(w, &i, &id);
	i.offset = 32;
	profile_add_instruction(w, &i, &id);
	i.text = 1;
	i.file = 2;
	i.line = 12;
	i.inlined = 2;
	profile_describe_instruction(w, id, &i);
	profile_add_window(w, &window, &id);
	window.exact = true;
	profile_add_window(w, &window, &id);
	profile_add_counter(w, &c, &id);
	c.name = 2;
	profile_add_counter(w, &c, &id);
}

static void write_bursts(struct profile_writer *w)
{
	struct profile_burst b = {.process = 1,
		.instance = 1,
		.since_ns = 1000,
		.until_ns = 2000,
		.start_ns = 1200,
		.end_ns = 1300};

	profile_add_burst(w, &b);
	b.since_ns = b.start_ns = b.end_ns = 2000;
	b.until_ns = 3000;
	profile_add_burst(w, &b);
}

static void write_gpu_events(struct profile_writer *w)
{
	struct profile_stall s = {.window = 1, .instruction = 1, .reason = 2, .samples = 300};
	struct profile_count c = {
		.start_ns = 2000, .duration_ns = 1000, .device = 1, .counter = 1, .value = 12.5};

	profile_write_stall(w, &s);
	s.instruction = 2;
	s.samples = 1;
	profile_write_stall(w, &s);
	s.window = 2;
	s.correlation = 5;
	profile_write_stall(w, &s);
	profile_write_count(w, &c);
	c.counter = 2;
	profile_write_count(w, &c);
}

static void write_wait_events(struct profile_writer *w)
{
	struct profile_wait wait = {.start_ns = 4000,
		.duration_ns = 300,
		.queued_ns = 20,
		.others = 3,
		.others_ns = 40,
		.thread = 1,
		.stack = 1,
		.waker = 1,
		.reason = WAIT_LOCK};
	struct profile_life life = {
		.start_ns = 100, .duration_ns = 9000, .run_ns = 5000, .thread = 1};
	struct profile_sync sync = {.start_ns = 4000,
		.duration_ns = 250,
		.recorded_ns = 3000,
		.instance = 1,
		.correlation = 7,
		.thread = 1,
		.stack = 1,
		.api = 1,
		.device = 1,
		.context = 1,
		.stream = 7,
		.kind = SYNC_EVENT};

	profile_write_wait(w, &wait);
	profile_write_wait(w,
		&(struct profile_wait){
			.start_ns = 4400, .duration_ns = 5, .thread = 1, .reason = WAIT_RUN_QUEUE});
	profile_write_life(w, &life);
	profile_write_sync(w, &sync);
}

static void write_driver_events(struct profile_writer *w)
{
	struct profile_driver d = {.start_ns = 3000,
		.duration_ns = 400,
		.job = 7,
		.thread = 1,
		.source = 1,
		.ring = 2,
		.name = 3,
		.kind = DRIVER_QUEUED};

	profile_write_driver(w, &d);
	d.start_ns = 3400;
	d.kind = DRIVER_RUN;
	d.unfinished = true;
	profile_write_driver(w, &d);
	d = (struct profile_driver){.start_ns = 3500,
		.bytes = 4096,
		.source = 1,
		.name = 2,
		.kind = DRIVER_MOMENT,
		.foreign = true};
	profile_write_driver(w, &d);
}

/* Every kind of event, with and without what is optional in it. */
static void write_events(struct profile_writer *w)
{
	struct profile_sample s = {
		.time_ns = 1000, .period_ns = 10, .thread = 1, .stack = 2, .cpu = 3};
	struct profile_call c = {.start_ns = 1000,
		.duration_ns = 9,
		.thread = 1,
		.stack = 3,
		.api = 2,
		.kind = CALL_GRAPH,
		.instance = 1,
		.correlation = 5};
	struct profile_work work = {.start_ns = 2000,
		.duration_ns = 70,
		.op = 1,
		.thread = 1,
		.stack = 3,
		.api = 2,
		.launch_ns = 1000,
		.instance = 1,
		.correlation = 5};
	struct profile_pending p = {.start_ns = 5,
		.thread = 1,
		.stack = 4,
		.api = 1,
		.instance = 2,
		.correlation = 7,
		.reason = PENDING_EMPTY};

	profile_write_sample(w, &s);
	profile_write_sample(w, &s);
	profile_write_call(w, &c);
	c.result = -1;
	c.instance = 2;
	profile_write_call(w, &c);
	profile_write_work(w, &work);
	work.graph_node = 77;
	work.node_stack = 2;
	work.bytes = 4096;
	profile_write_work(w, &work);
	work.stack = 1;
	work.queued_ns = 1500;
	work.submitted_ns = 1600;
	work.join = JOIN_LATE;
	profile_write_work(w, &work);
	profile_write_pending(w, &p);
	profile_count_loss(w, LOSS_GPU_TAKEN, 3);
	profile_set_meta(w, META_COMMAND, "true");
}

/* Puts a profile without its header into the corpus; what does not work out is only a seed less. */
static void write_seed(const char *folder)
{
	struct profile_writer *w;
	struct buf file = BUF_INIT;
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/written-by-the-writer", folder);
	if (profile_writer_open(&w, path))
		return;
	write_tables(w);
	write_gpu_tables(w);
	write_bursts(w);
	write_events(w);
	write_gpu_events(w);
	write_driver_events(w);
	write_wait_events(w);
	profile_writer_flush(w);
	write_events(w);
	write_gpu_events(w);
	write_driver_events(w);
	write_wait_events(w);
	profile_writer_close(w);
	if (!io_read_file(path, 1 << 20, &file) && (f = fopen(path, "w"))) {
		fwrite(file.data + FILE_HEADER_BYTES, 1, file.size - FILE_HEADER_BYTES, f);
		fclose(f);
	}
	buf_release(&file);
}

/* The first folder among the arguments is the corpus. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct stat status;

	for (int i = 1; i < *argc; i++) {
		if ((*argv)[i][0] == '-' || stat((*argv)[i], &status) || !S_ISDIR(status.st_mode))
			continue;
		write_seed((*argv)[i]);
		break;
	}
	return 0;
}
