// SPDX-License-Identifier: MIT
/* What is published for walkers of mappings and unwind tables, and when. The walkers are functions
 * of this file. */
#include "capture/spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/events.h"
#include "capture/ranges.h"
#include "tap.h"

#define ROOM   400
#define PARENT 5000000u
#define CHILD  5000001u

static struct walk_mapping room[ROOM];
static struct {
	struct bpf_space spaces[2]; /* of PARENT and CHILD; generation 0: none */
	int puts, pythons, drops, sends, gone;
	uint32_t sent_count;
	int answer; /* of put */
} seen;

static struct profile_writer *w;
static struct unwind_tables *tables;
static struct files *files;
static struct modules *modules;
static struct processes *processes;
static struct spaces *spaces;
static uint64_t now_ns;

static int put(void *context, uint32_t pid, const struct bpf_space *space)
{
	if (seen.answer)
		return seen.answer;
	seen.puts++;
	seen.spaces[pid == CHILD] = *space;
	return 0;
}

static int put_python(void *context, uint32_t pid, const struct walk_python *python)
{
	seen.pythons++;
	return 0;
}

static void drop(void *context, uint32_t pid)
{
	seen.drops++;
	seen.spaces[pid == CHILD] = (struct bpf_space){0};
}

static int send_space(void *context, const struct walker_space *space)
{
	if (space->mapping_count)
		seen.sends++;
	else
		seen.gone++;
	seen.sent_count = space->mapping_count;
	return 0;
}

static void begin_where(uint32_t size, bool sees_maps)
{
	const struct unwind_tables_options options = {.threads = 1};
	const struct spaces_target target = {.mappings = room,
		.mapping_count = size,
		.sees_maps = sees_maps,
		.put = put,
		.put_python = put_python,
		.drop = drop,
		.send = send_space};

	memset(&seen, 0, sizeof(seen));
	now_ns = 1000 * NS_PER_SECOND;
	CHECK(!profile_writer_open(&w, "/dev/null"));
	CHECK(!unwind_tables_new(&tables, &options));
	CHECK(!files_new(&files, &(struct files_options){0}));
	CHECK(!modules_new(&modules, w, NULL, files, tables));
	CHECK(!processes_new(&processes, modules, true));
	CHECK(!spaces_new(&spaces, modules, tables, &target));
}

static void begin_with_room(uint32_t size)
{
	begin_where(size, true);
}

static void begin(void)
{
	begin_with_room(ROOM);
}

static void end(void)
{
	spaces_free(spaces);
	processes_free(processes);
	modules_free(modules);
	files_free(files);
	unwind_tables_free(tables);
	profile_writer_abort(w);
}

static void map_file(uint32_t pid, uint64_t start, uint64_t size, char *name)
{
	struct change c = {.kind = CHANGE_MAP,
		.time_ns = now_ns,
		.pid = pid,
		.text = name,
		.map = {.start = start, .end = start + size}};

	CHECK(processes_get(processes, pid) && !processes_map(processes, &c));
}

/* Code that a program generated: it needs no table. */
static void map(uint32_t pid, uint64_t start, uint64_t size)
{
	char name[] = "//anon";

	map_file(pid, start, size, name);
}

static void publish(uint32_t pid)
{
	CHECK(!spaces_publish(spaces, processes_find(processes, pid), now_ns));
}

static const struct walk_mapping *published(uint32_t pid)
{
	return room + seen.spaces[pid == CHILD].first;
}

static void mappings_are_published_by_address_and_once(void)
{
	begin();
	map(PARENT, 0x9000, 0x1000);
	map(PARENT, 0x1000, 0x1000);
	publish(PARENT);
	publish(PARENT);
	CHECK(seen.puts == 1 && seen.sends == 1 && seen.sent_count == 2);
	CHECK(seen.spaces[0].count == 2 && seen.spaces[0].generation);
	CHECK(published(PARENT)[0].start == 0x1000 && published(PARENT)[1].start == 0x9000);
	CHECK(published(PARENT)[0].kind == WALK_MAPPING_FRAME_POINTERS);
	end();
}

static void what_was_published_stays_as_it_was_for_a_while(void)
{
	struct walk_mapping before[2];
	uint32_t first;

	begin();
	map(PARENT, 0x1000, 0x1000);
	map(PARENT, 0x9000, 0x1000);
	publish(PARENT);
	first = seen.spaces[0].first;
	memcpy(before, room + first, sizeof(before));
	for (uint64_t at = 0x10000; at < 0x20000; at += 0x2000) {
		map(PARENT, at, 0x1000);
		publish(PARENT);
		CHECK(seen.spaces[0].first != first);
	}
	CHECK(!memcmp(before, room + first, sizeof(before)));
	now_ns += RANGES_REST_NS;
	map(CHILD, 0x5000, 0x1000);
	map(CHILD, 0x7000, 0x1000);
	publish(CHILD);
	CHECK(seen.spaces[1].first == first && published(CHILD)->start == 0x5000);
	end();
}

static void a_forked_child_shares_what_its_parent_has(void)
{
	begin();
	map(PARENT, 0x1000, 0x1000);
	publish(PARENT);
	CHECK(!processes_fork(processes, PARENT, CHILD));
	publish(CHILD);
	CHECK(seen.puts == 2 && seen.spaces[1].first == seen.spaces[0].first);
	CHECK(seen.spaces[1].generation == seen.spaces[0].generation);
	map(CHILD, 0x9000, 0x1000);
	publish(CHILD);
	publish(PARENT);
	CHECK(seen.puts == 3 && seen.spaces[1].first != seen.spaces[0].first);
	processes_exit(processes, PARENT);
	CHECK(!spaces_forget(spaces, PARENT, now_ns));
	CHECK(seen.drops == 1 && seen.gone == 1 && !seen.spaces[0].generation);
	end();
}

static void after_exec_nothing_of_before_is_published(void)
{
	struct process *process;

	begin();
	map(PARENT, 0x1000, 0x1000);
	process = processes_find(processes, PARENT);
	process->python.state = PYTHON_FOUND;
	publish(PARENT);
	publish(PARENT);
	CHECK(seen.pythons == 1);
	CHECK(!processes_image(processes, PARENT));
	publish(PARENT);
	CHECK(seen.drops == 1 && seen.gone == 1 && !seen.spaces[0].generation);
	map(PARENT, 0x5000, 0x1000);
	publish(PARENT);
	CHECK(seen.spaces[0].count == 1 && published(PARENT)->start == 0x5000 && seen.pythons == 1);
	end();
}

static void what_was_withdrawn_is_published_again(void)
{
	begin();
	map(PARENT, 0x1000, 0x1000);
	publish(PARENT);
	spaces_withdraw(spaces, PARENT, now_ns);
	CHECK(seen.drops == 1 && !seen.spaces[0].generation);
	publish(PARENT);
	CHECK(seen.puts == 2 && seen.spaces[0].count == 1);
	end();
}

static void without_room_the_last_word_stands_and_is_counted(void)
{
	begin_with_room(3);
	map(PARENT, 0x1000, 0x1000);
	map(PARENT, 0x3000, 0x1000);
	publish(PARENT);
	map(PARENT, 0x5000, 0x1000);
	publish(PARENT);
	CHECK(seen.puts == 1 && spaces_failed(spaces) == 1);
	publish(PARENT);
	CHECK(spaces_failed(spaces) == 1);
	now_ns += RANGES_REST_NS;
	publish(PARENT);
	CHECK(seen.puts == 1);
	processes_exit(processes, PARENT);
	CHECK(!spaces_forget(spaces, PARENT, now_ns));
	now_ns += RANGES_REST_NS;
	map(CHILD, 0x1000, 0x1000);
	map(CHILD, 0x3000, 0x1000);
	map(CHILD, 0x5000, 0x1000);
	publish(CHILD);
	CHECK(seen.puts == 2 && seen.spaces[1].count == 3);
	end();
}

static void without_room_what_names_tables_that_are_gone_is_taken_back(void)
{
	begin_with_room(3);
	map(PARENT, 0x1000, 0x1000);
	map(PARENT, 0x3000, 0x1000);
	publish(PARENT);
	map(PARENT, 0x5000, 0x1000);
	spaces_tables_changed(spaces, true);
	publish(PARENT);
	CHECK(seen.drops == 1 && seen.gone == 1 && !seen.spaces[0].generation);
	now_ns += RANGES_REST_NS;
	publish(PARENT);
	CHECK(seen.puts == 2 && seen.spaces[0].count == 3);
	end();
}

static void a_kernel_that_takes_nothing_is_no_reason_to_stop(void)
{
	begin();
	seen.answer = -E2BIG;
	map(PARENT, 0x1000, 0x1000);
	publish(PARENT);
	CHECK(seen.puts == 0 && spaces_failed(spaces) == 1);
	seen.answer = 0;
	now_ns += NS_PER_SECOND;
	publish(PARENT);
	CHECK(seen.puts == 1);
	end();
}

static void a_walker_that_sees_mappings_itself_gets_the_time_of_the_last(void)
{
	begin();
	map(PARENT, 0x1000, 0x1000);
	publish(PARENT);
	CHECK(seen.puts == 1 && seen.spaces[0].mapped_ns == now_ns && !seen.spaces[0].unsteady);
	now_ns++;
	map(PARENT, 0x1000, 0x1000); /* what is there already is a mapping as well */
	CHECK(!processes_fork(processes, PARENT, CHILD));
	publish(PARENT);
	publish(CHILD);
	CHECK(seen.puts == 3 && seen.sends == 2 && seen.spaces[0].mapped_ns == now_ns);
	CHECK(seen.spaces[1].mapped_ns == now_ns);
	now_ns++;
	map(PARENT, 0x9000, 0x1000);
	processes_doubt_all(processes, now_ns + 5);
	publish(PARENT);
	CHECK(seen.spaces[0].mapped_ns == now_ns + 5 && seen.spaces[0].count == 2);
	end();
}

static void other_walkers_are_warned_of_code_that_comes_and_goes(void)
{
	char name[] = "/nowhere/plugin.so";

	begin_where(ROOM, false);
	map(PARENT, 0x1000, 0x1000);
	publish(PARENT);
	CHECK(!seen.spaces[0].unsteady);
	map_file(PARENT, 0x1000, 0x1000, name);
	publish(PARENT);
	CHECK(seen.spaces[0].unsteady);
	now_ns += 5 * NS_PER_SECOND;
	publish(PARENT);
	CHECK(seen.spaces[0].unsteady);
	now_ns += 5 * NS_PER_SECOND;
	publish(PARENT);
	CHECK(!seen.spaces[0].unsteady);
	end();
}

static int count_kind(uint32_t kind)
{
	int count = 0;

	for (uint32_t i = 0; i < seen.spaces[0].count; i++)
		count += published(PARENT)[i].kind == kind;
	return count;
}

/* This program's own libraries, under the number of PARENT. */
static void files_are_walked_by_their_tables_as_soon_as_these_are_there(void)
{
	struct process *process;

	begin();
	process = processes_get(processes, (uint32_t)getpid());
	CHECK(process && !processes_read_maps(processes, process, now_ns));
	CHECK(!spaces_publish(spaces, process, now_ns));
	CHECK(count_kind(WALK_MAPPING_PENDING) > 1 && count_kind(WALK_MAPPING_TABLE) == 0);
	for (uint32_t id = 1; id < 200; id++)
		unwind_tables_wait(tables, &id, 1, 10 * NS_PER_SECOND);
	unwind_tables_poll(tables);
	spaces_tables_changed(spaces, false);
	now_ns += NS_PER_SECOND;
	CHECK(!spaces_publish(spaces, process, now_ns));
	CHECK(count_kind(WALK_MAPPING_PENDING) == 0 && count_kind(WALK_MAPPING_TABLE) > 1);
	for (uint32_t i = 0; i < seen.spaces[0].count; i++)
		CHECK(published(PARENT)[i].kind != WALK_MAPPING_TABLE ||
			unwind_tables_words(tables)[published(PARENT)[i].table] ==
				WALK_TABLE_MAGIC);
	end();
}

static struct {
	uint32_t pids[8];
	size_t count;
	bool again;
} visited;

static bool note_visit(void *context, struct process *process)
{
	if (visited.count < 8)
		visited.pids[visited.count++] = process->pid;
	return visited.again;
}

static size_t visit_touched(bool again)
{
	visited.count = 0;
	visited.again = again;
	processes_each_touched(processes, note_visit, NULL);
	return visited.count;
}

static void only_processes_that_changed_are_looked_at(void)
{
	begin();
	map(PARENT, 0x1000, 0x1000);
	CHECK(!processes_fork(processes, PARENT, CHILD));
	CHECK(visit_touched(false) == 2);
	CHECK(visit_touched(false) == 0);
	map(CHILD, 0x5000, 0x1000);
	CHECK(visit_touched(true) == 1 && visited.pids[0] == CHILD);
	CHECK(visit_touched(false) == 1); /* as it was asked for */
	CHECK(!processes_image(processes, PARENT));
	CHECK(visit_touched(false) == 1 && visited.pids[0] == PARENT);
	map(CHILD, 0x7000, 0x1000);
	processes_exit(processes, CHILD);
	CHECK(visit_touched(false) == 0);
	processes_doubt_all(processes, now_ns);
	CHECK(visit_touched(false) == 1);
	end();
}

static void a_process_is_settled_when_all_is_published(void)
{
	begin();
	map(PARENT, 0x1000, 0x1000);
	CHECK(!spaces_is_settled(spaces, processes_find(processes, PARENT), now_ns));
	publish(PARENT);
	CHECK(spaces_is_settled(spaces, processes_find(processes, PARENT), now_ns));
	map(PARENT, 0x5000, 0x1000);
	CHECK(!spaces_is_settled(spaces, processes_find(processes, PARENT), now_ns));
	seen.answer = -ENOSPC;
	publish(PARENT);
	CHECK(!spaces_is_settled(spaces, processes_find(processes, PARENT), now_ns));
	seen.answer = 0;
	now_ns += NS_PER_SECOND;
	publish(PARENT);
	CHECK(spaces_is_settled(spaces, processes_find(processes, PARENT), now_ns));
	spaces_withdraw(spaces, PARENT, now_ns);
	CHECK(!spaces_is_settled(spaces, processes_find(processes, PARENT), now_ns));
	end();
}

int main(void)
{
	RUN(mappings_are_published_by_address_and_once);
	RUN(what_was_published_stays_as_it_was_for_a_while);
	RUN(a_forked_child_shares_what_its_parent_has);
	RUN(after_exec_nothing_of_before_is_published);
	RUN(what_was_withdrawn_is_published_again);
	RUN(without_room_the_last_word_stands_and_is_counted);
	RUN(without_room_what_names_tables_that_are_gone_is_taken_back);
	RUN(a_kernel_that_takes_nothing_is_no_reason_to_stop);
	RUN(a_walker_that_sees_mappings_itself_gets_the_time_of_the_last);
	RUN(other_walkers_are_warned_of_code_that_comes_and_goes);
	RUN(only_processes_that_changed_are_looked_at);
	RUN(a_process_is_settled_when_all_is_published);
	RUN(files_are_walked_by_their_tables_as_soon_as_these_are_there);
	return tap_end();
}
