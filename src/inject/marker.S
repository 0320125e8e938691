/* SPDX-License-Identifier: MIT */
/*
 * The marker entry points (marker.h). The nop is the very first instruction: no endbr64 before it, or the
 * kernel would see another instruction under the probe.
 */
#ifndef __x86_64__
#error "the launch marker needs an entry with a nop of each length for this architecture"
#endif

	.text

	.macro MARKER name, bytes:vararg
	.p2align 4
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	.byte \bytes
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

	MARKER xpuprof_launch_marker_nop1, 0x90
	MARKER xpuprof_launch_marker_nop5, 0x0f, 0x1f, 0x44, 0x00, 0x00
	MARKER xpuprof_launch_marker_nop10, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00

	.section .note.GNU-stack, "", @progbits
