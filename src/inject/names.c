// SPDX-License-Identifier: MIT
#include "inject/names.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bare/hash_step.h"
#include "inject/handles.h"

#define TEXT_BYTES   (16u << 20)
#define LONGEST_NAME 4096u

static struct handles texts; /* by their hash */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *memory;
static size_t used;

static union {
	struct named named;
	struct {
		uint32_t launches;
		char text[20];
	} is;
} nameless = {.is.text = "[name left out]"};

int names_init(void)
{
	if (memory)
		return 0;
	memory = mmap(NULL, TEXT_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		memory = NULL;
		return -ENOMEM;
	}
	return handles_init(&texts);
}

void names_release(void)
{
	if (memory)
		munmap(memory, TEXT_BYTES);
	memory = NULL;
	handles_release(&texts);
}

static uintptr_t hash_of(const char *text, size_t size)
{
	uint64_t hash = size;

	for (size_t n = 0; n < size; n++)
		hash = hash_step(hash, (unsigned char)text[n]);
	return (uintptr_t)(hash | 2);
}

/* Under the lock. */
static struct named *keep(const char *text)
{
	size_t size = strnlen(text, LONGEST_NAME);
	size_t bytes = (sizeof(struct named) + size + 1 + 3) & ~(size_t)3;
	uintptr_t hash = hash_of(text, size);
	struct named *known = (struct named *)handles_get(&texts, (const void *)hash);

	if (known && !strncmp(known->text, text, size) && !known->text[size])
		return known;
	if (!memory || used + bytes > TEXT_BYTES)
		return &nameless.named;
	known = (struct named *)(memory + used); /* it is zero, that behind it, too */
	memcpy(known->text, text, size);
	used += bytes;
	handles_put(&texts, (const void *)hash, (uintptr_t)known, NULL);
	return known;
}

struct named *names_keep(const char *text)
{
	struct named *kept;

	pthread_mutex_lock(&lock);
	kept = keep(text);
	pthread_mutex_unlock(&lock);
	return kept;
}

struct named *names_none(void)
{
	return &nameless.named;
}
