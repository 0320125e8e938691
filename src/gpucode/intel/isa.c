// SPDX-License-Identifier: MIT
/*
 * An instruction is 16 bytes, or 8 where bit 29 says that it is compacted. Bits 0 to 6 are the
 * opcode. Bits 92 to 95 of a whole one say which function it is of those that its opcode has: what
 * is computed, waited for, or which unit gets the message; of a compacted one that is in a table of
 * the hardware, by an index.
 *
 * The tables: libiga64 2.40 lists the opcodes of each architecture; for the functions it was asked
 * about instructions of every opcode that has some, with each value of these bits.
 */
#include "gpucode/intel/isa.h"

#include <stdio.h>

#define OPCODE	       0x7f
#define COMPACTED      0x20 /* of the fourth byte */
#define FUNCTION_BYTE  11
#define FUNCTION_SHIFT 4
#define FUNCTIONS      16

/* Architectures, as bits. */
enum {
	HPG = 1 << 0,
	HPC = 1 << 1,
	XE2 = 1 << 2,
	XE3 = 1 << 3,
	XE3P = 1 << 4,
	ALL = HPG | HPC | XE2 | XE3 | XE3P,
};

struct architecture {
	unsigned int first, last; /* versions, 100 * major + minor */
	int bit;
};

static const struct architecture architectures[] = {
	{1255, 1259, HPG},
	{1260, 1269, HPC},
	{1270, 1274, HPG},
	{2000, 2099, XE2},
	{3000, 3029, XE3},
	{3500, 3599, XE3P},
};

struct function_name {
	int architectures;
	const char *name;
};

/* By the value of the bits; without a name: not known. */
static const struct function_name math_functions[FUNCTIONS] = {
	[1] = {ALL, "inv"},
	[2] = {ALL, "log"},
	[3] = {ALL, "exp"},
	[4] = {ALL, "sqt"},
	[5] = {ALL, "rsqt"},
	[6] = {ALL, "sin"},
	[7] = {ALL, "cos"},
	[9] = {XE3P, "tanh"},
	[10] = {XE3P, "sigm"},
	[14] = {ALL, "invm"},
	[15] = {ALL, "rsqtm"},
};

static const struct function_name sync_functions[FUNCTIONS] = {
	[0] = {ALL, "nop"},
	[2] = {ALL, "allrd"},
	[3] = {ALL, "allwr"},
	[12] = {ALL & ~(HPG | HPC), "flush"},
	[13] = {ALL & ~HPG, "fence"},
	[14] = {ALL, "bar"},
	[15] = {ALL, "host"},
};

static const struct function_name send_functions[FUNCTIONS] = {
	[0] = {ALL, "null"},
	[1] = {ALL & ~XE3P, "ugml"},
	[2] = {ALL, "smpl"},
	[3] = {ALL, "gtwy"},
	[4] = {ALL & ~XE3P, "dc2"},
	[5] = {ALL, "rc"},
	[6] = {ALL, "urb"},
	[7] = {ALL, "btd"},
	[8] = {ALL, "rta"},
	[9] = {HPC, "dcro"},
	[10] = {ALL, "dc0"},
	[11] = {ALL & ~XE3P, "pixi"},
	[12] = {ALL & ~XE3P, "dc1"},
	[13] = {ALL, "tgm"},
	[14] = {ALL, "slm"},
	[15] = {ALL, "ugm"},
};

struct isa_row {
	uint8_t opcode;
	int architectures;
	const char *mnemonic;
	const struct function_name *functions; /* NULL: it has one */
};

static const struct isa_row rows[] = {
	{0x00, ALL, "illegal"},
	{0x01, ALL, "sync", sync_functions},
	{0x20, ALL, "jmpi"},
	{0x21, HPG | HPC | XE2, "brd"},
	{0x22, ALL, "if"},
	{0x23, HPG | HPC | XE2, "brc"},
	{0x24, ALL, "else"},
	{0x25, ALL, "endif"},
	{0x27, ALL, "while"},
	{0x28, ALL, "break"},
	{0x29, ALL, "cont"},
	{0x2a, ALL, "halt"},
	{0x2b, ALL, "calla"},
	{0x2c, ALL, "call"},
	{0x2d, ALL, "ret"},
	{0x2e, ALL, "goto"},
	{0x2f, ALL, "join"},
	{0x31, ALL, "send", send_functions},
	{0x32, ALL, "sendc", send_functions},
	{0x33, XE3P, "sendg"},
	{0x34, XE3P, "sendgc"},
	{0x35, XE3P, "sendgx"},
	{0x36, XE3P, "sendgxc"},
	{0x38, ALL, "math", math_functions},
	{0x39, XE3P, "lfsr"},
	{0x40, ALL, "add"},
	{0x41, ALL, "mul"},
	{0x42, ALL, "avg"},
	{0x43, ALL, "frc"},
	{0x44, ALL, "rndu"},
	{0x45, ALL, "rndd"},
	{0x46, ALL, "rnde"},
	{0x47, ALL, "rndz"},
	{0x48, ALL, "mac"},
	{0x49, ALL, "mach"},
	{0x4a, ALL, "lzd"},
	{0x4b, ALL, "fbh"},
	{0x4c, ALL, "fbl"},
	{0x4d, ALL, "cbit"},
	{0x4e, ALL, "addc"},
	{0x4f, ALL, "subb"},
	{0x50, XE3P, "shfl"},
	{0x52, ALL, "add3"},
	{0x53, ALL & ~HPG, "macl"},
	{0x54, ALL & ~HPG, "srnd"},
	{0x55, XE3P, "dnscl"},
	{0x58, ALL, "dp4a"},
	{0x59, ALL, "dpas"},
	{0x5a, HPG, "dpasw"},
	{0x5b, ALL, "mad"},
	{0x5c, XE3P, "bdpas"},
	{0x5d, ALL, "madm"},
	{0x5f, XE3P, "mullh"},
	{0x60, ALL, "nop"},
	{0x61, ALL, "mov"},
	{0x62, ALL, "sel"},
	{0x63, ALL, "movi"},
	{0x64, ALL, "not"},
	{0x65, ALL, "and"},
	{0x66, ALL, "or"},
	{0x67, ALL, "xor"},
	{0x68, ALL, "shr"},
	{0x69, ALL, "shl"},
	{0x6b, ALL, "bfn"},
	{0x6c, ALL, "asr"},
	{0x6e, ALL, "ror"},
	{0x6f, ALL, "rol"},
	{0x70, ALL, "cmp"},
	{0x71, ALL, "cmpn"},
	{0x72, ALL, "csel"},
	{0x77, ALL, "bfrev"},
	{0x78, ALL, "bfe"},
	{0x79, ALL, "bfi1"},
	{0x7a, ALL, "bfi2"},
};

size_t isa_size(const uint8_t bytes[ISA_COMPACTED_BYTES])
{
	return bytes[3] & COMPACTED ? ISA_COMPACTED_BYTES : ISA_WHOLE_BYTES;
}

/* Its bit; 0: it is not known. */
static int architecture_of(unsigned int target)
{
	for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]); i++)
		if (architectures[i].first <= target && target <= architectures[i].last)
			return architectures[i].bit;
	return 0;
}

bool isa_has_target(unsigned int target)
{
	return architecture_of(target);
}

static const struct isa_row *find_row(int architecture, uint8_t opcode)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].opcode == opcode && rows[i].architectures & architecture)
			return &rows[i];
	return NULL;
}

/* NULL: it has none, or it is not certain. */
static const char *function_of(
	const struct isa_row *r, int architecture, const uint8_t *bytes, size_t size)
{
	const struct function_name *f;

	if (!r->functions || size < ISA_WHOLE_BYTES || isa_size(bytes) != ISA_WHOLE_BYTES)
		return NULL;
	f = &r->functions[bytes[FUNCTION_BYTE] >> FUNCTION_SHIFT];
	return f->architectures & architecture ? f->name : NULL;
}

bool isa_text(unsigned int target, const uint8_t *bytes, size_t size, char *ret, size_t room)
{
	int architecture = architecture_of(target);
	uint8_t opcode = bytes[0] & OPCODE;
	const struct isa_row *r = find_row(architecture, opcode);
	const char *function;

	if (!r) {
		snprintf(ret, room, "[unknown 0x%02x]", opcode);
		return false;
	}
	function = function_of(r, architecture, bytes, size);
	snprintf(ret, room, "%s%s%s", r->mnemonic, function ? "." : "", function ?: "");
	return true;
}
