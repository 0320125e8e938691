// SPDX-License-Identifier: MIT
/*
 * What stands behind the call in the functions that begin a thread:
 *
 *	_start               call __libc_start_main; hlt
 *	_start (ld.so's)     mov %rsp,%rdi; call _dl_start; mov %rax,%r12
 *	__libc_start_main    call main; mov %eax,%edi; call exit
 *	 (or the function it calls for that; glibc and musl, shared and static)
 *	start_thread         call routine; [cltq;] [jmp ->] mov %rax,%fs:(result)
 *	clone, clone3        call function; mov %rax,%rdi or %eax,%edi; mov $SYS_exit,%eax; syscall
 *	 (in a new thread    syscall; test %rax,%rax; jl error; je new; ret; new: xor %ebp,%ebp
 *	 before that, where the unwind information is still that of the old one)
 *	__start_context      mov %rbx,%rsp; mov (%rsp),%rdi: where makecontext's functions return to
 *	runtime.goexit       nop; call runtime.goexit1    (by its name, as the next: Go programs keep
 *	runtime.rt0_go       call runtime.mstart; call runtime.abort; ret        theirs)
 *	runtime.clone        call function; mov $111,%edi; mov $SYS_exit,%eax; syscall
 *
 * Seen in glibc 2.31, 2.36 and 2.39; the sources are csu/libc-start.c, sysdeps/x86_64/start.S,
 * nptl/pthread_create.c, sysdeps/unix/sysv/linux/x86_64/clone.S, clone3.S and __start_context.S. Go
 * 1.19: runtime/asm_amd64.s, sys_linux_amd64.s; its linker appends ".abi0" to functions of these.
 */
#include "unwind/thread_start.h"

#include <fcntl.h>
#include <string.h>

#include "base/io.h"
#include "elf/elf_file.h"

#define CODE_BYTES   16
#define GOEXIT_BYTES 16
#define RT0_GO_BYTES 2048

/* The code of one file. */
struct code {
	int fd;
	uint8_t bytes[CODE_BYTES];
};

static bool load(struct code *c, uint64_t offset)
{
	return io_pread_full(c->fd, c->bytes, sizeof(c->bytes), (off_t)offset) == sizeof(c->bytes);
}

/* Where the function of this name begins in the file, or 0. */
static uint64_t function_offset(const struct code *c, const char *name)
{
	int fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
	struct elf_file *elf = NULL;
	uint64_t offset = 0;

	if (fd >= 0 && !elf_file_open_fd(&elf, fd, "a library") &&
		elf_file_find_function(elf, name, &offset))
		offset = 0;
	elf_file_close(elf);
	return offset;
}

static uint64_t after_displacement(uint64_t offset, const uint8_t *displacement)
{
	int32_t relative;

	memcpy(&relative, displacement, sizeof(relative));
	return offset + (uint64_t)(int64_t)relative;
}

/* _start: nothing may return here. */
static bool is_start(const struct code *c)
{
	return c->bytes[0] == 0xf4;
}

/* The dynamic linker's beginning, until it jumps to that of the program. */
static bool is_linker_start(const struct code *c, uint64_t offset)
{
	static const uint8_t before[] = {0x48, 0x89, 0xe7, 0xe8}, after[] = {0x49, 0x89, 0xc4};
	uint8_t call[8];

	return !memcmp(c->bytes, after, sizeof(after)) && offset >= sizeof(call) &&
	       io_pread_full(c->fd, call, sizeof(call), (off_t)(offset - sizeof(call))) ==
		       sizeof(call) &&
	       !memcmp(call, before, sizeof(before));
}

/* At its first instruction. */
static bool is_at_linker_start(struct code *c, uint64_t offset)
{
	return load(c, offset + 8) && is_linker_start(c, offset + 8);
}

/* At one of the three instructions between the system call that made the thread and the thread's
 * own code. */
static bool is_at_new_thread(struct code *c, uint64_t offset)
{
	static const uint8_t before[] = {0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c},
			     after[] = {0x74, 0x01, 0xc3, 0x31, 0xed};
	static const uint64_t distances[] = {2, 5, 7};

	for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++)
		if (offset >= distances[i] && load(c, offset - distances[i]) &&
			!memcmp(c->bytes, before, sizeof(before)) &&
			!memcmp(c->bytes + sizeof(before) + 1, after, sizeof(after)))
			return true;
	return false;
}

/* exit(main(...)); the call must be one to exit itself. Code and data of a libc are mapped so that
 * differences of file offsets within its text are those of addresses. */
static bool is_main_caller(const struct code *c, uint64_t offset)
{
	static const uint8_t pattern[] = {0x89, 0xc7, 0xe8};
	uint64_t target;

	if (memcmp(c->bytes, pattern, sizeof(pattern)))
		return false;
	target = after_displacement(offset + 7, c->bytes + 3);
	return target && target == function_offset(c, "exit");
}

static bool is_clone(const struct code *c)
{
	static const uint8_t pattern[] = {0x89, 0xc7, 0xb8, 0x3c, 0x00, 0x00, 0x00, 0x0f, 0x05};
	static const uint8_t of_go[] = {
		0xbf, 0x6f, 0x00, 0x00, 0x00, 0xb8, 0x3c, 0x00, 0x00, 0x00, 0x0f, 0x05};
	const uint8_t *p = c->bytes + (c->bytes[0] == 0x48);

	return !memcmp(p, pattern, sizeof(pattern)) || !memcmp(c->bytes, of_go, sizeof(of_go));
}

/* Nothing calls it: its very beginning is the return address. */
static bool is_context_start(const struct code *c)
{
	static const uint8_t pattern[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24};
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t skip = memcmp(c->bytes, endbr64, sizeof(endbr64)) ? 0 : sizeof(endbr64);

	return !memcmp(c->bytes + skip, pattern, sizeof(pattern));
}

/* Follows one jump: the compiler shares the tail between the two kinds of thread routines. */
static bool is_thread_start(struct code *c, uint64_t offset)
{
	static const uint8_t store[] = {0x64, 0x48, 0x89, 0x04, 0x25}, cltq[] = {0x48, 0x98};
	size_t skip;

	if (c->bytes[0] == 0xe9)
		offset = after_displacement(offset + 5, c->bytes + 1);
	else if (c->bytes[0] == 0xeb)
		offset += 2 + (uint64_t)(int64_t)(int8_t)c->bytes[1];
	if (!load(c, offset))
		return false;
	skip = memcmp(c->bytes, cltq, sizeof(cltq)) ? 0 : sizeof(cltq);
	return !memcmp(c->bytes + skip, store, sizeof(store));
}

/* Whether the function of that name, or its name in assembly, begins less than `size` bytes
 * before. */
static bool is_in_go(const struct code *c, uint64_t offset, const char *name, const char *assembly,
	uint64_t size)
{
	uint64_t start = function_offset(c, name) ?: function_offset(c, assembly);

	return start && offset - start < size;
}

/* A goroutine's stack ends one byte into runtime.goexit, which is nop; call runtime.goexit1; nop.
 */
static bool is_goexit(const struct code *c, uint64_t offset)
{
	return c->bytes[0] == 0xe8 && c->bytes[5] == 0x90 &&
	       is_in_go(c, offset, "runtime.goexit", "runtime.goexit.abi0", GOEXIT_BYTES);
}

/* The first thread's stack ends where its scheduler was called, which does not return. */
static bool is_rt0_go(const struct code *c, uint64_t offset)
{
	return c->bytes[0] == 0xe8 && c->bytes[5] == 0xc3 &&
	       is_in_go(c, offset, "runtime.rt0_go", "runtime.rt0_go.abi0", RT0_GO_BYTES);
}

static bool begins_thread(struct code *c, uint64_t offset)
{
	return load(c, offset) &&
	       (is_start(c) || is_linker_start(c, offset) || is_main_caller(c, offset) ||
		       is_clone(c) || is_context_start(c) || is_goexit(c, offset) ||
		       is_rt0_go(c, offset) || is_thread_start(c, offset));
}

bool thread_starts_at(int fd, uint64_t offset, enum root_address at)
{
	struct code c = {.fd = fd};

	if (at == ROOT_RETURN_ADDRESS)
		return begins_thread(&c, offset);
	return is_at_linker_start(&c, offset) ||
	       (at == ROOT_INTERRUPTED_NO_STACK && is_at_new_thread(&c, offset));
}
