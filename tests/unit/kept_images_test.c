// SPDX-License-Identifier: MIT
/* Images of GPU code are kept within a budget, and nobody can change them. */
#include "gpucode/kept_images.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

#define SIZE  10000
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* A memfd of SIZE bytes, all `byte`. */
static int make_image(char byte, int seals)
{
	char bytes[SIZE];
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	memset(bytes, byte, sizeof(bytes));
	CHECK(write(fd, bytes, sizeof(bytes)) == SIZE);
	CHECK(!fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static int add(struct kept_images *k, uint32_t module, char byte)
{
	int fd = make_image(byte, SEALS), error = kept_images_add(k, module, fd, SIZE);

	close(fd);
	return error;
}

static bool holds(const struct kept_images *k, uint32_t module, char byte)
{
	size_t size = 0;
	const char *data = kept_images_find(k, module, &size);

	return data && size == SIZE && data[0] == byte && data[SIZE - 1] == byte;
}

static void an_image_is_there_when_its_descriptor_is_closed(void)
{
	struct kept_images *k = kept_images_new(10 * SIZE);
	size_t size;

	CHECK(!add(k, 3, 'a') && !add(k, 7, 'b'));
	CHECK(holds(k, 3, 'a') && holds(k, 7, 'b'));
	CHECK(!kept_images_find(k, 4, &size) && !kept_images_lost(k, 4));
	kept_images_free(k);
	kept_images_free(NULL);
}

static void of_one_module_the_first_image_is_kept(void)
{
	struct kept_images *k = kept_images_new(SIZE);

	CHECK(!add(k, 3, 'a') && !add(k, 3, 'b'));
	CHECK(holds(k, 3, 'a') && !kept_images_lost(k, 3));
	kept_images_free(k);
}

static void what_is_not_sealed_or_not_of_the_size_told_is_refused(void)
{
	struct kept_images *k = kept_images_new(10 * SIZE);
	int open_to_writes = make_image('a', F_SEAL_SHRINK | F_SEAL_GROW);
	int open_to_cuts = make_image('a', F_SEAL_WRITE);
	int sealed = make_image('a', SEALS), file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(kept_images_add(k, 1, open_to_writes, SIZE) == -EINVAL);
	CHECK(kept_images_add(k, 1, open_to_cuts, SIZE) == -EINVAL);
	CHECK(kept_images_add(k, 1, sealed, SIZE + 1) == -EINVAL);
	CHECK(kept_images_add(k, 1, sealed, 0) == -EINVAL);
	CHECK(kept_images_add(k, 1, file, SIZE) == -EINVAL);
	CHECK(kept_images_add(k, 1, -1, SIZE) == -EINVAL);
	CHECK(kept_images_lost(k, 1));
	CHECK(!kept_images_add(k, 1, sealed, SIZE));
	CHECK(holds(k, 1, 'a') && !kept_images_lost(k, 1));
	close(open_to_writes);
	close(open_to_cuts);
	close(sealed);
	close(file);
	kept_images_free(k);
}

static void huge_pages_that_may_not_be_there_are_refused(void)
{
	struct kept_images *k = kept_images_new(4 << 20);
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

	if (fd < 0 || ftruncate(fd, 2 << 20) || fcntl(fd, F_ADD_SEALS, SEALS))
		SKIP("needs memfds of huge pages");
	else
		CHECK(kept_images_add(k, 1, fd, 2 << 20) == -EINVAL && kept_images_lost(k, 1));
	close(fd);
	kept_images_free(k);
}

static void beyond_the_budget_the_oldest_that_nobody_needs_make_room(void)
{
	struct kept_images *k = kept_images_new(3 * SIZE);

	CHECK(!add(k, 1, 'a') && !add(k, 2, 'b') && !add(k, 3, 'c'));
	kept_images_need(k, 1);
	CHECK(!add(k, 4, 'd'));
	CHECK(holds(k, 1, 'a') && holds(k, 3, 'c') && holds(k, 4, 'd'));
	CHECK(kept_images_lost(k, 2) && !kept_images_lost(k, 1));
	/* One that had to go may come again, and go again. */
	CHECK(!add(k, 2, 'e') && holds(k, 2, 'e') && kept_images_lost(k, 3));
	CHECK(!add(k, 5, 'f') && kept_images_lost(k, 2) && holds(k, 5, 'f') && holds(k, 4, 'd'));
	kept_images_free(k);
}

static void when_all_are_needed_a_new_one_is_not_kept(void)
{
	struct kept_images *k = kept_images_new(2 * SIZE);

	kept_images_need(k, 1);
	CHECK(!add(k, 1, 'a') && !add(k, 2, 'b'));
	kept_images_need(k, 2);
	CHECK(add(k, 3, 'c') == -ENOSPC);
	CHECK(kept_images_lost(k, 3) && holds(k, 1, 'a') && holds(k, 2, 'b'));
	kept_images_free(k);
	k = kept_images_new(SIZE - 1);
	CHECK(add(k, 1, 'a') == -ENOSPC && kept_images_lost(k, 1));
	kept_images_free(k);
}

static void there_are_no_more_mappings_than_the_recorder_can_spare(void)
{
	struct kept_images *k = kept_images_new(UINT64_MAX);
	int fd = make_image('a', SEALS), failed = 0;
	uint32_t held = 0;
	size_t size;

	kept_images_need(k, 1);
	for (uint32_t m = 1; m <= KEPT_IMAGES_MAX + 100; m++)
		failed += kept_images_add(k, m, fd, SIZE) != 0;
	for (uint32_t m = 1; m <= KEPT_IMAGES_MAX + 100; m++)
		held += kept_images_find(k, m, &size) != NULL;
	CHECK(!failed && held == KEPT_IMAGES_MAX);
	CHECK(kept_images_find(k, 1, &size) && kept_images_lost(k, 2));
	close(fd);
	kept_images_free(k);
}

int main(void)
{
	RUN(there_are_no_more_mappings_than_the_recorder_can_spare);
	RUN(an_image_is_there_when_its_descriptor_is_closed);
	RUN(of_one_module_the_first_image_is_kept);
	RUN(what_is_not_sealed_or_not_of_the_size_told_is_refused);
	RUN(huge_pages_that_may_not_be_there_are_refused);
	RUN(beyond_the_budget_the_oldest_that_nobody_needs_make_room);
	RUN(when_all_are_needed_a_new_one_is_not_kept);
	return tap_end();
}
