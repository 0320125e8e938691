// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "elf/usdt.h"
#include "elf_image.h"
#include "tap.h"

#define CODE  0x1000
#define NAMES "one:alpha\0one:beta"

/* One form of an operand. */
struct form {
	const char *text;
	struct usdt_argument argument; /* kind 0: it is in no form that is known */
};

#define NONE USDT_NO_REGISTER

static const struct form forms[] = {
	{"8@%rax", {USDT_REGISTER, 8, 0, 0, 0, NONE, 0, 0, 0}},
	{"-4@%r14d", {USDT_REGISTER, 4, 1, 0, 14, NONE, 0, 0, 0}},
	{"2@%si 8@$1", {USDT_REGISTER, 2, 0, 0, 4, NONE, 0, 0, 0}},
	{"-1@%ah", {USDT_REGISTER, 1, 1, 8, 0, NONE, 0, 0, 0}},
	{"1@%bpl", {USDT_REGISTER, 1, 0, 0, 6, NONE, 0, 0, 0}},
	{"-4@$-5", {USDT_CONSTANT, 4, 1, 0, NONE, NONE, 0, 0, -5}},
	{"8@$0x10", {USDT_CONSTANT, 8, 0, 0, NONE, NONE, 0, 0, 16}},
	{"8@$18446744073709551615", {USDT_CONSTANT, 8, 0, 0, NONE, NONE, 0, 0, -1}},
	{"8@(%rbp)", {USDT_MEMORY, 8, 0, 0, 6, NONE, 0, 0, 0}},
	{"8@-40(%rbp)", {USDT_MEMORY, 8, 0, 0, 6, NONE, 0, 0, -40}},
	{"4@8(%r8,%rdx)", {USDT_MEMORY, 4, 0, 0, 8, 1, 1, 0, 8}},
	{"8@8(%rax,%r15,8)", {USDT_MEMORY, 8, 0, 0, 0, 15, 8, 0, 8}},
	{"8@16(,%rcx,4)", {USDT_MEMORY, 8, 0, 0, NONE, 2, 4, 0, 16}},
	{"8@", {0}},
	{"8", {0}},
	{"", {0}},
	{"%rax", {0}},
	{"3@%rax", {0}},
	{"16@%rax", {0}},
	{"-9223372036854775808@%rax", {0}},
	{"8f@%xmm0", {0}},
	{"8@%xmm0", {0}},
	{"8@%raxx", {0}},
	{"8@%rip", {0}},
	{"8@symbol(%rip)", {0}},
	{"8@symbol+8(%rip)", {0}},
	{"8@8(%rip)", {0}},
	{"8@%fs:16", {0}},
	{"8@8(%eax)", {0}},
	{"8@8(%ax,%rbx,2)", {0}},
	{"8@8(%rax,%rbx,3)", {0}},
	{"8@8(%rax", {0}},
	{"8@8(%rax)x", {0}},
	{"8@8()", {0}},
	{"8@8(,)", {0}},
	{"8@8", {0}},
	{"8@$", {0}},
	{"8@$symbol", {0}},
	{"8@$99999999999999999999", {0}},
	{"8@-8+4(%rsp)", {0}},
};

static void operands_are_read_or_refused(void)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct usdt_argument a = {0};
		bool read = usdt_read_operand(forms[i].text, &a);

		CHECK(read == (forms[i].argument.kind != 0) &&
			!memcmp(&a, &forms[i].argument, sizeof(a)));
	}
}

/* --- notes */

static void add_note(struct buf *b, uint32_t type, const char *owner, const uint64_t words[3],
	const char *texts, size_t texts_size)
{
	uint32_t head[3] = {
		(uint32_t)strlen(owner) + 1, (uint32_t)(3 * sizeof(*words) + texts_size), type};
	static const char zeros[4];

	buf_append(b, head, sizeof(head));
	buf_append(b, owner, head[0]);
	buf_append(b, zeros, -head[0] & 3);
	buf_append(b, words, 3 * sizeof(*words));
	buf_append(b, texts, texts_size);
	buf_append(b, zeros, -head[1] & 3);
}

#define ADD(b, texts, ...)                                                                         \
	add_note(b, 3, "stapsdt", (const uint64_t[3]){__VA_ARGS__}, texts, sizeof(texts))

/* What is found in a file whose section of notes has these bytes; or the error. */
static int find(const void *notes, size_t size, uint64_t base, struct usdt_site *ret, size_t *count)
{
	struct elf_image image = {.code = CODE, .code_size = 0x1000, .section_count = base ? 2 : 1};
	struct elf_file *f = NULL;
	int error;

	image.sections[0] = (struct elf_image_section){".note.stapsdt", notes, size, 0, false};
	image.sections[1] = (struct elf_image_section){".stapsdt.base", "", 1, base, false};
	error = elf_image_open(&image, &f);
	*count = 0;
	error = error ?: usdt_find(f, NAMES, sizeof(NAMES), ret, count);
	elf_file_close(f);
	return error;
}

static void notes_are_read_within_their_bounds(void)
{
	static struct usdt_site sites[USDT_SITES_MAX];
	struct buf b = BUF_INIT;
	size_t count;

	ADD(&b, "one\0alpha\08@%rax -4@$7", CODE + 4, 0, 0);
	ADD(&b, "one\0gamma\08@%rax", CODE + 8, 0, 0);
	ADD(&b, "two\0beta\08@%rax", CODE + 8, 0, 0);
	add_note(&b, 4, "stapsdt", (const uint64_t[3]){CODE + 4}, "one\0beta\0", 10);
	add_note(&b, 3, "stapsdx", (const uint64_t[3]){CODE + 4}, "one\0beta\0", 10);
	ADD(&b, "one\0beta\0", CODE + 0x100000, 0, 0);
	ADD(&b, "one\0beta\08@%rax 8@here(%rip) 8@(%rax) 8@$1 8@$2 8@%xmm0", CODE + 12, 0, 0);
	CHECK(find(b.data, b.size, 0, sites, &count) == 0);
	CHECK(count == 2);
	CHECK(sites[0].probe == 0);
	CHECK(sites[0].argument_count == 2);
	CHECK(sites[0].arguments[1].value == 7);
	CHECK(sites[0].unknown == 0);
	CHECK(usdt_site_is_sound(&sites[0]));
	CHECK(sites[1].unknown == 2);
	CHECK_TEXT(sites[1].operand, "8@here(%rip)");
	CHECK(sites[1].argument_count == USDT_ARGUMENTS);
	for (size_t cut = 0; cut < b.size; cut++)
		(void)find(b.data, cut, 0, sites, &count);
	buf_reset(&b);

	ADD(&b, "one\0alpha\0", CODE + 4 - 0x500, 0x2000 - 0x500, 0);
	CHECK(find(b.data, b.size, 0x2000, sites, &count) == 0);
	CHECK(count == 1);
	buf_reset(&b);

	ADD(&b, "one\0alpha\0", CODE + 4, 0, 0xffff0000);
	CHECK(find(b.data, b.size, 0, sites, &count) == 0);
	CHECK(count == 0);
	buf_reset(&b);

	add_note(&b, 3, "stapsdt", (const uint64_t[3]){CODE + 4}, "one\0alpha\0xx", 12);
	add_note(&b, 3, "stapsdt", (const uint64_t[3]){CODE + 4}, "one", 3);
	CHECK(find(b.data, b.size, 0, sites, &count) == 0);
	CHECK(count == 0);
	buf_reset(&b);

	for (int i = 0; i <= USDT_SITES_MAX; i++)
		ADD(&b, "one\0alpha\0", CODE + 4, 0, 0);
	CHECK(find(b.data, b.size, 0, sites, &count) == -EFBIG);
	buf_release(&b);
}

static void sites_from_elsewhere_are_checked(void)
{
	struct usdt_site good = {.offset = 1, .argument_count = 1}, bad;

	(void)usdt_read_operand("8@8(%rax,%rbx,2)", &good.arguments[0]);
	CHECK(usdt_site_is_sound(&good));
	bad = good;
	bad.arguments[0].base = USDT_REGISTERS;
	CHECK(!usdt_site_is_sound(&bad));
	bad = good;
	bad.arguments[0].size = 16;
	CHECK(!usdt_site_is_sound(&bad));
	bad = good;
	bad.argument_count = USDT_ARGUMENTS + 1;
	CHECK(!usdt_site_is_sound(&bad));
	bad = good;
	memset(bad.operand, 'x', sizeof(bad.operand));
	CHECK(!usdt_site_is_sound(&bad));
}

int main(void)
{
	RUN(operands_are_read_or_refused);
	RUN(notes_are_read_within_their_bounds);
	RUN(sites_from_elsewhere_are_checked);
	return tap_end();
}
