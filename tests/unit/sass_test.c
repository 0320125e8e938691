// SPDX-License-Identifier: MIT
/*
 * Our decoding of instructions beside what nvdisasm said of them (tests/data/sass/opcodes.txt), and
 * beside bytes that are nothing.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/io.h"
#include "gpucode/nvidia/sass.h"
#include "gpucode/nvidia/sass_table.h"
#include "tap.h"

#define RECORDS "tests/data/sass/opcodes.txt"

struct record {
	unsigned int sm;
	uint8_t bytes[SASS_INSTRUCTION_BYTES];
	char text[128];
};

static const unsigned int sms[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

#define SMS (sizeof(sms) / sizeof(sms[0]))

static bool read_bytes(const char *hex, uint8_t ret[SASS_INSTRUCTION_BYTES])
{
	for (size_t i = 0; i < SASS_INSTRUCTION_BYTES; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &ret[i]) != 1)
			return false;
	return true;
}

/* Calls for each record; how many there were. */
static size_t each_record(void (*visit)(const struct record *r))
{
	struct buf text = BUF_INIT;
	size_t count = 0;
	char *save = NULL;

	if (!io_read_file(RECORDS, 1u << 20, &text))
		buf_putc(&text, 0);
	for (char *line = text.size ? strtok_r(text.data, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save)) {
		struct record r;
		char hex[33];

		if (*line == '#')
			continue;
		CHECK(sscanf(line, "%u %32s %127[^\n]", &r.sm, hex, r.text) == 3);
		CHECK(read_bytes(hex, r.bytes));
		visit(&r);
		count++;
	}
	buf_release(&text);
	return count;
}

/* The length of guard and mnemonic, without modifiers. */
static size_t head_length(const char *text)
{
	size_t guard = *text == '@' ? strcspn(text, " ") + 1 : 0;

	return guard + strcspn(text + guard, ".");
}

static void check_mnemonic(const struct record *r)
{
	char text[SASS_TEXT_MAX];
	size_t length = head_length(r->text);

	CHECK(sass_text(r->sm, r->bytes, text, sizeof(text)));
	if (head_length(text) != length || strncmp(text, r->text, length)) {
		printf("# sm_%u:\n", r->sm);
		CHECK_TEXT(text, r->text);
	}
}

static void guard_and_mnemonic_are_those_of_nvdisasm(void)
{
	CHECK(each_record(check_mnemonic) > 1000);
}

/* Whether a modifier is among those of `text`, from *at on; *at is then behind it. */
static bool follows(const char *modifier, size_t length, const char **at)
{
	const char *c = *at;

	while ((c = strchr(c, '.'))) {
		c++;
		if (strcspn(c, ".") == length && !strncmp(c, modifier, length)) {
			*at = c + length;
			return true;
		}
	}
	return false;
}

static void check_modifiers(const struct record *r)
{
	const char *expected = r->text + head_length(r->text), *ours;
	char text[SASS_TEXT_MAX];
	bool ok = true;

	sass_text(r->sm, r->bytes, text, sizeof(text));
	for (ours = text + head_length(text); ok && *ours == '.';) {
		size_t length = strcspn(ours + 1, ".");

		ok = follows(ours + 1, length, &expected);
		ours += 1 + length;
	}
	if (!ok) {
		printf("# sm_%u:\n", r->sm);
		CHECK_TEXT(text, r->text);
	}
}

static void no_modifier_is_told_that_nvdisasm_does_not_tell(void)
{
	CHECK(each_record(check_modifiers) > 1000);
}

struct known {
	unsigned int sm;
	const char *bytes, *text;
};

/* From compiled code. */
static const struct known knowns[] = {
	{90, "8179182008300000001d1e0c00a21e00", "LDG.E.128"},
	{100, "817910b41000000000fd1e0c00a60200", "LDG.E.128.STRONG.GPU"},
	{80, "8179000e0ac0000000991e0c00a80e00", "LDG.E.CONSTANT"},
	{75, "817306020008010000eb1e0000a80e00", "LDG.E.64"},
	{120, "8679000608d002000a1b100c00e24f00", "STG.E.64"},
	{90, "8479040604000000000c000800a80e00", "LDS.128"},
	{86, "887300000d0000000000000000e20f00", "STS.U8"},
	{80, "8379040204400000000a100800a80e00", "LDL.64"},
	{90, "8773001904c00000000c100000e20100", "STL.128"},
	{90, "807907040a0900000011100c00e80e00", "LD.E.U8"},
	{90, "827b04ff008a0000000a000000220e00", "LDC.64"},
	{80, "ae7fff0ef40f00004a1d900b00e80500", "LDGSTS.E.BYPASS"},
	{89, "08731900190000000014000000240e00", "MUFU.RSQ"},
	{75, "087315001c0000000008000000620e00", "MUFU.EX2"},
	{90, "1d7b0000000000000000010000ec0f00", "BAR.SYNC.DEFER_BLOCKING"},
	{80, "1d7b0000000082000020000000ec0f00", "BAR.ARV"},
	{90, "a7750009080000007f01000800240e00", "SYNCS.PHASECHK.TRANS64.TRYWAIT"},
	{120, "23780514da0fc9bf0700000000c80f00", "FFMA"},
	{90, "2b740a140000f03f0801000000e21f00", "DFMA"},
	{90, "317205000b0000000000200000e24f0c", "HFMA2"},
	{103, "25780a08040000000a008e0700e22f00", "IMAD.WIDE.U32"},
	{90, "0c780006030000007060f40300e20f00", "ISETP.GE.AND"},
	{80, "197804ff170000000316010000e20f00", "SHF.R.U32.HI"},
	{90, "f079180c0000e063ff18700c00e20f00", "HGMMA.64x256x16.F32.BF16"},
	{90, "f07d58ac0c00e0055828700800e20f00", "HGMMA.64x128x8.F32.TF32"},
	{80, "3c72080408000000ff18040000f04f04", "HMMA.16816.F32.BF16"},
	{100, "ea7900254442ff000500a00f00e20900", "UTCHMMA.2CTA"},
	{100, "ea750012141842802e00a00f00e20500", "UTCOMMA.2CTA"},
	{100, "ee7964000a00000000002c0800620e00", "LDTM.x32"},
	{90, "b4750014200600000090000800e20f00", "UTMALDG.2D"},
	{90, "a6790002050000008cf3100c00e80300", "REDG"},
	{86, "a973220e1608000017e11e0000a20e00", "ATOMG.E.CAS"},
	{80, "8c7310ff202000000002000100e80f00", "ATOMS.MAX"},
	{90, "897312151600000c1700080000e40400", "SHFL.BFLY"},
	{80, "92790000000000000020000000ec0f00", "MEMBAR.SC.GPU"},
	{90, "10730600050000000018200000e20f00", "F2F.F64.F32"},
	{90, "90780504640000003fe0ff0f00e40f00", "UIADD3"},
	{120, "44794000480000000000c00300ea0f00", "CALL.REL"},
	{90, "4d790000000000000000800300ea0f00", "EXIT"},
};

static void what_matters_in_a_profile_is_told(void)
{
	CHECK(sizeof(knowns) / sizeof(knowns[0]) > 20);
	for (size_t i = 0; i < sizeof(knowns) / sizeof(knowns[0]); i++) {
		const struct known *k = &knowns[i];
		uint8_t bytes[SASS_INSTRUCTION_BYTES];
		char text[SASS_TEXT_MAX];

		CHECK(read_bytes(k->bytes, bytes));
		CHECK(sass_text(k->sm, bytes, text, sizeof(text)));
		CHECK_TEXT(text, k->text);
	}
}

static void an_opcode_that_nobody_knows_is_called_so_by_its_number(void)
{
	uint8_t bytes[SASS_INSTRUCTION_BYTES] = {0xff, 0x7f};
	char text[SASS_TEXT_MAX];

	CHECK(!sass_text(90, bytes, text, sizeof(text)));
	CHECK_TEXT(text, "[unknown 0xfff]");
	bytes[1] = 0x0f;
	CHECK(!sass_text(90, bytes, text, sizeof(text)));
	CHECK_TEXT(text, "@P0 [unknown 0xfff]");
}

/* HGMMA, by its bytes. */
static const uint8_t hgmma[SASS_INSTRUCTION_BYTES] = {0xf0, 0x79, [14] = 0xe2};

static void an_instruction_is_known_only_where_the_hardware_has_it(void)
{
	char text[SASS_TEXT_MAX];

	for (size_t i = 0; i < SMS; i++)
		CHECK(sass_text(sms[i], hgmma, text, sizeof(text)) == (sms[i] == 90));
}

static void other_architectures_are_not_guessed_at(void)
{
	char text[SASS_TEXT_MAX];

	for (size_t i = 0; i < SMS; i++)
		CHECK(sass_has_sm(sms[i]));
	CHECK(!sass_has_sm(70) && !sass_has_sm(0) && !sass_has_sm(95) && !sass_has_sm(130));
	CHECK(!sass_text(70, hgmma, text, sizeof(text)));
	CHECK_TEXT(text, "[unknown 0x9f0]");
}

static void a_text_is_cut_to_the_room_there_is(void)
{
	static const char full[] = "HGMMA.64x8x16.F16";
	char text[SASS_TEXT_MAX];

	for (size_t room = 0; room < sizeof(full) + 2; room++) {
		size_t length = room < sizeof(full) ? (room ? room - 1 : 0) : sizeof(full) - 1;

		memset(text, '~', sizeof(text));
		CHECK(sass_text(90, hgmma, text, room));
		CHECK(text[room] == '~');
		CHECK(!room || (strlen(text) == length && !strncmp(text, full, length)));
	}
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

static void any_bytes_have_a_text_that_fits(void)
{
	uint8_t bytes[SASS_INSTRUCTION_BYTES];
	uint32_t state = 1;

	for (int i = 0; i < 300000; i++) {
		char text[SASS_TEXT_MAX + 64];

		for (size_t b = 0; b < sizeof(bytes); b++)
			bytes[b] = (uint8_t)next_random(&state);
		sass_text(sms[(size_t)i % SMS], bytes, text, sizeof(text));
		if (!*text || strlen(text) >= SASS_TEXT_MAX) {
			CHECK_TEXT(text, "a text that fits");
			break;
		}
	}
}

static void the_table_is_sorted_and_no_row_hides_another(void)
{
	for (size_t i = 0; i < sass_row_count; i++) {
		const struct sass_row *r = &sass_rows[i], *p = r;

		CHECK(r->forms && r->first <= r->last && sass_has_sm(r->first) &&
			sass_has_sm(r->last));
		CHECK(!i || r[-1].opcode <= r->opcode);
		while (p-- > sass_rows && p->opcode == r->opcode)
			CHECK(!(p->forms & r->forms) || p->last < r->first || r->last < p->first ||
				p->when.bits);
	}
}

int main(void)
{
	RUN(guard_and_mnemonic_are_those_of_nvdisasm);
	RUN(no_modifier_is_told_that_nvdisasm_does_not_tell);
	RUN(what_matters_in_a_profile_is_told);
	RUN(an_opcode_that_nobody_knows_is_called_so_by_its_number);
	RUN(an_instruction_is_known_only_where_the_hardware_has_it);
	RUN(other_architectures_are_not_guessed_at);
	RUN(a_text_is_cut_to_the_room_there_is);
	RUN(any_bytes_have_a_text_that_fits);
	RUN(the_table_is_sorted_and_no_row_hides_another);
	return tap_end();
}
