// SPDX-License-Identifier: MIT
/*
 * Observed with nvdisasm of CUDA 13.0: every opcode in every form was tried with several fillings
 * of the other bits, then with each bit that may stand for a modifier changed, and compared with
 * the code of NVIDIA's own libraries. A modifier stands here when it was a function of its bits
 * throughout.
 */
#include "gpucode/nvidia/sass_table.h"

#define ROW(opcode_, forms_, first_, last_, mnemonic_, ...)                                        \
	{                                                                                          \
		.opcode = opcode_, .forms = forms_, .first = first_, .last = last_,                \
		.mnemonic = mnemonic_, __VA_ARGS__                                                 \
	}

/* A modifier that all have: whatever that bit is. */
#define ALWAYS(text) 0, 1, text "|" text
#define SIZES	     73, 3, "U8|S8|U16|S16||64|128"
#define WIDE_ADDRESS 72, 1, "|E"

static const struct sass_field global_75[] = {{WIDE_ADDRESS}, {SIZES}, {0}};
static const struct sass_field global[] = {
	{WIDE_ADDRESS}, {SIZES}, {77, 4, "|||||STRONG.SM||STRONG.GPU|||STRONG.SYS"}, {0}};
static const struct sass_field global_load[] = {
	{WIDE_ADDRESS}, {SIZES}, {77, 4, "||||CONSTANT|STRONG.SM||STRONG.GPU|||STRONG.SYS"}, {0}};
static const struct sass_field global_256[] = {{WIDE_ADDRESS}, {ALWAYS("256")}, {0}};
static const struct sass_field sized[] = {{SIZES}, {0}};
static const struct sass_field matrices[] = {{72, 2, "|2|4"}, {0}};
static const struct sass_field global_to_shared[] = {{WIDE_ADDRESS}, {81, 1, "BYPASS|"}, {0}};
static const struct sass_field tensor_copy[] = {{79, 3, "1D|2D|3D|4D|5D"}, {0}};
static const struct sass_field tensor_memory[] = {{83, 3, "|x2|x4|x8|x16|x32|x64|x128"}, {0}};

#define ATOMIC_OPERATION 87, 4, "ADD|MIN|MAX|INC|DEC|AND|OR|XOR|EXCH"
static const struct sass_field atomic[] = {{WIDE_ADDRESS}, {ATOMIC_OPERATION}, {0}};
static const struct sass_field atomic_shared[] = {{ATOMIC_OPERATION}, {0}};
static const struct sass_field atomic_cas[] = {{WIDE_ADDRESS}, {87, 1, "CAS|CAST"}, {0}};
static const struct sass_field swap[] = {{WIDE_ADDRESS}, {ALWAYS("CAS")}, {0}};
static const struct sass_field atomic_shared_cas[] = {{87, 1, "CAS|CAST"}, {0}};
static const struct sass_field reduction[] = {
	{WIDE_ADDRESS}, {87, 3, "ADD|MIN|MAX|INC|DEC|AND|OR|XOR"}, {0}};

static const struct sass_field special_function[] = {
	{74, 4, "COS|SIN|EX2|LG2|RCP|RSQ|RCP64H|RSQ64H|SQRT|TANH"}, {0}};
static const struct sass_field barrier[] = {
	{77, 2, "SYNC|ARV|RED"}, {80, 1, "|DEFER_BLOCKING"}, {0}};
static const struct sass_field fence[] = {{79, 2, "SC|ALL"}, {76, 3, "CTA|SM|GPU|SYS"}, {0}};
static const struct sass_field cache_control[] = {{87, 3, "PF1|PF2|||IVALL|||WBALL"}, {0}};
static const struct sass_field phase_check[] = {
	{ALWAYS("PHASECHK.TRANS64")}, {72, 1, "|TRYWAIT"}, {0}};
static const struct sass_field arrive[] = {{ALWAYS("ARRIVE.TRANS64")}, {0}};

static const struct sass_field shuffle[] = {{58, 2, "IDX|UP|DOWN|BFLY"}, {0}};
static const struct sass_field vote[] = {{72, 2, "ALL|ANY"}, {0}};
static const struct sass_field match[] = {{79, 1, "ALL|ANY"}, {0}};
static const struct sass_field warp_reduction[] = {
	{78, 3, "|OR|XOR|SUM|MIN|MAX"}, {73, 1, "|S32"}, {0}};
static const struct sass_field branch[] = {{32, 2, "|U|DIV|CONV"}, {0}};
static const struct sass_field absolute[] = {{ALWAYS("ABS")}, {0}};
static const struct sass_field relative[] = {{ALWAYS("REL")}, {0}};
static const struct sass_field ret[] = {{85, 1, "REL|ABS"}, {0}};

#define COMBINE 74, 2, "AND|OR|XOR"
static const struct sass_field compare_integers[] = {
	{76, 3, "F|LT|EQ|LE|GT|NE|GE"}, {COMBINE}, {0}};
static const struct sass_field compare_floats[] = {
	{76, 4, "F|LT|EQ|LE|GT|NE|GE|NUM|NAN|LTU|EQU|LEU|GTU|NEU|GEU"}, {COMBINE}, {0}};
static const struct sass_field compare_doubles[] = {
	{76, 4, "MIN|LT|EQ|LE|GT|NE|GE|NUM|NAN|LTU||LEU|GTU|NEU|GEU|MAX"}, {COMBINE}, {0}};
static const struct sass_field compare_halves[] = {
	{76, 4, "F|LT|EQ||GT|NE|GE||NAN||||GTU|NEU|GEU"}, {0}};
static const struct sass_field shift[] = {
	{76, 1, "L|R"}, {75, 1, "|W"}, {73, 2, "S64|U64|S32|U32"}, {80, 1, "|HI"}, {0}};
static const struct sass_field load_address[] = {{80, 1, "|HI"}, {74, 1, "|X"}, {0}};
static const struct sass_field add[] = {{74, 1, "|X"}, {0}};
#define SIGNED 73, 1, "U32|"
static const struct sass_field multiply_wide[] = {{ALWAYS("WIDE")}, {SIGNED}, {0}};
static const struct sass_field multiply_high[] = {{ALWAYS("HI")}, {SIGNED}, {0}};
static const struct sass_field dot_product[] = {{76, 1, "4A|2A"}, {0}};
static const struct sass_field truth_table[] = {{ALWAYS("LUT")}, {0}};
static const struct sass_field convert_float[] = {
	{75, 2, "BF16|F16|F32|F64"}, {84, 2, "|F16|F32|F64"}, {0}};
static const struct sass_field round_to[] = {{78, 2, "|FLOOR|CEIL|TRUNC"}, {0}};

/* '#' is the number of columns: 8 for each from one on, in bits 53 to 57. */
#define TENSOR_TYPES                                                                               \
	{76, 1, "F16|F32"},                                                                        \
	{                                                                                          \
		82, 2, "|BF16|TF32"                                                                \
	}
static const struct sass_field tensor_halves[] = {{73, 3, "1688||||16816"}, TENSOR_TYPES, {0}};
static const struct sass_field tensor_halves_2[] = {
	{73, 3, "1684|||||SP.16832"}, TENSOR_TYPES, {0}};
static const struct sass_field warpgroup_halves[] = {
	{58, 1, "64x#x16|64x#x8"}, {75, 1, "F16|F32"}, {76, 2, "|BF16|TF32"}, {0}};

static const struct sass_field warpgroup_quarters[] = {{75, 1, "F16|F32"}, {0}};
static const struct sass_field two_blocks[] = {{85, 1, "|2CTA"}, {0}};

const struct sass_row sass_rows[] = {
	ROW(0x001, 0x10, 75, 121, "PMTRIG"),
	ROW(0x002, 0x76, 75, 121, "MOV"),
	ROW(0x003, 0x72, 75, 121, "P2R"),
	ROW(0x004, 0x72, 75, 121, "R2P"),
	ROW(0x005, 0x10, 75, 121, "CS2R"),
	ROW(0x006, 0x10, 75, 121, "VOTE", .fields = vote),
	ROW(0x007, 0xfe, 75, 121, "SEL"),
	ROW(0x008, 0x72, 75, 121, "FSEL"),
	ROW(0x009, 0x72, 75, 121, "FMNMX"),
	ROW(0x00a, 0x72, 75, 121, "FSET"),
	ROW(0x00b, 0x72, 75, 121, "FSETP", .fields = compare_floats),
	ROW(0x00c, 0x72, 75, 121, "ISETP", .fields = compare_integers),
	ROW(0x00d, 0x10, 75, 121, "CSMTEST"),
	ROW(0x00f, 0x72, 90, 103, "VIMNMX3"),
	ROW(0x010, 0x72, 100, 103, "IADD", .when = {76, 1, 1}),
	ROW(0x010, 0x72, 75, 121, "IADD3", .fields = add),
	ROW(0x011, 0x76, 75, 121, "LEA", .fields = load_address),
	ROW(0x012, 0x72, 75, 121, "LOP3", .fields = truth_table),
	ROW(0x013, 0x72, 75, 121, "IABS"),
	ROW(0x014, 0xfe, 75, 110, "VABSDIFF"),
	ROW(0x015, 0xfe, 75, 110, "VABSDIFF4"),
	ROW(0x016, 0xfe, 75, 121, "PRMT"),
	ROW(0x017, 0x72, 75, 121, "IMNMX"),
	ROW(0x019, 0xfe, 75, 121, "SHF", .fields = shift),
	ROW(0x01a, 0x72, 75, 121, "SGXT"),
	ROW(0x01b, 0x72, 75, 121, "BMSK"),
	ROW(0x01c, 0x10, 75, 121, "PLOP3", .fields = truth_table),
	ROW(0x01d, 0x62, 75, 121, "PLOP3", .fields = truth_table),
	ROW(0x01e, 0x62, 75, 121, "PLOP3", .fields = truth_table),
	ROW(0x01f, 0x62, 75, 121, "PLOP3", .fields = truth_table),
	ROW(0x020, 0x72, 75, 121, "FMUL"),
	ROW(0x021, 0x82, 100, 121, "FHADD", .when = {81, 1, 1}),
	ROW(0x021, 0x8e, 75, 121, "FADD"),
	ROW(0x022, 0x10, 75, 121, "FSWZADD"),
	ROW(0x023, 0xc2, 100, 121, "FHFMA", .when = {81, 1, 1}),
	ROW(0x023, 0xfe, 75, 121, "FFMA"),
	ROW(0x024, 0xfe, 100, 103, "IMUL", .when = {76, 1, 1}),
	ROW(0x024, 0xfe, 75, 121, "IMAD"),
	ROW(0x025, 0xfa, 100, 103, "IMUL", .fields = multiply_wide, .when = {76, 1, 1}),
	ROW(0x025, 0xfa, 75, 121, "IMAD", .fields = multiply_wide),
	ROW(0x026, 0x62, 75, 121, "IDP", .fields = dot_product),
	ROW(0x027, 0xfa, 75, 121, "IMAD", .fields = multiply_high),
	ROW(0x028, 0x72, 75, 121, "DMUL"),
	ROW(0x029, 0x8e, 75, 121, "DADD"),
	ROW(0x02a, 0x8e, 75, 121, "DSETP", .fields = compare_doubles),
	ROW(0x02b, 0xfe, 75, 121, "DFMA"),
	ROW(0x02d, 0x10, 90, 121, "PREEXIT"),
	ROW(0x02e, 0x10, 90, 121, "ACQBULK"),
	ROW(0x02f, 0x10, 90, 121, "ELECT"),
	ROW(0x030, 0x8e, 75, 121, "HADD2"),
	ROW(0x031, 0xfe, 75, 121, "HFMA2"),
	ROW(0x032, 0x72, 75, 121, "HMUL2"),
	ROW(0x033, 0x8e, 75, 121, "HSET2"),
	ROW(0x034, 0x8e, 75, 121, "HSETP2", .fields = compare_halves),
	ROW(0x035, 0xfe, 80, 90, "HFMA2"),
	ROW(0x035, 0x52, 120, 121, "IADD"),
	ROW(0x036, 0x02, 75, 75, "HMMA"),
	ROW(0x036, 0x72, 90, 103, "VIADD"),
	ROW(0x036, 0x52, 120, 121, "VIADD"),
	ROW(0x037, 0x02, 75, 121, "IMMA"),
	ROW(0x038, 0x72, 75, 121, "I2I"),
	ROW(0x039, 0x72, 75, 121, "I2IP"),
	ROW(0x03a, 0x02, 75, 121, "MOVM"),
	ROW(0x03b, 0x10, 75, 121, "LDSM", .fields = matrices),
	ROW(0x03c, 0x02, 75, 121, "HMMA", .fields = tensor_halves_2, .when = {78, 1, 1}),
	ROW(0x03c, 0x02, 75, 121, "HMMA", .fields = tensor_halves),
	ROW(0x03d, 0x02, 75, 90, "BMMA"),
	ROW(0x03e, 0xfe, 80, 121, "F2FP"),
	ROW(0x03f, 0x02, 80, 121, "DMMA"),
	ROW(0x040, 0x72, 80, 121, "HMNMX2"),
	ROW(0x043, 0xfe, 86, 121, "F2IP"),
	ROW(0x044, 0x10, 90, 121, "STSM", .fields = matrices),
	ROW(0x045, 0xe6, 86, 121, "I2FP"),
	ROW(0x046, 0xfe, 90, 103, "VIADDMNMX"),
	ROW(0x047, 0x72, 90, 103, "VHMNMX"),
	ROW(0x048, 0x72, 90, 103, "VIMNMX"),
	ROW(0x048, 0x52, 120, 121, "VIMNMX"),
	ROW(0x049, 0xd6, 100, 103, "FFMA2"),
	ROW(0x049, 0x12, 120, 121, "UVIADD"),
	ROW(0x04a, 0x52, 100, 103, "FMUL2"),
	ROW(0x04a, 0x12, 120, 121, "UVIMNMX"),
	ROW(0x04b, 0x86, 100, 103, "FADD2"),
	ROW(0x04c, 0x14, 100, 121, "UVIRTCOUNT"),
	ROW(0x04d, 0x12, 120, 121, "UIABS"),
	ROW(0x04e, 0x12, 120, 121, "UI2I"),
	ROW(0x04f, 0x12, 120, 121, "UI2IP"),
	ROW(0x050, 0x12, 120, 121, "UFMNMX"),
	ROW(0x051, 0x12, 120, 121, "UFSEL"),
	ROW(0x052, 0x12, 120, 121, "UFSET"),
	ROW(0x053, 0x12, 120, 121, "UFSETP"),
	ROW(0x054, 0x02, 120, 121, "UFHADD", .when = {81, 1, 1}),
	ROW(0x054, 0x06, 120, 121, "UFADD"),
	ROW(0x055, 0x02, 120, 121, "UFHFMA", .when = {81, 1, 1}),
	ROW(0x055, 0x16, 120, 121, "UFFMA"),
	ROW(0x056, 0x12, 120, 121, "UFMUL"),
	ROW(0x059, 0x16, 120, 121, "UF2IP"),
	ROW(0x05a, 0x12, 120, 121, "UI2F"),
	ROW(0x05c, 0x12, 120, 121, "UF2I"),
	ROW(0x05e, 0x02, 120, 121, "UI2FP"),
	ROW(0x076, 0x52, 100, 110, "FMNMX3"),
	ROW(0x077, 0x10, 100, 121, "ACQSHMINIT"),
	ROW(0x07a, 0x02, 89, 89, "QMMA"),
	ROW(0x07a, 0x06, 120, 121, "QMMA"),
	ROW(0x07b, 0xd6, 100, 103, "QFMA4"),
	ROW(0x07c, 0x52, 100, 103, "QMUL4"),
	ROW(0x07d, 0x86, 100, 103, "QADD4"),
	ROW(0x07f, 0x04, 120, 121, "OMMA"),
	ROW(0x082, 0x54, 75, 121, "UMOV"),
	ROW(0x083, 0x50, 75, 121, "UP2UR"),
	ROW(0x084, 0x50, 75, 121, "UR2UP"),
	ROW(0x085, 0x12, 120, 121, "UIMNMX"),
	ROW(0x086, 0x10, 75, 121, "VOTEU", .fields = vote),
	ROW(0x087, 0x56, 75, 121, "USEL"),
	ROW(0x08c, 0x12, 75, 121, "UISETP", .fields = compare_integers),
	ROW(0x090, 0x12, 75, 121, "UIADD3", .fields = add),
	ROW(0x091, 0x16, 75, 121, "ULEA", .fields = load_address),
	ROW(0x092, 0x12, 75, 121, "ULOP3", .fields = truth_table),
	ROW(0x096, 0x12, 75, 121, "UPRMT"),
	ROW(0x097, 0x12, 75, 121, "UIADD3"),
	ROW(0x099, 0x16, 75, 121, "USHF", .fields = shift),
	ROW(0x09a, 0x12, 75, 121, "USGXT"),
	ROW(0x09b, 0x12, 75, 121, "UBMSK"),
	ROW(0x09c, 0x10, 75, 121, "UPLOP3", .fields = truth_table),
	ROW(0x09d, 0x02, 75, 121, "UPLOP3", .fields = truth_table),
	ROW(0x09e, 0x02, 75, 121, "UPLOP3", .fields = truth_table),
	ROW(0x09f, 0x02, 75, 121, "UPLOP3", .fields = truth_table),
	ROW(0x0a4, 0x16, 75, 121, "UIMAD"),
	ROW(0x0a5, 0x12, 75, 121, "UIMAD", .fields = multiply_wide),
	ROW(0x0a6, 0x12, 120, 121, "UIMAD"),
	ROW(0x0b8, 0x10, 75, 90, "ULDC", .fields = sized),
	ROW(0x0b9, 0x20, 75, 90, "ULDC", .fields = sized),
	ROW(0x0ba, 0x16, 86, 120, "UF2FP"),
	ROW(0x0bb, 0x20, 75, 90, "ULDC", .fields = sized),
	ROW(0x0bc, 0x50, 75, 121, "UCLEA"),
	ROW(0x0bd, 0x12, 75, 121, "UFLO"),
	ROW(0x0be, 0x12, 75, 121, "UBREV"),
	ROW(0x0bf, 0x12, 75, 121, "UPOPC"),
	ROW(0x0ca, 0x02, 90, 121, "R2UR"),
	ROW(0x0cb, 0x10, 120, 121, "CS2UR"),
	ROW(0x0cc, 0x02, 100, 103, "CREDUX"),
	ROW(0x100, 0x72, 75, 121, "FLO"),
	ROW(0x101, 0x72, 75, 121, "BREV"),
	ROW(0x102, 0x72, 75, 121, "FCHK"),
	ROW(0x104, 0x22, 75, 121, "F2F", .fields = convert_float),
	ROW(0x105, 0x72, 75, 121, "F2I", .fields = round_to),
	ROW(0x106, 0x72, 75, 121, "I2F"),
	ROW(0x107, 0x02, 75, 121, "FRND", .fields = round_to),
	ROW(0x108, 0x72, 75, 121, "MUFU", .fields = special_function),
	ROW(0x109, 0x72, 75, 121, "POPC"),
	ROW(0x110, 0x72, 75, 121, "F2F", .fields = convert_float),
	ROW(0x111, 0x72, 75, 121, "F2I", .fields = round_to),
	ROW(0x112, 0x72, 75, 121, "I2F"),
	ROW(0x113, 0x72, 75, 121, "FRND", .fields = round_to),
	ROW(0x118, 0x10, 75, 121, "NOP"),
	ROW(0x119, 0x10, 75, 121, "S2R"),
	ROW(0x11a, 0x50, 75, 121, "DEPBAR"),
	ROW(0x11b, 0x10, 90, 121, "ENDCOLLECTIVE"),
	ROW(0x11c, 0x02, 75, 121, "B2R"),
	ROW(0x11d, 0x36, 75, 121, "BAR", .fields = barrier),
	ROW(0x11f, 0x02, 75, 121, "SETCTAID"),
	ROW(0x120, 0x10, 75, 121, "AL2P"),
	ROW(0x121, 0x06, 75, 121, "ALD"),
	ROW(0x122, 0x06, 75, 121, "AST"),
	ROW(0x123, 0x10, 75, 121, "ISBERD"),
	ROW(0x124, 0x52, 75, 121, "OUT"),
	ROW(0x125, 0x10, 75, 121, "PIXLD"),
	ROW(0x126, 0x36, 75, 121, "IPA"),
	ROW(0x127, 0x10, 75, 121, "ISBEWR"),
	ROW(0x13f, 0x2e, 100, 121, "CCTL"),
	ROW(0x140, 0x2e, 100, 121, "CCTL"),
	ROW(0x141, 0x10, 75, 121, "BSYNC"),
	ROW(0x142, 0x10, 75, 121, "BREAK"),
	ROW(0x143, 0x32, 75, 121, "CALL", .fields = absolute),
	ROW(0x144, 0x12, 75, 121, "CALL", .fields = relative),
	ROW(0x145, 0x10, 75, 121, "BSSY"),
	ROW(0x146, 0x10, 75, 121, "YIELD"),
	ROW(0x147, 0x14, 75, 121, "BRA", .fields = branch),
	ROW(0x148, 0x72, 75, 121, "WARPSYNC"),
	ROW(0x149, 0x10, 75, 121, "BRX"),
	ROW(0x14a, 0x3c, 75, 121, "JMP"),
	ROW(0x14c, 0x10, 75, 121, "JMX"),
	ROW(0x14d, 0x10, 75, 121, "EXIT"),
	ROW(0x14e, 0x12, 75, 121, "LEPC"),
	ROW(0x150, 0x10, 75, 121, "RET", .fields = ret),
	ROW(0x152, 0x72, 75, 121, "RPCMOV"),
	ROW(0x153, 0x02, 75, 121, "RPCMOV"),
	ROW(0x154, 0x84, 120, 121, "MOV64IUR"),
	ROW(0x154, 0x70, 75, 121, "RPCMOV"),
	ROW(0x155, 0x82, 75, 121, "BMOV"),
	ROW(0x156, 0xf2, 75, 121, "BMOV"),
	ROW(0x157, 0x72, 75, 121, "BMOV"),
	ROW(0x158, 0x10, 75, 121, "BRXU"),
	ROW(0x159, 0x10, 75, 121, "JMXU"),
	ROW(0x15b, 0x10, 75, 121, "KILL"),
	ROW(0x15c, 0x10, 75, 121, "BPT"),
	ROW(0x15d, 0x72, 75, 121, "NANOSLEEP"),
	ROW(0x15e, 0x40, 90, 90, "WARPGROUPSET"),
	ROW(0x160, 0xa0, 75, 121, "TEX"),
	ROW(0x161, 0x42, 80, 121, "TEX"),
	ROW(0x162, 0x20, 80, 90, "TEX"),
	ROW(0x163, 0xa0, 75, 121, "TLD4"),
	ROW(0x164, 0xc2, 80, 121, "TLD4"),
	ROW(0x165, 0x20, 80, 90, "TLD4"),
	ROW(0x166, 0xa0, 75, 121, "TLD"),
	ROW(0x167, 0xc2, 80, 121, "TLD"),
	ROW(0x168, 0x20, 80, 90, "TLD"),
	ROW(0x169, 0xa0, 75, 121, "TMML"),
	ROW(0x16a, 0x82, 80, 121, "TMML"),
	ROW(0x16b, 0x20, 80, 90, "TMML"),
	ROW(0x16c, 0xa0, 75, 121, "TXD"),
	ROW(0x16d, 0xc2, 80, 121, "TXD"),
	ROW(0x16e, 0x20, 80, 90, "TXD"),
	ROW(0x16f, 0xa0, 75, 121, "TXQ"),
	ROW(0x170, 0x82, 80, 121, "TXQ"),
	ROW(0x171, 0x20, 80, 90, "TXQ"),
	ROW(0x172, 0x20, 75, 90, "FOOTPRINT"),
	ROW(0x173, 0xc2, 80, 121, "FOOTPRINT"),
	ROW(0x174, 0xa0, 75, 121, "FOOTPRINT"),
	ROW(0x177, 0x02, 100, 110, "USTGR"),
	ROW(0x178, 0x02, 100, 110, "UREDGR"),
	ROW(0x17e, 0x10, 89, 89, "LDG", .fields = global_256),
	ROW(0x17e, 0x10, 100, 121, "LDG", .fields = global_256),
	ROW(0x17f, 0x10, 89, 89, "STG", .fields = global_256),
	ROW(0x17f, 0x10, 100, 121, "STG", .fields = global_256),
	ROW(0x180, 0x10, 75, 75, "LD", .fields = global_75),
	ROW(0x180, 0x10, 80, 121, "LD", .fields = global),
	ROW(0x181, 0x12, 75, 75, "LDG", .fields = global_75),
	ROW(0x181, 0x12, 80, 121, "LDG", .fields = global_load),
	ROW(0x182, 0x24, 75, 121, "LDC", .fields = sized),
	ROW(0x183, 0x10, 75, 121, "LDL", .fields = sized),
	ROW(0x184, 0x10, 75, 121, "LDS", .fields = sized),
	ROW(0x185, 0x12, 75, 75, "ST", .fields = global_75),
	ROW(0x185, 0x12, 80, 121, "ST", .fields = global),
	ROW(0x186, 0x12, 75, 75, "STG", .fields = global_75),
	ROW(0x186, 0x12, 80, 121, "STG", .fields = global),
	ROW(0x187, 0x12, 75, 121, "STL", .fields = sized),
	ROW(0x188, 0x12, 75, 121, "STS", .fields = sized),
	ROW(0x189, 0x96, 75, 121, "SHFL", .fields = shuffle),
	ROW(0x18a, 0x12, 75, 121, "ATOM", .fields = atomic),
	ROW(0x18b, 0x02, 75, 121, "ATOM", .fields = atomic_cas),
	ROW(0x18c, 0x92, 75, 121, "ATOMS", .fields = atomic_shared),
	ROW(0x18d, 0x06, 75, 121, "ATOMS", .fields = atomic_shared_cas),
	ROW(0x18e, 0x10, 75, 89, "RED", .fields = reduction),
	ROW(0x18e, 0x10, 90, 121, "REDG", .fields = reduction),
	ROW(0x18f, 0x50, 75, 121, "CCTL", .fields = cache_control),
	ROW(0x190, 0x50, 75, 121, "CCTLL"),
	ROW(0x191, 0x60, 80, 121, "CCTLT"),
	ROW(0x192, 0x10, 75, 121, "MEMBAR", .fields = fence),
	ROW(0x193, 0x8c, 75, 121, "SUATOM"),
	ROW(0x194, 0x82, 75, 121, "SUATOM"),
	ROW(0x195, 0x8c, 75, 121, "SUATOM"),
	ROW(0x196, 0x82, 75, 121, "SUATOM"),
	ROW(0x197, 0xa8, 75, 121, "SULD"),
	ROW(0x198, 0x90, 75, 121, "SULD"),
	ROW(0x199, 0xa8, 75, 121, "SULD"),
	ROW(0x19a, 0x90, 75, 121, "SULD"),
	ROW(0x19b, 0xa8, 75, 121, "SUST"),
	ROW(0x19c, 0x90, 75, 121, "SUST"),
	ROW(0x19d, 0xa8, 75, 121, "SUST"),
	ROW(0x19e, 0x90, 75, 121, "SUST"),
	ROW(0x19f, 0x8c, 75, 121, "SURED"),
	ROW(0x1a0, 0x82, 75, 121, "SURED"),
	ROW(0x1a1, 0x02, 75, 121, "MATCH", .fields = match),
	ROW(0x1a2, 0x12, 90, 121, "ATOM"),
	ROW(0x1a3, 0x12, 90, 121, "ATOMG"),
	ROW(0x1a4, 0x10, 90, 120, "LDGMC"),
	ROW(0x1a5, 0x10, 90, 120, "LDGMC"),
	ROW(0x1a6, 0x10, 90, 121, "REDG"),
	ROW(0x1a7, 0x04, 90, 121, "SYNCS", .fields = phase_check),
	ROW(0x1a7, 0x10, 90, 121, "SYNCS", .fields = arrive),
	ROW(0x1a7, 0x02, 90, 121, "SYNCS"),
	ROW(0x1a8, 0x12, 75, 121, "ATOMG", .fields = atomic),
	ROW(0x1a9, 0x02, 75, 121, "ATOMG", .fields = swap),
	ROW(0x1aa, 0x12, 75, 121, "QSPC"),
	ROW(0x1ab, 0x04, 90, 121, "CGAERRBAR"),
	ROW(0x1ab, 0x10, 75, 121, "ERRBAR"),
	ROW(0x1ac, 0x7e, 100, 121, "LDCU"),
	ROW(0x1ad, 0x02, 75, 121, "LDTRAM"),
	ROW(0x1ae, 0xc0, 80, 121, "LDGSTS", .fields = global_to_shared),
	ROW(0x1af, 0x10, 80, 121, "LDGDEPBAR"),
	ROW(0x1b0, 0x10, 80, 121, "ARRIVES"),
	ROW(0x1b1, 0x14, 90, 121, "SYNCS"),
	ROW(0x1b2, 0x16, 90, 121, "SYNCS"),
	ROW(0x1b3, 0xf8, 86, 121, "SUQUERY"),
	ROW(0x1b4, 0x06, 90, 121, "UTMALDG", .fields = tensor_copy),
	ROW(0x1b5, 0x02, 90, 121, "UTMASTG", .fields = tensor_copy),
	ROW(0x1b6, 0x02, 90, 121, "UTMAREDG"),
	ROW(0x1b7, 0x10, 90, 121, "UTMACMDFLUSH"),
	ROW(0x1b8, 0x06, 90, 121, "UTMAPF"),
	ROW(0x1b9, 0x10, 90, 121, "UTMACCTL"),
	ROW(0x1ba, 0x02, 90, 121, "UBLKCP"),
	ROW(0x1bb, 0x02, 90, 121, "UBLKRED"),
	ROW(0x1bc, 0x02, 90, 121, "UBLKPF"),
	ROW(0x1bd, 0x40, 90, 121, "STAS"),
	ROW(0x1be, 0x40, 90, 121, "REDAS"),
	ROW(0x1c0, 0x02, 75, 121, "GETLMEMBASE"),
	ROW(0x1c1, 0x02, 75, 121, "SETLMEMBASE"),
	ROW(0x1c2, 0x02, 75, 89, "R2UR"),
	ROW(0x1c3, 0x10, 75, 121, "S2UR"),
	ROW(0x1c4, 0x02, 80, 121, "REDUX", .fields = warp_reduction),
	ROW(0x1c5, 0x10, 90, 90, "WARPGROUP"),
	ROW(0x1c6, 0x02, 90, 121, "FENCE"),
	ROW(0x1c7, 0x10, 90, 121, "UCGABAR_ARV"),
	ROW(0x1c7, 0x40, 90, 121, "UCGABAR_WAIT"),
	ROW(0x1c8, 0x12, 90, 121, "USETMAXREG"),
	ROW(0x1c9, 0x12, 90, 121, "USETSHMSZ"),
	ROW(0x1ca, 0x02, 100, 121, "UGETNEXTWORKID"),
	ROW(0x1cb, 0x02, 100, 121, "UMEMSETS"),
	ROW(0x1ce, 0x12, 90, 121, "ULEPC"),
	ROW(0x1e3, 0x16, 100, 110, "UTCATOMSWS"),
	ROW(0x1e6, 0x10, 100, 110, "UTCSHIFT"),
	ROW(0x1e7, 0x10, 100, 110, "UTCCP"),
	ROW(0x1e9, 0x12, 100, 110, "UTCBAR"),
	ROW(0x1ea, 0xc0, 100, 110, "UTCQMMA", .fields = two_blocks),
	ROW(0x1ea, 0x14, 100, 110, "UTCQMMA", .fields = two_blocks, .when = {72, 2, 3}),
	ROW(0x1ea, 0x14, 100, 110, "UTCIMMA", .fields = two_blocks, .when = {72, 2, 1}),
	ROW(0x1ea, 0x04, 100, 110, "UTCOMMA", .fields = two_blocks, .when = {63, 1, 1}),
	ROW(0x1ea, 0x14, 100, 110, "UTCHMMA", .fields = two_blocks, .when = {72, 2, 0}),
	ROW(0x1ed, 0x10, 100, 110, "STTM", .fields = tensor_memory),
	ROW(0x1ee, 0x14, 100, 110, "LDTM", .fields = tensor_memory),
	ROW(0x1f0, 0x50, 90, 90, "HGMMA", .fields = warpgroup_halves),
	ROW(0x1f1, 0x50, 90, 90, "IGMMA"),
	ROW(0x1f2, 0x50, 90, 90, "BGMMA"),
	ROW(0x1f3, 0x50, 90, 90, "QGMMA", .fields = warpgroup_quarters),
};

const size_t sass_row_count = sizeof(sass_rows) / sizeof(sass_rows[0]);
