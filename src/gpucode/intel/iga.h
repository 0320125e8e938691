/* SPDX-License-Identifier: MIT */
/*
 * Intel's disassembler, libiga64, where it is installed: the full text of instructions, with their
 * operands. It is loaded at run time. It parses what strangers wrote, so this runs in the writer, a
 * process of its own without rights (sandbox/writer.h); text.h asks it.
 *
 * A question is a struct iga_question and bytes of code behind it, which begin with an instruction.
 * The answer has the text of each instruction in their order, up to the last whole one, with a NUL
 * behind it: one line, printable, at most IGA_TEXT_MAX with the NUL; "" of what libiga64 does not
 * know.
 *
 * The interface of libiga64, as its header iga.h has it: seen with the libraries of Intel's
 * graphics compiler 1.0.12504 and 2.40.14, as Debian has them.
 */
#pragma once

#include "gpucode/format.h"

#define IGA_NAME     "libiga64"
#define IGA_TEXT_MAX 512

struct iga_question {
	uint32_t target; /* which GPU: 100 * major + minor of the architecture's version */
};

/* As of the format's writer. Errors: -ENOENT, it is not installed; -ELIBBAD, the one at that path
 * cannot be loaded, or it lacks a function. The answer to a question: -EOPNOTSUPP, it does not know
 * the GPU. */
extern const struct gpucode_writer iga_writer;
