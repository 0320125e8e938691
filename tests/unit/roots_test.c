// SPDX-License-Identifier: MIT
/* Where threads begin, told by the code of this program's own C library. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "capture/roots.h"
#include "elf/elf_file.h"
#include "tap.h"

static struct roots *roots;

/* Asks for an address of this program. */
static bool reached(uint64_t address, bool is_return_address)
{
	struct module module = {.kind = MODULE_FILE};
	struct elf_file *elf = NULL;
	uint64_t offset = 0;
	bool root = false;
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)address, &info))
		return false;
	module.path = realpath(info.dli_fname, NULL);
	if (module.path && !elf_file_open(&elf, module.path) &&
		!elf_file_vaddr_to_offset(elf, address - (uint64_t)(uintptr_t)info.dli_fbase, &offset))
		root = roots_reached(roots, &module, (uint32_t)(uintptr_t)info.dli_fbase >> 12,
			(uint32_t)getpid(), offset, is_return_address);
	elf_file_close(elf);
	free(module.path);
	return root;
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
	CHECK(reached(start, false));
	CHECK(reached(start + 8, true));
	CHECK(!reached(start, true) && !reached(start + 8, false) && !reached(start + 11, true));
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
	CHECK(reached(caller, true));
	CHECK(!reached(caller, false));
}

static void any_other_caller_is_none(void)
{
	CHECK(!reached((uint64_t)(uintptr_t)&any_other_caller_is_none + 8, true));
	CHECK(!reached((uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort") + 8, true));
}

int main(void)
{
	roots = roots_new();
	RUN(the_dynamic_linkers_beginning_is_a_root);
	RUN(the_function_that_runs_a_thread_is_a_root);
	RUN(any_other_caller_is_none);
	roots_free(roots);
	return tap_end();
}
