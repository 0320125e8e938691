// SPDX-License-Identifier: MIT
/*
 * The counter (_dl_load_adds) is one of the loader's own variables, in the object _rtld_global. Its
 * offset differs from one glibc to the next, so it is looked for: a word that has the value of the
 * counter, and still has it after the counter has changed. As long as no library is unloaded, one
 * other word does that: the number of those that are loaded, in front of it. If that word was
 * chosen, it is dropped as soon as the two differ. Without glibc, or if no word is found, our own
 * thread's answers have to do.
 *
 * The number of loaded libraries is at the object's beginning, behind a pointer (struct
 * link_namespaces in glibc's sysdeps/generic/ldsodefs.h), and is used as long as it agrees with the
 * answers. Those ever loaded, less that number, have been unloaded.
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
	const uint64_t *words; /* the object; NULL: none */
	size_t count;
	uint64_t before; /* the answer when they were copied; 0: they were not */
	uint64_t copied[WORDS_MAX];
	uint64_t asked;		 /* changes: the latest answer */
	uint64_t undone;	 /* changes: of libraries unloaded, the latest answer */
	const uint32_t *loaded;	 /* changes; NULL: not where it should be */
	const uint64_t *counter; /* changes; NULL: not found */
} loads;

struct counts {
	uint64_t loads, undone;
};

static int read_counts(struct dl_phdr_info *info, size_t size, void *context)
{
	struct counts *counts = context;

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		*counts = (struct counts){.loads = info->dlpi_adds, .undone = info->dlpi_subs};
	return 1;
}

static void find_object(void)
{
	void *object = dlsym(RTLD_DEFAULT, "_rtld_global");
	const ElfW(Sym) * symbol;
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

static void look_at_loaded(const struct counts *now)
{
	const uint32_t *loaded = loads.words ? (const uint32_t *)&loads.words[1] : NULL;

	if (loaded && now->loads - __atomic_load_n(loaded, __ATOMIC_RELAXED) != now->undone)
		loaded = NULL;
	__atomic_store_n(&loads.loaded, loaded, __ATOMIC_RELEASE);
}

uint64_t loads_ask(void)
{
	const uint64_t *counter = loads.counter;
	struct counts counts = {0};
	uint64_t now;

	pthread_mutex_lock(&library.no_fork);
	dl_iterate_phdr(read_counts, &counts);
	pthread_mutex_unlock(&library.no_fork);
	now = counts.loads;
	if (counter && __atomic_load_n(counter, __ATOMIC_RELAXED) < now)
		__atomic_store_n(&loads.counter, NULL, __ATOMIC_RELEASE);
	look_for_counter(now);
	look_at_loaded(&counts);
	__atomic_store_n(&loads.undone, counts.undone, __ATOMIC_RELEASE);
	__atomic_store_n(&loads.asked, now, __ATOMIC_RELEASE);
	return now;
}

uint64_t loads_now(void)
{
	const uint64_t *counter = __atomic_load_n(&loads.counter, __ATOMIC_ACQUIRE);

	return __atomic_load_n(counter ? counter : &loads.asked, __ATOMIC_RELAXED);
}

uint64_t loads_undone(void)
{
	const uint64_t *counter = __atomic_load_n(&loads.counter, __ATOMIC_ACQUIRE);
	const uint32_t *loaded = __atomic_load_n(&loads.loaded, __ATOMIC_ACQUIRE);

	if (!counter || !loaded)
		return __atomic_load_n(&loads.undone, __ATOMIC_RELAXED);
	return __atomic_load_n(counter, __ATOMIC_RELAXED) -
	       __atomic_load_n(loaded, __ATOMIC_RELAXED);
}
