// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "export/apportion.h"
#include "export/exporter.h"
#include "export/folded_frame.h"
#include "export/text.h"
#include "folder.h"
#include "tap.h"

static uint64_t sum(const uint64_t *times, size_t count)
{
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += times[i];
	return total;
}

static void rounding_keeps_the_sum_and_prefers_the_largest_rests(void)
{
	uint64_t times[] = {1600, 1300, 1700, 1400};

	CHECK(!apportion_us(times, 4));
	CHECK(times[0] == 2 && times[1] == 1 && times[2] == 2 && times[3] == 1);
	times[0] = 10400, times[1] = 10400, times[2] = 10400, times[3] = 0;
	CHECK(!apportion_us(times, 4));
	CHECK(sum(times, 4) == 31 && times[3] == 0);
}

static void nothing_with_time_vanishes_while_there_are_microseconds(void)
{
	uint64_t times[] = {1000000, 1, 1, 1, 1, 1, 1, 2000};

	CHECK(!apportion_us(times, 8));
	CHECK(sum(times, 8) == 1002);
	for (size_t i = 1; i < 7; i++)
		CHECK(times[i] == 1);
	CHECK(times[0] == 994 && times[7] == 2);
}

static void with_more_times_than_microseconds_the_sum_stays_right(void)
{
	uint64_t times[1000];

	for (size_t i = 0; i < 1000; i++)
		times[i] = 900;
	CHECK(!apportion_us(times, 1000));
	CHECK(sum(times, 1000) == 900);
	for (size_t i = 0; i < 1000; i++)
		if (times[i] > 1)
			CHECK(!"at most one each");
}

static void a_few_nanoseconds_alone_become_one_microsecond(void)
{
	uint64_t one[] = {3}, none[] = {0, 0};

	CHECK(!apportion_us(one, 1) && one[0] == 1);
	CHECK(!apportion_us(none, 2) && sum(none, 2) == 0);
	CHECK(!apportion_us(NULL, 0));
}

static void rounding_agrees_with_its_promise_for_random_times(void)
{
	uint64_t state = 12345, times[300], before[300];

	for (int round = 0; round < 2000; round++) {
		size_t count = 1 + round % 300, positive = 0;
		uint64_t total_ns, total_us;

		for (size_t i = 0; i < count; i++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			before[i] = times[i] = (state >> 33) % (round % 3 ? 5000 : 700);
			positive += times[i] > 0;
		}
		total_ns = sum(before, count);
		total_us = total_ns && total_ns < 500 ? 1 : (total_ns + 500) / 1000;
		CHECK(!apportion_us(times, count));
		if (sum(times, count) != total_us)
			CHECK(!"the sum is right");
		for (size_t i = 0; i < count; i++)
			if ((!before[i] && times[i]) ||
				(before[i] && !times[i] && positive <= total_us))
				CHECK(!"nothing vanishes, nothing appears");
	}
}

static void check_xml(const char *text, size_t size, const char *expected)
{
	struct buf b = BUF_INIT;

	text_xml(&b, text, size);
	CHECK_TEXT(buf_text(&b), expected);
	buf_release(&b);
}

static void xml_text_cannot_break_out(void)
{
	check_xml("</script><b a=\"x\" b='y'>&amp;", 29,
		"&lt;/script&gt;&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
	check_xml("]]>", 3, "]]&gt;");
}

static void xml_text_is_printable(void)
{
	check_xml("a\0<\n\xff&", 6, "a\\x00&lt;\\x0a\\xff&amp;");
	check_xml("gr\xc3\xbc\xc3\x9f\xe6\xbc\xa2\xf0\x9f\x94\xa5", 13,
		"gr\xc3\xbc\xc3\x9f\xe6\xbc\xa2\xf0\x9f\x94\xa5");
}

static void folded_frames_keep_their_line(void)
{
	struct buf b = BUF_INIT;

	text_folded(&b, "[u8; 4]\nx y\xc2\x9b", 13);
	CHECK_TEXT(buf_text(&b), "[u8: 4]\\x0ax y\\xc2\\x9b");
	buf_reset(&b);
	text_folded_word(&b, "my app;2", 8);
	CHECK_TEXT(buf_text(&b), "my_app:2");
	buf_reset(&b);
	text_folded(&b, "", 0);
	CHECK_TEXT(buf_text(&b), "(no name)");
	buf_release(&b);
}

static void check_frame(enum tree_kind kind, uint32_t number, const char *name, uint32_t device,
	const char *expected)
{
	struct tree_frame f = {
		.name = name, .size = (uint32_t)strlen(name), .number = number, .kind = kind};
	struct buf b = BUF_INIT;

	folded_frame(&b, &f, device);
	CHECK_TEXT(buf_text(&b), expected);
	buf_release(&b);
}

static void folded_frames_carry_the_mark_of_their_kind(void)
{
	check_frame(TREE_KERNEL, 0, "ioctl", FOLDED_NO_DEVICE, "ioctl_[k]");
	check_frame(TREE_KERNEL, 0, "ioctl_[k]", FOLDED_NO_DEVICE, "ioctl_[k]");
	check_frame(TREE_GPU_KERNEL, 0, "_Z1fv", FOLDED_NO_DEVICE, "[GPU_Kernel]_Z1fv");
	check_frame(TREE_GPU_KERNEL, 0, "_Z1fv", 3, "[GPU3_Kernel]_Z1fv");
	check_frame(TREE_GPU_KERNEL, 0, "[GPU_Kernel]x", 3, "[GPU_Kernel]x");
	check_frame(TREE_GPU_COPY, 0, "HtoD", FOLDED_NO_DEVICE, "[GPU_MemCopy]HtoD");
	check_frame(TREE_GPU_SET, 0, "memset", 0, "[GPU0_MemSet]");
	check_frame(TREE_GPU_PENDING, 0, "Pending", 0, "[GPU_Launch_Pending]");
	check_frame(TREE_PROCESS, 12, "my app", 0, "my_app-12");
	check_frame(TREE_STREAM, 7, "stream", 0, "stream 7");
	check_frame(TREE_C, 0, "main", 0, "main");
}

static void every_exporter_is_found_by_name_and_suffix(void)
{
	char path[64];

	CHECK(exporters[0].name);
	for (const struct exporter *e = exporters; e->name; e++) {
		snprintf(path, sizeof(path), "dir.x/out%s", e->suffix);
		CHECK(exporter_by_name(e->name) == e);
		CHECK(exporter_by_suffix(path) == e);
	}
	CHECK(!exporter_by_name("nothing"));
	CHECK(!exporter_by_suffix("out.xpu") && !exporter_by_suffix(".svg") &&
		!exporter_by_suffix(""));
}

static void check_content(const char *path, const char *expected)
{
	struct buf b = BUF_INIT;

	CHECK(!io_read_file(path, 1 << 20, &b));
	CHECK_TEXT(buf_text(&b), expected);
	buf_release(&b);
}

static void an_output_appears_only_when_committed(void)
{
	const char *path = in_folder("out");
	struct output *o = NULL;

	CHECK(!output_open(&o, NULL, path));
	output_puts(o, "one ");
	output_u64(o, UINT64_MAX);
	output_us(o, 1234567);
	CHECK(access(path, F_OK));
	CHECK(!output_commit(o));
	check_content(path, "one 184467440737095516151234.567");
}

static void an_aborted_output_leaves_the_old_file_and_nothing_else(void)
{
	const char *path = in_folder("out");
	struct output *o = NULL;

	CHECK(!output_open(&o, NULL, path));
	output_puts(o, "two");
	output_abort(o);
	check_content(path, "one 184467440737095516151234.567");
	unlink(path);
	CHECK(!rmdir(folder));
	CHECK(!mkdir(folder, 0700));
}

static void an_output_keeps_the_mode_of_the_file_it_replaces(void)
{
	const char *path = in_folder("mode");
	struct output *o = NULL;
	struct stat st;

	CHECK(!output_open(&o, NULL, path) && !output_commit(o));
	CHECK(!chmod(path, 0640));
	CHECK(!output_open(&o, NULL, path) && !output_commit(o));
	CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0640);
	unlink(path);
}

static void an_output_through_a_link_replaces_what_it_names(void)
{
	const char *path = in_folder("link");
	struct output *o = NULL;
	struct stat st;
	char target[256];

	snprintf(target, sizeof(target), "%s/target", folder);
	close(creat(target, 0600));
	CHECK(!symlink("target", path));
	CHECK(!output_open(&o, NULL, path));
	output_puts(o, "x");
	CHECK(!output_commit(o));
	CHECK(!lstat(path, &st) && S_ISLNK(st.st_mode));
	check_content(target, "x");
	unlink(path);
	unlink(target);
}

static void a_full_disk_is_reported_with_the_name_the_user_gave(void)
{
	struct output *o = NULL;

	if (access("/dev/full", W_OK)) {
		SKIP("no /dev/full");
		return;
	}
	CHECK(!output_open(&o, NULL, "/dev/full"));
	for (int i = 0; i < 100000; i++)
		output_puts(o, "more than fits a buffer ");
	CHECK(output_error(o) == -ENOSPC);
	CHECK(output_commit(o) == -ENOSPC);
	CHECK_TEXT(error_text(), "cannot write '/dev/full': No space left on device");
}

static void a_folder_that_is_not_there_is_reported(void)
{
	struct output *o = NULL;

	CHECK(output_open(&o, NULL, "/nonexistent/x.svg") == -ENOENT);
	CHECK_TEXT(error_text(), "cannot write '/nonexistent/x.svg': No such file or directory");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(rounding_keeps_the_sum_and_prefers_the_largest_rests);
	RUN(nothing_with_time_vanishes_while_there_are_microseconds);
	RUN(with_more_times_than_microseconds_the_sum_stays_right);
	RUN(a_few_nanoseconds_alone_become_one_microsecond);
	RUN(rounding_agrees_with_its_promise_for_random_times);
	RUN(xml_text_cannot_break_out);
	RUN(xml_text_is_printable);
	RUN(folded_frames_keep_their_line);
	RUN(folded_frames_carry_the_mark_of_their_kind);
	RUN(every_exporter_is_found_by_name_and_suffix);
	RUN(an_output_appears_only_when_committed);
	RUN(an_aborted_output_leaves_the_old_file_and_nothing_else);
	RUN(an_output_keeps_the_mode_of_the_file_it_replaces);
	RUN(an_output_through_a_link_replaces_what_it_names);
	RUN(a_full_disk_is_reported_with_the_name_the_user_gave);
	RUN(a_folder_that_is_not_there_is_reported);
	rmdir(folder);
	return tap_end();
}
