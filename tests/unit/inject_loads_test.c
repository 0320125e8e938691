// SPDX-License-Identifier: MIT
/* The library knows at once when code is loaded, from the C library's own count. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#include "inject/library.h"
#include "inject/loads.h"
#include "tap.h"

/* Of libraries that this program has not got, in their order: NULL when there are none left. */
static void *load_another(void)
{
	static const char *const names[] = {"libm.so.6", "libresolv.so.2", "libnsl.so.1",
		"libutil.so.1", "libanl.so.1", "libthread_db.so.1", "libBrokenLocale.so.1",
		"libnss_files.so.2", "libnss_dns.so.2", "libnss_compat.so.2", "libmvec.so.1",
		"libcrypt.so.1"};
	static size_t next;

	while (next < sizeof(names) / sizeof(names[0])) {
		const char *name = names[next++];
		void *handle;

		if (dlopen(name, RTLD_LAZY | RTLD_NOLOAD))
			continue;
		handle = dlopen(name, RTLD_LAZY);
		if (handle)
			return handle;
	}
	return NULL;
}

static void the_count_our_thread_asked_for_holds_until_the_counter_is_found(void)
{
	uint64_t before = loads_ask();

	CHECK(before > 0 && loads_now() == before);
	CHECK(load_another() != NULL);
	CHECK(loads_now() == before);
	CHECK(loads_ask() > before);
	CHECK(loads_now() == loads_ask());
}

static void a_library_that_is_loaded_counts_at_once(void)
{
	uint64_t before = loads_now();

	CHECK(load_another() != NULL);
	CHECK(loads_now() > before);
	CHECK(loads_now() == loads_ask());
}

static void one_that_replaces_another_counts_as_well(void)
{
	void *handle = load_another();
	uint64_t before = loads_now();

	CHECK(handle && !dlclose(handle));
	CHECK(loads_now() == before);
	CHECK(load_another() != NULL);
	CHECK(loads_now() > before);
	CHECK(loads_now() == loads_ask());
}

static void one_that_is_unloaded_counts_at_once(void)
{
	void *handle = load_another();
	uint64_t before;

	loads_ask();
	before = loads_undone();
	CHECK(handle && load_another() != NULL && loads_undone() == before);
	CHECK(!dlclose(handle) && loads_undone() == before + 1);
	CHECK(loads_ask() && loads_undone() == before + 1);
}

#ifdef __SANITIZE_ADDRESS__ /* it begins with a call of this */
static void the_program_does_not_fork_while_the_list_of_libraries_is_locked(void)
{
	SKIP("a sanitizer has its own");
}
#else
static bool watched, forkable;

/* Replaces the C library's, by which the library asks: would a fork go on now? */
int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context)
{
	int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

	*(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	if (watched && !pthread_mutex_trylock(&library.no_fork)) {
		forkable = true;
		pthread_mutex_unlock(&library.no_fork);
	}
	return real(visit, context);
}

/* The C library does not give a child its lock on the list of libraries back. */
static void the_program_does_not_fork_while_the_list_of_libraries_is_locked(void)
{
	watched = true;
	CHECK(loads_ask() > 0);
	watched = false;
	CHECK(!forkable && !pthread_mutex_trylock(&library.no_fork));
}
#endif

int main(void)
{
	RUN(the_count_our_thread_asked_for_holds_until_the_counter_is_found);
	RUN(a_library_that_is_loaded_counts_at_once);
	RUN(one_that_replaces_another_counts_as_well);
	RUN(one_that_is_unloaded_counts_at_once);
	RUN(the_program_does_not_fork_while_the_list_of_libraries_is_locked);
	return tap_end();
}
