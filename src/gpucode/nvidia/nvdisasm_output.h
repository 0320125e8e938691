/* SPDX-License-Identifier: MIT */
/*
 * The lines that nvdisasm writes when it is given bare code (-b):
 *
 *	        /0090/                   @!P0 LDG.E R0, desc[UR6][R2.64] ;      (its slashes have stars)
 *	nvdisasm error   : Unrecognized operation for functional unit 'uC' at address 0x00000010
 *
 * Pure functions over one line each, for nvdisasm.c. Lines are untrusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether it is one of an instruction: its offset, and its text, which is cut out of the line in
 * place: without the ';' and a comment behind it, and printable ASCII only. */
bool nvdisasm_output_instruction(char *line, uint64_t *ret_offset, char **ret_text);
/* Whether it reports the instruction at an offset as unknown. */
bool nvdisasm_output_unknown(const char *line, uint64_t *ret_offset);
