// SPDX-License-Identifier: MIT
/* Images of GPU code that are large in the wrong places: what they cost. */
#include "gpucode/code_elf.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "gpucode/answers.h"
#include "gpucode/format.h"
#include "tap.h"

#define MACHINE	    224
#define SECONDS_MAX 5 /* of processor time: without a bound these take a minute and more */
#define SECTIONS    200000u
#define SYMBOLS	    200000u
#define TEXT_BYTES  ((size_t)16 << 20)
#define QUESTIONS   30

enum { SYMTAB = 1, STRTAB, NUMBERS = SECTIONS - 1 };

static const struct code_elf_kind kind = {"test", MACHINE};

static void put_section(struct buf *b, uint32_t type, uint64_t offset, uint64_t size, uint32_t link)
{
	const Elf64_Shdr s = {
		.sh_type = type, .sh_offset = offset, .sh_size = size, .sh_link = link};

	buf_append(b, &s, sizeof(s));
}

/* A table of symbols whose sections' numbers are in the last one of many, and whose names are one
 * text. */
static void make_image(struct buf *b)
{
	const uint64_t symbols = sizeof(Elf64_Ehdr) + SECTIONS * sizeof(Elf64_Shdr);
	const uint64_t numbers = symbols + SYMBOLS * sizeof(Elf64_Sym);
	const uint64_t texts = numbers + SYMBOLS * sizeof(uint32_t);
	const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_machine = MACHINE,
		.e_shoff = sizeof(h),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shstrndx = STRTAB};
	const Elf64_Sym s = {.st_name = 1, .st_shndx = SHN_XINDEX};

	buf_append(b, &h, sizeof(h));
	put_section(b, SHT_NULL, 0, SECTIONS, 0);
	put_section(b, SHT_SYMTAB, symbols, SYMBOLS * sizeof(s), STRTAB);
	put_section(b, SHT_STRTAB, texts, TEXT_BYTES, 0);
	for (uint32_t n = STRTAB + 1; n < NUMBERS; n++)
		put_section(b, SHT_NULL, 0, 0, 0);
	put_section(b, SHT_SYMTAB_SHNDX, numbers, SYMBOLS * sizeof(uint32_t), SYMTAB);
	for (uint32_t n = 0; n < SYMBOLS; n++)
		buf_append(b, &s, sizeof(s));
	for (uint32_t n = 0; n < SYMBOLS; n++)
		buf_append(b, &n, sizeof(n));
	for (size_t n = 0; n < TEXT_BYTES; n++)
		buf_putc(b, n && n < TEXT_BYTES - 1 ? 'x' : 0);
}

static double seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static void symbols_times_sections_are_not_gone_through(void)
{
	double begin_s = seconds();
	struct buf b = BUF_INIT;
	struct code_elf e;
	Elf64_Ehdr h;
	Elf64_Sym s;
	uint32_t n = 0;

	make_image(&b);
	CHECK(!b.failed && !code_elf_init(&e, b.data, b.size, &kind, &h));
	CHECK(e.sections.count == SECTIONS);
	while (code_elf_symbol(&e, n, &s) && code_elf_symbol_section(&e, n, &s) == n)
		n++;
	CHECK(n == SYMBOLS);
	CHECK(seconds() - begin_s < SECONDS_MAX);
	code_elf_release(&e);
	buf_release(&b);
}

static void one_long_name_of_all_symbols_is_not_read_for_each(void)
{
	double begin_s = seconds();
	struct buf b = BUF_INIT;
	struct code_names names;
	struct code_elf e;
	Elf64_Ehdr h;
	Elf64_Sym s;
	uint32_t named = 0;

	make_image(&b);
	CHECK(!b.failed && !code_elf_init(&e, b.data, b.size, &kind, &h));
	names = code_elf_names(&e);
	for (uint32_t n = 0; code_elf_symbol(&e, n, &s); n++)
		named += code_names_next(&names, &s) != NULL;
	CHECK(named > 0 && named < 5);
	CHECK(seconds() - begin_s < SECONDS_MAX);
	code_elf_release(&e);
	buf_release(&b);
}

/* --- frames ----------------------------------------------------------------------------------- */

static char *texts[2];

static bool find(const struct gpucode_image *image, const char *name, uint32_t index,
	struct gpucode_function *ret)
{
	*ret = (struct gpucode_function){.size = UINT32_MAX};
	return true;
}

/* Each instruction is in another function than the one before. */
static size_t frames(struct gpucode_image *image, const struct gpucode_function *f, uint64_t offset,
	struct gpucode_frame ret[GPUCODE_FRAMES_MAX], bool *ret_called)
{
	ret[0] = (struct gpucode_frame){texts[offset / 4 % 2], "", 1};
	return 1;
}

static void a_long_name_is_not_read_for_each_instruction(void)
{
	static const struct gpucode_format format = {
		.name = "test", .instruction_bytes = 4, .find = find, .frames = frames};
	const struct gpucode g = {.format = &format};
	const struct gpucode_part part = {0, GPUCODE_PART_MAX};
	struct buf question = BUF_INIT, answer = BUF_INIT;
	struct gpucode_sources sources = {0};
	struct interner *in = NULL;
	double begin_s;

	for (int i = 0; i < 2; i++) {
		texts[i] = malloc(TEXT_BYTES);
		memset(texts[i], 'x', TEXT_BYTES);
		texts[i][TEXT_BYTES - 1] = '\0';
	}
	gpucode_put_part(&question, &part);
	gpucode_put_function(&question, "f", 0);
	begin_s = seconds();
	for (int i = 0; i < QUESTIONS; i++) {
		buf_reset(&answer);
		CHECK(!gpucode_write_frames(&g, question.data, question.size, &answer));
	}
	CHECK(seconds() - begin_s < SECONDS_MAX);
	/* Such a name is left out. */
	CHECK(!interner_new(&in) && !gpucode_read_frames(&answer, part.count, in, &sources));
	CHECK(sources.instructions.count == part.count && !*sources.frames.items[0].function);
	gpucode_sources_release(&sources);
	interner_free(in);
	buf_release(&question);
	buf_release(&answer);
	free(texts[0]);
	free(texts[1]);
}

int main(void)
{
	RUN(symbols_times_sections_are_not_gone_through);
	RUN(one_long_name_of_all_symbols_is_not_read_for_each);
	RUN(a_long_name_is_not_read_for_each_instruction);
	return tap_end();
}
