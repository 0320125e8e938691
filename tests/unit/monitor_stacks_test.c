// SPDX-License-Identifier: MIT
/* Names of stacks that a watch kept. The watch is this file's, so that a stack can have any
 * addresses. */
#include "cmd/monitor/stacks.h"

#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "sandbox/limits.h"
#include "sandbox/message.h"
#include "sandbox/reader.h"
#include "sandbox/sandbox.h"
#include "tap.h"

#define PAGE	    4096
#define VADDR	    0x401000 /* where the code was linked to run */
#define CODE_OFFSET 0x10
#define FILE_NAME   "/tmp/xpuprof-monitor-stacks-test-XXXXXX"
#define DEADLY_NAME "/tmp/xpuprof-monitor-deadly-test-XXXXXX"
#define PROGRAM	    "/proc/self/exe"

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

/* Code of a file that is mapped, as the leaf and the last thing in it: a call that returns behind
 * it. */
static void *map_program(int fd)
{
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, PAGE);

	CHECK(code != MAP_FAILED);
	stack[0] = (uintptr_t)code + CODE_OFFSET;
	stack[1] = (uintptr_t)code + PAGE;
	return code;
}

/* Of a new file, whose name is `path` with other letters at its end. */
static void *map_new_program(char *path)
{
	int fd = mkstemp(path);
	void *code;

	CHECK(fd >= 0 && write_program(fd));
	code = map_program(fd);
	close(fd);
	return code;
}

static void check_addresses(const char *program)
{
	char path[] = FILE_NAME, leaf[sizeof(path) + 32], caller[sizeof(path) + 32];
	void *code = map_new_program(path);
	struct buf out = BUF_INIT;
	struct stack_names *n;

	CHECK(!stack_names_new(NULL, program, &n));
	CHECK(!stack_names_refusal(n));
	CHECK(!stack_names_write(n, -1, 0, (uint32_t)getpid(), clock_now_ns(), &out));
	CHECK(!stack_names_unreadable(n));
	snprintf(leaf, sizeof(leaf), "%s+0x%x\n", strrchr(path, '/') + 1, VADDR + CODE_OFFSET);
	snprintf(caller, sizeof(caller), "%s+0x%x\n", strrchr(path, '/') + 1, VADDR + PAGE);
	CHECK(!strncmp(buf_text(&out), leaf, strlen(leaf)));
	CHECK(!strcmp(buf_text(&out) + strlen(leaf), caller));
	buf_release(&out);
	stack_names_free(n);
	munmap(code, PAGE);
	unlink(path);
}

static void code_without_a_name_has_the_address_that_its_file_was_linked_at(void)
{
	check_addresses(PROGRAM);
	check_addresses(NULL);
}

static void check_names(const char *program)
{
	struct buf out = BUF_INIT;
	struct stack_names *n;

	stack[0] = (uintptr_t)write_program + 4;
	stack[1] = (uintptr_t)check_names + 2;
	CHECK(!stack_names_new(NULL, program, &n));
	CHECK(!stack_names_write(n, -1, 0, (uint32_t)getpid(), clock_now_ns(), &out));
	CHECK(!strncmp(buf_text(&out), "write_program+0x4 [", 19));
	CHECK(strstr(buf_text(&out), "\ncheck_names+0x2 ["));
	buf_release(&out);
	stack_names_free(n);
}

static void code_has_the_names_of_its_file(void)
{
	check_names(PROGRAM);
	check_names(NULL);
}

static void a_file_that_kills_its_reader_is_asked_about_once(void)
{
	char path[] = DEADLY_NAME, leaf[sizeof(path) + 32];
	void *code = map_new_program(path);
	struct buf out = BUF_INIT;
	struct stack_names *n;

	CHECK(!stack_names_new(NULL, PROGRAM, &n));
	snprintf(leaf, sizeof(leaf), "%s+0x%x\n", strrchr(path, '/') + 1, PAGE + CODE_OFFSET);
	for (int i = 0; i < 3; i++) {
		buf_reset(&out);
		CHECK(!stack_names_write(n, -1, 0, (uint32_t)getpid(), clock_now_ns(), &out));
		CHECK(!strncmp(buf_text(&out), leaf, strlen(leaf)));
		CHECK(stack_names_unreadable(n) == 1);
	}
	buf_release(&out);
	stack_names_free(n);
	munmap(code, PAGE);
	unlink(path);
}

static void where_no_process_can_begin_files_are_read_here(void)
{
	struct buf out = BUF_INIT;
	struct stack_names *n;

	stack[0] = stack[1] = (uintptr_t)write_program + 4;
	CHECK(!stack_names_new(NULL, "/no/such/program", &n));
	CHECK(stack_names_refusal(n) != NULL);
	CHECK(!stack_names_write(n, -1, 0, (uint32_t)getpid(), clock_now_ns(), &out));
	CHECK(!strncmp(buf_text(&out), "write_program+0x4 [", 19));
	buf_release(&out);
	stack_names_free(n);
}

static bool is_deadly(int fd)
{
	char link[32], path[512] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, "-deadly-");
}

/* A reader of which some files make an end. */
static int read_files(void)
{
	const int no_fds[MESSAGE_FDS] = {-1, -1};
	struct names_file file = {0};
	struct buf request = BUF_INIT, reply = BUF_INIT;
	int kind, fds[MESSAGE_FDS];

	while (!sandbox_receive(SANDBOX_SOCKET, &request, REQUEST_BYTES, &kind, fds)) {
		const size_t head = sizeof(struct places);
		struct names_question q = {.fd = fds[0], .debug_fd = fds[1]};
		int error = 0;

		buf_reset(&reply);
		if (is_deadly(fds[0]))
			raise(SIGKILL);
		if (kind == READER_NAMES) {
			memmove(request.data, request.data + head, request.size - head);
			q.places = (const uint64_t *)(const void *)request.data;
			q.count = (request.size - head) / sizeof(uint64_t);
			error = names_write(&file, &q, &reply);
		}
		(void)sandbox_send(SANDBOX_SOCKET, error, reply.data, reply.size, no_fds);
		sandbox_close(fds);
	}
	names_file_close(&file);
	buf_release(&request);
	buf_release(&reply);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[2], SANDBOX_READER))
		return read_files();
	if (argc == 3)
		return sandbox_run(argv[2]);
	RUN(code_without_a_name_has_the_address_that_its_file_was_linked_at);
	RUN(code_has_the_names_of_its_file);
	RUN(a_file_that_kills_its_reader_is_asked_about_once);
	RUN(where_no_process_can_begin_files_are_read_here);
	return tap_end();
}
