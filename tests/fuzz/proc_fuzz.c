// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as what the kernel says of a process: its stat, its mappings, the path of
 * its cgroup. Names in them are the process's, and there is nothing that they cannot be. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/proc_text.h"
#include "fuzz.h"
#include "monitor/metrics/containers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_mappings(const char *text, size_t size)
{
	for (const char *line = text, *end = text + size; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((newline ? newline : end) - line);
		struct proc_mapping m;

		if (proc_mapping_parse(line, length, &m))
			require(m.start < m.end && m.path > line &&
				m.path + m.path_size == line + length);
		line += length + 1;
	}
}

static void check_container(const char *path)
{
	const char *id = container_id_of_path(path);

	require(!id || (id >= path && strlen(id) >= 64));
	for (size_t i = 0; id && i < 64; i++)
		require(isxdigit((unsigned char)id[i]));
}

/* What is printed of it. */
static void check_printable(const char *text, size_t size)
{
	struct buf once = BUF_INIT, again = BUF_INIT;

	printable_put(&once, text, size);
	require(printable_span(buf_text(&once), once.size) == once.size);
	printable_put(&again, buf_text(&once), once.size);
	require(once.size == again.size && !memcmp(buf_text(&once), buf_text(&again), once.size));
	buf_release(&once);
	buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *exact = malloc(size ? size : 1), *ended = malloc(size + 1);
	struct proc_stat stat;
	struct proc_status status;

	if (exact && ended) {
		memcpy(exact, data, size);
		memcpy(ended, data, size);
		ended[size] = '\0';
		check_mappings(exact, size);
		check_printable(exact, size);
		(void)proc_stat_parse(ended, &stat);
		(void)proc_status_parse(ended, &status);
		check_container(ended);
	}
	free(exact);
	free(ended);
	return 0;
}
