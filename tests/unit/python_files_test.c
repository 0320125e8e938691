// SPDX-License-Identifier: MIT
/* What Python's files are called. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/writer.h"
#include "tap.h"
#include "view/names/python_files.h"

#define FILES_MAX 8

static char path[] = "/tmp/python_files_test.XXXXXX";

/* A recording with Python functions in these files; *ret_ids: their strings. */
static void write_profile(const char *const *files, uint32_t *ret_ids)
{
	struct profile_writer *w;

	CHECK(profile_writer_open(&w, path) == 0);
	for (int i = 0; files[i]; i++) {
		struct profile_location l = {.kind = FRAME_PYTHON, .line = 1};
		uint32_t id;

		CHECK(profile_add_string(w, files[i], strlen(files[i]), &l.file) == 0);
		CHECK(profile_add_string(w, "f", 1, &l.name) == 0);
		CHECK(profile_add_location(w, &l, &id) == 0);
		ret_ids[i] = l.file;
	}
	CHECK(profile_writer_close(w) == 0);
}

static void check_names(const char *const *files, const char *const *expected)
{
	struct profile_event event;
	struct profile_reader *r;
	struct python_files names;
	uint32_t ids[FILES_MAX];

	write_profile(files, ids);
	CHECK(profile_reader_open(&r, path) == 0);
	while (profile_reader_next(r, &event) > 0)
		continue;
	CHECK(python_files_init(&names, r) == 0);
	for (int i = 0; files[i]; i++) {
		const char *name = python_file_name(&names, ids[i]);

		if (strcmp(name, expected[i]))
			printf("# %s is called %s, not %s\n", files[i], name, expected[i]);
		CHECK(!strcmp(name, expected[i]));
	}
	python_files_release(&names);
	profile_reader_close(r);
}

static void files_are_named_from_where_python_finds_them(void)
{
	static const char *const files[] = {"/usr/lib/python3.11/asyncio/events.py",
		"/venv/lib/python3.13t/site-packages/torch/nn/functional.py",
		"/usr/lib/python3/dist-packages/numpy/core/fromnumeric.py",
		"/opt/python311.zip/json/decoder.py", "/home/me/python3-things/job/train.py",
		"<frozen runpy>", "model.py", NULL};
	static const char *const expected[] = {"asyncio/events.py", "torch/nn/functional.py",
		"numpy/core/fromnumeric.py", "json/decoder.py", "train.py", "<frozen runpy>",
		"model.py"};

	check_names(files, expected);
}

static void files_of_one_name_get_folders_until_they_differ(void)
{
	static const char *const files[] = {"/home/me/a/x/util.py", "/home/me/b/x/util.py",
		"/home/me/b/y/util.py", "/home/me/train.py", NULL};
	static const char *const expected[] = {
		"a/x/util.py", "b/x/util.py", "y/util.py", "train.py"};

	check_names(files, expected);
}

static void a_path_that_has_no_more_folders_is_shown_whole(void)
{
	static const char *const files[] = {"/x.py", "/a/x.py", "x.py", "a/x.py", "", NULL};
	static const char *const expected[] = {"/x.py", "/a/x.py", "x.py", "a/x.py", ""};

	check_names(files, expected);
}

static void files_of_several_environments_are_told_apart(void)
{
	static const char *const files[] = {"/v1/lib/python3.11/site-packages/torch/x.py",
		"/v2/lib/python3.11/site-packages/torch/x.py", NULL};
	static const char *const expected[] = {"v1/lib/python3.11/site-packages/torch/x.py",
		"v2/lib/python3.11/site-packages/torch/x.py"};

	check_names(files, expected);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	RUN(files_are_named_from_where_python_finds_them);
	RUN(files_of_one_name_get_folders_until_they_differ);
	RUN(a_path_that_has_no_more_folders_is_shown_whole);
	RUN(files_of_several_environments_are_told_apart);
	unlink(path);
	return tap_end();
}
