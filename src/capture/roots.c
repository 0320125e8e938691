// SPDX-License-Identifier: MIT
/* The file is asked once for each address; programs have a few. */
#include "capture/roots.h"

#include <stdlib.h>

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

/* Another process than the one that mapped it last has it elsewhere. */
static struct mapped_file mapping_in(const struct module *module, uint32_t pid)
{
	struct mapped_file f = module->mapped;

	if (pid != module->pid)
		f.start = f.end = 0;
	return f;
}

static void ask(struct roots *r, const struct module *module, uint32_t pid, uint64_t key,
	struct thread_start_question question)
{
	struct mapped_file f = mapping_in(module, pid);
	const struct files_question q = {
		.purpose = FILES_THREAD_START,
		.wait = true,
		.pid = pid,
		.path = module->path,
		.mapped = &f,
		.thread_start = question,
		.done = note,
		.context = r,
		.tag = key,
	};

	if (!map_put(&r->answers, key, ROOT_NOT_KNOWN_YET))
		(void)files_ask(r->files, &q);
}

enum root_answer roots_ask(struct roots *r, const struct module *module, uint32_t index,
	uint32_t pid, uint64_t offset, enum root_address at)
{
	/* Files end before 2^39. */
	uint64_t key = (uint64_t)index << 41 ^ (uint64_t)at << 39 ^ offset;
	const uint64_t *answer;

	if (module->kind != MODULE_FILE)
		return ROOT_NO;
	answer = map_get(&r->answers, key);
	if (!answer)
		ask(r, module, pid, key, (struct thread_start_question){offset, at});
	answer = answer ? answer : map_get(&r->answers, key);
	return answer ? (enum root_answer) * answer : ROOT_NO;
}
