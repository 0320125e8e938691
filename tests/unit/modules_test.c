// SPDX-License-Identifier: MIT
/* What is asked of the file of a mapping, also when it goes away meanwhile. */
#include "capture/modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
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

struct setup {
	struct modules *modules;
	struct files *files;
	struct profile_writer *w;
};

static void begin(struct setup *s)
{
	CHECK(!profile_writer_open(&s->w, "/dev/null"));
	CHECK(!files_new(&s->files, &(struct files_options){0}));
	CHECK(!modules_new(&s->modules, s->w, NULL, s->files, NULL));
}

static void end(struct setup *s)
{
	modules_free(s->modules);
	files_free(s->files);
	profile_writer_abort(s->w);
}

/* The index of the module of a file that has this build id, mapped at `start`. */
static uint32_t add(struct setup *s, const char *path, uint32_t id, uint64_t start)
{
	struct mapped_file f = {.start = start, .end = start + 4096, .build_id_size = sizeof(id)};
	uint32_t index = UINT32_MAX;

	memcpy(f.build_id, &id, sizeof(id));
	CHECK(!modules_add(s->modules, NOBODY, path, &f, &index));
	return index;
}

static uint64_t cut(const struct setup *s)
{
	struct profile_totals totals;

	profile_writer_totals(s->w, &totals);
	return totals.losses[LOSS_MODULES_CUT];
}

static void without_room_all_that_is_new_is_one_module_of_addresses(void)
{
	const struct mapped_file f = {.start = 0x9000, .end = 0xa000};
	const struct module *rest;
	uint32_t first, second, anonymous;
	struct setup s;

	begin(&s);
	first = add(&s, "/no/first", 1, 0x1000);
	modules_limit(s.modules, 0);
	second = add(&s, "/no/second", 2, 0x2000);
	rest = modules_at(s.modules, second);
	CHECK(second != first && add(&s, "/no/first", 3, 0x3000) == second);
	CHECK(!modules_add(s.modules, NOBODY, "//anon", &f, &anonymous) && anonymous == second);
	CHECK(add(&s, "/no/first", 1, 0x1000) == first); /* it is there */
	CHECK(add(&s, "[vdso]", 0, 0x4000) != second);	 /* there are two of them */
	CHECK_TEXT(rest->path, FILES_LEFT_OUT);
	CHECK(rest->kind == MODULE_ANON && !rest->table && !rest->asked);
	CHECK(modules_mapping_base(rest, &f) == 0);
	CHECK(cut(&s) == 3);
	end(&s);
}

static size_t in_use(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* At most twice as much, as arrays double. */
static void endless_files_take_as_much_memory_as_they_may(void)
{
	const uint64_t most = 4 << 20;
	struct setup s;
	size_t before;

	begin(&s);
	modules_limit(s.modules, most);
	before = in_use();
	for (uint32_t id = 1; id < 50000; id++)
		add(&s, "/no/file/with/a/name/that/is/not/short", id, 0x1000);
	CHECK(in_use() - before < 2 * most);
	CHECK(cut(&s) && cut(&s) < 50000 - most / 2048); /* and they have most of it */
	end(&s);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_file_that_is_gone_once_it_was_opened_has_its_unwind_table);
	RUN(without_room_all_that_is_new_is_one_module_of_addresses);
	RUN(endless_files_take_as_much_memory_as_they_may);
	rmdir(folder);
	return tap_end();
}
