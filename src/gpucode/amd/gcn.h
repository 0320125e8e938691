/* SPDX-License-Identifier: MIT */
/*
 * What one instruction of AMD GPU code is: how long it is, and its mnemonic as LLVM's disassembler
 * writes it ("global_load_dwordx2", "v_add_f32_e64"). For GPUs from gfx900 to gfx1201 and the
 * generic targets among them; the table is facts observed from that disassembler.
 *
 * Operands are not decoded. Full text comes from llvm-objdump. Instructions for pictures and
 * exports, which no compute kernel has, are of known length and have no names.
 *
 * Pure functions over the bytes given; any thread. The bytes are untrusted: whatever they are, the
 * answer is a text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GCN_BYTES_MIN 4
#define GCN_BYTES_MAX 20
#define GCN_TEXT_MAX  64 /* room for the longest text with its NUL */

/* Whether there is a table for it: EF_AMDGPU_MACH, the lowest byte of a code object's flags. */
bool gcn_has_target(unsigned int target);
/* What GPUs of a target are called ("gfx90a"); NULL: it is not known. */
const char *gcn_target_name(unsigned int target);
/* How long the instruction is, at most GCN_BYTES_MAX. `size`: how many bytes there are; the answer
 * may be more, where the code ends within an instruction, and is `size` where that is less than
 * GCN_BYTES_MIN. */
size_t gcn_size(unsigned int target, const uint8_t *bytes, size_t size);
/* Its text, cut to fit `room`: a mnemonic, or "[image]", "[unknown 0xdeadbeef]". False when the
 * instruction, or the target, is not known. */
bool gcn_text(unsigned int target, const uint8_t *bytes, size_t size, char *ret, size_t room);
