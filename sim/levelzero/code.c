// SPDX-License-Identifier: MIT
/*
 * $XPUPROF_SIM_XE_DEVICE says whether the GPU is an Xe3p ("cri"), and $XPUPROF_SIM_ZE_AREA in which
 * area of 4 GiB code is, counted from the first one.
 *
 * A module is at the lowest free place of an area of 4 GiB, so the next one made after it is
 * destroyed is at the same address. The zebins are those of tests: their sizes are trusted.
 */
#include "code.h"

#include <elf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../xe/stalls.h"

#define AREA	    0x8000ffbe0000ull
#define PLACES	    64
#define PLACE_BYTES 0x10000u

struct sim_module {
	uint32_t place, driver;
	size_t size;
	uint8_t image[];
};

static bool taken[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int32_t sim_module_make(const uint8_t *image, size_t size, uint32_t driver, void **ret)
{
	struct sim_module *m = calloc(1, sizeof(*m) + size);

	if (!m)
		return 0x70000002;
	m->size = size;
	m->driver = driver;
	memcpy(m->image, image, size);
	pthread_mutex_lock(&lock);
	while (m->place < PLACES - 1 && taken[m->place])
		m->place++;
	taken[m->place] = true;
	pthread_mutex_unlock(&lock);
	*ret = m;
	return 0;
}

int32_t sim_module_free(void *module)
{
	pthread_mutex_lock(&lock);
	taken[((struct sim_module *)module)->place] = false;
	pthread_mutex_unlock(&lock);
	free(module);
	return 0;
}

int32_t sim_module_image(const struct sim_module *m, size_t *size, uint8_t *ret)
{
	if (ret)
		memcpy(ret, m->image, *size < m->size ? *size : m->size);
	*size = m->size;
	return 0;
}

static uint64_t area(void)
{
	const char *number = getenv("XPUPROF_SIM_ZE_AREA");

	return AREA + (number ? strtoull(number, NULL, 10) << 32 : 0);
}

static unsigned int stall_bit(void)
{
	const char *device = getenv("XPUPROF_SIM_XE_DEVICE");

	return device && !strcmp(device, "cri") ? SIM_STALL_ACTIVE_XE3P : SIM_STALL_ACTIVE_XE2;
}

void sim_code_find(const struct sim_module *m, const char *name, struct sim_code *ret)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)m->image;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(m->image + h->e_shoff);
	const char *names = (const char *)m->image + sections[h->e_shstrndx].sh_offset;
	uint64_t address = area() + (uint64_t)m->place * PLACE_BYTES;

	for (int i = 0; i < h->e_shnum; i++) {
		const char *section = names + sections[i].sh_name;

		if (strncmp(section, ".text.", 6))
			continue;
		if (!strcmp(section + 6, name))
			*ret = (struct sim_code){address, m->image + sections[i].sh_offset,
				sections[i].sh_size, m->driver};
		address += sections[i].sh_size;
	}
}

void sim_code_run(const struct sim_code *code, uint32_t tile)
{
	if (code->address)
		sim_stalls_run(tile, stall_bit(), code->address, code->bytes, code->size);
}
