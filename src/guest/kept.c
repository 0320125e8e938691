// SPDX-License-Identifier: MIT
/* The page is found again by the name of its file (own_page.h) and by its bytes. */
#include "guest/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/own_page.h"

#define FILE_NAME "xpuprof-stay"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u /* Linux 6.3 */
#endif

static size_t code_bytes(void)
{
	return (size_t)(kept_end - kept_begin);
}

static bool is_kept(const void *page)
{
	return !memcmp(page, kept_begin, code_bytes());
}

static int make_file(void)
{
	int fd = memfd_create(FILE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(FILE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (write(fd, kept_begin, code_bytes()) == (ssize_t)code_bytes() &&
		!fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
		return fd;
	close(fd);
	return -EIO;
}

/* The code's page before that of its data, at once: nobody maps something of his in between. */
static int map_pages(int fd, const uint8_t **ret)
{
	uint8_t *pages = mmap(NULL, (size_t)2 * KEPT_PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	if (pages == MAP_FAILED)
		return -errno;
	if (mmap(pages, KEPT_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) !=
		MAP_FAILED) {
		*ret = pages;
		return 0;
	}
	error = -errno;
	munmap(pages, (size_t)2 * KEPT_PAGE);
	return error;
}

int kept_page(const uint8_t **ret)
{
	int fd, error;

	*ret = own_page_find("r-xp", FILE_NAME, KEPT_PAGE, is_kept);
	if (*ret)
		return 0;
	fd = make_file();
	if (fd < 0)
		return fd;
	error = map_pages(fd, ret);
	close(fd);
	return error;
}
