// SPDX-License-Identifier: MIT
/*
 * The entries of .eh_frame (LSB Core, "Exception Frames") and .debug_frame (DWARF 5,
 * section 6.4.1): functions (FDE), each of which names what it has in common with others (CIE). A
 * section is read whole. CIEs are kept, with the row that their own instructions lead to. In
 * .eh_frame they stand before the functions that name them; in .debug_frame they may stand
 * anywhere, and are looked for first.
 *
 * A function names a CIE by its offset, and only where the section, read from its beginning, has
 * one: so no byte is read twice, however many functions there are.
 */
#include "unwind/cfi.h"

#include <elf.h>
#include <errno.h>

#include "base/error.h"
#include "base/search.h"
#include "elf/debug_file.h"
#include "elf/limits.h"
#include "unwind/cfi_rules.h"
#include "unwind/go.h"
#include "unwind/uncovered.h"

/* Encodings of addresses (LSB Core, "DWARF Exception Header Encoding"). */
enum {
	PE_ABSOLUTE = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORM = 0x0f,
	PE_PC_RELATIVE = 0x10,
	PE_TEXT_RELATIVE = 0x20,
	PE_DATA_RELATIVE = 0x30,
	PE_ALIGNED = 0x50,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

struct common {
	uint64_t at; /* in the section */
	struct cfi_common fields;
};

struct section {
	struct elf_contents contents;
	bool is_eh;
	uint64_t text; /* what text and data relative addresses count from */
	uint64_t data;
	const struct cfi_machine *machine;
	bool follows_bx;
	struct vec(struct common) commons; /* those that are sound, in their order */
	size_t last_common;
};

struct builder {
	struct elf_file *f; /* whose code it is */
	struct table_builder rows;
	struct unwind_stats stats;
	bool follows_bx;
	uint64_t code_start; /* the segment of the function before */
	uint64_t code_end;
};

/* An entry's frame. */
struct entry {
	uint64_t at;	    /* of its length field, in the section */
	struct reader body; /* behind the id */
	bool is_common;
	uint64_t common_at; /* of the CIE that an FDE names */
};

static const struct cfi_machine machines[] = {
	/* System V ABI, AMD64 supplement, figure 3.36 */
	{.elf_machine = EM_X86_64, .sp = 7, .fp = 6, .ra = 16, .bx = WALK_BX},
	/* DWARF for the Arm 64-bit Architecture, section 4.1 */
	{.elf_machine = EM_AARCH64, .sp = 31, .fp = 29, .ra = 30, .bx = NO_BX},
};

static const struct cfi_machine *find_machine(const struct elf_file *f)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (elf_file_is_64bit(f) && machines[i].elf_machine == elf_file_machine(f))
			return &machines[i];
	return NULL;
}

static uint64_t address_of(const struct section *s, const uint8_t *at)
{
	return s->contents.vaddr + (uint64_t)(at - s->contents.data);
}

static uint64_t read_form(struct reader *r, uint8_t encoding)
{
	switch (encoding & PE_FORM) {
	case PE_ABSOLUTE:
	case PE_UDATA8:
	case PE_SDATA8:
		return reader_u64(r);
	case PE_ULEB128:
		return reader_uleb(r);
	case PE_SLEB128:
		return (uint64_t)reader_sleb(r);
	case PE_UDATA2:
		return reader_u16(r);
	case PE_SDATA2:
		return (uint64_t)reader_s16(r);
	case PE_UDATA4:
		return reader_u32(r);
	case PE_SDATA4:
		return (uint64_t)reader_s32(r);
	default:
		reader_fail(r);
		return 0;
	}
}

/* False for encodings that make no sense in a file, and for slots that hold an address only once
 * the program runs. */
static bool read_address(const void *section, struct reader *r, uint8_t encoding, uint64_t *ret)
{
	const struct section *s = section;
	uint64_t base = address_of(s, r->at);

	if (encoding & PE_INDIRECT)
		return false;
	switch (encoding & PE_BASE) {
	case PE_ABSOLUTE:
		base = 0;
		break;
	case PE_PC_RELATIVE:
		break;
	case PE_TEXT_RELATIVE:
		base = s->text;
		break;
	case PE_DATA_RELATIVE:
		base = s->data;
		break;
	case PE_ALIGNED:
		reader_take(r, -base & 7);
		base = 0;
		encoding = PE_ABSOLUTE;
		break;
	default:
		return false;
	}
	*ret = base + read_form(r, encoding);
	return !r->failed;
}

/* Steps over an address whose value does not matter. */
static void skip_address(const struct section *s, struct reader *r, uint8_t encoding)
{
	if (encoding == PE_OMIT)
		return;
	if ((encoding & PE_BASE) == PE_ALIGNED) {
		reader_take(r, -address_of(s, r->at) & 7);
		encoding = PE_ABSOLUTE;
	}
	read_form(r, encoding);
}

/* What the letters of an augmentation string announce. */
static bool read_augmentation(
	const struct section *s, struct reader *r, const char *letters, struct cfi_common *c)
{
	struct reader data = *r;

	if (*letters == 'z') {
		uint64_t size = reader_uleb(r);

		data = *r;
		c->augmented = true;
		if (!reader_take(r, size))
			return false;
		data.end = r->at;
		letters++;
	}
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			c->encoding = reader_u8(&data);
			break;
		case 'P':
			skip_address(s, &data, reader_u8(&data));
			break;
		case 'L':
			reader_u8(&data);
			break;
		case 'S':
			c->signal_frame = true;
			break;
		case 'B': /* which key return addresses are signed with, */
		case 'G': /* and memory tagging, both on AArch64 */
			break;
		default:
			/* Of unknown letters, only the size of all their data is known. */
			return c->augmented && !data.failed;
		}
	}
	if (!c->augmented)
		*r = data;
	return !data.failed;
}

/* The fields of a CIE before its instructions, which `r` then stands at. */
static bool read_common_fields(const struct section *s, struct reader *r, struct cfi_common *c)
{
	uint8_t version = reader_u8(r);
	const char *letters = (const char *)r->at;
	const uint8_t *nul = memchr(r->at, 0, reader_left(r));

	if (!nul || (version != 1 && version != 3 && version != 4))
		return false;
	r->at = nul + 1;
	if (!strncmp(letters, "eh", 2)) {
		reader_u64(r); /* a pointer of GCC 2 */
		letters += 2;
	}
	if (version == 4 && (reader_u8(r) != 8 || reader_u8(r) != 0))
		return false; /* size of addresses and of segment selectors */
	c->code_align = reader_uleb(r);
	c->data_align = reader_sleb(r);
	c->ra_column = version == 1 ? reader_u8(r) : reader_uleb(r);
	return read_augmentation(s, r, letters, c) && !r->failed;
}

/* The frame of the entry that `r` stands at, which goes behind it; false: it reaches beyond the
 * section. */
static bool read_entry(const struct section *s, struct reader *r, struct entry *ret)
{
	const uint8_t *base = s->contents.data, *id_at;
	bool wide = false;
	uint64_t size, id, none;

	ret->at = (uint64_t)(r->at - base);
	size = reader_u32(r);
	if (size == UINT32_MAX) {
		wide = true;
		size = reader_u64(r);
	}
	id_at = r->at;
	if (!reader_take(r, size))
		return false;
	ret->body = (struct reader){.at = id_at, .end = r->at};
	/* In .eh_frame the id has four bytes always, and counts back from its own offset. */
	wide = wide && !s->is_eh;
	id = wide ? reader_u64(&ret->body) : reader_u32(&ret->body);
	none = s->is_eh ? 0 : wide ? UINT64_MAX : UINT32_MAX;
	ret->is_common = id == none;
	ret->common_at = s->is_eh ? (uint64_t)(id_at - base) - id : id;
	return true;
}

static bool parse_common(const struct section *s, struct entry *entry, struct cfi_common *ret)
{
	struct cfi_program program = {.common = ret};

	*ret = (struct cfi_common){.machine = s->machine, .follows_bx = s->follows_bx};
	if (!read_common_fields(s, &entry->body, ret))
		return false;
	program.instructions = entry->body;
	return cfi_run(&program);
}

/* Functions that name a damaged one are damaged, too. */
static int add_common(struct section *s, struct entry *entry)
{
	struct common c = {.at = entry->at};

	if (s->commons.count >= ELF_FRAME_COMMONS_MAX)
		return -EFBIG;
	return parse_common(s, entry, &c.fields) ? vec_push(&s->commons, c) : 0;
}

/* The CIE at this offset; NULL: there is none. Neighbours most often have the same. */
static struct cfi_common *find_common(struct section *s, uint64_t at)
{
	size_t found = s->last_common;

	if (found >= s->commons.count || s->commons.items[found].at != at)
		found = search_first(i, 0, s->commons.count, s->commons.items[i].at >= at);
	if (found == s->commons.count || s->commons.items[found].at != at)
		return NULL;
	s->last_common = found;
	return &s->commons.items[found].fields;
}

/* Whether there is code at `start`, in one segment with what came before most often. */
static bool is_code(struct builder *b, uint64_t start)
{
	if (start >= b->code_start && start < b->code_end)
		return true;
	return !elf_file_code_range(b->f, start, &b->code_start, &b->code_end);
}

static bool run_function(struct builder *b, const struct section *s, struct cfi_common *c,
	struct reader *r, uint64_t start, uint64_t size)
{
	struct cfi_program program = {
		.common = c,
		.start = start,
		.rows = &b->rows,
		.section = s,
		.read_address = read_address,
		.unsupported = &b->stats.unsupported,
	};

	if (c->augmented)
		reader_take(r, reader_uleb(r));
	if (r->failed)
		return false;
	program.instructions = *r;
	builder_begin(&b->rows, start, (uint32_t)size);
	if (!cfi_run(&program)) {
		builder_drop(&b->rows);
		return false;
	}
	builder_end(&b->rows);
	return true;
}

static void add_function(struct builder *b, struct section *s, struct entry *entry)
{
	struct cfi_common *c = find_common(s, entry->common_at);
	struct reader *r = &entry->body;
	uint64_t start, size;

	if (!c || !read_address(s, r, c->encoding, &start)) {
		b->stats.damaged++;
		return;
	}
	size = read_form(r, c->encoding);
	if (r->failed || size > UINT32_MAX) {
		b->stats.damaged++;
	} else if (!size || !is_code(b, start)) {
		b->stats.elsewhere++;
	} else {
		if (size > b->code_end - start)
			size = b->code_end - start;
		if (run_function(b, s, c, r, start, size))
			b->stats.functions++;
		else
			b->stats.damaged++;
	}
}

/*
 * Lengths of 0 are the section's end by the LSB, but linkers have left them in the middle as well;
 * what follows them is read nevertheless. A length beyond the section makes the rest unreadable.
 */
static int add_entries(struct builder *b, struct section *s, bool commons, bool functions)
{
	struct reader r = {.at = s->contents.data, .end = s->contents.data + s->contents.size};
	struct entry entry;
	int error = 0;

	while (!error && reader_left(&r) >= 4) {
		if (!read_entry(s, &r, &entry)) {
			b->stats.damaged += functions;
			break;
		}
		if (entry.body.failed)
			continue;
		if (entry.is_common && commons)
			error = add_common(s, &entry);
		else if (!entry.is_common && functions)
			add_function(b, s, &entry);
		error = error ?: b->rows.error;
	}
	return error;
}

/* Adds the functions of a section of `from`, if it has that section. */
static int add_section(struct builder *b, struct elf_file *from, const char *name,
	const struct cfi_machine *machine)
{
	struct section s = {
		.is_eh = name[1] == 'e', .machine = machine, .follows_bx = b->follows_bx};
	uint64_t end;
	int error = elf_file_read_section(from, name, ELF_FRAMES_MAX_BYTES, &s.contents);

	if (error == -ENOENT)
		return 0;
	if (error)
		return error;
	(void)elf_file_section_range(b->f, ".text", &s.text, &end);
	(void)elf_file_section_range(b->f, ".got", &s.data, &end);
	if (!s.is_eh)
		error = add_entries(b, &s, true, false);
	error = error ?: add_entries(b, &s, s.is_eh, true);
	vec_release(&s.commons);
	elf_contents_release(&s.contents);
	return error ? error_errno(error, "cannot read the unwind information of a file") : 0;
}

static int add_sections(struct builder *b, const struct cfi_machine *machine)
{
	struct elf_file *debug;
	int error = go_add(b->f, &b->rows);

	error = error ?: add_section(b, b->f, ".eh_frame", machine);
	error = error ?: add_section(b, b->f, ".debug_frame", machine);
	if (!error && !debug_file_open(&debug, b->f)) {
		if (add_section(b, debug, ".debug_frame", machine))
			b->stats.damaged++;
		elf_file_close(debug);
	}
	return error;
}

/* Whether some code keeps the CFA in a register that must be followed for it. */
static bool needs_bx(const struct builder *b, const struct cfi_machine *machine)
{
	vec_foreach (rule, &b->rows.rules)
		if (rule->cfa == WALK_CFA_REGISTER && rule->cfa_register == machine->bx)
			return true;
	return false;
}

static int add_all(struct builder *b, const struct cfi_machine *machine)
{
	int error = add_sections(b, machine);

	if (!error && !b->follows_bx && needs_bx(b, machine)) {
		builder_release(&b->rows);
		*b = (struct builder){.f = b->f, .follows_bx = true};
		builder_init(&b->rows);
		error = add_sections(b, machine);
	}
	return error ?: uncovered_add(b->f, &b->rows);
}

int unwind_build(struct elf_file *f, uint32_t **ret_words, struct unwind_stats *ret_stats)
{
	const struct cfi_machine *machine = find_machine(f);
	struct builder b = {.f = f};
	int error;

	if (!machine)
		return error_set(-ENODATA, "the file is for another machine");
	builder_init(&b.rows);
	error = add_all(&b, machine);
	if (!error) {
		error = builder_finish(&b.rows, ret_words);
		if (error)
			error_errno(error, "cannot make an unwind table");
	}
	builder_release(&b.rows);
	if (!error && ret_stats)
		*ret_stats = b.stats;
	return error;
}
