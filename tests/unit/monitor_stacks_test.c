// SPDX-License-Identifier: MIT
/* Names of stacks that a watch kept. The watch is this file's, so that a stack can have any
 * addresses. */
#include "cmd/monitor/stacks.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

#define PAGE	    4096
#define VADDR	    0x401000 /* where the code was linked to run */
#define CODE_OFFSET 0x10
#define FILE_NAME   "/tmp/xpuprof-monitor-stacks-test-XXXXXX"

static uint64_t stack[2];

size_t watch_stack(struct watch *w, int32_t id, uint64_t ret_addresses[MONITOR_STACK_DEPTH])
{
	(void)w;
	(void)id;
	memcpy(ret_addresses, stack, sizeof(stack));
	return 2;
}

/* A program that is not position independent, without symbols: its second page is code. */
static bool write_program(int fd)
{
	char pages[2 * PAGE] = "";
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1};
	const Elf64_Phdr code = {.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = PAGE,
		.p_vaddr = VADDR,
		.p_filesz = PAGE,
		.p_memsz = PAGE,
		.p_align = PAGE};

	memcpy(pages, &header, sizeof(header));
	memcpy(pages + sizeof(header), &code, sizeof(code));
	return write(fd, pages, sizeof(pages)) == sizeof(pages);
}

static void code_without_a_name_has_the_address_that_its_file_was_linked_at(void)
{
	char path[] = FILE_NAME, leaf[sizeof(path) + 32], caller[sizeof(path) + 32];
	struct buf out = BUF_INIT;
	struct stack_names *n;
	int fd = mkstemp(path);
	void *code;

	CHECK(fd >= 0 && write_program(fd));
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, PAGE);
	CHECK(code != MAP_FAILED);
	stack[0] = (uintptr_t)code + CODE_OFFSET;
	/* returns behind a call that is the last thing in the file */
	stack[1] = (uintptr_t)code + PAGE;
	CHECK(!stack_names_new(NULL, &n));
	CHECK(!stack_names_write(n, -1, 0, (uint32_t)getpid(), clock_now_ns(), &out));
	snprintf(leaf, sizeof(leaf), "%s+0x%x\n", strrchr(path, '/') + 1, VADDR + CODE_OFFSET);
	snprintf(caller, sizeof(caller), "%s+0x%x\n", strrchr(path, '/') + 1, VADDR + PAGE);
	CHECK(!strncmp(buf_text(&out), leaf, strlen(leaf)));
	CHECK(!strcmp(buf_text(&out) + strlen(leaf), caller));
	buf_release(&out);
	stack_names_free(n);
	munmap(code, PAGE);
	close(fd);
	unlink(path);
}

int main(void)
{
	RUN(code_without_a_name_has_the_address_that_its_file_was_linked_at);
	return tap_end();
}
