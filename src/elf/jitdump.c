// SPDX-License-Identifier: MIT
/*
 * The file is read from its begin to its end, through a window, and what code itself is in it is
 * passed over. For each place the best record so far is kept, as where its name is:
 *
 *	header, then records:  u32 kind, u32 size, u64 time, and
 *	  0 load      u32 pid, u32 tid, u64 vma, address, size, number; name, 0; code
 *	  1 move      u32 pid, u32 tid, u64 vma, old address, address, size, number
 *	  2 lines     u64 address, count; of each: u64 address, u32 line, u32 0; file, 0
 *	              comes before its load; a file of "\xff" is that of the entry before
 *	  3 close
 *
 * Others are passed over, unwind information (4) among them: it comes too late for walkers, as the
 * file is read at the end of a recording.
 *
 * Of loads the one that holds at a place's time is the last before it; where there is none, the
 * first that comes. The answer is a u32, whether more was there than was read, then for each place
 *
 *	u32 place's number, u32 sizes of name and file, u32 line, u32 replaced, the name, the file
 */
#include "elf/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/map.h"
#include "base/reader.h"
#include "base/search.h"
#include "base/vec.h"
#include "elf/limits.h"

#define MAGIC		0x4a695444u /* in the machine's order */
#define VERSION		1
#define HEADER_BYTES	40
#define HEADER_MAX	4096
#define ARCH_TIMESTAMPS 1 /* times are not those of a clock that we know */
#define PREFIX_BYTES	16
#define LOAD_BYTES	56 /* with the prefix, */
#define MOVE_BYTES	64
#define LINES_BYTES	32
#define LINE_BYTES	16
#define WINDOW		65536
#define SHORT_TEXT	256
#define LOADS_MAX	(1u << 20)  /* that later moves can refer to */
#define OFFERS_MAX	(1u << 26)  /* of records to places: 0.3 s */
#define LINES_MAX_BYTES (1u << 20)  /* of one record, */
#define LINES_MAX	(1u << 23)  /* and how many are looked at: 0.3 s */
#define NAMES_MAX_BYTES (64u << 20) /* of all names together */
#define V8_LINES_AHEAD	0x40	    /* V8 has its lines so far behind their code */

enum { RECORD_LOAD = 0, RECORD_MOVE = 1, RECORD_LINES = 2, RECORD_CLOSE = 3 };

bool jitdump_is_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : "";
	size_t digits = !strncmp(name, "jit-", 4) ? strspn(name + 4, "0123456789") : 0;

	return digits && !strncmp(name + 4 + digits, ".dump", 5) &&
	       (!name[4 + digits + 5] || name[4 + digits + 5] == ' ');
}

/* --- the file --------------------------------------------------------------------------------- */

struct dump {
	int fd;
	bool cut;	/* not all of it was read: there is too much, or it is damaged */
	uint32_t lines; /* that were looked at */
	uint64_t size;	/* that is read */
	uint64_t flags;
	uint64_t window_at;
	size_t window_size;
	uint8_t window[WINDOW];
};

/* `size` bytes, at most WINDOW; NULL: they are not there. Valid until the next call. */
static const uint8_t *bytes_at(struct dump *d, uint64_t at, size_t size)
{
	ssize_t got;

	if (at > d->size || size > d->size - at)
		return NULL;
	if (at < d->window_at || at + size > d->window_at + d->window_size) {
		got = io_pread_full(d->fd, d->window, WINDOW, (off_t)at);
		d->window_at = at;
		d->window_size = got > 0 ? (size_t)got : 0;
	}
	return at + size <= d->window_at + d->window_size ? d->window + (at - d->window_at) : NULL;
}

/* Whether it is to be read no further. */
static bool stop(struct dump *d, bool reason)
{
	d->cut = d->cut || reason;
	return reason;
}

static size_t text_within(struct dump *d, uint64_t at, size_t size, const char **ret)
{
	const char *text = (const char *)bytes_at(d, at, size);
	const char *stop = text && size ? memchr(text, '\0', size) : NULL;

	*ret = text;
	return stop ? (size_t)(stop - text) : 0;
}

/* A text that ends before `end`: its length; 0: there is none. Most are short, and in the
 * window. */
static size_t text_at(struct dump *d, uint64_t at, uint64_t end, const char **ret)
{
	uint64_t most = at < end ? end - at : 0;
	size_t size = most < ELF_NAME_MAX_BYTES ? (size_t)most : ELF_NAME_MAX_BYTES;
	size_t length = size > SHORT_TEXT ? text_within(d, at, SHORT_TEXT, ret) : 0;

	return length ? length : text_within(d, at, size, ret);
}

static int open_dump(struct dump *d, int fd, uint64_t *ret_first)
{
	struct stat st;
	uint32_t head[HEADER_BYTES / 4];
	const uint8_t *bytes;

	if (fstat(fd, &st))
		return -errno;
	d->fd = fd;
	d->cut = (uint64_t)st.st_size > JITDUMP_MAX_BYTES;
	d->size = d->cut ? JITDUMP_MAX_BYTES : (uint64_t)st.st_size;
	bytes = bytes_at(d, 0, HEADER_BYTES);
	if (!bytes)
		return -ENOEXEC;
	memcpy(head, bytes, sizeof(head));
	memcpy(&d->flags, bytes + 32, sizeof(d->flags));
	if (head[0] != MAGIC || head[1] != VERSION || head[2] < HEADER_BYTES ||
		head[2] > HEADER_MAX)
		return -ENOEXEC;
	*ret_first = head[2];
	return 0;
}

/* --- which record a place belongs to ---------------------------------------------------------- */

/* Code, and where in the file its name and lines are. */
struct code {
	uint64_t start, size, time_ns;
	uint64_t loaded_at; /* the address that its lines are counted from */
	uint64_t name_at, end;
	uint64_t lines_at; /* 0: it has none */
};

struct match {
	struct code code;  /* name_at 0: none */
	uint64_t later_at; /* the name of code that came after it; 0: none did */
	uint64_t later_end;
};

struct search {
	struct dump *dump;
	const struct jit_place *places;
	size_t count;
	struct match *matches;
	struct map numbers; /* -> index in loads */
	struct vec(struct code) loads;
	uint64_t lines_at, lines_address; /* the latest record of lines */
	uint32_t offers;
};

/* Whether `c` is rather the code of a place than `m`, which comes before it in the file. */
static bool is_better(const struct match *m, const struct code *c, uint64_t time_ns)
{
	if (!m->code.name_at)
		return true;
	if (m->code.time_ns <= time_ns)
		return c->time_ns <= time_ns && c->time_ns >= m->code.time_ns;
	return c->time_ns < m->code.time_ns;
}

static void offer_to(struct match *m, const struct code *c, uint64_t time_ns)
{
	struct code other = *c;

	if (is_better(m, c, time_ns)) {
		other = m->code;
		m->code = *c;
	}
	if (other.name_at && other.time_ns > m->code.time_ns) {
		m->later_at = other.name_at;
		m->later_end = other.end;
	}
}

static int offer(struct search *s, const struct code *c)
{
	uint64_t end = c->start <= UINT64_MAX - c->size ? c->start + c->size : UINT64_MAX;
	size_t i = search_first(n, 0, s->count, s->places[n].address >= c->start);

	for (; i < s->count && s->places[i].address < end; i++) {
		if (s->offers++ == OFFERS_MAX)
			return -E2BIG;
		offer_to(&s->matches[i], c, s->places[i].time_ns);
	}
	return 0;
}

static int on_load(struct search *s, struct reader *r, const struct code *record)
{
	struct code c = *record;
	uint64_t number;

	reader_take(r, 16); /* pid, tid, vma */
	c.start = c.loaded_at = reader_u64(r);
	c.size = reader_u64(r);
	number = reader_u64(r);
	c.lines_at = s->lines_address == c.start ? s->lines_at : 0;
	s->lines_at = 0;
	if (s->loads.count < LOADS_MAX &&
		(vec_push(&s->loads, c) || map_put(&s->numbers, number, s->loads.count - 1)))
		return -ENOMEM;
	return offer(s, &c);
}

static int on_move(struct search *s, struct reader *r, uint64_t time_ns)
{
	const uint64_t *index;
	struct code c;
	uint64_t start, size;

	reader_take(r, 24); /* pid, tid, vma, old address */
	start = reader_u64(r);
	size = reader_u64(r);
	index = map_get(&s->numbers, reader_u64(r));
	if (!index)
		return 0;
	c = s->loads.items[*index];
	c.start = start;
	c.size = size;
	c.time_ns = time_ns;
	return offer(s, &c);
}

struct record {
	uint32_t kind, size;
	uint64_t time_ns;
};

static int on_record(struct search *s, const struct record *record, uint64_t at)
{
	static const size_t fixed[] = {[RECORD_LOAD] = LOAD_BYTES,
		[RECORD_MOVE] = MOVE_BYTES,
		[RECORD_LINES] = LINES_BYTES};
	const struct code c = {
		.time_ns = record->time_ns, .name_at = at + LOAD_BYTES, .end = at + record->size};
	struct reader r;

	if (record->kind > RECORD_LINES || record->size < fixed[record->kind])
		return 0;
	r.at = bytes_at(s->dump, at, fixed[record->kind]);
	if (!r.at)
		return 0;
	r.end = r.at + fixed[record->kind];
	r.failed = false;
	reader_take(&r, PREFIX_BYTES);
	if (record->kind == RECORD_LOAD)
		return on_load(s, &r, &c);
	if (record->kind == RECORD_MOVE)
		return on_move(s, &r, record->time_ns);
	s->lines_at = at;
	s->lines_address = reader_u64(&r);
	return 0;
}

static int read_records(struct search *s, uint64_t at)
{
	struct dump *d = s->dump;
	const uint8_t *bytes;
	int error = 0;

	while (!error && (bytes = bytes_at(d, at, PREFIX_BYTES))) {
		struct record record;

		memcpy(&record, bytes, sizeof(record));
		if (d->flags & ARCH_TIMESTAMPS)
			record.time_ns = 0;
		/* The last one may not be whole: the program went on, or was killed. */
		if (record.kind == RECORD_CLOSE || record.size > d->size - at ||
			stop(d, record.size < PREFIX_BYTES))
			break;
		error = on_record(s, &record, at);
		at += record.size;
	}
	return stop(d, error == -E2BIG) ? 0 : error;
}

/* --- what it is called ------------------------------------------------------------------------ */

struct line {
	uint64_t file_at, end; /* in the dump */
	uint32_t line;
};

/* V8 (of node 20) has garbage instead of the names of some files, and no end of them. */
static bool is_plain(const char *file, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)file[i] < ' ' || file[i] == 0x7f)
			return false;
	return true;
}

/* The entry of `code` with the greatest address that is not behind `address`. */
static void find_line(struct dump *d, const struct code *code, uint64_t address, struct line *ret)
{
	uint64_t at = code->lines_at;
	const uint8_t *bytes = bytes_at(d, at, LINES_BYTES);
	uint64_t end, count, best = 0, file_at = 0;
	uint32_t size;

	if (!bytes)
		return;
	memcpy(&size, bytes + 4, sizeof(size));
	memcpy(&count, bytes + 24, sizeof(count));
	end = at + (size < LINES_MAX_BYTES ? size : LINES_MAX_BYTES);
	at += LINES_BYTES;
	for (uint64_t i = 0; i < count && at + LINE_BYTES < end; i++) {
		const char *file;
		uint64_t start;
		uint32_t line;
		size_t length;

		bytes = bytes_at(d, at, LINE_BYTES);
		if (!bytes || stop(d, d->lines++ >= LINES_MAX))
			return;
		memcpy(&start, bytes, sizeof(start));
		memcpy(&line, bytes + 8, sizeof(line));
		length = text_at(d, at + LINE_BYTES, end, &file);
		if (!length || start - code->loaded_at >= code->size + V8_LINES_AHEAD)
			return;
		if (length != 1 || *file != '\xff')
			file_at = is_plain(file, length) ? at + LINE_BYTES : 0;
		if (start <= address && start >= best && file_at) {
			best = start;
			*ret = (struct line){file_at, end, line};
		}
		at += LINE_BYTES + length + 1;
	}
}

static void put_u32(struct buf *b, size_t value)
{
	uint32_t word = (uint32_t)value;

	buf_append(b, &word, sizeof(word));
}

/* Whether the code that came later has another name, which is in `name`. */
static bool is_replaced(struct dump *d, const struct match *m, const struct buf *name)
{
	const char *text;
	size_t length = m->later_at ? text_at(d, m->later_at, m->later_end, &text) : 0;

	return length && (length != name->size || memcmp(text, name->data, length) != 0);
}

/* The code's name, in `ret`: its length, 0: it has none. */
static size_t name_of(struct dump *d, const struct match *m, struct buf *ret)
{
	const char *text;
	size_t length = m->code.name_at ? text_at(d, m->code.name_at, m->code.end, &text) : 0;

	buf_reset(ret);
	buf_append(ret, length ? text : "", length);
	return ret->failed ? 0 : length;
}

static struct line line_of(struct dump *d, const struct jit_place *place, const struct match *m,
	const struct buf *name)
{
	bool is_v8 = name->size > 3 && !memcmp(name->data, "JS:", 3);
	struct line line = {0};

	if (m->code.lines_at)
		find_line(d, &m->code,
			place->address - m->code.start + m->code.loaded_at +
				(is_v8 ? V8_LINES_AHEAD : 0),
			&line);
	return line;
}

static void write_place(struct dump *d, size_t n, const struct jit_place *place,
	const struct match *m, struct buf *name, struct buf *ret)
{
	size_t length = name_of(d, m, name), file_length;
	struct line line;
	const char *file = "";
	bool replaced;

	if (!length || ret->size + 2 * ELF_NAME_MAX_BYTES > NAMES_MAX_BYTES)
		return;
	replaced = is_replaced(d, m, name);
	line = line_of(d, place, m, name);
	file_length = line.file_at ? text_at(d, line.file_at, line.end, &file) : 0;
	put_u32(ret, n);
	put_u32(ret, length);
	put_u32(ret, file_length);
	put_u32(ret, file_length ? line.line : 0);
	put_u32(ret, replaced);
	buf_append(ret, name->data, length);
	buf_append(ret, file_length ? file : "", file_length);
}

static void write_places(struct search *s, struct buf *ret)
{
	struct buf name = BUF_INIT;

	for (size_t n = 0; n < s->count; n++)
		write_place(s->dump, n, &s->places[n], &s->matches[n], &name, ret);
	buf_release(&name);
}

int jitdump_write(int fd, const struct jit_place *places, size_t count, struct buf *ret)
{
	struct dump *d = calloc(1, sizeof(*d));
	struct match *matches = calloc(count + 1, sizeof(*matches));
	struct search s = {.dump = d, .places = places, .count = count, .matches = matches};
	uint64_t first = 0;
	struct buf names = BUF_INIT;
	int error = d && matches ? open_dump(d, fd, &first) : -ENOMEM;

	error = error ?: read_records(&s, first);
	if (!error) {
		write_places(&s, &names);
		put_u32(ret, d->cut);
		buf_append(ret, names.data, names.size);
	}
	buf_release_for(&names, ret);
	map_release(&s.numbers);
	vec_release(&s.loads);
	free(matches);
	free(d);
	return error ?: ret->failed ? -ENOMEM : 0;
}

/* --- reading the answer ----------------------------------------------------------------------- */

int jitdump_read(const struct jitdump_reader *r, const void *data, size_t size, bool *ret_cut)
{
	struct reader from = {.at = data, .end = (const uint8_t *)data + size};
	bool cut = reader_u32(&from);
	size_t next = 0;
	int error = from.failed ? -EPROTO : 0;

	while (!error && reader_left(&from)) {
		uint32_t n = reader_u32(&from);
		struct jit_name name = {.name_length = reader_u32(&from)};

		name.file_length = reader_u32(&from);
		name.line = reader_u32(&from);
		name.replaced = reader_u32(&from);
		name.name = (const char *)reader_take(&from, name.name_length);
		name.file = (const char *)reader_take(&from, name.file_length);
		if (from.failed || n < next || n >= r->count || !name.name_length ||
			name.name_length > ELF_NAME_MAX_BYTES ||
			name.file_length > ELF_NAME_MAX_BYTES)
			return -EPROTO;
		if (!name.file_length)
			name.file = NULL;
		next = (size_t)n + 1;
		error = r->visit(r->context, n, &name);
	}
	if (!error)
		*ret_cut = cut;
	return error;
}
