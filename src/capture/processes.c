// SPDX-License-Identifier: MIT
#include "capture/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/map.h"
#include "base/proc_text.h"
#include "vendor/vendor.h"

#define MAPS_MAX_BYTES	 ((size_t)64 << 20)
#define FIRST_PAUSE_NS	 (10 * NS_PER_MS)
#define LONGEST_PAUSE_NS (10 * NS_PER_SECOND)

struct pid_list vec(uint32_t);

struct processes {
	struct modules *modules;
	bool maps_reported;
	struct map by_pid; /* -> struct process * */
	struct address_spaces spaces;
	uint64_t left_out;	 /* mappings */
	struct pid_list touched; /* may hold some that have ended */
	bool all_touched;	 /* whatever is in the list */
};

int processes_new(struct processes **ret, struct modules *modules, bool maps_reported)
{
	struct processes *p = calloc(1, sizeof(*p));

	if (!p)
		return error_errno(-ENOMEM, "cannot keep processes");
	p->modules = modules;
	p->maps_reported = maps_reported;
	*ret = p;
	return 0;
}

static void free_process(struct process *process)
{
	address_space_unref(process->space);
	interpreter_release(&process->python);
	free(process);
}

void processes_each(const struct processes *p,
	void (*visit)(void *context, struct process *process), void *context)
{
	for (size_t i = 0; p->by_pid.slots && i <= p->by_pid.mask; i++)
		if (p->by_pid.slots[i].used)
			visit(context, (struct process *)(uintptr_t)p->by_pid.slots[i].value);
}

void processes_touch(struct processes *p, struct process *process)
{
	if (process && process->touched)
		return;
	/* Without memory for one, all are visited. */
	if (!process || vec_push(&p->touched, process->pid) < 0)
		p->all_touched = true;
	else
		process->touched = true;
}

struct touched_visit {
	struct processes *p;
	bool (*visit)(void *context, struct process *process);
	void *context;
};

static void visit_touched(void *context, struct process *process)
{
	const struct touched_visit *v = context;

	process->touched = false;
	if (v->visit(v->context, process))
		processes_touch(v->p, process);
}

void processes_each_touched(
	struct processes *p, bool (*visit)(void *context, struct process *process), void *context)
{
	struct touched_visit v = {.p = p, .visit = visit, .context = context};
	struct pid_list touched = p->touched;
	bool all = p->all_touched;

	p->touched = (struct pid_list){0};
	p->all_touched = false;
	if (all)
		processes_each(p, visit_touched, &v);
	for (size_t i = 0; !all && i < touched.count; i++) {
		struct process *process = processes_find(p, touched.items[i]);

		if (process)
			visit_touched(&v, process);
	}
	vec_release(&touched);
}

static void free_visited(void *context, struct process *process)
{
	free_process(process);
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	processes_each(p, free_visited, NULL);
	map_release(&p->by_pid);
	vec_release(&p->touched);
	free(p);
}

struct process *processes_find(const struct processes *p, uint32_t pid)
{
	const uint64_t *value = map_get(&p->by_pid, pid);

	return value ? (struct process *)(uintptr_t)*value : NULL;
}

struct process *processes_get(struct processes *p, uint32_t pid)
{
	struct process *process = processes_find(p, pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->space = address_space_new(&p->spaces);
	if (!process->space || map_put(&p->by_pid, pid, (uintptr_t)process) < 0) {
		free_process(process);
		return NULL;
	}
	processes_touch(p, process);
	return process;
}

void processes_exit(struct processes *p, uint32_t pid)
{
	uint64_t value;

	if (map_remove(&p->by_pid, pid, &value))
		free_process((struct process *)(uintptr_t)value);
}

int processes_fork(struct processes *p, uint32_t parent, uint32_t pid)
{
	const struct process *from = processes_find(p, parent);
	struct process *process;

	processes_exit(p, pid); /* an earlier process of this number, whose end was lost */
	process = processes_get(p, pid);
	if (!process)
		return error_errno(-ENOMEM, "cannot keep process %u", pid);
	if (!from)
		return 0;
	address_space_unref(process->space);
	process->space = address_space_ref(from->space);
	process->python = interpreter_fork(&from->python);
	process->replaced_sent = from->replaced_sent;
	process->mapped_ns = from->mapped_ns;
	process->image_known = from->image_known;
	return 0;
}

int processes_image(struct processes *p, uint32_t pid)
{
	struct process *process = processes_find(p, pid);
	struct address_space *space;

	if (!process)
		return 0;
	space = address_space_new(&p->spaces);
	if (!space)
		return error_errno(-ENOMEM, "cannot keep process %u", pid);
	address_space_unref(process->space);
	process->space = space;
	processes_touch(p, process);
	interpreter_release(&process->python);
	process->image_known = true;
	process->exec_begun = true;
	process->maps_gpu_driver = false;
	process->maps_joins = 0;
	process->maps_apis = 0;
	process->maps_probed = false;
	process->replaced_sent = 0;
	process->maps_read_ns = 0;
	process->maps_pause_ns = 0;
	return 0;
}

/* A mapping may make the process one with an interpreter. */
static void note_interpreter(
	const struct processes *p, struct process *process, const struct mapping *m)
{
	const struct module *module = modules_at(p->modules, m->module);
	uint64_t bias;

	if (module->python.runtime && modules_bias(module, m->start, m->end, m->base, &bias))
		interpreter_map(&process->python, &module->python, bias);
}

void process_module_known(struct processes *p, struct process *process, uint32_t module)
{
	vec_foreach (m, &process->space->mappings) {
		if (m->module != module)
			continue;
		note_interpreter(p, process, m);
		processes_touch(p, process);
	}
}

static int add_mapping(struct processes *p, struct process *process, const char *path,
	const struct mapped_file *f, uint64_t since_ns)
{
	struct mapping m = {.start = f->start, .end = f->end, .since_ns = since_ns};
	int error = modules_add(p->modules, process->pid, path, f, &m.module);

	if (error)
		return error;
	m.base = modules_mapping_base(modules_at(p->modules, m.module), f);
	process->maps_gpu_driver |= vendor_is_any_driver(path);
	process->maps_joins |= vendor_joins_of(path);
	process->maps_apis |= vendor_apis_of_driver(path);
	process->maps_probed |= vendor_of_probed_driver(path) != NULL;
	note_interpreter(p, process, &m);
	processes_touch(p, process);
	error = address_space_add(&process->space, &m);
	/* With that many mappings already the new one goes without; its frames will say [unknown].
	 */
	if (error == -ENOSPC) {
		p->left_out++;
		return 0;
	}
	return error ? error_errno(error, "cannot keep mappings of process %u", process->pid) : 0;
}

int processes_map(struct processes *p, const struct change *change)
{
	struct process *process = processes_find(p, change->pid);

	if (!process)
		return 0;
	process->mapped_ns = change->time_ns;
	return add_mapping(p, process, change->text, &change->map, change->time_ns);
}

/* What was reported is known better than by its inode, of which a file that is still being read has
 * none yet. */
static bool is_reported(const struct processes *p, const struct process *process, const char *path,
	const struct mapped_file *f)
{
	const struct mapping *m = address_space_find(process->space, f->start);
	const struct module *module = m ? modules_at(p->modules, m->module) : NULL;

	return p->maps_reported && m && m->end >= f->end && module->kind == MODULE_FILE &&
	       m->base == modules_mapping_base(module, f) && !strcmp(module->path, path) &&
	       (!module->file.inode || module->file.inode == f->inode);
}

/* Adds a line of /proc/PID/maps when it is executable. */
static int read_line(struct processes *p, struct process *process, char *line)
{
	struct mapped_file f = {0};
	struct proc_mapping m;

	if (!proc_mapping_parse(line, strlen(line), &m) || !m.executable)
		return 0;
	f = (struct mapped_file){.start = m.start,
		.end = m.end,
		.offset = m.offset,
		.device = makedev(m.major, m.minor),
		.inode = m.inode};
	if (is_reported(p, process, m.path_size ? m.path : "", &f))
		return 0;
	return add_mapping(p, process, m.path_size ? m.path : "//anon", &f,
		p->maps_reported ? 0 : process->maps_read_ns);
}

static int read_lines(struct processes *p, struct process *process, char *text)
{
	char *rest = text, *line;
	int error = 0;

	while (!error && (line = strsep(&rest, "\n")))
		error = read_line(p, process, line);
	return error;
}

int processes_read_maps(struct processes *p, struct process *process, uint64_t now_ns)
{
	struct buf text = BUF_INIT;
	char path[32];
	int error;

	snprintf(path, sizeof(path), "/proc/%u/maps", process->pid);
	process->maps_read_ns = now_ns;
	error = io_read_file(path, MAPS_MAX_BYTES, &text);
	buf_puts(&text, "");
	if (!error && !text.failed) {
		process->image_known = true;
		error = read_lines(p, process, text.data);
	} else {
		error = error == -ENOMEM ? error_errno(error, "cannot read '%s'", path) : 0;
	}
	buf_release(&text);
	return error;
}

int processes_exec(struct processes *p, uint32_t pid, uint64_t now_ns)
{
	struct process *process = processes_find(p, pid);
	int error;

	if (!process)
		return 0;
	if (!process->exec_begun) {
		error = processes_image(p, pid);
		error = error ?: processes_read_maps(p, process, now_ns);
		if (error)
			return error;
	}
	process->exec_begun = false;
	return 0;
}

int processes_refresh(struct processes *p, struct process *process, uint64_t now_ns, bool *ret_read)
{
	uint64_t pause_ns = process->maps_pause_ns;

	*ret_read = false;
	if (process->maps_read_ns && now_ns - process->maps_read_ns < pause_ns)
		return 0;
	pause_ns = pause_ns ? pause_ns * 2 : FIRST_PAUSE_NS;
	process->maps_pause_ns = pause_ns < LONGEST_PAUSE_NS ? pause_ns : LONGEST_PAUSE_NS;
	*ret_read = true;
	return processes_read_maps(p, process, now_ns);
}

static void doubt(void *context, struct process *process)
{
	const uint64_t *now_ns = context;

	process->mapped_ns = *now_ns;
	process->space->changes++;   /* an address without a mapping may have one by now */
	process->exec_begun = false; /* its end may be among the lost events */
	process->maps_read_ns = 0;
	process->maps_pause_ns = 0;
}

void processes_doubt_all(struct processes *p, uint64_t now_ns)
{
	processes_each(p, doubt, &now_ns);
	processes_touch(p, NULL);
}

uint64_t processes_mappings_left_out(const struct processes *p)
{
	return p->left_out;
}
