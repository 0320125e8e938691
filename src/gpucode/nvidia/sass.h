/* SPDX-License-Identifier: MIT */
/*
 * What one instruction of NVIDIA GPU code is: its mnemonic, the modifiers (how much it moves,
 * and where), and its guard predicate. For the 128-bit encoding of compute capability 7.5 and
 * later; the tables (sass_table.c) are facts observed from NVIDIA's disassembler.
 *
 * Operands are not decoded, and a modifier that is not certain is left out: "LDG.E.128", not a
 * guess of more. Full text comes from nvdisasm where it is installed (nvdisasm.h).
 *
 * Pure functions over the bytes given; any thread. The bytes are untrusted: whatever they are, the
 * answer is a text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SASS_INSTRUCTION_BYTES 16
#define SASS_TEXT_MAX	       64 /* room for the longest text with its NUL */

/* Whether there is a table for it: `sm` is 10 * major + minor of the compute capability. */
bool sass_has_sm(unsigned int sm);
/* The text, "@!P0 LDG.E.128" or "[unknown 0x981]", cut to fit `size`; false when the instruction,
 * or the SM, is not known. */
bool sass_text(
	unsigned int sm, const uint8_t bytes[SASS_INSTRUCTION_BYTES], char *ret, size_t size);
