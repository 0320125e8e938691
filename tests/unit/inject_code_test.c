// SPDX-License-Identifier: MIT
/* Functions of a code object that AMD's compiler made (tests/data/amdgpu), beside what readelf says
 * of them, and of damaged ones. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "inject/rocprofiler/code.h"
#include "random.h"
#include "tap.h"

#define DATA	      "tests/data/amdgpu/gfx90a."
#define FILE_MAX      (1u << 20)
#define FUNCTIONS_MAX 16
#define DAMAGES	      20000

static bool read_data(const char *path, struct buf *ret)
{
	if (!io_read_file(path, FILE_MAX, ret))
		return true;
	printf("# cannot read %s\n", path);
	tap_ok = false;
	return false;
}

static void functions_are_those_that_readelf_shows(void)
{
	struct code_function found[FUNCTIONS_MAX];
	struct buf image = BUF_INIT, record = BUF_INIT, ours = BUF_INIT;
	size_t count;

	if (read_data(DATA "hsaco", &image) && read_data(DATA "functions", &record)) {
		count = code_functions(image.data, image.size, found, FUNCTIONS_MAX);
		for (size_t n = 0; n < count; n++)
			buf_printf(&ours, "%016llx %llu %u %s\n",
				(unsigned long long)found[n].address,
				(unsigned long long)found[n].size, found[n].index, found[n].name);
		CHECK(count == 3);
		CHECK(ours.size == record.size && !memcmp(ours.data, record.data, ours.size));
		CHECK(code_functions(image.data, image.size, found, 2) == 2);
	}
	buf_release(&image);
	buf_release(&record);
	buf_release(&ours);
}

/* In memory of exactly its size: what reads beyond it is found by sanitizers. */
static void ask_damaged(const uint8_t *image, size_t size)
{
	struct code_function found[FUNCTIONS_MAX];
	uint8_t *copy = malloc(size ?: 1);
	size_t count;

	if (!copy)
		abort();
	memcpy(copy, image, size);
	count = code_functions(copy, size, found, FUNCTIONS_MAX);
	CHECK(count <= FUNCTIONS_MAX);
	for (size_t n = 0; n < count; n++)
		CHECK((const uint8_t *)found[n].name > copy &&
			found[n].name + strlen(found[n].name) < (const char *)copy + size);
	free(copy);
}

static void damaged_ones_have_fewer_or_others(void)
{
	struct buf image = BUF_INIT;

	if (!read_data(DATA "hsaco", &image))
		return;
	for (size_t size = 0; size < image.size; size += 7)
		ask_damaged((const uint8_t *)image.data, size);
	for (int n = 0; n < DAMAGES; n++) {
		size_t at = random_below((uint32_t)image.size);
		char before = image.data[at];

		image.data[at] = (char)random_below(256);
		ask_damaged((const uint8_t *)image.data, image.size);
		/* The header and the tables of sections are where most of it is decided. */
		if (n % 2)
			image.data[at] = before;
	}
	buf_release(&image);
}

int main(void)
{
	RUN(functions_are_those_that_readelf_shows);
	RUN(damaged_ones_have_fewer_or_others);
	return tap_end();
}
