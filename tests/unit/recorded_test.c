// SPDX-License-Identifier: MIT
/* What programs in kernels found, from a recording that may be anybody's. */
#include <unistd.h>

#include "ebpf/tools/tools.h"
#include "folder.h"
#include "probe/recorded/recorded.h"
#include "probe/values.h"
#include "profile/writer.h"
#include "tap.h"

#define LOAD_MAP 0 /* of the tool, the only one */
#define BUSY_SMS 100
#define KEPT_MAX 1000

static uint32_t string(struct profile_writer *w, const void *text, size_t size)
{
	uint32_t id = 0;

	CHECK(!profile_add_string(w, text, size, &id));
	return id;
}

static struct profile_writer *begin(const void *object, size_t size)
{
	struct profile_probe_object o = {0};
	struct profile_probe_context context = {0};
	struct profile_writer *w = NULL;
	uint32_t id;

	CHECK(!profile_writer_open(&w, in_folder("r.xpu")));
	o.name = o.tool = string(w, "smload", 6);
	o.file = string(w, object, size);
	CHECK(!profile_add_probe_object(w, &o, &id));
	CHECK(!profile_add_probe_map(
		w, &(struct profile_probe_map){.object = 1, .number = LOAD_MAP}, &id));
	CHECK(!profile_add_probe_map(
		w, &(struct profile_probe_map){.object = 1, .number = 12345}, &id));
	CHECK(!profile_add_probe_map(
		w, &(struct profile_probe_map){.object = 1, .number = PROBE_MAP_PRINTS}, &id));
	CHECK(!profile_add_probe_context(w, &context, &id));
	return w;
}

static void entry(struct profile_writer *w, uint32_t map, uint32_t sm, uint32_t key, uint64_t value,
	uint32_t size)
{
	uint8_t bytes[16] = {0};
	struct profile_found f = {.map = map, .context = 1, .sm = sm, .size = size, .bytes = bytes};

	memcpy(bytes, &key, 4);
	memcpy(bytes + 4, &value, 8);
	CHECK(!profile_write_found(w, &f));
}

static void record(struct profile_writer *w, uint32_t map, uint32_t program, uint32_t sm)
{
	struct profile_found f = {.map = map,
		.context = 1,
		.grid = 5,
		.program = program,
		.sm = sm,
		.size = 3,
		.bytes = (const uint8_t *)"abc"};

	CHECK(!profile_write_found(w, &f));
}

static void count_record(void *context, const struct server_record *r)
{
	CHECK(r->bytes == 3 && r->launch == 5 && r->sm < ARENA_SMS);
	++*(unsigned int *)context;
}

static struct profile_reader *read_back(
	struct profile_writer *w, struct recorded_reading *ret, unsigned int *records)
{
	struct profile_reader *r = NULL;
	struct profile_event e;

	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, in_folder("r.xpu")));
	while (profile_reader_next(r, &e) > 0)
		;
	CHECK(!recorded_read(ret, r, count_record, records));
	return r;
}

static void entries_and_records_come_back(void)
{
	const struct ebpf_tool *tool = ebpf_tool_named("smload");
	struct profile_writer *w = begin(tool->start, (size_t)(tool->end - tool->start));
	struct recorded_reading found;
	struct profile_reader *r;
	unsigned int records = 0;
	struct values v;

	entry(w, 1, 2 + 1, 1, 77, 12);
	record(w, 1, 1, 4);
	r = read_back(w, &found, &records);
	CHECK(records == 1 && !found.unreadable && found.plan.objects.count == 1);
	CHECK(!values_read(&v, &found.server, 0, LOAD_MAP, VALUES_ANY));
	CHECK(v.entries.count == 1 && v.entries.items[0].sm == 2);
	CHECK(values_key_number(&v, &v.entries.items[0], 0) == 1);
	CHECK(values_number(&v, &v.entries.items[0], 0) == 77);
	values_release(&v);
	recorded_reading_release(&found);
	profile_reader_close(r);
}

static void what_their_objects_cannot_have_found_is_counted(void)
{
	const struct ebpf_tool *tool = ebpf_tool_named("smload");
	struct profile_writer *w = begin(tool->start, (size_t)(tool->end - tool->start));
	struct recorded_reading found;
	struct profile_reader *r;
	unsigned int records = 0;

	entry(w, 1, ARENA_SMS + 1, 1, 77, 12); /* no such multiprocessor */
	entry(w, 1, 1, 1000000, 77, 12);       /* beyond the last entry */
	entry(w, 1, 1, 1, 77, 11);
	entry(w, 2, 1, 1, 77, 12); /* no such map */
	entry(w, 3, 1, 1, 77, 12); /* nor one of entries */
	record(w, 1, 100, 1);	   /* no such program */
	record(w, 1, 1, 1000000);
	r = read_back(w, &found, &records);
	CHECK(!records && found.unreadable == 7 && !found.server.kept.count);
	recorded_reading_release(&found);
	profile_reader_close(r);
}

static void a_damaged_object_leaves_the_rest(void)
{
	const struct ebpf_tool *tool = ebpf_tool_named("smload");
	struct profile_writer *w = begin(tool->start, (size_t)(tool->end - tool->start) / 2);
	struct recorded_reading found;
	struct profile_reader *r;
	unsigned int records = 0;

	entry(w, 1, 1, 1, 77, 12);
	record(w, 3, 1, 1);
	r = read_back(w, &found, &records);
	CHECK(!records && found.unreadable == 2 && !found.plan.objects.count);
	recorded_reading_release(&found);
	profile_reader_close(r);
}

static size_t count_entries(const struct recorded_reading *found)
{
	struct values v;
	size_t count;

	CHECK(!values_read(&v, &found->server, 0, LOAD_MAP, VALUES_ANY));
	count = v.entries.count;
	values_release(&v);
	return count;
}

/* A context in which the multiprocessors have found something each. */
static void serve(struct server *s, struct plan *plan)
{
	const struct ebpf_tool *tool = ebpf_tool_named("smload");
	struct plan_options options = PLAN_OPTIONS_INIT;
	struct server_arena arena = {0};
	struct ebpf_object *o = NULL;
	const struct map_place *place;

	plan_init(plan);
	CHECK(!ebpf_object_read(&o, tool->start, (size_t)(tool->end - tool->start)));
	CHECK(!plan_add(plan, o, "smload", tool, &options) && !plan_seal(plan, &options));
	place = &plan->objects.items[0].bodies.layout.maps[LOAD_MAP];
	arena.memory = calloc(1, plan->shared_bytes);
	*(struct probe_shared *)(void *)arena.memory =
		(struct probe_shared){.read_ns = 1, .ended = 1};
	for (uint32_t sm = 0; sm < BUSY_SMS; sm++)
		arena.memory[plan->snapshot_at + place->offset + sm * place->stride] = 77;
	*s = (struct server){.plan = plan};
	CHECK(!vec_push(&s->arenas, arena));
}

static void record_with(struct server *s, uint64_t kept_max, struct recorded *r)
{
	struct profile_probe_context context = {0};
	struct profile_writer *w = NULL;
	uint32_t id;

	CHECK(!profile_writer_open(&w, in_folder("r.xpu")));
	CHECK(!recorded_begin(r, w, NULL, s, false));
	r->kept_max = kept_max;
	CHECK(!profile_add_probe_context(w, &context, &id) && !vec_push(&r->contexts, id));
	for (int i = 0; i < 3; i++)
		CHECK(!recorded_snapshot(r));
}

static void what_snapshots_keep_is_bounded_and_all_is_there_in_the_end(void)
{
	struct recorded_reading found;
	struct profile_reader *reader;
	unsigned int records = 0;
	struct recorded r;
	struct server s;
	struct plan plan;

	serve(&s, &plan);
	record_with(&s, KEPT_MAX, &r);
	CHECK(r.entries.count && r.entries.count < BUSY_SMS / 2 && r.kept_bytes <= KEPT_MAX);
	CHECK(!recorded_finish(&r));
	CHECK(r.not_kept_most == BUSY_SMS - r.entries.count);
	reader = read_back(r.writer, &found, &records);
	CHECK(profile_loss_count(reader, LOSS_PROBE_AT_END) == r.not_kept_most);
	CHECK(count_entries(&found) == BUSY_SMS && !found.unreadable);
	recorded_release(&r);
	recorded_reading_release(&found);
	profile_reader_close(reader);
	free(s.arenas.items[0].memory);
	vec_release(&s.arenas);
	plan_release(&plan);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(entries_and_records_come_back);
	RUN(what_their_objects_cannot_have_found_is_counted);
	RUN(a_damaged_object_leaves_the_rest);
	RUN(what_snapshots_keep_is_bounded_and_all_is_there_in_the_end);
	unlink(in_folder("r.xpu"));
	rmdir(folder);
	return tap_end();
}
