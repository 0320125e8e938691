// SPDX-License-Identifier: MIT
/*
 * The locations without a name are sorted by module and address, and each module is opened once:
 *
 *	locations -> [(module, address, id)] -> sort -> one run per module -> one pass over its
 * symbols
 *
 * All kernel locations, of whatever module, are one run.
 */
#include "symbolize/symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/vec.h"
#include "elf/elf_file.h"
#include "elf/vdso.h"
#include "symbolize/kallsyms.h"

#define KALLSYMS_MAX_BYTES ((size_t)256 << 20)
#define DELETED_SUFFIX	   " (deleted)"

/* Sorts before every module. */
#define KERNEL_RUN 0

struct place {
	uint64_t address;
	uint32_t module; /* KERNEL_RUN for kernel frames */
	uint32_t location;
};

struct symbolizer {
	struct profile_writer *w;
	struct symbolize_stats stats;
	uint64_t started_ns; /* CLOCK_REALTIME when this program started */
	struct vec(struct place) places;
};

/*
 * When this program started, as file times count. /proc gives it in ticks (of 10 ms, rounded down)
 * since boot; without it (a /proc that hides) nothing counts as old enough.
 */
static uint64_t program_start_ns(void)
{
	struct timespec boot, real;
	struct buf stat = BUF_INIT;
	unsigned long long ticks = 0;
	const char *after_name = NULL;
	uint64_t age_ns, start_ns = 0;

	if (!io_read_file("/proc/self/stat", 4096, &stat))
		after_name = strrchr(buf_text(&stat), ')');
	if (after_name &&
		sscanf(after_name + 1,
			" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			"%*d %*d %*d %llu",
			&ticks) == 1) {
		clock_gettime(CLOCK_BOOTTIME, &boot);
		clock_gettime(CLOCK_REALTIME, &real);
		age_ns = (uint64_t)boot.tv_sec * NS_PER_SECOND + (uint64_t)boot.tv_nsec -
			 ticks * (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
		start_ns = (uint64_t)real.tv_sec * NS_PER_SECOND + (uint64_t)real.tv_nsec - age_ns;
	}
	buf_release(&stat);
	return start_ns;
}

/* Neither contents nor name were touched since this program started (both set the change time). */
static bool unchanged_since_start(const struct symbolizer *s, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	return (uint64_t)st.st_ctim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_ctim.tv_nsec <
	       s->started_ns;
}

static bool is_file_of(const struct symbolizer *s, struct elf_file *f,
	const struct profile_module *m, const char *path)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t size = elf_file_build_id(f, id);

	if (size != m->build_id_size)
		return false;
	return size ? !memcmp(id, m->build_id, size) : unchanged_since_start(s, path);
}

/* A deleted file's name may be that of its successor by now, which is_file_of() tells. */
static int open_file_module(const struct symbolizer *s, const struct profile_module *m,
	struct elf_file **ret)
{
	const char *path = profile_writer_string(s->w, m->path);
	size_t length = strlen(path), suffix = strlen(DELETED_SUFFIX);
	struct elf_file *f;
	char *plain;
	int error;

	if (path[0] != '/')
		return -ENOENT;
	plain = strdup(path);
	if (!plain)
		return -ENOMEM;
	if (m->build_id_size && length > suffix && !strcmp(path + length - suffix, DELETED_SUFFIX))
		plain[length - suffix] = '\0';
	error = elf_file_open(&f, plain);
	if (!error && !is_file_of(s, f, m, plain)) {
		elf_file_close(f);
		error = -ENOENT;
	}
	free(plain);
	if (!error)
		*ret = f;
	return error;
}

/* Every 64-bit process has the same vdso; a build id says whether it is one of them. */
static int open_vdso_module(const struct profile_module *m, struct elf_file **ret)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct elf_file *f;
	int error = vdso_open(&f);

	if (error)
		return error;
	if (!m->build_id_size || elf_file_build_id(f, id) != m->build_id_size ||
		memcmp(id, m->build_id, m->build_id_size)) {
		elf_file_close(f);
		return -ENOENT;
	}
	*ret = f;
	return 0;
}

static int add_name(struct symbolizer *s, uint32_t location, const char *name, size_t length)
{
	uint32_t id;
	int error = profile_add_string(s->w, name, length, &id);

	if (!error)
		error = profile_add_symbol(s->w, location, id, 0, 0);
	if (!error)
		s->stats.named++;
	return error;
}

static int name_places(struct symbolizer *s, struct elf_file *f, const struct place *places,
	size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		uint64_t vaddr, start;
		const char *name;

		if (elf_file_offset_to_vaddr(f, places[i].address, &vaddr))
			continue;
		name = elf_file_function_at(f, vaddr, &start);
		if (name)
			error = add_name(s, places[i].location, name, strlen(name));
	}
	return error;
}

static int name_module(struct symbolizer *s, const struct place *places, size_t count)
{
	const struct profile_module *m = profile_writer_module(s->w, places->module);
	struct elf_file *f;
	int error;

	if (!m || (m->kind != MODULE_FILE && m->kind != MODULE_VDSO))
		return 0;
	error = m->kind == MODULE_FILE ? open_file_module(s, m, &f) : open_vdso_module(m, &f);
	if (error == -ENOMEM)
		return error;
	if (error) {
		s->stats.modules_absent++;
		return 0;
	}
	error = name_places(s, f, places, count);
	elf_file_close(f);
	return error;
}

static int name_matches(struct symbolizer *s, const struct place *places,
	const struct kallsyms_match *matches, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		if (matches[i].name)
			error = add_name(s, places[i].location, matches[i].name,
				matches[i].name_length);
	return error;
}

static int name_kernel(struct symbolizer *s, const struct place *places, size_t count)
{
	struct kallsyms_match *matches = calloc(count, sizeof(*matches));
	uint64_t named = s->stats.named;
	struct buf text = BUF_INIT;
	int error;

	if (!matches)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		matches[i].address = places[i].address;
	error = io_read_file("/proc/kallsyms", KALLSYMS_MAX_BYTES, &text);
	if (!error) {
		kallsyms_match(buf_text(&text), text.size, matches, count);
		error = name_matches(s, places, matches, count);
	} else if (error != -ENOMEM) {
		error = 0;
	}
	if (!error && s->stats.named == named)
		s->stats.modules_absent++;
	buf_release(&text);
	free(matches);
	return error;
}

/* Locations that code stands behind and that have no name. */
static int gather(struct symbolizer *s)
{
	uint32_t count = profile_writer_location_count(s->w);

	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_location *l = profile_writer_location(s->w, id);
		struct place p;

		if (!l || l->name || (l->kind != FRAME_USER && l->kind != FRAME_KERNEL))
			continue;
		s->stats.locations++;
		if (l->kind == FRAME_USER && !l->module)
			continue;
		p = (struct place){
			.address = l->address,
			.module = l->kind == FRAME_KERNEL ? KERNEL_RUN : l->module,
			.location = id,
		};
		if (vec_push(&s->places, p))
			return -ENOMEM;
	}
	return 0;
}

static int by_place(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return 0;
}

static int name_all(struct symbolizer *s)
{
	const struct place *places = s->places.items;
	size_t count = s->places.count;
	int error = 0;

	for (size_t first = 0, next; !error && first < count; first = next) {
		for (next = first + 1; next < count && places[next].module == places[first].module;)
			next++;
		if (places[first].module == KERNEL_RUN)
			error = name_kernel(s, places + first, next - first);
		else
			error = name_module(s, places + first, next - first);
	}
	return error;
}

int symbolize_profile(struct profile_writer *w, struct symbolize_stats *ret)
{
	struct symbolizer s = {.w = w, .started_ns = program_start_ns()};
	int error = gather(&s);

	if (!error && s.places.count)
		qsort(s.places.items, s.places.count, sizeof(*s.places.items), by_place);
	if (!error)
		error = name_all(&s);
	vec_release(&s.places);
	if (error == -ENOMEM)
		return error_errno(error, "cannot name the code of the profile");
	if (error)
		return error;
	*ret = s.stats;
	return 0;
}
