// SPDX-License-Identifier: MIT
/*
 * A library that is put into programs (src/join/): it says who it is, waits for the other side to
 * hang up, and leaves. With a message "stay" it stays.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int joined_run(int socket);

/* As src/guest/join_entry.h. */
__asm__(".text\n"
	".globl joined_entry\n"
	"joined_entry:\n"
	"	push %rbx\n"
	"	mov %rsi, %rbx\n"
	"	call joined_run\n"
	"	mov %rbx, %rdi\n"
	"	pop %rbx\n"
	"	test %eax, %eax\n"
	"	jnz 1f\n"
	"	jmp *dlclose@GOTPCREL(%rip)\n"
	"1:	xor %eax, %eax\n"
	"	ret\n");

__attribute__((visibility("hidden"))) int joined_run(int socket)
{
	char text[64] = "";
	int size = snprintf(
		text, sizeof(text), "hello %d %ld", (int)getpid(), (long)syscall(SYS_gettid));

	(void)!send(socket, text, (size_t)size, MSG_NOSIGNAL);
	memset(text, 0, sizeof(text));
	while (recv(socket, text, sizeof(text) - 1, 0) > 0 && strcmp(text, "stay"))
		;
	close(socket);
	return !strcmp(text, "stay");
}
