// SPDX-License-Identifier: MIT
/*
 * The counter (_dl_load_adds) is one of the loader's own variables, in the object _rtld_global. Where in it differs
 * from one glibc to the next, so it is looked for: a word that has the value of the counter, and still has it after
 * the counter has changed. One other word does that as long as no library is unloaded, the number of those that are
 * loaded, in front of it; if that was taken, it is dropped as soon as the two differ. Without glibc, or where none is
 * found, our own thread's answers have to do.
 */
#include "inject/loads.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "inject/library.h"

#define WORDS_MAX 2048

static struct {
	const uint64_t *words; /* the object; NULL: there is none */
	size_t count;
	uint64_t before;	     /* the answer when they were copied; 0: they were not */
	uint64_t copied[WORDS_MAX];
	uint64_t asked;		     /* changes: the latest answer */
	const uint64_t *counter;     /* changes; NULL: not found */
} loads;

static int take_count(struct dl_phdr_info *info, size_t size, void *context)
{
	uint64_t *count = context;

	if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof(info->dlpi_adds))
		*count = info->dlpi_adds;
	return 1;
}

static void find_object(void)
{
	void *object = dlsym(RTLD_DEFAULT, "_rtld_global");
	const ElfW(Sym) *symbol;
	Dl_info info;

	if (!object || !dladdr1(object, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return;
	loads.words = object;
	loads.count = symbol->st_size / sizeof(uint64_t);
	if (loads.count > WORDS_MAX)
		loads.count = WORDS_MAX;
}

static const uint64_t *find_counter(uint64_t now)
{
	for (size_t i = loads.count; i--;)
		if (loads.copied[i] == loads.before &&
			__atomic_load_n(&loads.words[i], __ATOMIC_RELAXED) == now)
			return &loads.words[i];
	return NULL;
}

static void look_for_counter(uint64_t now)
{
	if (!loads.before) {
		find_object();
		if (loads.count)
			memcpy(loads.copied, loads.words, loads.count * sizeof(loads.copied[0]));
		loads.before = now;
	} else if (now != loads.before && loads.count) {
		__atomic_store_n(&loads.counter, find_counter(now), __ATOMIC_RELEASE);
		loads.count = 0; /* looked for once */
	}
}

uint64_t loads_ask(void)
{
	const uint64_t *counter = loads.counter;
	uint64_t now = 0;

	pthread_mutex_lock(&library.no_fork);
	dl_iterate_phdr(take_count, &now);
	pthread_mutex_unlock(&library.no_fork);
	if (counter && __atomic_load_n(counter, __ATOMIC_RELAXED) < now)
		__atomic_store_n(&loads.counter, NULL, __ATOMIC_RELEASE);
	look_for_counter(now);
	__atomic_store_n(&loads.asked, now, __ATOMIC_RELEASE);
	return now;
}

uint64_t loads_now(void)
{
	const uint64_t *counter = __atomic_load_n(&loads.counter, __ATOMIC_ACQUIRE);

	return __atomic_load_n(counter ? counter : &loads.asked, __ATOMIC_RELAXED);
}
