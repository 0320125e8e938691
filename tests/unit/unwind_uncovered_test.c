// SPDX-License-Identifier: MIT
/*
 * Code without unwind information: the compiler is run twice over one source, with and without it,
 * and the rules that were found in the code itself are compared with those that the compiler gave.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "tap.h"
#include "unwind/cfi.h"

#define CODE 0x100000ull

static char folder[] = "/tmp/unwind-uncovered-test-XXXXXX";

struct table {
	uint32_t *words;
	uint64_t text_start;
	uint64_t text_end;
	uint64_t plt_start;
	uint64_t plt_end;
	uint64_t init_start, init_end, fini_start, fini_end;
};

static void write_source(void)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/source.c", folder);
	file = fopen(path, "we");
	if (!file)
		return;
	fprintf(file, "int outside(int);\n");
	for (int i = 0; i < 300; i++)
		fprintf(file,
			"int f%d(int *a, int b) { int s = %d; for (int i = 0; i < b; i++) { switch "
			"(a[i] %% 7) { "
			"case 1: s += a[i] * b; break; case 2: s ^= f%d(a + i, b / 2); break; case "
			"3: "
			"return outside(s); default: s -= i; } } return s; }\n",
			i, i, i ? i - 1 : 0);
	fclose(file);
}

static bool compile(const char *name, const char *flags)
{
	char command[512];

	snprintf(command, sizeof(command),
		"cc -O2 -fPIC -fcf-protection=none -shared -nostdlib -Wl,-z,lazy -Wl,-Ttext=0x%llx "
		"%s -o %s/%s "
		"%s/source.c 2>/dev/null",
		CODE, flags, folder, name, folder);
	return !system(command);
}

static bool open_table(const char *name, struct table *ret)
{
	char path[256];
	struct elf_file *f;
	bool good;

	*ret = (struct table){0};
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (elf_file_open(&f, path))
		return false;
	good = !unwind_build(f, &ret->words, NULL);
	(void)elf_file_section_range(f, ".text", &ret->text_start, &ret->text_end);
	(void)elf_file_section_range(f, ".plt", &ret->plt_start, &ret->plt_end);
	(void)elf_file_section_range(f, ".init", &ret->init_start, &ret->init_end);
	(void)elf_file_section_range(f, ".fini", &ret->fini_start, &ret->fini_end);
	elf_file_close(f);
	return good;
}

static struct walk_rule rule_at(const struct table *t, uint64_t vaddr)
{
	const struct walk_table_header *h = (const struct walk_table_header *)t->words;
	uint64_t page = (vaddr >> WALK_PAGE_SHIFT) - h->first_page;
	uint32_t i;

	if (page >= h->page_count)
		return (struct walk_rule){0};
	for (i = t->words[h->pages_at + page]; i < t->words[h->pages_at + page + 1]; i++)
		if (t->words[h->rows_at + i] % WALK_PAGE_BYTES > vaddr % WALK_PAGE_BYTES)
			break;
	if (!i)
		return (struct walk_rule){0};
	return ((const struct walk_rule *)(t->words + h->rules_at))[t->words[h->rows_at + i - 1] >>
								    WALK_PAGE_SHIFT];
}

static unsigned int differences(
	const struct table *a, const struct table *b, uint64_t start, uint64_t end)
{
	unsigned int count = 0;

	for (uint64_t vaddr = start; vaddr < end; vaddr++) {
		struct walk_rule x = rule_at(a, vaddr), y = rule_at(b, vaddr);

		count += memcmp(&x, &y, sizeof(x)) != 0;
	}
	return count;
}

/*
 * Where the frame pointer was popped the compiler still calls it saved, which comes to the same.
 * The padding behind a return, which is never run, has the return's rule there.
 */
static void code_with_frame_pointers_needs_no_information(void)
{
	struct table with, without;
	unsigned int different = 0, size;

	CHECK(open_table("with.so", &with));
	CHECK(open_table("without.so", &without));
	CHECK(with.text_start == without.text_start && with.text_end == without.text_end);
	for (uint64_t vaddr = with.text_start; vaddr < with.text_end; vaddr++) {
		struct walk_rule x = rule_at(&with, vaddr), y = rule_at(&without, vaddr);

		different += x.cfa != y.cfa || x.cfa_offset != y.cfa_offset ||
			     x.ra_offset != y.ra_offset;
	}
	size = (unsigned int)(with.text_end - with.text_start);
	printf("# %u of %u addresses differ\n", different, size);
	CHECK(size > 20000);
	CHECK(different * 50 < size);
	free(with.words);
	free(without.words);
}

static void code_without_frame_pointers_is_left_alone(void)
{
	struct table t;

	CHECK(!open_table("neither.so", &t) ||
		rule_at(&t, (t.text_start + t.text_end) / 2).cfa == WALK_CFA_NONE);
	free(t.words);
}

/* The linker gives its stubs information, or not. */
static void stubs_need_no_information(void)
{
	struct table with, without;

	CHECK(open_table("with.so", &with));
	CHECK(open_table("bare-stubs.so", &without));
	CHECK(with.plt_start && with.plt_start == without.plt_start &&
		with.plt_end == without.plt_end);
	CHECK(rule_at(&with, with.plt_end - 1).cfa == WALK_CFA_PLT);
	CHECK(differences(&with, &without, with.plt_start, with.plt_end) == 0);
	free(with.words);
	free(without.words);
}

/* Where a symbol of a library is, and how long: by nm. */
static bool find_symbol(
	const char *name, const char *symbol, uint64_t *ret_start, uint64_t *ret_next)
{
	char command[256], line[256], kind, found[128];
	unsigned long long vaddr;
	FILE *lines;

	*ret_start = *ret_next = 0;
	snprintf(command, sizeof(command), "nm -n %s/%s", folder, name);
	lines = popen(command, "r");
	while (lines && fgets(line, sizeof(line), lines)) {
		if (sscanf(line, "%llx %c %127s", &vaddr, &kind, found) != 3)
			continue;
		if (*ret_start && !*ret_next && vaddr > *ret_start)
			*ret_next = vaddr;
		if (!strcmp(found, symbol))
			*ret_start = vaddr;
	}
	return lines && !pclose(lines) && *ret_next;
}

static bool is_sp(const struct table *t, uint64_t vaddr, int offset)
{
	return rule_at(t, vaddr).cfa == WALK_CFA_SP && rule_at(t, vaddr).cfa_offset == offset;
}

/* From `start` to `next` there is one function, whose frame is set up and taken down once. */
static void check_frame(const struct table *t, uint64_t start, uint64_t next)
{
	uint64_t framed = 0, first = 0, last = 0;

	for (uint64_t vaddr = start; vaddr < next; vaddr++)
		if (rule_at(t, vaddr).cfa == WALK_CFA_FP) {
			first = first ? first : vaddr;
			last = vaddr;
			framed++;
		}
	CHECK(framed >= 10 && last - first == framed - 1);
	CHECK(is_sp(t, start + 4, 8) && is_sp(t, first - 1, 16) && is_sp(t, last + 1, 8));
	CHECK(rule_at(t, start - 1).cfa == WALK_CFA_NONE && rule_at(t, next).cfa == WALK_CFA_NONE);
}

/* As NVIDIA's libraries have it, of an older compiler. */
static void write_ctors_caller(void)
{
	static const char code[] =
		"asm(\".text\\n\\t.skip 64, 0xcc\\n__do_global_ctors_aux:\\n"
		"\\tmov list(%rip), %rax\\n\\tcmp $-1, %rax\\n\\tje 2f\\n"
		"\\tpush %rbp\\n\\tmov %rsp, %rbp\\n\\tpush %rbx\\n"
		"\\tlea list(%rip), %rbx\\n\\tsub $8, %rsp\\n1:\\n\\tcall *%rax\\n\\tmov -8(%rbx), "
		"%rax\\n"
		"\\tsub $8, %rbx\\n\\tcmp $-1, %rax\\n\\tjne 1b\\n\\tmov -8(%rbp), "
		"%rbx\\n\\tleave\\n\\tret\\n"
		"after_ctors:\\n2:\\tret\\n\\t.skip 64, 0xcc\\n.data\\nlist:\\t.quad -1\\n\");\n";
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/crt.c", folder);
	file = fopen(path, "we");
	if (file) {
		fputs(code, file);
		fclose(file);
	}
}

/* The compiler's own and the C library's, which have no information. */
static void what_calls_constructors_and_destructors_is_known(void)
{
	uint64_t start, next;
	char command[256];
	struct table t;

	write_ctors_caller();
	snprintf(command, sizeof(command), "cc -shared -fPIC -o %s/whole.so %s/source.c %s/crt.c",
		folder, folder, folder);
	CHECK(!system(command) && open_table("whole.so", &t));
	CHECK(find_symbol("whole.so", "__do_global_dtors_aux", &start, &next));
	check_frame(&t, start, next);
	CHECK(find_symbol("whole.so", "__do_global_ctors_aux", &start, &next));
	check_frame(&t, start, next);
	CHECK(t.init_start && is_sp(&t, t.init_start, 8) && is_sp(&t, t.init_start + 8, 16) &&
		is_sp(&t, t.init_end - 2, 16) && is_sp(&t, t.init_end - 1, 8));
	CHECK(t.fini_start && is_sp(&t, t.fini_start, 8) && is_sp(&t, t.fini_end - 2, 16) &&
		is_sp(&t, t.fini_end - 1, 8));
	free(t.words);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(folder))
		return 1;
	write_source();
	if (!compile("with.so", "-fno-omit-frame-pointer") ||
		!compile("without.so", "-fno-omit-frame-pointer -fno-asynchronous-unwind-tables") ||
		!compile("neither.so", "-fomit-frame-pointer -fno-asynchronous-unwind-tables") ||
		!compile("bare-stubs.so",
			"-fno-omit-frame-pointer -Wl,--no-ld-generated-unwind-info")) {
		printf("1..0 # SKIP no compiler that makes such libraries\n");
	} else {
		RUN(code_with_frame_pointers_needs_no_information);
		RUN(code_without_frame_pointers_is_left_alone);
		RUN(stubs_need_no_information);
		RUN(what_calls_constructors_and_destructors_is_known);
		tap_end();
	}
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) || tap_failed;
}
