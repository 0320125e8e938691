/* SPDX-License-Identifier: MIT */
/*
 * The instructions of NVIDIA GPU code by their opcodes: a table of facts, which sass.c reads.
 *
 * An instruction is 128 bits, counted from the lowest of its first byte. Bits 0 to 8 are the
 * opcode, bits 9 to 11 its form: where the second and third source operands are:
 *
 *	1  both in registers                  5  second in constant memory
 *	2  third in the instruction           6  second in a uniform register
 *	3  third in constant memory           7  third in a uniform register
 *	4  second in the instruction
 *
 * Where an instruction has no such operands, a form may mean something else (the kind of address,
 * or another mnemonic altogether).
 */
#pragma once

#include "gpucode/nvidia/sass.h"

/* Bits of an instruction that stand for a modifier: its text is the value'th of `names`, which are
 * separated by '|'. No text for an empty name, nor for a value past the last one. */
struct sass_field {
	uint8_t bit, bits; /* 0 bits: the end of the list */
	const char *names;
};

/* Bits that must have this value for a row to hold; 0 bits: always. */
struct sass_condition {
	uint8_t bit, bits, value;
};

struct sass_row {
	uint16_t opcode;
	uint8_t forms;	     /* bit n: form n is known */
	uint8_t first, last; /* of the SMs that have it */
	const char *mnemonic;
	const struct sass_field *fields; /* in the order of their text; NULL: none */
	struct sass_condition when;
};

/* By opcode, ascending; of several rows that hold the first is right. */
extern const struct sass_row sass_rows[];
extern const size_t sass_row_count;
