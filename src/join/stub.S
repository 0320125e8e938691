/* SPDX-License-Identifier: MIT */
/*
 * The code that a program runs for us: stub.h. Position independent; it writes nowhere but into its
 * region, on its own stacks.
 *
 *	stub_enter    the borrowed thread begins here, with all signals blocked
 *	stub_first    the thread that it makes, on a stack in the region: nothing is left over if it
 *	              is put back in the middle of that
 *	stub_second   the thread that this one makes, and that stays
 *	stub_abandon  the borrowed thread goes back without having made one
 *
 * The borrowed thread's own stack is not used: it may be tiny. Signals that came meanwhile are handled
 * where it sets its mask again, and a handler may take long: only behind that it reports that it is back,
 * or unmaps the region. From there on all that it needs is in its code's data.
 */
#include "join/stub.h"

#define SYS_close	   3
#define SYS_mmap	   9
#define SYS_munmap	   11
#define SYS_rt_sigprocmask 14
#define SYS_madvise	   28
#define SYS_nanosleep	   35
#define SYS_socketpair	   53
#define SYS_gettid	   186
#define SYS_memfd_create   319

#define DATA(offset) stub_data + offset(%rip)
#define REGISTER(n)  stub_data + STUB_REGISTERS + 8 * n(%rip)

	.section .rodata.stub, "a"
	.p2align 6
	.globl stub_begin, stub_enter, stub_abandon, stub_data, stub_end
	.hidden stub_begin, stub_enter, stub_abandon, stub_data, stub_end

stub_begin:

/* ---- the borrowed thread ---- */

stub_enter:
	mov $SYS_mmap, %eax	/* no instruction changes flags before they are saved */
	mov DATA(STUB_REGION), %rdi
	mov $REGION_BYTES, %esi
	mov $3, %edx		/* PROT_READ | PROT_WRITE */
	mov $0x104022, %r10d	/* MAP_PRIVATE, ANONYMOUS, NORESERVE, FIXED_NOREPLACE */
	mov $-1, %r8
	mov $0, %r9d
	syscall
	mov $0, %r12d		/* the region to report to that it is back, */
	mov $0, %r13d		/* and the one to unmap */
	mov DATA(STUB_REGION), %rbx
	mov %rbx, %rcx
	not %rcx
	lea 1(%rax, %rcx), %rcx	/* what we got less what we wanted */
	jrcxz 1f
	jmp go_back
1:	mov $SYS_madvise, %eax
	mov %rbx, %rdi
	mov $4096, %esi
	mov $18, %edx		/* MADV_WIPEONFORK: in a child nobody is here */
	syscall
	mov DATA(STUB_MAGIC), %rax
	mov %rax, REGION_ALIVE(%rbx)
	lea REGION_STACK(%rbx), %rsp
	pushfq
	cld
	sub $8, %rsp
	mov $-1, %eax
	mov $-1, %edx
	xsave64 REGION_XSTATE(%rbx)
	lea REGION_ATTRIBUTES(%rbx), %rdi
	call *DATA(STUB_ATTRIBUTES)
	lea REGION_ATTRIBUTES(%rbx), %rdi
	lea REGION_STACK(%rbx), %rsi
	mov $REGION_BYTES - REGION_STACK, %edx
	call *DATA(STUB_SET_STACK)
	lea REGION_THREAD(%rbx), %rdi
	lea REGION_ATTRIBUTES(%rbx), %rsi
	lea stub_first(%rip), %rdx
	mov %rbx, %rcx
	call *DATA(STUB_CREATE)
	mov %eax, %ebp
	mov $-1, %eax
	mov $-1, %edx
	xrstor64 REGION_XSTATE(%rbx)
	test %ebp, %ebp
	mov $STUB_MADE, %eax
	mov $STUB_NOT_MADE, %ecx
	cmovne %ecx, %eax
	cmove %rbx, %r12
	cmovne %rbx, %r13	/* no thread: the region is nobody's */
	mov %eax, REGION_MADE(%rbx)
	add $8, %rsp
	popfq			/* from here on no instruction changes flags */
	jmp go_back

stub_abandon:
	mov $0, %r12d
	mov DATA(STUB_REGION), %r13
go_back:
	mov REGISTER(7), %rsp
	mov $SYS_rt_sigprocmask, %eax
	mov $2, %edi		/* SIG_SETMASK */
	lea DATA(STUB_MASK), %rsi
	mov $0, %edx
	mov $8, %r10d
	syscall
	mov %r12, %rcx
	jrcxz 1f
	movl $1, REGION_BACK(%r12)
1:	mov %r13, %rcx
	jrcxz 2f
	mov $SYS_munmap, %eax
	mov %r13, %rdi
	mov $REGION_BYTES, %esi
	syscall
2:
	mov REGISTER(0), %rax
	mov REGISTER(1), %rcx
	mov REGISTER(2), %rdx
	mov REGISTER(3), %rbx
	mov REGISTER(4), %rsi
	mov REGISTER(5), %rdi
	mov REGISTER(6), %rbp
	mov REGISTER(8), %r8
	mov REGISTER(9), %r9
	mov REGISTER(10), %r10
	mov REGISTER(11), %r11
	mov REGISTER(12), %r12
	mov REGISTER(13), %r13
	mov REGISTER(14), %r14
	mov REGISTER(15), %r15
	jmp *REGISTER(16)

/* ---- the threads: void *(*)(void *region) ---- */

stub_first:
	push %rbx
	mov %rdi, %rbx
	lea REGION_SECOND(%rbx), %rdi
	xor %esi, %esi
	lea stub_second(%rip), %rdx
	mov %rbx, %rcx
	call *DATA(STUB_CREATE)
	test %eax, %eax
	jz 1f
	movl $STUB_FAILED, REGION_STATE(%rbx)
	movq $0, REGION_ALIVE(%rbx) /* nobody unmaps it: the C library knows of its stack */
1:	xor %eax, %eax
	pop %rbx
	ret

stub_second:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	mov %rdi, %rbx
	call *DATA(STUB_SELF)
	mov %rax, %rdi
	call *DATA(STUB_DETACH)
	mov REGION_THREAD(%rbx), %rdi
	xor %esi, %esi
	call *DATA(STUB_JOIN)
	mov $SYS_gettid, %eax
	syscall
	mov %eax, REGION_TID(%rbx)
	mov $-1, %r12d		/* our end of the socket pair, */
	mov $-1, %r13d		/* the recorder's, */
	mov $-1, %r14d		/* and the memfd */
	mov $SYS_socketpair, %eax
	mov $1, %edi		/* AF_UNIX */
	mov $0x80005, %esi	/* SOCK_SEQPACKET | SOCK_CLOEXEC */
	xor %edx, %edx
	lea REGION_SOCKETS(%rbx), %r10
	syscall
	test %eax, %eax
	js failed
	mov REGION_SOCKETS(%rbx), %r12d
	mov REGION_SOCKETS + 4(%rbx), %r13d
	mov $0x13, %esi		/* MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC */
	call make_memfd
	cmp $-22, %eax		/* EINVAL: before Linux 6.3 there is no MFD_EXEC */
	jne 1f
	mov $3, %esi
	call make_memfd
1:	mov %eax, REGION_MEMFD(%rbx)
	mov %eax, %r14d
	test %eax, %eax
	js failed
	movl $STUB_READY, REGION_STATE(%rbx)
	lea REGION_FILLED(%rbx), %rbp
	call wait_for_word
	cmp $STUB_GO, %eax
	jne failed
	mov %r13d, %edi
	call close_descriptor
	mov $-1, %r13d
	lea REGION_PATH(%rbx), %rdi
	mov $2, %esi		/* RTLD_NOW */
	call *DATA(STUB_OPEN)
	mov %rax, REGION_HANDLE(%rbx)
	test %rax, %rax
	jz not_loaded
	mov %rax, %rdi
	lea REGION_ENTRY(%rbx), %rsi
	call *DATA(STUB_SYMBOL)
	test %rax, %rax
	jz not_loaded
	mov %r14d, %edi
	mov %rax, %r14
	call close_descriptor
	movl $STUB_LOADED, REGION_STATE(%rbx)
	lea REGION_ACK(%rbx), %rbp
	call wait_for_word
	mov REGION_HANDLE(%rbx), %rbp
	call let_go
	mov %r12d, %edi
	mov %rbp, %rsi
	mov %r14, %rax
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	jmp *%rax		/* returns to whoever called us */

not_loaded:
	call *DATA(STUB_ERROR)
	mov %rax, REGION_MESSAGE(%rbx)
failed:
	mov %r12d, %edi
	call close_descriptor
	mov %r13d, %edi
	call close_descriptor
	mov %r14d, %edi
	call close_descriptor
	movl $STUB_FAILED, REGION_STATE(%rbx)
	lea REGION_ACK(%rbx), %rbp
	call wait_for_word
	call let_go
	xor %eax, %eax
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret

/* Of a name that says whose it is; flags in esi. */
make_memfd:
	lea memfd_name(%rip), %rdi
	mov $SYS_memfd_create, %eax
	syscall
	ret

/* edi; negative: none. */
close_descriptor:
	test %edi, %edi
	js 1f
	mov $SYS_close, %eax
	syscall
1:	ret

/* The word at rbp, once it is not 0; 0: it has not come in five seconds. */
wait_for_word:
	push %r15
	mov $10000, %r15d
1:	mov (%rbp), %eax
	test %eax, %eax
	jnz 2f
	mov $SYS_nanosleep, %eax
	lea nap(%rip), %rdi
	xor %esi, %esi
	syscall
	dec %r15d
	jnz 1b
	xor %eax, %eax
2:	pop %r15
	ret

/* Unmaps the region, when the borrowed thread needs it no more. */
let_go:
	push %rbp
	lea REGION_BACK(%rbx), %rbp
	call wait_for_word
	pop %rbp
	test %eax, %eax
	jz 1f
	mov $SYS_munmap, %eax
	mov %rbx, %rdi
	mov $REGION_BYTES, %esi
	syscall
1:	ret

memfd_name:
	.asciz "xpuprof"
	.p2align 3
nap:
	.quad 0, 500000

	.p2align 3
stub_data:
	.zero STUB_DATA_BYTES
stub_end:

	.section .note.GNU-stack, "", @progbits
