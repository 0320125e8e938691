// SPDX-License-Identifier: MIT
/*
 * Rows are kept function by function and laid out once all functions are known and sorted. A gap
 * between functions that is wide enough to hold code gets a row without a rule; a narrower one is
 * padding, and gets no row.
 */
#include "unwind/table.h"

#include <string.h>

#include "base/hash.h"
#include "elf/limits.h"

#define GAP_BYTES   16
#define PAGES_MAX   (1u << 20) /* 4 GiB of code */
#define WORDS_MAX   ((uint64_t)WALK_CHUNKS_MAX * WALK_CHUNK_WORDS)
#define FIRST_SLOTS 1024
/* Slots are half full at most, and real rules need a few probes. Whoever makes rules for that can
 * have all of them meet in one place. */
#define PROBES_MAX 64

_Static_assert(sizeof(struct walk_rule) == 16, "rules are hashed and compared as bytes");
_Static_assert(sizeof(struct walk_table_header) == 64, "16 words");

void builder_init(struct table_builder *b)
{
	*b = (struct table_builder){0};
}

void builder_release(struct table_builder *b)
{
	vec_release(&b->functions);
	vec_release(&b->rows);
	vec_release(&b->rules);
	free(b->slots);
}

/* NULL: it is not within so many probes. */
static uint32_t *find_slot(const struct table_builder *b, uint32_t *slots, uint32_t mask,
	uint32_t probes, const struct walk_rule *rule)
{
	uint32_t i = (uint32_t)hash_bytes(rule, sizeof(*rule)) & mask;

	for (; probes; probes--, i = (i + 1) & mask)
		if (!slots[i] || !memcmp(&b->rules.items[slots[i] - 1], rule, sizeof(*rule)))
			return &slots[i];
	return NULL;
}

static int grow_slots(struct table_builder *b)
{
	uint32_t count = b->slots ? (b->slot_mask + 1) * 2 : FIRST_SLOTS;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->rules.count; i++)
		*find_slot(b, slots, count - 1, count, &b->rules.items[i]) = i + 1;
	free(b->slots);
	b->slots = slots;
	b->slot_mask = count - 1;
	return 0;
}

/* Stands for all rules that have no number. */
static int number_of_unsupported(struct table_builder *b, uint32_t *ret)
{
	static const struct walk_rule unsupported = {.cfa = WALK_CFA_UNSUPPORTED};

	if (!b->unsupported) {
		if (vec_push(&b->rules, unsupported))
			return -ENOMEM;
		b->unsupported = (uint32_t)b->rules.count;
	}
	*ret = b->unsupported - 1;
	return 0;
}

static int number_of(struct table_builder *b, const struct walk_rule *rule, uint32_t *ret)
{
	uint32_t *slot;

	if ((!b->slots || b->rules.count * 2 > b->slot_mask) && grow_slots(b))
		return -ENOMEM;
	slot = find_slot(b, b->slots, b->slot_mask, PROBES_MAX, rule);
	if (!slot || (!*slot && b->rules.count >= WALK_RULES_MAX - 1))
		return number_of_unsupported(b, ret);
	if (!*slot) {
		if (vec_push(&b->rules, *rule))
			return -ENOMEM;
		*slot = (uint32_t)b->rules.count;
	}
	*ret = *slot - 1;
	return 0;
}

void builder_begin(struct table_builder *b, uint64_t start, uint32_t size)
{
	b->open = (struct table_function){
		.start = start,
		.size = size,
		.order = (uint32_t)b->functions.count,
		.first_row = (uint32_t)b->rows.count,
	};
}

/* A rule for the offset of the row before replaces that row; one equal to it adds nothing. */
void builder_row(struct table_builder *b, uint32_t offset, const struct walk_rule *rule)
{
	struct table_row row = {.offset = offset}, *last = NULL;

	if (b->error || offset >= b->open.size)
		return;
	b->error = number_of(b, rule, &row.rule);
	if (b->error)
		return;
	if (b->rows.count > b->open.first_row)
		last = &b->rows.items[b->rows.count - 1];
	if (last && last->offset == offset)
		last->rule = row.rule;
	else if (last && last->rule == row.rule)
		return;
	else
		b->error = b->rows.count < ELF_FRAME_ROWS_MAX ? vec_push(&b->rows, row) : -EFBIG;
}

void builder_end(struct table_builder *b)
{
	b->open.row_count = (uint32_t)b->rows.count - b->open.first_row;
	if (b->error || !b->open.row_count)
		return;
	b->error = b->functions.count < ELF_FRAME_FUNCTIONS_MAX ? vec_push(&b->functions, b->open)
								: -EFBIG;
}

void builder_drop(struct table_builder *b)
{
	b->rows.count = b->open.first_row;
}

bool builder_covers(const struct table_builder *b, uint64_t vaddr)
{
	vec_foreach (f, &b->functions)
		if (vaddr - f->start < f->size)
			return true;
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct table_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* By address, of equals the first alone. */
void builder_sort(struct table_builder *b)
{
	size_t i = 1, kept = 1;

	while (i < b->functions.count &&
		b->functions.items[i - 1].start < b->functions.items[i].start)
		i++;
	if (i >= b->functions.count)
		return;
	qsort(b->functions.items, b->functions.count, sizeof(*b->functions.items), by_start);
	for (size_t from = 1; from < b->functions.count; from++)
		if (b->functions.items[from].start != b->functions.items[kept - 1].start)
			b->functions.items[kept++] = b->functions.items[from];
	b->functions.count = kept;
}

/* Where rows go, and what was written last. */
struct packer {
	uint32_t *words;
	struct walk_table_header *header;
	uint32_t pages; /* that have their first row */
	uint32_t rule;	/* of the row before */
};

static void pack_row(struct packer *p, uint64_t vaddr, uint32_t rule)
{
	struct walk_table_header *h = p->header;
	uint32_t page = (uint32_t)((vaddr >> WALK_PAGE_SHIFT) - h->first_page);

	if (h->row_count && rule == p->rule)
		return;
	while (p->pages <= page)
		p->words[h->pages_at + p->pages++] = h->row_count;
	p->words[h->rows_at + h->row_count++] =
		rule << WALK_PAGE_SHIFT | (vaddr & (WALK_PAGE_BYTES - 1));
	p->rule = rule;
}

/* All rows, by address; `none` is the rule for what lies between functions. */
static void pack_rows(struct packer *p, const struct table_builder *b, uint32_t none)
{
	for (size_t i = 0; i < b->functions.count; i++) {
		const struct table_function *f = &b->functions.items[i];
		uint64_t next = i + 1 < b->functions.count ? f[1].start : UINT64_MAX;
		uint64_t end = f->start + f->size < next ? f->start + f->size : next;

		for (uint32_t r = 0; r < f->row_count; r++) {
			const struct table_row *row = &b->rows.items[f->first_row + r];

			if (f->start + row->offset < end)
				pack_row(p, f->start + row->offset, row->rule);
		}
		if (next - end >= GAP_BYTES)
			pack_row(p, end, none);
	}
}

static uint64_t align(uint64_t words, uint64_t to)
{
	return (words + to - 1) & ~(to - 1);
}

/* Lays out a table that is surely large enough; 0 words: it would be too large. */
static uint64_t lay_out(const struct table_builder *b, struct walk_table_header *ret)
{
	const struct table_function *functions = b->functions.items;
	uint64_t first = functions[0].start >> WALK_PAGE_SHIFT, last = first, rows;

	vec_foreach (f, &b->functions) {
		uint64_t page = (f->start + f->size) >> WALK_PAGE_SHIFT;

		if (page > last)
			last = page;
	}
	rows = (uint64_t)b->rows.count + b->functions.count;
	if (last > UINT32_MAX || last - first >= PAGES_MAX || rows > WORDS_MAX)
		return 0;
	*ret = (struct walk_table_header){
		.magic = WALK_TABLE_MAGIC,
		.first_page = (uint32_t)first,
		.page_count = (uint32_t)(last - first + 1),
		.pages_at = sizeof(*ret) / sizeof(uint32_t),
		.rule_count = (uint32_t)b->rules.count,
	};
	ret->rows_at = ret->pages_at + ret->page_count + 1;
	return ret->rows_at + rows + 4 * (uint64_t)ret->rule_count + WALK_TABLE_ALIGN;
}

/* Puts the rules behind the rows. */
static void pack_rules(struct packer *p, const struct table_builder *b)
{
	struct walk_table_header *h = p->header;

	while (p->pages <= h->page_count)
		p->words[h->pages_at + p->pages++] = h->row_count;
	h->rules_at = (uint32_t)align(h->rows_at + h->row_count, 4);
	memcpy(p->words + h->rules_at, b->rules.items, 16 * b->rules.count);
	h->words = (uint32_t)align(h->rules_at + 4 * h->rule_count, WALK_TABLE_ALIGN);
}

int builder_finish(struct table_builder *b, uint32_t **ret_words)
{
	static const struct walk_rule no_rule = {.cfa = WALK_CFA_NONE};
	struct walk_table_header header;
	struct packer p = {.header = &header};
	uint32_t none, *fitted;
	uint64_t words;

	if (b->error)
		return b->error;
	if (!b->functions.count)
		return -ENODATA;
	if (number_of(b, &no_rule, &none))
		return -ENOMEM;
	builder_sort(b);
	words = lay_out(b, &header);
	if (!words || words > WORDS_MAX)
		return -EFBIG;
	p.words = calloc(words, sizeof(*p.words));
	if (!p.words)
		return -ENOMEM;
	pack_rows(&p, b, none);
	pack_rules(&p, b);
	memcpy(p.words, &header, sizeof(header));
	fitted = realloc(p.words, (size_t)header.words * sizeof(*p.words));
	*ret_words = fitted ? fitted : p.words;
	return 0;
}

static bool rules_are_sound(const struct walk_rule *rules, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (rules[i].cfa > WALK_CFA_UNSUPPORTED || rules[i].fp > WALK_SAVED_UNKNOWN ||
			(rules[i].ra > WALK_SAVED_UNKNOWN && rules[i].ra != WALK_SAVED_REGISTER))
			return false;
	return true;
}

/* Each part begins where the one before has ended, or later, and ends within the table. */
static bool layout_is_sound(const struct walk_table_header *h, uint64_t count)
{
	return count >= WALK_TABLE_ALIGN && h->magic == WALK_TABLE_MAGIC && h->words == count &&
	       h->words % WALK_TABLE_ALIGN == 0 && h->words <= WORDS_MAX &&
	       h->page_count <= PAGES_MAX && h->row_count <= WORDS_MAX &&
	       h->rule_count <= WALK_RULES_MAX && h->rules_at % 4 == 0 &&
	       h->pages_at >= WALK_TABLE_ALIGN && h->pages_at <= WORDS_MAX &&
	       h->rows_at >= (uint64_t)h->pages_at + h->page_count + 1 && h->rows_at <= WORDS_MAX &&
	       h->rules_at >= (uint64_t)h->rows_at + h->row_count && h->rules_at <= WORDS_MAX &&
	       h->words >= (uint64_t)h->rules_at + 4 * (uint64_t)h->rule_count;
}

bool unwind_table_is_sound(const uint32_t *words, uint64_t count)
{
	struct walk_table_header h;
	const uint32_t *pages, *rows;
	uint32_t largest = 0;

	if (count < WALK_TABLE_ALIGN)
		return false;
	memcpy(&h, words, sizeof(h));
	if (!layout_is_sound(&h, count))
		return false;
	pages = words + h.pages_at;
	for (uint32_t i = 0; i < h.page_count; i++)
		if (pages[i] > pages[i + 1])
			return false;
	rows = words + h.rows_at;
	for (uint32_t i = 0; i < h.row_count; i++)
		largest = rows[i] > largest ? rows[i] : largest;
	return pages[h.page_count] == h.row_count &&
	       (!h.row_count || largest >> WALK_PAGE_SHIFT < h.rule_count) &&
	       rules_are_sound((const struct walk_rule *)(words + h.rules_at), h.rule_count);
}
