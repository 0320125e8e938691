// SPDX-License-Identifier: MIT
/* The common ground: buffers, arrays, maps and interners (each beside a dumb twin), JSON text,
 * whole reads. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bare/hash_step.h"
#include "base/buf.h"
#include "base/decimal.h"
#include "base/demangle.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/io.h"
#include "base/json.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "tap.h"

/* The same numbers in every run. */
static uint64_t next_random(uint64_t *state)
{
	*state += HASH_FACTOR;
	return hash_u64(*state);
}

/* --- buf -----------------------------------------------------------------------------------------
 */

static void a_buffer_holds_what_was_appended_in_order(void)
{
	struct buf b = BUF_INIT;

	CHECK_TEXT(buf_text(&b), "");
	buf_puts(&b, "one");
	buf_putc(&b, ' ');
	buf_append(&b, "two!", 3);
	buf_printf(&b, " %d%s", 3, "");
	CHECK_TEXT(buf_text(&b), "one two 3");
	CHECK(b.size == 9);
	buf_release(&b);
	CHECK(!b.data && !b.size && !b.capacity);
}

static void a_buffer_is_terminated_at_every_size(void)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < 5000; i++) {
		if (i % 3)
			buf_putc(&b, 'x');
		else
			buf_printf(&b, "%s", "x");
		if (b.size != i + 1 || b.capacity <= b.size || b.data[b.size]) {
			CHECK(!"terminated");
			break;
		}
	}
	CHECK(strlen(buf_text(&b)) == 5000);
	buf_release(&b);
}

static void a_buffer_formats_text_longer_than_its_room(void)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "%0*d|", 3000, 7);
	CHECK(b.size == 3001);
	CHECK_TEXT(buf_text(&b) + 2999, "7|");
	buf_release(&b);
}

static void a_buffer_without_memory_stays_failed_until_it_is_reset(void)
{
	struct buf b = BUF_INIT;

	buf_puts(&b, "kept");
	CHECK(!buf_reserve(&b, SIZE_MAX));
	CHECK(b.failed);
	buf_puts(&b, "not taken");
	CHECK(!buf_reserve(&b, 1));
	CHECK_TEXT(buf_text(&b), "kept");
	buf_reset(&b);
	CHECK(!b.failed);
	CHECK_TEXT(buf_text(&b), "");
	buf_puts(&b, "again");
	CHECK_TEXT(buf_text(&b), "again");
	buf_release(&b);
}

static void a_buffer_refuses_a_size_that_would_overflow(void)
{
	struct buf b = BUF_INIT;

	buf_putc(&b, 'x');
	CHECK(!buf_reserve(&b, SIZE_MAX - 1));
	CHECK(b.failed && b.size == 1);
	buf_release(&b);
}

/* --- vec -----------------------------------------------------------------------------------------
 */

static void an_array_keeps_its_items_while_it_grows(void)
{
	struct vec(int) numbers = {0};
	int expected = 0;

	vec_foreach (n, &numbers)
		expected++;
	CHECK(!expected);
	for (int i = 0; i < 1000; i++)
		CHECK(!vec_push(&numbers, i * 3));
	CHECK(numbers.count == 1000 && numbers.capacity >= 1000);
	vec_foreach (n, &numbers)
		if (*n != 3 * expected++)
			CHECK(!"the item that was pushed");
	CHECK(expected == 1000);
	vec_release(&numbers);
	CHECK(!numbers.items && !numbers.count && !numbers.capacity);
}

static void an_array_that_cannot_grow_is_left_as_it_was(void)
{
	struct vec(uint64_t) numbers = {0};

	CHECK(!vec_push(&numbers, 7));
	CHECK(vec_reserve(&numbers, SIZE_MAX) == -ENOMEM);
	CHECK(vec_reserve(&numbers, SIZE_MAX / 8) == -ENOMEM);
	CHECK(numbers.count == 1 && numbers.items[0] == 7);
	CHECK(!vec_push(&numbers, 8));
	CHECK(numbers.items[1] == 8);
	vec_release(&numbers);
}

/* --- map -----------------------------------------------------------------------------------------
 */

#define TWIN_KEYS 300

/* Keys that fall on few slots as well as keys far apart; 0 and the highest among them. */
static uint64_t twin_key(size_t i)
{
	if (i == TWIN_KEYS - 1)
		return UINT64_MAX;
	return i % 2 ? i : (uint64_t)i << 40;
}

struct twin {
	uint64_t values[TWIN_KEYS];
	bool used[TWIN_KEYS];
	size_t count;
};

static bool map_equals_twin(const struct map *m, const struct twin *t)
{
	for (size_t i = 0; i < TWIN_KEYS; i++) {
		uint64_t *value = map_get(m, twin_key(i));

		if (!!value != t->used[i] || (value && *value != t->values[i]))
			return false;
	}
	return m->count == t->count;
}

static void put_in_both(struct map *m, struct twin *t, size_t i, uint64_t value)
{
	CHECK(!map_put(m, twin_key(i), value));
	t->count += !t->used[i];
	t->used[i] = true;
	t->values[i] = value;
}

static void remove_from_both(struct map *m, struct twin *t, size_t i)
{
	uint64_t value = 1;
	bool removed = map_remove(m, twin_key(i), &value);

	CHECK(removed == t->used[i]);
	CHECK(value == (removed ? t->values[i] : 1));
	t->count -= t->used[i];
	t->used[i] = false;
}

static void a_map_does_what_a_plain_table_does(void)
{
	struct map m = MAP_INIT;
	struct twin t = {0};
	uint64_t state = 1;

	for (int step = 0; step < 20000; step++) {
		size_t i = next_random(&state) % TWIN_KEYS;

		/* Waves: mostly filling, then mostly emptying. */
		if (next_random(&state) % 8 < (step / 2000 % 2 ? 2 : 6))
			put_in_both(&m, &t, i, next_random(&state));
		else
			remove_from_both(&m, &t, i);
		if (step % 50 == 0 && !map_equals_twin(&m, &t)) {
			CHECK(!"the map equals its twin");
			break;
		}
	}
	CHECK(map_equals_twin(&m, &t));
	map_release(&m);
	CHECK(!m.slots && !m.count);
}

static void a_map_that_never_held_anything_finds_nothing(void)
{
	struct map m = MAP_INIT;

	CHECK(!map_get(&m, 0));
	CHECK(!map_remove(&m, 0, NULL));
	map_release(&m);
}

static void a_map_value_can_be_changed_in_place(void)
{
	struct map m = MAP_INIT;

	CHECK(!map_put(&m, 5, 1));
	*map_get(&m, 5) += 41;
	CHECK(*map_get(&m, 5) == 42);
	CHECK(map_remove(&m, 5, NULL));
	CHECK(!map_get(&m, 5));
	map_release(&m);
}

/* --- interner ------------------------------------------------------------------------------------
 */

#define TWIN_STRINGS 400

static size_t make_name(char *name, size_t size, uint64_t n)
{
	/* Some long, some with a NUL inside, some each other's beginning. */
	int length = snprintf(name, size, "%0*d", (int)(n % 50) + 1, (int)(n / 50));

	if (n % 7 == 0)
		name[length / 2] = '\0';
	return (size_t)length;
}

static uint32_t twin_find(
	char names[][64], const size_t *sizes, uint32_t count, const char *name, size_t size)
{
	for (uint32_t i = 0; i < count; i++)
		if (sizes[i] == size && !memcmp(names[i], name, size))
			return i + 1;
	return 0;
}

static void an_interner_does_what_a_list_with_a_search_does(void)
{
	static char names[TWIN_STRINGS][64];
	size_t sizes[TWIN_STRINGS];
	uint64_t state = 2;
	struct interner *in;
	uint32_t count = 0;

	if (interner_new(&in)) {
		CHECK(!"memory");
		return;
	}
	for (int step = 0; step < 4000; step++) {
		char name[64];
		size_t size = make_name(name, sizeof(name), next_random(&state) % TWIN_STRINGS);
		uint32_t expected = twin_find(names, sizes, count, name, size), id = 0;
		int added = -1;

		CHECK(interner_find(in, name, size) == expected);
		CHECK(!interner_add(in, name, size, &id, &added));
		CHECK(added == !expected);
		if (!expected) {
			memcpy(names[count], name, size);
			sizes[count++] = size;
			expected = count;
		}
		CHECK(id == expected);
	}
	CHECK(!*interner_get(in, count + 1, NULL));
	for (uint32_t i = 0; i < count; i++) {
		size_t size;
		const char *bytes = interner_get(in, i + 1, &size);

		CHECK(size == sizes[i] && !memcmp(bytes, names[i], size) && !bytes[size]);
	}
	interner_free(in);
}

static void interned_bytes_never_move_and_end_with_a_nul(void)
{
	static char big[100000];
	struct interner *in;
	const char *first;
	uint32_t id;
	size_t size;

	if (interner_new(&in)) {
		CHECK(!"memory");
		return;
	}
	CHECK(!interner_add(in, "first", 5, &id, NULL) && id == 1);
	first = interner_get(in, 1, NULL);
	memset(big, 'b', sizeof(big));
	for (size_t length = 1; length < sizeof(big); length += 997)
		CHECK(!interner_add(in, big, length, &id, NULL));
	CHECK(interner_get(in, 1, &size) == first && size == 5);
	CHECK_TEXT(first, "first");
	CHECK(strlen(interner_get(in, id, &size)) == size);
	interner_free(in);
}

static void id_0_and_ids_never_given_out_are_empty_text(void)
{
	struct interner *in;
	uint32_t id;
	size_t size = 9;

	if (interner_new(&in)) {
		CHECK(!"memory");
		return;
	}
	CHECK_TEXT(interner_get(in, 0, &size), "");
	CHECK(!size);
	CHECK_TEXT(interner_get(in, 1, NULL), "");
	CHECK(!interner_find(in, "", 0));
	CHECK(!interner_add(in, "", 0, &id, NULL) && id == 1);
	CHECK(interner_find(in, "", 0) == 1);
	CHECK_TEXT(interner_get(in, UINT32_MAX, NULL), "");
	interner_free(in);
	interner_free(NULL);
}

/* --- JSON ---------------------------------------------------------------------------------------
 */

static void check_json(const char *text, size_t size, const char *expected)
{
	struct buf b = BUF_INIT;

	json_string(&b, text, size);
	CHECK_TEXT(buf_text(&b), expected);
	buf_release(&b);
}

static void json_strings_escape_quotes_and_backslashes(void)
{
	check_json("", 0, "\"\"");
	check_json("a\"b\\c\"", 6, "\"a\\\"b\\\\c\\\"\"");
	check_json("gr\xc3\xbc\xc3\x9f/", 7, "\"gr\xc3\xbc\xc3\x9f/\"");
}

static void json_strings_are_printable(void)
{
	check_json("a\"\n\x01\0z\xff", 7, "\"a\\\"\\\\x0a\\\\x01\\\\x00z\\\\xff\"");
}

static void several_lines_are_one_json_string(void)
{
	struct buf b = BUF_INIT;

	json_lines(&b, "a\tb\n\"c\"\n", 8);
	json_lines(&b, NULL, 0);
	CHECK_TEXT(buf_text(&b), "\"a\\\\x09b\\n\\\"c\\\"\\n\"\"\"");
	buf_release(&b);
}

/* --- reading and writing -------------------------------------------------------------------------
 */

static void ignore_signal(int number)
{
}

/* Waits until the process sleeps (here: in a read of an empty pipe). */
static bool wait_until_asleep(pid_t pid)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (int i = 0; i < 60000 && state != 'S'; i++) {
		FILE *stat = fopen(path, "r");

		if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (stat)
			fclose(stat);
		if (state != 'S')
			usleep(1000);
	}
	return state == 'S';
}

/* Interrupts the reader wherever the pipe is empty, then gives it the next piece. */
static int write_pieces(int fd, const char *data, size_t size, size_t piece, pid_t reader)
{
	for (size_t at = 0; at < size; at += piece) {
		if (!wait_until_asleep(reader) || kill(reader, SIGUSR1) ||
			!wait_until_asleep(reader) || io_write_all(fd, data + at, piece))
			return 1;
	}
	return 0;
}

static void reads_and_writes_are_whole_despite_small_pipes_and_signals(void)
{
	static char data[400000], back[sizeof(data) + 10];
	struct sigaction action = {.sa_handler = ignore_signal}; /* no SA_RESTART */
	pid_t reader = getpid(), writer;
	int ends[2], status;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)('0' + i % 10);
	CHECK(!sigaction(SIGUSR1, &action, NULL) && !pipe(ends));
	fflush(stdout);
	writer = fork();
	if (!writer) {
		close(ends[0]);
		_exit(write_pieces(ends[1], data, sizeof(data), sizeof(data) / 4, reader));
	}
	close(ends[1]);
	CHECK(io_read_full(ends[0], back, sizeof(back)) == (ssize_t)sizeof(data));
	CHECK(!memcmp(data, back, sizeof(data)));
	close(ends[0]);
	signal(SIGUSR1, SIG_IGN);
	CHECK(waitpid(writer, &status, 0) == writer && !status);
	signal(SIGUSR1, SIG_DFL);
}

static void a_failed_write_is_reported_with_its_errno(void)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	CHECK(full >= 0);
	CHECK(io_write_all(full, "x", 1) == -ENOSPC);
	CHECK(io_write_all(full, "", 0) == 0);
	close(full);
	CHECK(io_write_all(-1, "x", 1) == -EBADF);
	CHECK(io_read_full(-1, (char[1]){0}, 1) == -EBADF);
}

static void reading_at_an_offset_leaves_the_position_alone(void)
{
	FILE *file = tmpfile();
	char bytes[8] = "";
	int fd;

	if (!file) {
		SKIP("no temporary file");
		return;
	}
	fd = fileno(file);
	CHECK(!io_write_all(fd, "abcdef", 6));
	CHECK(lseek(fd, 1, SEEK_SET) == 1);
	CHECK(io_pread_full(fd, bytes, 3, 2) == 3 && !memcmp(bytes, "cde", 3));
	CHECK(io_pread_full(fd, bytes, 8, 4) == 2);
	CHECK(io_pread_full(fd, bytes, 8, 100) == 0);
	CHECK(io_read_full(fd, bytes, 1) == 1 && bytes[0] == 'b');
	fclose(file);
}

static void a_whole_file_is_read_up_to_its_limit(void)
{
	char path[] = "/tmp/base_test.XXXXXX";
	struct buf b = BUF_INIT;
	int fd = mkstemp(path);
	static char data[40000];

	memset(data, 'd', sizeof(data));
	CHECK(fd >= 0 && !io_write_all(fd, data, sizeof(data)));
	buf_puts(&b, "before ");
	CHECK(!io_read_file(path, sizeof(data), &b));
	CHECK(b.size == sizeof(data) + 7 && !strncmp(buf_text(&b), "before ddd", 10));
	buf_reset(&b);
	CHECK(io_read_file(path, sizeof(data) - 1, &b) == -EFBIG);
	close(fd);
	unlink(path);
	CHECK(io_read_file(path, 10, &b) == -ENOENT);
	buf_reset(&b);
	CHECK(!io_read_file("/proc/self/stat", 4096, &b)); /* its size is said to be 0 */
	CHECK(atoi(buf_text(&b)) == getpid());
	buf_release(&b);
}

/* --- errors and names ----------------------------------------------------------------------------
 */

static void an_error_returns_its_code_and_keeps_its_text(void)
{
	CHECK(error_set(-EINVAL, "bad '%s'", "thing") == -EINVAL);
	CHECK_TEXT(error_text(), "bad 'thing'");
	CHECK(error_errno(-ENOENT, "cannot open '%s'", "x") == -ENOENT);
	CHECK_TEXT(error_text(), "cannot open 'x': No such file or directory");
	CHECK(error_memory("the stacks") == -ENOMEM);
	CHECK_TEXT(error_text(), "not enough memory for the stacks");
	CHECK(error_memory(NULL) == -ENOMEM);
	CHECK_TEXT(error_text(), "out of memory");
}

static void an_overlong_error_is_cut_and_not_overrun(void)
{
	char *big = calloc(1, 5001);

	memset(big, 'e', 5000);
	CHECK(error_errno(-EIO, "%s", big) == -EIO);
	CHECK(strlen(error_text()) == 1023);
	free(big);
}

static void check_demangled(const char *name, const char *expected)
{
	struct buf b = BUF_INIT;

	demangle(name, &b);
	CHECK_TEXT(buf_text(&b), expected);
	buf_release(&b);
}

static void cpp_and_rust_names_are_demangled_and_others_left_alone(void)
{
	check_demangled("_Z9transposePfi", "transpose(float*, int)");
	check_demangled(
		"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	check_demangled(
		"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check_demangled("_Z9transposePfi@plt", "transpose(float*, int)@plt");
	check_demangled("_ZN47_INTERNAL_2b7ad4f0_16_stall_kernels_cu_d98528863hopEj",
		"(anonymous namespace)::hop(unsigned int)");
	check_demangled("_Z1fIN35_INTERNAL_0123abcd_5_ab_cu_deadbeef1AEEvT_",
		"void f<(anonymous namespace)::A>((anonymous namespace)::A)");
	check_demangled("_ZN9_INTERNAL1fEv", "_INTERNAL::f()");
	check_demangled("_ZN13_INTERNAL_2b71fEv", "_INTERNAL_2b7::f()");
	check_demangled("malloc@plt", "malloc@plt");
	check_demangled("_Znope@plt", "_Znope@plt");
	check_demangled("main", "main");
	check_demangled("_Znope", "_Znope");
	check_demangled("", "");
}

/* f(A<int, int>, A<S0_, S0_>, ...): each type holds the one before it twice. */
static void put_doubling_name(struct buf *b, unsigned int types)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	buf_puts(b, "_Z1f1AIiiE");
	for (unsigned int i = 0; i < types; i++)
		buf_printf(b, "S_IS%c_S%c_E", digits[i], digits[i]);
}

static void a_name_that_would_be_read_as_gigabytes_is_left_mangled(void)
{
	struct buf name = BUF_INIT, b = BUF_INIT;

	put_doubling_name(&name, 5);
	demangle(buf_text(&name), &b);
	CHECK(b.size > 1000 && !strncmp(buf_text(&b), "f(A<int, int>, A<A<int, int>, ", 30));
	buf_reset(&name);
	buf_reset(&b);
	buf_puts(&b, "before ");
	put_doubling_name(&name, 33);
	demangle(buf_text(&name), &b);
	CHECK(!strncmp(buf_text(&b), "before _Z1f", 11));
	CHECK(b.size == name.size + 7);
	buf_release(&name);
	buf_release(&b);
}

/* f(packs of function types); each type holds the one before it twice. */
static void put_doubling_pack(struct buf *b, unsigned int types)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	buf_puts(b, "_Z1fDpFFiiEFS_S_E");
	for (unsigned int i = 0; i < types; i++)
		buf_printf(b, "FS%c_S%c_E", digits[i], digits[i]);
	buf_puts(b, "E");
}

static void a_name_that_would_be_searched_for_packs_for_years_is_left_mangled(void)
{
	static const char *const before[] = {"", "_GLOBAL__sub_I_"};
	struct buf name = BUF_INIT, b = BUF_INIT;

	for (int i = 0; i < 2; i++) {
		buf_reset(&name);
		buf_reset(&b);
		buf_puts(&name, before[i]);
		put_doubling_pack(&name, 36);
		demangle(buf_text(&name), &b);
		CHECK_TEXT(buf_text(&b), buf_text(&name));
	}
	check_demangled("_Z1fIJiPcEEvDpRKSt4pairIT_S0_E",
		"void f<int, char*>(std::pair<int, char*> const&, std::pair<char*, char*> const&)");
	check_demangled("_Z8dispatchIJidEEvDpOT_", "void dispatch<int, double>(int&&, double&&)");
	buf_release(&name);
	buf_release(&b);
}

static void put_times(
	struct buf *b, const char *begin, const char *part, size_t times, const char *end)
{
	buf_reset(b);
	buf_puts(b, begin);
	for (size_t i = 0; i < times; i++)
		buf_puts(b, part);
	buf_puts(b, end);
}

static void long_names_are_demangled_and_those_that_take_much_stack_are_not(void)
{
	static const char *const parts[] = {"P", "1a", "1aI", "F", "pl", "Dp", "sp", "T_", "cv",
		"Z1fvE", "1aIRT_Ei", "I", "RT_"};
	struct buf name = BUF_INIT, expected = BUF_INIT;

	put_times(&name, "_ZN3c1012function_refIFvPPcEE8callbackIPN2at6tensorI", "St4pairIilE", 200,
		"EEEEvv");
	put_times(&expected, "void c10::function_ref<void (char**)>::callback<at::tensor<",
		"std::pair<int, long>, ", 199, "std::pair<int, long> >*>()");
	CHECK(name.size > 2000);
	check_demangled(buf_text(&name), buf_text(&expected));
	/* Each as long as is read, on a stack of 8 MiB. */
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		put_times(&name, "_Z1fI", parts[i], 8180 / strlen(parts[i]), "Ev");
		buf_reset(&expected);
		demangle(buf_text(&name), &expected);
		CHECK(expected.size > 0);
	}
	/* 640 lists and 1,600 references: 16 MiB. */
	put_times(&expected, "", "RT_", 1600, "");
	put_times(&name, "_Z1fIiEv", "1aIiE", 640, buf_text(&expected));
	check_demangled(buf_text(&name), buf_text(&name));
	buf_release(&name);
	buf_release(&expected);
}

static void an_interner_adds_many_as_it_adds_one_by_one(void)
{
	struct interner *one, *many;
	struct interner_item items[1000];
	char names[1000][8];
	uint32_t id = 0;

	CHECK(!interner_new(&one) && !interner_new(&many));
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i * 7 % 300);
		items[i] = (struct interner_item){.data = names[i], .size = strlen(names[i])};
	}
	CHECK(!interner_add_all(many, items, 1000));
	for (unsigned int i = 0; i < 1000; i++) {
		CHECK(!interner_add(one, names[i], strlen(names[i]), &id, NULL));
		if (id != items[i].id)
			CHECK(!"the same ids");
	}
	CHECK(*interner_get(many, 300, NULL) && !*interner_get(many, 301, NULL));
	interner_free(one);
	interner_free(many);
}

static size_t first_at_least(const int *numbers, size_t begin, size_t end, int least)
{
	return search_first(i, begin, end, numbers[i] >= least);
}

static void a_search_finds_the_first_from_which_on_it_holds(void)
{
	static const int numbers[] = {1, 1, 3, 5, 5, 5, 8};

	for (size_t begin = 0; begin <= 7; begin++)
		for (size_t end = begin; end <= 7; end++)
			for (int least = 0; least < 10; least++) {
				size_t expected = begin;

				while (expected < end && numbers[expected] < least)
					expected++;
				CHECK(first_at_least(numbers, begin, end, least) == expected);
			}
}

static void decimal_numbers_are_those_of_printf(void)
{
	uint64_t power = 1;
	bool same = true;

	for (int n = 0; n < 20; n++, power *= 10)
		for (int more = -1; more <= 1; more++) {
			uint64_t number = power + (uint64_t)more;
			char text[DECIMAL_MAX + 1] = "", expected[32];

			snprintf(expected, sizeof(expected), "%llu", (unsigned long long)number);
			same = same && decimal_put(text, number) == text + strlen(expected) &&
			       decimal_size(number) == strlen(expected) && !strcmp(text, expected);
		}
	CHECK(same && decimal_size(UINT64_MAX) == DECIMAL_MAX);
}

int main(void)
{
	RUN(a_buffer_holds_what_was_appended_in_order);
	RUN(a_buffer_is_terminated_at_every_size);
	RUN(a_buffer_formats_text_longer_than_its_room);
	RUN(a_buffer_without_memory_stays_failed_until_it_is_reset);
	RUN(a_buffer_refuses_a_size_that_would_overflow);
	RUN(an_array_keeps_its_items_while_it_grows);
	RUN(an_array_that_cannot_grow_is_left_as_it_was);
	RUN(a_map_does_what_a_plain_table_does);
	RUN(a_map_that_never_held_anything_finds_nothing);
	RUN(a_map_value_can_be_changed_in_place);
	RUN(an_interner_does_what_a_list_with_a_search_does);
	RUN(interned_bytes_never_move_and_end_with_a_nul);
	RUN(id_0_and_ids_never_given_out_are_empty_text);
	RUN(json_strings_escape_quotes_and_backslashes);
	RUN(json_strings_are_printable);
	RUN(several_lines_are_one_json_string);
	RUN(reads_and_writes_are_whole_despite_small_pipes_and_signals);
	RUN(a_failed_write_is_reported_with_its_errno);
	RUN(reading_at_an_offset_leaves_the_position_alone);
	RUN(a_whole_file_is_read_up_to_its_limit);
	RUN(an_error_returns_its_code_and_keeps_its_text);
	RUN(an_overlong_error_is_cut_and_not_overrun);
	RUN(cpp_and_rust_names_are_demangled_and_others_left_alone);
	RUN(a_name_that_would_be_read_as_gigabytes_is_left_mangled);
	RUN(a_name_that_would_be_searched_for_packs_for_years_is_left_mangled);
	RUN(long_names_are_demangled_and_those_that_take_much_stack_are_not);
	RUN(an_interner_adds_many_as_it_adds_one_by_one);
	RUN(a_search_finds_the_first_from_which_on_it_holds);
	RUN(decimal_numbers_are_those_of_printf);
	return tap_end();
}
