/* SPDX-License-Identifier: MIT */
/*
 * For the assembler: join_entry NAME, RUN makes void *NAME(int socket, void *handle), which a
 * program runs that was joined (join/join.h), in a thread of its own. It calls void *RUN(int
 * socket). When the library has left, the thread goes on in dlclose, or in what calls that
 * (hooks.h), which returns to whoever called us: no return address is in the library when that is
 * unmapped.
 */
/* clang-format off */
	.macro join_entry name, run
	.text
	.p2align 4
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	mov %rsi, %rbx
	call \run
	mov %rbx, %rdi
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	test %rax, %rax
	jz 1f
	mov dlclose@GOTPCREL(%rip), %rsi
	jmp *%rax
1:	xor %eax, %eax		/* something of it is in use: it stays */
	ret
	.cfi_endproc
	.size \name, . - \name
	.endm

	.section .note.GNU-stack, "", @progbits
