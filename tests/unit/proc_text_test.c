// SPDX-License-Identifier: MIT
/* What the kernel says of processes, and what it never does. */
#include "base/proc_text.h"

#include <string.h>
#include <unistd.h>

#include "tap.h"

#define BEHIND_PARENT "1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 4711 9 9"

static bool parse_stat(const char *text, struct proc_stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	return proc_stat_parse(text, ret);
}

static void a_process_has_a_state_a_parent_threads_and_a_start(void)
{
	struct proc_stat s;

	CHECK(parse_stat("42 (cat) S 7 " BEHIND_PARENT "\n", &s));
	CHECK(s.state == 'S' && s.parent == 7 && s.threads == 3 && s.start_ticks == 4711);
	CHECK(proc_stat_read((uint32_t)getpid(), &s) && s.parent == (uint32_t)getppid());
	CHECK(!proc_stat_read(UINT32_MAX, &s));
}

static void a_name_cannot_pass_for_what_is_behind_it(void)
{
	struct proc_stat s;

	CHECK(parse_stat("42 (a) Z 1 " BEHIND_PARENT "\n(b) R 7 " BEHIND_PARENT "\n", &s));
	CHECK(s.state == 'R' && s.parent == 7);
}

static void what_is_no_stat_is_refused(void)
{
	struct proc_stat s;

	CHECK(!parse_stat("", &s));
	CHECK(!parse_stat("42 (cat)", &s));
	CHECK(!parse_stat("42 (cat) ", &s));
	CHECK(!parse_stat("42 (cat) S 7 1 1", &s));
	CHECK(!parse_stat("42 (cat) S 4294967296 " BEHIND_PARENT, &s));
	CHECK(!parse_stat("42 (cat) S x " BEHIND_PARENT, &s));
}

static void a_process_has_a_user_and_a_number_in_its_namespace(void)
{
	struct proc_status s;

	CHECK(proc_status_parse("Name:\ta\nNgid:\t0\nUid:\t7\t8\t9\t10\nGid:\t11\t12\t13\t14\n"
				"NStgid:\t5\nNSpid:\t4711\t12\t3\nNSpgid:\t1\n",
		&s));
	CHECK(s.uid == 7 && s.gid == 11 && s.inner_pid == 3);
	CHECK(proc_status_parse("Name:\ta\nUid:\t7\nGid:\t11\n", &s) && !s.inner_pid);
	CHECK(proc_status_read((uint32_t)getpid(), &s) && s.uid == getuid() && s.gid == getgid());
	CHECK(s.inner_pid == (uint32_t)getpid());
	CHECK(!proc_status_read(UINT32_MAX, &s));
}

static void what_is_no_status_is_refused(void)
{
	struct proc_status s;

	CHECK(!proc_status_parse("", &s));
	CHECK(!proc_status_parse("Name:\ta\nUid:\nGid:\t11\n", &s));
	CHECK(!proc_status_parse("Name:\ta\nUid:\t4294967296\nGid:\t11\n", &s));
	CHECK(!proc_status_parse("Name:\ta\nUid:\tx\nGid:\t11\n", &s));
	CHECK(!proc_status_parse("Name:\ta\nUid:\t1\n", &s));
}

static bool parse_mapping(const char *line, struct proc_mapping *ret)
{
	memset(ret, 0, sizeof(*ret));
	return proc_mapping_parse(line, strlen(line), ret);
}

static void a_mapping_has_its_place_and_its_file(void)
{
	struct proc_mapping m;

	CHECK(parse_mapping("7f10-7f2000 r-xp 00a0 fd:1f 123456    /usr/lib/a b (deleted)", &m));
	CHECK(m.start == 0x7f10 && m.end == 0x7f2000 && m.offset == 0xa0 && m.executable);
	CHECK(m.major == 0xfd && m.minor == 0x1f && m.inode == 123456);
	CHECK(m.path_size == 22 && !memcmp(m.path, "/usr/lib/a b (deleted)", 22));
	CHECK(parse_mapping("7f10-7f20 rw-p 0 0:0 0 ", &m) && !m.executable && !m.path_size);
	CHECK(parse_mapping("7f10-7f20 --xp 0 0:0 0", &m) && m.executable && !m.path_size);
}

static void what_is_no_mapping_is_refused(void)
{
	static const char *const lines[] = {"", "7f10", "7f10-7f20", "7f10-7f20 r-x",
		"7f20-7f10 r-xp 0 0:0 0 x", "7f10-7f20 r-xp 0 0 0 x", "7f10-7f20 r-xp 0 0:0 ",
		"10000000000000000-2 r-xp 0 0:0 0 x", "7f10-7f20 r-xp 0 100000000:0 0 x",
		" 7f10-7f20 r-xp 0 0:0 0 x"};
	struct proc_mapping m;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK(!parse_mapping(lines[i], &m));
}

int main(void)
{
	RUN(a_process_has_a_state_a_parent_threads_and_a_start);
	RUN(a_name_cannot_pass_for_what_is_behind_it);
	RUN(what_is_no_stat_is_refused);
	RUN(a_process_has_a_user_and_a_number_in_its_namespace);
	RUN(what_is_no_status_is_refused);
	RUN(a_mapping_has_its_place_and_its_file);
	RUN(what_is_no_mapping_is_refused);
	return tap_end();
}
