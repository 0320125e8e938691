// SPDX-License-Identifier: MIT
/* The service of unwind tables: its memory, the files it keeps, states and eviction. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "elf/vdso.h"
#include "tap.h"
#include "unwind_request.h"
#include "unwind/arena.h"
#include "unwind/cache.h"
#include "unwind/cfi.h"
#include "unwind/tables.h"

#define LONG_NS	    (60 * NS_PER_SECOND)
#define SELF	    "/proc/self/exe"
#define TABLE_WORDS (2 * WALK_TABLE_ALIGN)

static char folder[] = "/tmp/unwind-tables-test-XXXXXX";

/* The C library that this program is linked with. */
static const char *library(void)
{
	static char path[512];
	char line[1024];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (!path[0] && fgets(line, sizeof(line), maps))
		if (strstr(line, "/libc.so.6") || strstr(line, "/libc-"))
			sscanf(line, "%*s %*s %*s %*s %*s %511s", path);
	fclose(maps);
	return path;
}

static void make_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(write(fd, data, size) == (ssize_t)size);
	close(fd);
}

/* ------------------------------------------------------------------ space */

static void free_ranges_are_taken_first_fit_and_joined_again(void)
{
	struct space s = {0};
	uint32_t a, b, c, d;

	CHECK(!space_give(&s, 100, 60));
	CHECK(space_alloc(&s, 20, &a) && a == 100);
	CHECK(space_alloc(&s, 20, &b) && b == 120);
	CHECK(space_alloc(&s, 20, &c) && c == 140);
	CHECK(!space_alloc(&s, 1, &d));
	CHECK(!space_give(&s, a, 20) && !space_give(&s, c, 20));
	CHECK(!space_alloc(&s, 21, &d));
	CHECK(!space_give(&s, b, 20));
	CHECK(s.free.count == 1);
	CHECK(space_alloc(&s, 60, &d) && d == 100);
	CHECK(s.free.count == 0);
	space_release(&s);
}

static void ranges_given_in_any_order_become_one(void)
{
	struct space s = {0};
	uint32_t at;

	for (uint32_t i = 0; i < 64; i++)
		CHECK(!space_give(&s, (i * 37 % 64) * 16, 16));
	CHECK(s.free.count == 1);
	CHECK(space_alloc(&s, 1024, &at) && at == 0);
	space_release(&s);
}

/* ------------------------------------------------------------------ arena */

static const struct arena_home memfds = {0};

static void chunks_lie_one_behind_the_other_and_can_be_mapped_elsewhere(void)
{
	struct arena a;
	const uint32_t value = 77;
	uint32_t at, *other;
	int fd;

	CHECK(!arena_init(&a, 2, &memfds));
	for (uint32_t i = 0; i < 2; i++)
		CHECK(!arena_make_chunk(&a, i, &fd) && !arena_attach(&a, fd));
	CHECK(arena_alloc(&a, WALK_CHUNK_WORDS + 16, &at));
	CHECK(at == WALK_TABLE_ALIGN);
	CHECK(!arena_write(&a, WALK_CHUNK_WORDS + 5, &value, 1));
	other = mmap(NULL, WALK_CHUNK_BYTES, PROT_READ, MAP_SHARED, a.fds[1], 0);
	CHECK(other != MAP_FAILED && other[5] == 77);
	munmap(other, WALK_CHUNK_BYTES);
	other = mmap(NULL, WALK_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, a.fds[1], 0);
	CHECK(other == MAP_FAILED);
	arena_release(&a);
}

static void retired_words_are_free_a_second_after_it_was_told(void)
{
	struct arena a;
	uint32_t at;
	int fd;

	CHECK(!arena_init(&a, 1, &memfds));
	CHECK(!arena_make_chunk(&a, 0, &fd) && !arena_attach(&a, fd));
	CHECK(arena_alloc(&a, WALK_CHUNK_WORDS - 16, &at));
	CHECK(!arena_retire(&a, at, WALK_CHUNK_WORDS - 16));
	CHECK(arena_reclaim(&a, 5) == UINT64_MAX);
	arena_publish(&a, 10);
	CHECK(arena_reclaim(&a, 20) == 10 + UNWIND_REUSE_NS);
	CHECK(!arena_alloc(&a, 16, &at));
	CHECK(arena_reclaim(&a, 10 + UNWIND_REUSE_NS) == 0);
	CHECK(arena_alloc(&a, WALK_CHUNK_WORDS - 16, &at));
	arena_release(&a);
}

/* ------------------------------------------------------------------ cache */

/* The smallest table: one page, one row, one rule. */
static const uint32_t *small_table(void)
{
	static uint32_t words[TABLE_WORDS];
	struct walk_table_header h = {
		.magic = WALK_TABLE_MAGIC,
		.words = TABLE_WORDS,
		.page_count = 1,
		.pages_at = 16,
		.row_count = 1,
		.rows_at = 18,
		.rule_count = 1,
		.rules_at = 20,
	};

	memcpy(words, &h, sizeof(h));
	words[17] = 1;
	return words;
}

static const struct unwind_cache_key some_key = {
	.id_size = 20, .id = {1, 2, 3, 0xab}, .file = {.device = 0x801, .inode = 0x2a, .size = 9}};

static char *cache_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static char *kept_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s/010203ab00000000000000000000000000000000-801-2a.xwt",
		folder, name);
	return path;
}

static void a_table_that_was_kept_is_found_again_whole(void)
{
	struct unwind_cache *c;
	struct unwind_cached found;
	uint32_t words[TABLE_WORDS];
	struct stat st;

	CHECK(!unwind_cache_open(&c, cache_path("a/b"), UNWIND_CACHE_LIMIT));
	CHECK(!stat(cache_path("a/b"), &st) && (st.st_mode & 0777) == 0700);
	CHECK(unwind_cache_find(c, &some_key, &found) == -ENOENT);
	CHECK(!unwind_cache_store(c, &some_key, small_table()));
	CHECK(!unwind_cache_find(c, &some_key, &found));
	CHECK(found.words == TABLE_WORDS);
	CHECK(!unwind_cache_load(c, &found, words));
	CHECK(!memcmp(words, small_table(), sizeof(words)));
	unwind_cache_close(c);
}

/* Of each field alone, as whoever makes a file could make the others the same. */
static void a_table_of_another_file_is_not_found(void)
{
	struct unwind_cache_key others[8];
	struct unwind_cache *c;
	struct unwind_cached found;

	CHECK(!unwind_cache_open(&c, cache_path("others"), UNWIND_CACHE_LIMIT));
	for (size_t i = 0; i < 8; i++)
		others[i] = some_key;
	others[0].id_size = 19;
	others[1].id[19] = 1;
	others[2].file.device++;
	others[3].file.inode++;
	others[4].file.size++;
	others[5].file.modified_ns++;
	others[6].file.changed_ns++;
	others[7].file.owner++;
	for (size_t i = 0; i < 8; i++) {
		CHECK(!unwind_cache_store(c, &some_key, small_table()));
		CHECK(unwind_cache_find(c, &others[i], &found) == -ENOENT);
	}
	unwind_cache_close(c);
}

static void tables_that_were_kept_by_build_id_alone_are_removed(void)
{
	struct unwind_cache *c;

	CHECK(!unwind_cache_open(&c, cache_path("old"), UNWIND_CACHE_LIMIT));
	CHECK(!unwind_cache_store(c, &some_key, small_table()));
	unwind_cache_close(c);
	make_file(cache_path("old/010203ab00000000000000000000000000000000.xwt"), "x", 1);
	CHECK(!unwind_cache_open(&c, cache_path("old"), UNWIND_CACHE_LIMIT));
	CHECK(!unwind_cache_store(c, &some_key, small_table()));
	CHECK(access(cache_path("old/010203ab00000000000000000000000000000000.xwt"), F_OK));
	CHECK(!access(kept_path("old"), F_OK));
	unwind_cache_close(c);
}

/* Every byte of the file counts, and a short file is none. */
static void a_damaged_file_is_removed(void)
{
	struct unwind_cache *c;
	struct unwind_cached found;
	uint32_t words[TABLE_WORDS];
	char good[128 + sizeof(words)], bad[sizeof(good)];
	int fd;

	CHECK(!unwind_cache_open(&c, cache_path("damaged"), UNWIND_CACHE_LIMIT));
	CHECK(!unwind_cache_store(c, &some_key, small_table()));
	fd = open(kept_path("damaged"), O_RDONLY | O_CLOEXEC);
	CHECK(read(fd, good, sizeof(good)) == sizeof(good));
	close(fd);
	for (size_t i = 0; i < sizeof(good); i++) {
		memcpy(bad, good, sizeof(good));
		bad[i] ^= 0x40;
		make_file(kept_path("damaged"), bad, sizeof(bad));
		if (i >= 104 && i < 128) /* nothing is kept there */
			continue;
		CHECK(unwind_cache_find(c, &some_key, &found) ||
			unwind_cache_load(c, &found, words) == -EINVAL);
		CHECK(access(kept_path("damaged"), F_OK));
	}
	make_file(kept_path("damaged"), good, sizeof(good) - 1);
	CHECK(unwind_cache_find(c, &some_key, &found) == -ENOENT);
	unwind_cache_close(c);
}

static void a_file_with_a_wrong_table_is_not_loaded(void)
{
	struct unwind_cache *c;
	struct unwind_cached found;
	uint32_t words[TABLE_WORDS];

	CHECK(!unwind_cache_open(&c, cache_path("wrong"), UNWIND_CACHE_LIMIT));
	memcpy(words, small_table(), sizeof(words));
	words[18] = 1 << WALK_PAGE_SHIFT; /* a rule that is not there */
	CHECK(!unwind_cache_store(c, &some_key, words));
	CHECK(!unwind_cache_find(c, &some_key, &found));
	CHECK(unwind_cache_load(c, &found, words) == -EINVAL);
	CHECK(access(kept_path("wrong"), F_OK));
	unwind_cache_close(c);
}

static void links_and_folders_of_others_are_refused(void)
{
	struct unwind_cache *c;
	struct unwind_cached found;

	CHECK(!unwind_cache_open(&c, cache_path("real"), UNWIND_CACHE_LIMIT));
	make_file(cache_path("secret"), "x", 1);
	CHECK(!symlink(cache_path("secret"), kept_path("real")));
	CHECK(unwind_cache_find(c, &some_key, &found) == -ENOENT);
	unwind_cache_close(c);
	CHECK(!symlink("real", cache_path("link")));
	CHECK(unwind_cache_open(&c, cache_path("link"), UNWIND_CACHE_LIMIT) < 0);
	CHECK(!mkdir(cache_path("open"), 0700) && !chmod(cache_path("open"), 0777));
	CHECK(unwind_cache_open(&c, cache_path("open"), UNWIND_CACHE_LIMIT) == -EPERM);
}

static void beyond_the_limit_what_was_not_used_for_longest_goes(void)
{
	struct unwind_cache *c;
	struct unwind_cached found;
	struct unwind_cache_key key = some_key;

	/* They are small, but nobody may have any number of them. */
	CHECK(!unwind_cache_open(&c, cache_path("limit"), 8 * UNWIND_CACHE_FILE_MIN));
	for (key.id[0] = 1; key.id[0] <= 9; key.id[0]++) {
		CHECK(!unwind_cache_store(c, &key, small_table()));
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
	key.id[0] = 1;
	CHECK(unwind_cache_find(c, &key, &found) == -ENOENT);
	key.id[0] = 9;
	CHECK(!unwind_cache_find(c, &key, &found));
	unwind_cache_drop(&found);
	unwind_cache_close(c);
}

static void the_folder_is_where_the_user_says(void)
{
	struct buf text = BUF_INIT;

	setenv("XPUPROF_CACHE_DIR", "/some/where", 1);
	CHECK_TEXT(unwind_cache_default(&text), "/some/where");
	unsetenv("XPUPROF_CACHE_DIR");
	CHECK(unwind_cache_default(&text));
	if (!geteuid())
		CHECK_TEXT(unwind_cache_default(&text), "/var/cache/xpuprof");
	buf_release(&text);
}

/* ------------------------------------------------------------------ tables */

static struct unwind_tables *new_tables(const struct unwind_tables_options *options)
{
	struct unwind_tables *t = NULL;

	CHECK(!unwind_tables_new(&t, options));
	return t;
}

static void a_requested_table_is_pending_and_then_ready(void)
{
	struct unwind_tables *t = new_tables(&(struct unwind_tables_options){.threads = 2});
	const struct walk_table_header *h;
	uint32_t id = 0, again = 0, word = 0;
	struct pollfd event = {.fd = unwind_tables_fd(t), .events = POLLIN};

	CHECK(!request_table(t, library(), &id) && id == 1);
	CHECK(unwind_tables_state(t, id, &word) == UNWIND_PENDING);
	CHECK(poll(&event, 1, 60000) == 1);
	CHECK(unwind_tables_state(t, id, &word) == UNWIND_PENDING);
	CHECK(unwind_tables_poll(t));
	CHECK(!unwind_tables_poll(t));
	CHECK(poll(&event, 1, 0) == 0);
	CHECK(unwind_tables_state(t, id, &word) == UNWIND_READY);
	h = (const struct walk_table_header *)(unwind_tables_words(t) + word);
	CHECK(word % WALK_TABLE_ALIGN == 0 && word);
	CHECK(unwind_table_is_sound((const uint32_t *)h, h->words));
	CHECK(!request_table(t, library(), &again) && again == id);
	CHECK(unwind_tables_state(t, again, &word) == UNWIND_READY);
	CHECK(unwind_tables_totals(t).tables == 1 && unwind_tables_totals(t).built == 1);
	unwind_tables_free(t);
}

static void waiting_takes_in_what_was_finished(void)
{
	struct unwind_tables *t = new_tables(&(struct unwind_tables_options){.threads = 1});
	struct elf_file *vdso;
	uint32_t ids[3] = {0};

	CHECK(!vdso_open(&vdso));
	CHECK(!request_table(t, library(), &ids[0]));
	CHECK(!request_table(t, SELF, &ids[1]));
	CHECK(!unwind_tables_request_vdso(t, vdso, &ids[2]));
	elf_file_close(vdso);
	CHECK(unwind_tables_wait(t, ids, 3, LONG_NS));
	for (int i = 0; i < 3; i++)
		CHECK(unwind_tables_state(t, ids[i], NULL) == UNWIND_READY);
	CHECK(unwind_tables_poll(t));
	CHECK(!unwind_tables_poll(t));
	unwind_tables_free(t);
}

static void files_without_tables_say_why_by_their_states(void)
{
	struct unwind_tables *t = new_tables(&(struct unwind_tables_options){0});
	struct unwind_file file = {.debug_fd = -1, .identity.inode = 1};
	char text[] = "just a text";
	uint32_t id = 0, again;

	make_file(cache_path("text"), text, sizeof(text));
	file.fd = open(cache_path("text"), O_RDONLY);
	CHECK(!unwind_tables_request(t, &file, &id) && id);
	CHECK(unwind_tables_wait(t, &id, 1, LONG_NS));
	CHECK(unwind_tables_state(t, id, NULL) == UNWIND_FAILED);
	CHECK(!unwind_tables_request(t, &file, &again) && again == id);
	CHECK(unwind_tables_state(t, id, NULL) == UNWIND_FAILED);
	close(file.fd);
	unwind_tables_free(t);
}

/* Whoever makes a file chooses its build id. */
static void another_file_with_the_same_build_id_has_a_table_of_its_own(void)
{
	struct unwind_tables *t = new_tables(&(struct unwind_tables_options){0});
	struct unwind_file mine = {.debug_fd = -1, .build_id_size = 20, .identity.inode = 1},
			   other = mine;
	uint32_t ids[2] = {0};

	mine.fd = open(SELF, O_RDONLY);
	other.fd = open("/dev/null", O_RDONLY);
	other.identity.inode = 2;
	CHECK(!unwind_tables_request(t, &other, &ids[0]));
	CHECK(!unwind_tables_request(t, &mine, &ids[1]) && ids[1] != ids[0]);
	CHECK(unwind_tables_wait(t, ids, 2, LONG_NS));
	CHECK(unwind_tables_state(t, ids[0], NULL) == UNWIND_FAILED);
	CHECK(unwind_tables_state(t, ids[1], NULL) == UNWIND_READY);
	close(mine.fd);
	close(other.fd);
	unwind_tables_free(t);
}

static int build_nonsense(void *context, unsigned int thread, int fd, int debug_fd,
	uint32_t **ret_words, size_t *ret_count)
{
	*ret_count = 64;
	*ret_words = malloc(*ret_count * sizeof(**ret_words));
	if (*ret_words)
		memset(*ret_words, 0x5a, *ret_count * sizeof(**ret_words));
	return *ret_words ? 0 : -ENOMEM;
}

static void words_that_are_no_table_are_refused(void)
{
	struct unwind_tables *t =
		new_tables(&(struct unwind_tables_options){.build = build_nonsense});
	uint32_t id = 0;

	CHECK(!request_table(t, SELF, &id));
	CHECK(unwind_tables_wait(t, &id, 1, LONG_NS));
	CHECK(unwind_tables_state(t, id, NULL) == UNWIND_FAILED);
	unwind_tables_free(t);
}

static void a_table_that_was_kept_is_not_made_again(void)
{
	struct unwind_tables_options options = {.cache_dir = cache_path("service")};
	struct unwind_totals totals;
	uint32_t id;

	for (int run = 0; run < 2; run++) {
		struct unwind_tables *t = new_tables(&options);

		CHECK(!unwind_tables_cache_problem(t));
		CHECK(!request_table(t, library(), &id));
		CHECK(unwind_tables_wait(t, &id, 1, LONG_NS));
		CHECK(unwind_tables_state(t, id, NULL) == UNWIND_READY);
		totals = unwind_tables_totals(t);
		CHECK(totals.built == (run == 0) && totals.cached == (run == 1));
		unwind_tables_free(t);
	}
}

static void a_folder_that_cannot_be_used_is_told_and_tables_are_made(void)
{
	struct unwind_tables_options options = {.cache_dir = "/dev/null/cache"};
	struct unwind_tables *t = new_tables(&options);
	uint32_t id;

	CHECK(unwind_tables_cache_problem(t));
	CHECK(!request_table(t, library(), &id));
	CHECK(unwind_tables_wait(t, &id, 1, LONG_NS));
	CHECK(unwind_tables_state(t, id, NULL) == UNWIND_READY);
	unwind_tables_free(t);
}

/* A budget that holds either table and not both. */
static size_t tight_budget(void)
{
	struct unwind_tables *t = new_tables(&(struct unwind_tables_options){.threads = 1});
	uint32_t ids[2];
	size_t bytes;

	CHECK(!request_table(t, library(), &ids[0]));
	CHECK(!request_table(t, SELF, &ids[1]));
	CHECK(unwind_tables_wait(t, ids, 2, LONG_NS));
	bytes = unwind_tables_totals(t).bytes - 64;
	unwind_tables_free(t);
	return bytes;
}

static void the_table_that_nobody_uses_makes_room_for_another(void)
{
	struct unwind_tables_options options = {.budget_bytes = tight_budget(), .threads = 1};
	struct unwind_tables *t = new_tables(&options);
	uint32_t first, second, word, other;

	CHECK(!request_table(t, library(), &first));
	CHECK(unwind_tables_wait(t, &first, 1, LONG_NS));
	CHECK(unwind_tables_state(t, first, &word) == UNWIND_READY);
	CHECK(!request_table(t, SELF, &second));
	CHECK(unwind_tables_wait(t, &second, 1, LONG_NS));
	CHECK(unwind_tables_state(t, second, &other) == UNWIND_READY && other != word);
	CHECK(unwind_tables_state(t, first, NULL) == UNWIND_EVICTED);
	CHECK(unwind_tables_words(t)[word] == WALK_TABLE_MAGIC);
	CHECK(unwind_tables_totals(t).evicted == 1 && unwind_tables_totals(t).tables == 1);
	CHECK(!request_table(t, library(), &other) && other == first);
	CHECK(unwind_tables_wait(t, &first, 1, LONG_NS));
	CHECK(unwind_tables_state(t, first, NULL) == UNWIND_READY);
	CHECK(unwind_tables_state(t, second, NULL) == UNWIND_EVICTED);
	unwind_tables_free(t);
}

static void a_table_in_use_is_kept_and_the_new_one_finds_no_room(void)
{
	struct unwind_tables_options options = {.budget_bytes = tight_budget(), .threads = 1};
	struct unwind_tables *t = new_tables(&options);
	uint32_t first, second;

	CHECK(!request_table(t, library(), &first));
	CHECK(unwind_tables_wait(t, &first, 1, LONG_NS));
	unwind_tables_use(t, &first, 1, 1);
	CHECK(!request_table(t, SELF, &second));
	CHECK(unwind_tables_wait(t, &second, 1, LONG_NS));
	CHECK(unwind_tables_state(t, first, NULL) == UNWIND_READY);
	CHECK(unwind_tables_state(t, second, NULL) == UNWIND_EVICTED);
	unwind_tables_use(t, &first, 1, -1);
	CHECK(!request_table(t, SELF, &second));
	CHECK(unwind_tables_wait(t, &second, 1, LONG_NS));
	CHECK(unwind_tables_state(t, second, NULL) == UNWIND_READY);
	unwind_tables_free(t);
}

struct chunks {
	uint32_t made;
	uint32_t visited;
};

static int make_chunk(void *context, uint32_t index, int *ret_fd)
{
	struct chunks *c = context;

	CHECK(index == c->made);
	c->made++;
	*ret_fd = memfd_create("chunk", MFD_CLOEXEC);
	return *ret_fd < 0 || ftruncate(*ret_fd, WALK_CHUNK_BYTES) ? -ENOMEM : 0;
}

static int visit_chunk(void *context, uint32_t index, int fd)
{
	struct chunks *c = context;
	struct stat st;

	CHECK(index == c->visited);
	CHECK(!fstat(fd, &st) && st.st_size == WALK_CHUNK_BYTES);
	c->visited++;
	return 0;
}

static void chunks_are_made_by_the_caller_and_told_in_order(void)
{
	struct chunks chunks = {0};
	struct unwind_tables_options options = {.new_chunk = make_chunk, .context = &chunks};
	struct unwind_tables *t = new_tables(&options);

	CHECK(chunks.made == 1);
	CHECK(unwind_tables_chunks(t, 0, visit_chunk, &chunks) == 1);
	CHECK(chunks.visited == 1);
	CHECK(unwind_tables_word_count(t) == WALK_CHUNK_WORDS);
	unwind_tables_free(t);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(folder))
		return 1;
	RUN(free_ranges_are_taken_first_fit_and_joined_again);
	RUN(ranges_given_in_any_order_become_one);
	RUN(chunks_lie_one_behind_the_other_and_can_be_mapped_elsewhere);
	RUN(retired_words_are_free_a_second_after_it_was_told);
	RUN(a_table_that_was_kept_is_found_again_whole);
	RUN(a_table_of_another_file_is_not_found);
	RUN(tables_that_were_kept_by_build_id_alone_are_removed);
	RUN(a_damaged_file_is_removed);
	RUN(a_file_with_a_wrong_table_is_not_loaded);
	RUN(links_and_folders_of_others_are_refused);
	RUN(beyond_the_limit_what_was_not_used_for_longest_goes);
	RUN(the_folder_is_where_the_user_says);
	RUN(a_requested_table_is_pending_and_then_ready);
	RUN(waiting_takes_in_what_was_finished);
	RUN(files_without_tables_say_why_by_their_states);
	RUN(another_file_with_the_same_build_id_has_a_table_of_its_own);
	RUN(words_that_are_no_table_are_refused);
	RUN(a_table_that_was_kept_is_not_made_again);
	RUN(a_folder_that_cannot_be_used_is_told_and_tables_are_made);
	RUN(the_table_that_nobody_uses_makes_room_for_another);
	RUN(a_table_in_use_is_kept_and_the_new_one_finds_no_room);
	RUN(chunks_are_made_by_the_caller_and_told_in_order);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		return 1;
	return tap_end();
}
