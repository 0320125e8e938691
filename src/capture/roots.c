// SPDX-License-Identifier: MIT
/* The file is asked once for each address; programs have a few. */
#include "capture/roots.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"

#define ANSWERS_MAX 16384
#define MODULE_BIT  41 /* of a key; files end before 2^39 */

struct roots {
	struct files *files;
	struct map answers; /* (module, offset) -> enum root_answer */
	struct map held_up; /* modules, of files that held up who asked: a set */
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
	map_release(&r->held_up);
	free(r);
}

/* What cannot be noted when memory is short is asked again the next time. */
static int note(void *context, uint64_t key, struct files_answer *a)
{
	struct roots *r = context;

	if (a->error == -ETIME)
		(void)map_put(&r->held_up, key >> MODULE_BIT, 1);
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

/* Whether its file can say anything. */
static bool is_readable(const struct roots *r, const struct module *module, uint32_t index)
{
	return module->kind == MODULE_FILE && module->file.inode &&
	       (!r->held_up.count || !map_get(&r->held_up, index));
}

int roots_ask(struct roots *r, const struct module *module, uint32_t index, uint32_t pid,
	uint64_t offset, enum root_address at, enum root_answer *ret)
{
	uint64_t key = (uint64_t)index << MODULE_BIT ^ (uint64_t)at << 39 ^ offset;
	const uint64_t *answer;
	int error = 0;

	*ret = module->asked ? ROOT_NOT_KNOWN_YET : ROOT_NO;
	if (module->asked || !is_readable(r, module, index))
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
