// SPDX-License-Identifier: MIT
/* Notes are read from a copy of their section, each within its bounds. */
#include "elf/usdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/named.h"

#define OWNER "stapsdt"
#define TYPE  3
#define NOTES ".note.stapsdt"
#define BASE  ".stapsdt.base"

struct note {
	uint64_t address, base, counter;
	const char *provider, *name, *arguments; /* each ends within the note */
};

struct search {
	struct elf_file *file;
	const char *names;
	size_t names_size;
	uint64_t base; /* where .stapsdt.base is in this file; 0: it has none */
	struct usdt_site *sites;
	size_t count;
};

/* --- notes ------------------------------------------------------------------------------------ */

/* The text that begins at *at, if it ends before `end`. */
static const char *take_text(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *nul = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;
	const char *text = (const char *)*at;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

static bool read_note(const uint8_t *at, size_t size, struct note *ret)
{
	const uint8_t *end = at + size;
	uint64_t words[3];

	if (size < sizeof(words))
		return false;
	memcpy(words, at, sizeof(words));
	at += sizeof(words);
	*ret = (struct note){.address = words[0], .base = words[1], .counter = words[2]};
	ret->provider = take_text(&at, end);
	ret->name = ret->provider ? take_text(&at, end) : NULL;
	ret->arguments = ret->name ? take_text(&at, end) : NULL;
	return ret->arguments;
}

/* Which of the names it has; false: none. */
static bool find_name(const struct search *s, const struct note *n, uint32_t *ret)
{
	size_t provider = strlen(n->provider);
	uint32_t i = 0;

	for (const char *name = s->names; name < s->names + s->names_size;
		name += strlen(name) + 1, i++)
		if (!strncmp(name, n->provider, provider) && name[provider] == ':' &&
			!strcmp(name + provider + 1, n->name)) {
			*ret = i;
			return true;
		}
	return false;
}

static void refuse_argument(struct usdt_site *site, uint32_t number, const char *text)
{
	size_t size = strcspn(text, " ");

	if (site->unknown)
		return;
	if (size >= sizeof(site->operand))
		size = sizeof(site->operand) - 1;
	site->unknown = USDT_FIRST_UNKNOWN + number;
	memcpy(site->operand, text, size);
	site->operand[size] = '\0';
}

static void read_arguments(const char *text, struct usdt_site *site)
{
	while (*(text += strspn(text, " ")) && site->argument_count < USDT_ARGUMENTS) {
		uint32_t number = site->argument_count++;

		if (!usdt_read_operand(text, &site->arguments[number]))
			refuse_argument(site, number, text);
		text += strcspn(text, " ");
	}
}

/* Sections may have moved since the note was written, as a whole (prelink). */
static int add_site(struct search *s, const struct note *n, uint32_t probe)
{
	uint64_t moved = n->base && s->base ? s->base - n->base : 0, start, end;
	struct usdt_site site = {.probe = probe};

	if (elf_file_code_range(s->file, n->address + moved, &start, &end) ||
		elf_file_vaddr_to_offset(s->file, n->address + moved, &site.offset))
		return 0;
	if (n->counter && (elf_file_vaddr_to_offset(s->file, n->counter + moved, &site.counter) ||
				  !site.counter))
		return 0;
	if (s->count == USDT_SITES_MAX)
		return -EFBIG;
	read_arguments(n->arguments, &site);
	s->sites[s->count++] = site;
	return 0;
}

static int look_at_note(struct search *s, uint32_t type, const uint8_t *owner, size_t owner_size,
	const uint8_t *contents, size_t size)
{
	struct note n;
	uint32_t probe;

	if (type != TYPE || owner_size != sizeof(OWNER) || memcmp(owner, OWNER, sizeof(OWNER)) ||
		!read_note(contents, size, &n) || !find_name(s, &n, &probe))
		return 0;
	return add_site(s, &n, probe);
}

/* Owner and contents are rounded up to 4 bytes. */
static int read_notes(struct search *s, const uint8_t *at, size_t left)
{
	uint32_t head[3];
	int error = 0;

	while (!error && left >= sizeof(head)) {
		size_t owner, size;

		memcpy(head, at, sizeof(head));
		at += sizeof(head);
		left -= sizeof(head);
		owner = ((size_t)head[0] + 3) & ~(size_t)3;
		size = ((size_t)head[1] + 3) & ~(size_t)3;
		if (owner > left || size > left - owner)
			break;
		error = look_at_note(s, head[2], at, head[0], at + owner, head[1]);
		at += owner + size;
		left -= owner + size;
	}
	return error;
}

/* --- what others see -------------------------------------------------------------------------- */

int usdt_find(struct elf_file *f, const char *names, size_t names_size,
	struct usdt_site ret[USDT_SITES_MAX], size_t *ret_count)
{
	struct search s = {.file = f, .names = names, .names_size = names_size, .sites = ret};
	struct elf_contents notes = {0};
	struct elf_named base = {0};
	int error;

	if (!names_size || names[names_size - 1])
		return -EINVAL;
	if (!elf_file_is_64bit(f))
		return -ENOENT;
	error = elf_file_read_section(f, NOTES, USDT_NOTES_BYTES, &notes);
	if (error)
		return error;
	if (!elf_section_named(f, BASE, &base))
		s.base = base.vaddr;
	error = read_notes(&s, notes.data, notes.size);
	elf_contents_release(&notes);
	if (!error)
		*ret_count = s.count;
	return error;
}

static bool is_register(uint8_t number)
{
	return number < USDT_REGISTERS || number == USDT_NO_REGISTER;
}

static bool argument_is_sound(const struct usdt_argument *a)
{
	return a->kind >= USDT_CONSTANT && a->kind <= USDT_MEMORY &&
	       (a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8) &&
	       a->is_signed <= 1 && (a->shift == 0 || a->shift == 8) && is_register(a->base) &&
	       is_register(a->index) && a->scale <= 8 &&
	       (a->kind != USDT_REGISTER || a->base != USDT_NO_REGISTER);
}

bool usdt_site_is_sound(const struct usdt_site *s)
{
	if (!s->offset || s->argument_count > USDT_ARGUMENTS || s->unknown > USDT_ARGUMENTS ||
		!memchr(s->operand, 0, sizeof(s->operand)))
		return false;
	for (uint32_t i = 0; !s->unknown && i < s->argument_count; i++)
		if (!argument_is_sound(&s->arguments[i]))
			return false;
	return true;
}
