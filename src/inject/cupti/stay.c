// SPDX-License-Identifier: MIT
/*
 * The page is found again by the name of its file in /proc/self/maps and by its bytes. Whoever else
 * in the program makes such a page offers CUPTI the same functions.
 */
#include "inject/cupti/stay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/cupti/cupti.h"
#include "inject/library.h"

#define FILE_NAME "xpuprof-stay"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u /* Linux 6.3 */
#endif

#ifndef __x86_64__
#error "what stays needs the code of the two functions for this architecture"
#endif

/* As `struct cupti` has them. */
typedef void requested_function(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void completed_function(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size);

#define REQUESTED_AT 0
#define COMPLETED_AT 32

static const uint8_t code[64] = {
	[REQUESTED_AT] = 0x31,
	0xc0, /* xor eax, eax */
	0x48,
	0x89,
	0x07, /* mov [rdi], rax: no buffer, */
	0x48,
	0x89,
	0x06, /* mov [rsi], rax: of no bytes, */
	0x48,
	0x89,
	0x02,		       /* mov [rdx], rax: for no records */
	0xc3,		       /* ret */
	[COMPLETED_AT] = 0xc3, /* ret */
};

/* One line of /proc/self/maps: where our page begins, or NULL. */
static const uint8_t *page_of(const char *line)
{
	unsigned long start, end;
	char rights[5], file[64];
	const uint8_t *page;

	if (sscanf(line, "%lx-%lx %4s %*s %*s %*s /memfd:%63s", &start, &end, rights, file) != 4 ||
		strcmp(rights, "r-xp") || strcmp(file, FILE_NAME) || end - start < sizeof(code))
		return NULL;
	page = (const uint8_t *)start;
	return memcmp(page, code, sizeof(code)) ? NULL : page;
}

static const uint8_t *find_page(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	const uint8_t *page = NULL;
	char line[512];

	while (maps && !page && fgets(line, sizeof(line), maps))
		page = page_of(line);
	if (maps)
		fclose(maps);
	return page;
}

static int make_file(void)
{
	int fd = memfd_create(FILE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(FILE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (write(fd, code, sizeof(code)) == sizeof(code) &&
		!fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
		return fd;
	close(fd);
	return -EIO;
}

static int make_page(const uint8_t **ret)
{
	int fd = make_file(), error;
	void *page;

	if (fd < 0)
		return fd;
	page = mmap(NULL, sizeof(code), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	error = page == MAP_FAILED ? -errno : 0;
	close(fd);
	*ret = page;
	return error;
}

int stay_behind(void)
{
	const uint8_t *page = find_page();
	int error = page ? 0 : make_page(&page);

	if (error)
		return error;
	return cupti.ActivityRegisterCallbacks(
		       (requested_function *)(uintptr_t)(page + REQUESTED_AT),
		       (completed_function *)(uintptr_t)(page + COMPLETED_AT))
		       ? -EINVAL
		       : 0;
}
