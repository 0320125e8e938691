// SPDX-License-Identifier: MIT
/* What is asked of the file of a mapping, also when it goes away meanwhile. */
#include "capture/modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "folder.h"
#include "tap.h"

#define NOBODY	5000000u /* above what a kernel gives out: not there in /proc */
#define WAIT_NS (60 * NS_PER_SECOND)

static const char *vanishing; /* a file that is deleted as soon as it has been opened */

/* Comes before the C library's. */
int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) =
		(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	va_list list;
	int fd;

	va_start(list, flags);
	fd = real(path, flags, va_arg(list, int));
	va_end(list);
	if (vanishing && !strncmp(path, "/proc/self/fd/", 14))
		unlink(vanishing);
	return fd;
}

static void a_file_that_is_gone_once_it_was_opened_has_its_unwind_table(void)
{
	const struct unwind_tables_options options = {.threads = 1};
	const char *path = in_folder("program");
	struct unwind_tables *tables;
	struct modules *modules;
	struct files *files;
	struct profile_writer *w;
	const struct module *module;
	struct stat st = {0};
	uint32_t index = 0;

	CHECK(!profile_writer_open(&w, "/dev/null"));
	CHECK(!unwind_tables_new(&tables, &options));
	CHECK(!files_new(&files, &(struct files_options){0}));
	CHECK(!modules_new(&modules, w, NULL, files, tables));
	CHECK(shell("cp /proc/$PPID/exe program") && !stat(path, &st));
	vanishing = path;
	CHECK(!modules_add(modules, NOBODY, path,
		&(struct mapped_file){.end = 4096, .device = st.st_dev, .inode = st.st_ino},
		&index));
	vanishing = NULL;
	CHECK(stat(path, &st));
	module = modules_at(modules, index);
	CHECK(module->build_id_size && module->table);
	CHECK(unwind_tables_wait(tables, &module->table, 1, WAIT_NS));
	CHECK(unwind_tables_state(tables, module->table, NULL) == UNWIND_READY);
	modules_free(modules);
	files_free(files);
	unwind_tables_free(tables);
	profile_writer_abort(w);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_file_that_is_gone_once_it_was_opened_has_its_unwind_table);
	rmdir(folder);
	return tap_end();
}
