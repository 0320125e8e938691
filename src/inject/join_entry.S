/* SPDX-License-Identifier: MIT */
/*
 * void *xpuprof_join(int socket, void *handle): what a program runs that was joined (join/join.h), in a
 * thread of its own. When the library has left, the thread goes on in dlclose, or in what calls that (hooks.h), which
 * returns to whoever called us: no return address is in the library when that is unmapped.
 */
	.text
	.p2align 4
	.globl xpuprof_join
	.type xpuprof_join, @function
xpuprof_join:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	mov %rsi, %rbx
	call xpuprof_join_run
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
	.size xpuprof_join, . - xpuprof_join

	.section .note.GNU-stack, "", @progbits
