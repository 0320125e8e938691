// SPDX-License-Identifier: MIT
/* The kernel's symbol list, in texts of our own and as this kernel gives it. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/io.h"
#include "symbolize/kallsyms.h"
#include "tap.h"

static const char list[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T __x64_sys_real\n"
			   "ffffffff81000000 t a_local\n"
			   "ffffffff81000100 t second\n"
			   "ffffffff81000200 D table\n"
			   "ffffffff81000300 W third\n"
			   "ffffffffc0201000 t nv_open\t[nvidia]\n"
			   "ffffffff81000180 t unsorted\n"
			   "garbage\n"
			   "ffffffff81000190\n"
			   "ffffffff81000190 t \n"
			   "ffffffff81000190 t";

/* The name that the list gives to one address ("-" for none). */
static const char *name_at(const char *text, uint64_t address)
{
	static char name[64];
	struct kallsyms_match m = {.address = address};

	kallsyms_match(text, strlen(text), &m, 1);
	snprintf(
		name, sizeof(name), "%.*s", m.name ? (int)m.name_length : 1, m.name ? m.name : "-");
	return name;
}

static void an_address_belongs_to_the_nearest_symbol_before_it(void)
{
	CHECK_TEXT(name_at(list, 0xffffffff81000100), "second");
	CHECK_TEXT(name_at(list, 0xffffffff8100017f), "second");
	CHECK_TEXT(name_at(list, 0xffffffff81000181), "unsorted");
	CHECK_TEXT(name_at(list, 0xffffffff81000301), "third");
}

static void of_equals_the_one_that_people_know_is_taken(void)
{
	CHECK_TEXT(name_at(list, 0xffffffff81000010), "_stext");
}

static void data_is_no_function(void)
{
	CHECK_TEXT(name_at(list, 0xffffffff81000204), "-");
}

static void a_module_is_not_part_of_the_name(void)
{
	CHECK_TEXT(name_at(list, 0xffffffffc0201010), "nv_open");
}

static void what_lies_far_behind_or_before_every_symbol_has_no_name(void)
{
	CHECK_TEXT(name_at(list, 0xffffffffc0300000), "-");
	CHECK_TEXT(name_at(list, 0xffffffff80ffffff), "-");
	CHECK_TEXT(name_at(list, 0x10), "-");
	CHECK_TEXT(name_at("", 0xffffffff81000010), "-");
}

static void hidden_addresses_name_nothing(void)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 t second\n";

	CHECK_TEXT(name_at(hidden, 0), "-");
	CHECK_TEXT(name_at(hidden, 0xffffffff81000010), "-");
}

/* A dumb twin: for each address, all lines. */
static bool twin_agrees(const char *text, const struct kallsyms_match *m)
{
	uint64_t best = 0, address;

	for (const char *p = text; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : p) {
		address = strtoull(p, NULL, 16);
		if (address <= m->address && address > best)
			best = address;
	}
	return best == m->start;
}

static void every_address_of_this_kernel_gets_its_nearest_symbol(void)
{
	struct kallsyms_match matches[200] = {0};
	struct buf text = BUF_INIT;

	if (io_read_file("/proc/kallsyms", (size_t)256 << 20, &text) ||
		!strstr(buf_text(&text), "ffffffff8")) {
		SKIP("the kernel hides its symbols");
		buf_release(&text);
		return;
	}
	for (size_t i = 0; i < 200; i++)
		matches[i].address = 0xffffffff81000000 + i * 100003;
	kallsyms_match(text.data, text.size, matches, 200);
	for (size_t i = 0; i < 200; i += 20)
		CHECK(twin_agrees(text.data, &matches[i]));
	buf_release(&text);
}

int main(void)
{
	RUN(an_address_belongs_to_the_nearest_symbol_before_it);
	RUN(of_equals_the_one_that_people_know_is_taken);
	RUN(data_is_no_function);
	RUN(a_module_is_not_part_of_the_name);
	RUN(what_lies_far_behind_or_before_every_symbol_has_no_name);
	RUN(hidden_addresses_name_nothing);
	RUN(every_address_of_this_kernel_gets_its_nearest_symbol);
	return tap_end();
}
