// SPDX-License-Identifier: MIT
#include "capture/keep.h"

#include <string.h>

#include "elf/kept_files.h"

/* Copies take memory: what they were made of is looked for by its path again. */
static int keep(void *context, uint64_t profile_id, struct files_answer *a)
{
	struct kept_files *k = context;

	if (a->error || a->opened.copied)
		return 0;
	(void)kept_files_put(k, (uint32_t)profile_id, a->fd, &a->opened.identity);
	a->fd = -1;
	return 0;
}

int keep_module(struct kept_files *k, struct files *files, const struct module *module)
{
	struct files_question q = {
		.purpose = module->kind == MODULE_ANON ? FILES_PERF_MAP : FILES_KEEP,
		.pid = module->pid,
		.path = module->path,
		.mapped = &module->mapped,
		.done = keep,
		.context = k,
		.tag = module->profile_id,
	};

	if (module->rest)
		return 0;
	if (module->kind != MODULE_ANON && (module->kind != MODULE_FILE || module->path[0] != '/'))
		return 0;
	if (kept_files_add(k, module->profile_id, module->pid, module->kind == MODULE_ANON))
		return 0;
	return files_ask(files, &q);
}

static int put_dump(void *context, uint64_t profile_id, struct files_answer *a)
{
	struct kept_files *k = context;

	if (a->error || a->opened.copied)
		return 0;
	(void)kept_files_put_dump(k, (uint32_t)profile_id, a->fd, &a->opened.identity);
	a->fd = -1;
	return 0;
}

int keep_dump(struct kept_files *k, struct files *files, const struct module *made,
	const struct module *dump)
{
	const struct files_question q = {
		.purpose = FILES_KEEP,
		.pid = made->pid,
		.path = dump->path,
		.mapped = &dump->mapped,
		.done = put_dump,
		.context = k,
		.tag = made->profile_id,
	};

	return files_ask(files, &q);
}
