// SPDX-License-Identifier: MIT
/* Where threads begin, by the code of this program's own C library. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/roots.h"
#include "elf/elf_file.h"
#include "tap.h"

static struct roots *roots;

/* Nobody is asked about files that are still to be read, or could not be read. */
static void ask(struct module *module, uint64_t offset, enum root_address kind,
	const struct stat *st, enum root_answer *ret)
{
	static uint32_t modules;
	uint32_t index = modules++;

	CHECK(!roots_ask(roots, module, index, module->pid, offset, kind, ret) && *ret == ROOT_NO);
	module->asked = true;
	CHECK(!roots_ask(roots, module, index, module->pid, offset, kind, ret) &&
		*ret == ROOT_NOT_KNOWN_YET);
	module->asked = false;
	module->file = file_identity_of(st);
	CHECK(!roots_ask(roots, module, index, module->pid, offset, kind, ret));
}

/* Asks for an address of this program. */
static bool reached(uint64_t address, enum root_address kind)
{
	struct module module = {.kind = MODULE_FILE, .pid = (uint32_t)getpid()};
	struct stat st;
	struct elf_file *elf = NULL;
	uint64_t offset = 0;
	enum root_answer root = ROOT_NO;
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)address, &info))
		return false;
	module.path = realpath(info.dli_fname, NULL);
	if (module.path && !stat(module.path, &st) && !elf_file_open(&elf, module.path) &&
		!elf_file_vaddr_to_offset(
			elf, address - (uint64_t)(uintptr_t)info.dli_fbase, &offset))
		ask(&module, offset, kind, &st, &root);
	elf_file_close(elf);
	free(module.path);
	return root == ROOT_YES;
}

static void the_dynamic_linkers_beginning_is_a_root(void)
{
	uint64_t base = getauxval(AT_BASE), start;

	if (!base) {
		SKIP("this program has no dynamic linker");
		return;
	}
	start = base + ((const ElfW(Ehdr) *)(uintptr_t)base)->e_entry;
	if (((const uint8_t *)(uintptr_t)start)[3] != 0xe8) {
		SKIP("this is not the dynamic linker of glibc");
		return;
	}
	CHECK(reached(start, ROOT_INTERRUPTED));
	CHECK(reached(start + 8, ROOT_RETURN_ADDRESS));
	CHECK(!reached(start, ROOT_RETURN_ADDRESS) && !reached(start + 8, ROOT_INTERRUPTED));
	CHECK(!reached(start + 11, ROOT_RETURN_ADDRESS));
}

static void *caller_of_thread(void *ret)
{
	*(uint64_t *)ret = (uint64_t)(uintptr_t)__builtin_return_address(0);
	return NULL;
}

static void the_function_that_runs_a_thread_is_a_root(void)
{
	uint64_t caller = 0;
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, caller_of_thread, &caller));
	CHECK(!pthread_join(thread, NULL));
	CHECK(reached(caller, ROOT_RETURN_ADDRESS));
	CHECK(!reached(caller, ROOT_INTERRUPTED));
}

static void a_thread_that_has_not_used_its_stack_is_at_its_root(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	const uint8_t *code = libc ? dlsym(libc, "clone") : NULL;
	uint64_t at;
	int call = 0;

	while (code && call < 96 && (code[call] != 0x0f || code[call + 1] != 0x05))
		call++;
	if (!code || call == 96) {
		SKIP("this C library's clone is another one");
		return;
	}
	at = (uint64_t)(uintptr_t)code + (uint64_t)call;
	for (int i = 0; i < 9; i++)
		CHECK(reached(at + (uint64_t)i, ROOT_INTERRUPTED_NO_STACK) ==
			(i == 2 || i == 5 || i == 7));
	CHECK(!reached(at + 2, ROOT_INTERRUPTED) && !reached(at + 2, ROOT_RETURN_ADDRESS));
}

static void any_other_caller_is_none(void)
{
	CHECK(!reached((uint64_t)(uintptr_t)&any_other_caller_is_none + 8, ROOT_RETURN_ADDRESS));
	CHECK(!reached((uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort") + 8, ROOT_RETURN_ADDRESS));
}

#ifdef __x86_64__
/* As Go's linker writes them, and one that only looks so. */
__asm__(".pushsection .text\n"
	".type runtime.goexit.abi0, @function\n"
	"runtime.goexit.abi0: nop\n"
	"go_exit: call go_exit\n"
	"nop\n"
	".size runtime.goexit.abi0, . - runtime.goexit.abi0\n"
	".skip 64\n"
	"not_go_exit: call go_exit\n"
	"nop\n"
	".type runtime.rt0_go.abi0, @function\n"
	"runtime.rt0_go.abi0: call go_exit\n"
	"go_begin: call go_exit\n"
	"ret\n"
	".size runtime.rt0_go.abi0, . - runtime.rt0_go.abi0\n"
	"call *%r12\n"
	"go_clone: mov $111, %edi\n"
	"mov $60, %eax\n"
	"syscall\n"
	".popsection\n");
extern char go_exit[], go_begin[], go_clone[], not_go_exit[];

static void stacks_of_go_end_where_goroutines_and_threads_begin(void)
{
	CHECK(reached((uint64_t)(uintptr_t)go_exit, ROOT_RETURN_ADDRESS));
	CHECK(reached((uint64_t)(uintptr_t)go_begin, ROOT_RETURN_ADDRESS));
	CHECK(reached((uint64_t)(uintptr_t)go_clone, ROOT_RETURN_ADDRESS));
	CHECK(!reached((uint64_t)(uintptr_t)not_go_exit, ROOT_RETURN_ADDRESS));
}
#endif

int main(void)
{
	struct files *files;

	if (files_new(&files, &(struct files_options){0}))
		return 1;
	roots = roots_new(files);
	RUN(the_dynamic_linkers_beginning_is_a_root);
	RUN(the_function_that_runs_a_thread_is_a_root);
	RUN(a_thread_that_has_not_used_its_stack_is_at_its_root);
	RUN(any_other_caller_is_none);
#ifdef __x86_64__
	RUN(stacks_of_go_end_where_goroutines_and_threads_begin);
#endif
	roots_free(roots);
	files_free(files);
	return tap_end();
}
