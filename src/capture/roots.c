// SPDX-License-Identifier: MIT
/* The file is asked once for each address; programs have a few. */
#include "capture/roots.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"

#define ANSWERS_MAX 16384

struct roots {
	struct files *files;
	struct map answers; /* (module, offset) -> enum root_answer */
};

struct roots *roots_new(struct files *files)
{
	struct roots *r = calloc(1, sizeof(*r));

	if (r)
		r->files = files;
	return r;
}

void roots_free(struct roots *r)
{
	if (!r)
		return;
	map_release(&r->answers);
	free(r);
}

/* What cannot be noted when memory is short is asked again the next time. */
static int note(void *context, uint64_t key, struct files_answer *a)
{
	struct roots *r = context;

	if (r->answers.count >= ANSWERS_MAX)
		map_release(&r->answers);
	(void)map_put(&r->answers, key, !a->error && a->is_thread_start ? ROOT_YES : ROOT_NO);
	return 0;
}

/* Another process than the one that mapped it last has it elsewhere; the file is that whose facts
 * are known. */
static struct mapped_file mapping_in(const struct module *module, uint32_t pid)
{
	struct mapped_file f = module->mapped;

	if (pid != module->pid)
		f.start = f.end = 0;
	if (module->file.inode) {
		f.device = module->file.device;
		f.inode = module->file.inode;
	}
	return f;
}

static int ask(struct roots *r, const struct module *module, uint32_t pid, uint64_t key,
	struct thread_start_question question)
{
	struct mapped_file f = mapping_in(module, pid);
	const struct files_question q = {
		.purpose = FILES_THREAD_START,
		.pid = pid,
		.path = module->path,
		.mapped = &f,
		.thread_start = question,
		.done = note,
		.context = r,
		.tag = key,
	};
	int error = map_put(&r->answers, key, ROOT_NOT_KNOWN_YET);

	return error ? error_memory("the roots of stacks") : files_ask(r->files, &q);
}

int roots_ask(struct roots *r, const struct module *module, uint32_t index, uint32_t pid,
	uint64_t offset, enum root_address at, enum root_answer *ret)
{
	/* Files end before 2^39. */
	uint64_t key = (uint64_t)index << 41 ^ (uint64_t)at << 39 ^ offset;
	const uint64_t *answer;
	int error = 0;

	*ret = ROOT_NO;
	if (module->kind != MODULE_FILE)
		return 0;
	answer = map_get(&r->answers, key);
	if (!answer) {
		error = ask(r, module, pid, key, (struct thread_start_question){offset, at});
		answer = map_get(&r->answers, key);
	}
	if (answer)
		*ret = (enum root_answer) * answer;
	return error;
}
