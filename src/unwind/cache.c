// SPDX-License-Identifier: MIT
/*
 * A file, in the machine's byte order:
 *
 *	  0  magic "XWTC", version
 *	  8  words of the table, size of the build id
 *	 16  check of the words
 *	 24  build id, padded with zeros
 *	 48  the file that the table was made from (struct file_identity)
 *	 96  check of these 96 bytes
 *	104  zeros
 *	128  words
 *
 * The check finds damage, not malice: that is what unwind_table_is_sound and the walkers' own
 * bounds are for. All access goes through the folder's descriptor, which was checked once, and
 * follows no links.
 */
#include "unwind/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bare/hash_step.h"
#include "base/error.h"
#include "base/io.h"
#include "base/vec.h"
#include "unwind/cfi.h"

#define CACHE_MAGIC	0x43545758u /* "XWTC" */
#define CACHE_VERSION	7	    /* of what is written, and of how tables are made */
#define SUFFIX		".xwt"
#define TEMPORARY	".new-"
#define TEMPORARY_AGE_S 600 /* one that is older was left by a recorder that was killed */
#define PRUNE_TO(limit) ((limit) / 8 * 7)

struct cache_header {
	uint32_t magic;
	uint32_t version;
	uint32_t words;
	uint32_t id_size;
	uint64_t check;
	uint8_t id[24];
	struct file_identity file;
	uint64_t header_check;
	uint64_t reserved[3];
};

_Static_assert(sizeof(struct cache_header) == 128, "as drawn");
_Static_assert(sizeof(((struct cache_header *)0)->id) >= ELF_BUILD_ID_MAX, "holds a build id");

struct unwind_cache {
	int dir;
	uint64_t limit_bytes;
	/* Of all files, as they count, about: others may write as well. They are counted when the
	 * first table is kept, which is beyond the limit therefore: where they are many, to begin
	 * would take long. */
	uint64_t size_bytes;
	uint32_t serial; /* of temporary names */
};

/* A file of the folder. */
struct cached_file {
	char *name;
	uint64_t size; /* as it counts */
	int64_t used_ns;
	bool temporary;
	bool outdated; /* of a version that kept them by build id alone */
};

struct cached_files vec(struct cached_file);

/* Four sums at a time, as multiplications take long but need not wait for each other. */
static uint64_t check_of(const void *data, size_t size)
{
	const uint8_t *at = data;
	uint64_t sums[4] = {1, 2, 3, 4}, word, result = size;

	for (; size >= 32; size -= 32) {
		for (int i = 0; i < 4; i++, at += 8) {
			memcpy(&word, at, 8);
			sums[i] = hash_step(sums[i], word);
			sums[i] ^= sums[i] >> 32;
		}
	}
	for (; size; size--)
		sums[0] = hash_step(sums[0], *at++);
	for (int i = 0; i < 4; i++)
		result = (result ^ sums[i]) * 0xbf58476d1ce4e5b9ull;
	return result ^ result >> 29;
}

static uint64_t header_check(const struct cache_header *h)
{
	return check_of(h, offsetof(struct cache_header, header_check));
}

/* ------------------------------------------------------------------ the folder */

/* Whoever can make files that we profile can have many small ones kept, and the folder is read at
 * each start. */
static uint64_t counted_bytes(uint64_t size)
{
	return size < UNWIND_CACHE_FILE_MIN ? UNWIND_CACHE_FILE_MIN : size;
}

static int make_folders(const char *path)
{
	char *copy = strdup(path);
	int error = 0;

	if (!copy)
		return -ENOMEM;
	for (char *slash = copy; !error && slash;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(copy, 0700) && errno != EEXIST)
			error = -errno;
		if (slash)
			*slash = '/';
	}
	free(copy);
	return error;
}

static int open_folder(const char *path)
{
	struct stat st;
	int fd, error = 0;

	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		error = make_folders(path);
		if (error)
			return error_errno(error, "cannot make the folder '%s'", path);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return error_errno(-errno, "cannot open the folder '%s'", path);
	if (fstat(fd, &st))
		error = error_errno(-errno, "cannot examine '%s'", path);
	else if (st.st_uid != geteuid() || (st.st_mode & 077))
		error = error_set(-EPERM, "the folder '%s' is not ours alone", path);
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

static bool has_suffix(const char *name)
{
	size_t size = strlen(name);

	return size > strlen(SUFFIX) && !strcmp(name + size - strlen(SUFFIX), SUFFIX);
}

static int add_file(const struct unwind_cache *c, const char *name, struct cached_files *files)
{
	struct cached_file file = {.temporary = !strncmp(name, TEMPORARY, strlen(TEMPORARY))};
	struct stat st;

	if (!file.temporary && !has_suffix(name))
		return 0;
	file.outdated = !file.temporary && !strchr(name, '-');
	if (fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	file.size = counted_bytes((uint64_t)st.st_size);
	file.used_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	file.name = strdup(name);
	if (!file.name || vec_push(files, file)) {
		free(file.name);
		return -ENOMEM;
	}
	return 0;
}

static void release_files(struct cached_files *files)
{
	vec_foreach (f, files)
		free(f->name);
	vec_release(files);
}

static int list_files(const struct unwind_cache *c, struct cached_files *ret)
{
	int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		error = -errno;
		if (fd >= 0)
			close(fd);
		return error;
	}
	while (!error && (entry = readdir(dir)))
		error = add_file(c, entry->d_name, ret);
	closedir(dir);
	return error;
}

static int by_use(const void *a, const void *b)
{
	const struct cached_file *x = a, *y = b;

	return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

/* Counts the files and, where they are too many, removes the least recently used. */
static int prune(struct unwind_cache *c)
{
	struct cached_files files = {0};
	struct timespec now;
	uint64_t size = 0;
	bool over;
	int error = list_files(c, &files);

	clock_gettime(CLOCK_REALTIME, &now);
	vec_foreach (f, &files)
		size += f->size;
	over = size > c->limit_bytes;
	if (over)
		qsort(files.items, files.count, sizeof(*files.items), by_use);
	vec_foreach (f, &files) {
		bool stale = f->used_ns / 1000000000ll < now.tv_sec - TEMPORARY_AGE_S;

		if (f->temporary ? !stale
				 : !f->outdated && (!over || size <= PRUNE_TO(c->limit_bytes)))
			continue;
		if (!unlinkat(c->dir, f->name, 0))
			size -= f->size;
	}
	release_files(&files);
	__atomic_store_n(&c->size_bytes, size, __ATOMIC_RELAXED);
	return error;
}

int unwind_cache_open(struct unwind_cache **ret, const char *path, uint64_t limit_bytes)
{
	struct unwind_cache *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return error_errno(-ENOMEM, "cannot open the folder '%s'", path);
	c->limit_bytes = c->size_bytes = limit_bytes;
	c->dir = open_folder(path);
	if (c->dir < 0) {
		error = c->dir;
		unwind_cache_close(c);
		return error;
	}
	*ret = c;
	return 0;
}

void unwind_cache_close(struct unwind_cache *c)
{
	if (!c)
		return;
	if (c->dir >= 0)
		close(c->dir);
	free(c);
}

/* ------------------------------------------------------------------ its files */

static void file_name(const struct unwind_cache_key *key, char *ret, size_t size)
{
	int length = 0;

	for (size_t i = 0; i < key->id_size; i++)
		length += snprintf(ret + length, size - (size_t)length, "%02x", key->id[i]);
	snprintf(ret + length, size - (size_t)length, "-%" PRIx64 "-%" PRIx64 SUFFIX,
		key->file.device, key->file.inode);
}

static bool header_is_good(const struct cache_header *h, int fd, const struct unwind_cache_key *key)
{
	struct stat st;

	return h->magic == CACHE_MAGIC && h->version == CACHE_VERSION &&
	       h->header_check == header_check(h) && h->id_size == key->id_size &&
	       !memcmp(h->id, key->id, key->id_size) &&
	       !memcmp(&h->file, &key->file, sizeof(h->file)) && !fstat(fd, &st) &&
	       S_ISREG(st.st_mode) && (uint64_t)st.st_size == sizeof(*h) + (uint64_t)h->words * 4;
}

int unwind_cache_find(
	struct unwind_cache *c, const struct unwind_cache_key *key, struct unwind_cached *ret)
{
	struct unwind_cached found = {0};
	struct cache_header h;

	if (!key->id_size || key->id_size > ELF_BUILD_ID_MAX)
		return error_set(-ENOENT, "no build id");
	file_name(key, found.name, sizeof(found.name));
	found.fd = openat(c->dir, found.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (found.fd < 0)
		return error_errno(-ENOENT, "no unwind table is kept");
	if (io_pread_full(found.fd, &h, sizeof(h), 0) != sizeof(h) ||
		!header_is_good(&h, found.fd, key)) {
		(void)unlinkat(c->dir, found.name, 0);
		close(found.fd);
		return error_set(-ENOENT,
			"the unwind table that is kept is damaged, or of another version or file");
	}
	found.words = h.words;
	found.check = h.check;
	*ret = found;
	return 0;
}

void unwind_cache_drop(struct unwind_cached *found)
{
	close(found->fd);
	found->fd = -1;
}

int unwind_cache_load(struct unwind_cache *c, struct unwind_cached *found, uint32_t *words)
{
	size_t size = (size_t)found->words * 4;
	bool good = io_pread_full(found->fd, words, size, sizeof(struct cache_header)) ==
			    (ssize_t)size &&
		    check_of(words, size) == found->check &&
		    unwind_table_is_sound(words, found->words);

	if (good)
		(void)futimens(found->fd, NULL); /* it was used just now */
	else
		(void)unlinkat(c->dir, found->name, 0);
	unwind_cache_drop(found);
	return good ? 0 : error_set(-EINVAL, "the unwind table that is kept is damaged");
}

static int write_file(int fd, const struct cache_header *h, const uint32_t *words)
{
	int error = io_write_all(fd, h, sizeof(*h));

	return error ?: io_write_all(fd, words, (size_t)h->words * 4);
}

int unwind_cache_store(
	struct unwind_cache *c, const struct unwind_cache_key *key, const uint32_t *words)
{
	struct cache_header h = {.magic = CACHE_MAGIC, .version = CACHE_VERSION, .file = key->file};
	uint64_t size;
	char name[96], temporary[64];
	int fd, error;

	if (!key->id_size || key->id_size > ELF_BUILD_ID_MAX)
		return 0;
	h.words = ((const struct walk_table_header *)words)->words;
	h.id_size = key->id_size;
	h.check = check_of(words, (size_t)h.words * 4);
	memcpy(h.id, key->id, key->id_size);
	h.header_check = header_check(&h);
	file_name(key, name, sizeof(name));
	snprintf(temporary, sizeof(temporary), TEMPORARY "%d-%u", (int)getpid(),
		__atomic_add_fetch(&c->serial, 1, __ATOMIC_RELAXED));
	fd = openat(c->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(-errno, "cannot keep an unwind table");
	error = write_file(fd, &h, words);
	if (close(fd) && !error)
		error = -errno;
	if (!error && renameat(c->dir, temporary, c->dir, name))
		error = -errno;
	if (error) {
		(void)unlinkat(c->dir, temporary, 0);
		return error_errno(error, "cannot keep an unwind table");
	}
	size = __atomic_add_fetch(
		&c->size_bytes, counted_bytes(sizeof(h) + (uint64_t)h.words * 4), __ATOMIC_RELAXED);
	error = size > c->limit_bytes ? prune(c) : 0;
	return error ? error_errno(error, "cannot read the folder of unwind tables") : 0;
}

const char *unwind_cache_default(struct buf *text)
{
	const char *own = secure_getenv("XPUPROF_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");

	buf_reset(text);
	if (own && own[0])
		buf_puts(text, own);
	else if (!geteuid())
		buf_puts(text, "/var/cache/xpuprof");
	else if (xdg && xdg[0] == '/')
		buf_printf(text, "%s/xpuprof", xdg);
	else if (home && home[0] == '/')
		buf_printf(text, "%s/.cache/xpuprof", home);
	else
		return NULL;
	return text->failed ? NULL : buf_text(text);
}
