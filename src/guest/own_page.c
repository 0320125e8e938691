// SPDX-License-Identifier: MIT
#include "guest/own_page.h"

#include <stdio.h>
#include <string.h>

/* One line of /proc/self/maps: where it begins, or NULL. */
static void *page_of(const char *line, const char *rights, const char *name, size_t bytes)
{
	unsigned long start, end;
	char have[5], file[64];

	if (sscanf(line, "%lx-%lx %4s %*s %*s %*s /memfd:%63s", &start, &end, have, file) != 4 ||
		strcmp(have, rights) || strcmp(file, name) || end - start != bytes)
		return NULL;
	return (void *)start;
}

void *own_page_find(const char *rights, const char *name, size_t bytes, bool (*is_it)(const void *))
{
	FILE *maps = fopen("/proc/self/maps", "re");
	void *page = NULL;
	char line[512];

	while (maps && !page && fgets(line, sizeof(line), maps)) {
		page = page_of(line, rights, name, bytes);
		if (page && !is_it(page))
			page = NULL;
	}
	if (maps)
		fclose(maps);
	return page;
}
