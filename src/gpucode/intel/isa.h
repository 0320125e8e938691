/* SPDX-License-Identifier: MIT */
/*
 * What one instruction of Intel GPU code is: how long it is, its mnemonic, and the function of it
 * where its opcode has several ("math.sin", "send.ugm"). For Xe-HPG, Xe-HPC, Xe2, Xe3 and Xe3p; the
 * table is facts observed from Intel's disassembler.
 *
 * Operands are not decoded, and a function that is not certain is left out. Full text comes from
 * Intel's disassembler.
 *
 * Pure functions over the bytes given; any thread. The bytes are untrusted: whatever they are, the
 * answer is a text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISA_COMPACTED_BYTES 8
#define ISA_WHOLE_BYTES	    16
#define ISA_TEXT_MAX	    32 /* room for the longest text with its NUL */

/* How long the instruction is: ISA_COMPACTED_BYTES or ISA_WHOLE_BYTES. */
size_t isa_size(const uint8_t bytes[ISA_COMPACTED_BYTES]);
/* Whether there is a table for it: 100 * major + minor of the architecture's version. */
bool isa_has_target(unsigned int target);
/* The text, "mad" or "[unknown 0x7f]", cut to fit `room`; false when the instruction, or the
 * target, is not known. `size`: how many bytes there are, ISA_COMPACTED_BYTES at least; the
 * function of an instruction that ends behind them is left out. */
bool isa_text(unsigned int target, const uint8_t *bytes, size_t size, char *ret, size_t room);
