// SPDX-License-Identifier: MIT
/*
 * A kernel whose process has an image that is being opened waits for that, as its code may be in
 * it.
 *
 * Sites of a driver's file are kept as long as the recording goes on, and serve all processes that
 * map it. Attaching takes a moment; removing takes the kernel tens of milliseconds, and is left to
 * a thread.
 */
#include "capture/driver_probes.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/proc_text.h"
#include "base/vec.h"
#include "capture/capture_internal.h"
#include "capture/uprobe.h"
#include "elf/usdt.h"
#include "vendor/vendor.h"

#define MAPS_MAX_BYTES	((size_t)64 << 20)
#define MAPS_PAUSE_NS	NS_PER_SECOND /* of one process */
#define IMAGE_BYTES_MAX ((uint64_t)64 << 20)
#define IMAGES_AT_ONCE	4     /* that are being opened */
#define IMAGES_MAX	16384 /* of a recording */
#define FACTS_MAX	256   /* that wait for their stacks */
#define DEFERRED_MAX	16384 /* kernels that wait for images */
#define SUBJECT		"probes of GPU drivers"

/* For images of programs that are over: of one, and of all. They take a millisecond each, on a
 * machine at rest. */
#define LAST_IMAGES_NS	   (500 * NS_PER_MS)
#define ALL_LAST_IMAGES_NS (10 * NS_PER_SECOND)

_Static_assert(
	(int)BPF_CONSTANT == (int)USDT_CONSTANT && (int)BPF_REGISTER == (int)USDT_REGISTER &&
		(int)BPF_MEMORY == (int)USDT_MEMORY &&
		sizeof(struct bpf_argument) == sizeof(struct usdt_argument) &&
		offsetof(struct bpf_argument, value) == offsetof(struct usdt_argument, value) &&
		offsetof(struct bpf_argument, scale) == offsetof(struct usdt_argument, scale),
	"arguments are the same to the programs");

enum { VALUE_ADDRESS, VALUE_SIZE };

/* A driver's file, and where its probes are. */
struct driver_file {
	struct file_identity identity;
	struct vec(uint64_t) offsets, counters, cookies;
};

struct site {
	const struct vendor *vendor;
	const struct vendor_probe *probe;
};

struct probed_process {
	uint32_t pid;
	const struct vendor *vendor;
	int link; /* -1: none */
};

struct image_request {
	bool used;
	uint32_t pid, process, site;
	uint64_t time_ns;
};

struct facts {
	uint32_t tid, site;
	uint64_t time_ns;
	uint64_t address, size;
	char *name;
};

struct driver_probes {
	struct capture *c;
	struct driver_news news;
	struct buf names; /* of the probes of `of` */
	const struct vendor *of;
	struct vec(struct driver_file) files;
	struct vec(struct site) sites; /* as the programs number them */
	struct vec(struct probed_process) processes;
	struct image_request requests[IMAGES_AT_ONCE];
	uint64_t images;
	struct vec(struct facts) facts;		   /* in the order in which they came */
	struct vec(struct driver_kernel) deferred; /* with names of their own */
	uint64_t waited_ns;			   /* for images of programs that are over */
	int error; /* of what could not return one; for driver_probes_look */
	bool stopped;
};

int driver_probes_open(struct driver_probes **ret, struct capture *c, struct driver_news news)
{
	struct driver_probes *d = calloc(1, sizeof(*d));

	if (!d)
		return error_memory(SUBJECT);
	d->c = c;
	d->news = news;
	*ret = d;
	return 0;
}

/* --- links ------------------------------------------------------------------------------------ */

static void *close_link(void *link)
{
	close((int)(intptr_t)link);
	return NULL;
}

static void detach(struct probed_process *p)
{
	pthread_t thread;

	if (p->link < 0)
		return;
	if (pthread_create(&thread, NULL, close_link, (void *)(intptr_t)p->link))
		close(p->link);
	else
		pthread_detach(thread);
	p->link = -1;
}

void driver_probes_stop(struct driver_probes *d)
{
	d->stopped = true;
	vec_foreach (p, &d->processes)
		if (p->link >= 0) {
			close(p->link);
			p->link = -1;
		}
}

void driver_probes_free(struct driver_probes *d)
{
	if (!d)
		return;
	driver_probes_stop(d);
	vec_foreach (f, &d->files) {
		vec_release(&f->offsets);
		vec_release(&f->counters);
		vec_release(&f->cookies);
	}
	vec_foreach (f, &d->facts)
		free(f->name);
	vec_release(&d->files);
	vec_release(&d->sites);
	vec_release(&d->processes);
	vec_release(&d->facts);
	vec_foreach (k, &d->deferred)
		free((char *)k->name);
	vec_release(&d->deferred);
	buf_release(&d->names);
	free(d);
}

static struct probed_process *find_process(const struct driver_probes *d, uint32_t pid)
{
	vec_foreach (p, &d->processes)
		if (p->pid == pid)
			return p;
	return NULL;
}

/* --- a driver's probes ------------------------------------------------------------------------ */

static int refuse(struct driver_probes *d, const char *why)
{
	return d->news.refused(d->news.context, why);
}

static int refuse_argument(
	struct driver_probes *d, const struct usdt_site *s, const struct vendor_probe *probe)
{
	char why[256];

	snprintf(why, sizeof(why),
		"the driver's probe %s is not read: its argument %u, '%s', has a form that is not "
		"known",
		probe->name, s->unknown, s->operand);
	return refuse(d, why);
}

static struct bpf_argument argument_of(const struct usdt_site *s, uint32_t number)
{
	struct bpf_argument a = {0};

	if (number < s->argument_count)
		memcpy(&a, &s->arguments[number], sizeof(a));
	return a;
}

static struct bpf_probe_site site_of(const struct usdt_site *s, const struct vendor_probe *probe)
{
	struct bpf_probe_site site = {.text = argument_of(s, probe->text)};

	if (probe->kind == VENDOR_PROBE_KERNEL) {
		site.values[VALUE_ADDRESS] = argument_of(s, probe->address);
		site.values[VALUE_SIZE] = argument_of(s, probe->size);
		site.wants_stack = 1;
	}
	return site;
}

static int add_site(struct driver_probes *d, struct driver_file *f, const struct vendor *vendor,
	const struct usdt_site *s)
{
	const struct vendor_probe *probe = &vendor->driver_probes[s->probe];
	struct site mine = {.vendor = vendor, .probe = probe};
	struct bpf_probe_site site = site_of(s, probe);
	uint32_t number = (uint32_t)d->sites.count;

	if (s->cannot)
		return refuse(d, "the driver's probes are nops of 5 bytes, with which kernels harm "
				 "children of a program");
	if (s->unknown)
		return refuse_argument(d, s, probe);
	if (number >= BPF_PROBE_SITES)
		return refuse(d, "the drivers' probes are too many");
	if (programs_put_probe_sites(d->c->programs, number, &site, 1))
		return refuse(d, "the driver's probes cannot be described to the kernel");
	return vec_push(&d->sites, mine) || vec_push(&f->offsets, s->offset) ||
			       vec_push(&f->counters, s->counter) || vec_push(&f->cookies, number)
		       ? error_memory(SUBJECT)
		       : 0;
}

static uint32_t count_of(const struct vendor_probe *probes)
{
	uint32_t count = 0;

	while (probes[count].name)
		count++;
	return count;
}

static int add_file(struct driver_probes *d, const struct vendor *vendor,
	const struct files_answer *answer, struct driver_file **ret)
{
	uint32_t probes = count_of(vendor->driver_probes);
	size_t count = answer->data_size / sizeof(struct usdt_site);
	int error = 0;

	if (vec_push(&d->files, (struct driver_file){.identity = answer->opened.identity}))
		return error_memory(SUBJECT);
	*ret = &d->files.items[d->files.count - 1];
	for (size_t i = 0; !error && i < count && i < USDT_SITES_MAX; i++) {
		struct usdt_site s;

		memcpy(&s, (const char *)answer->data + i * sizeof(s), sizeof(s));
		if (usdt_site_is_sound(&s) && s.probe < probes)
			error = add_site(d, *ret, vendor, &s);
	}
	return error;
}

static int find_file(struct driver_probes *d, const struct vendor *vendor,
	const struct files_answer *answer, struct driver_file **ret)
{
	vec_foreach (f, &d->files)
		if (!memcmp(&f->identity, &answer->opened.identity, sizeof(f->identity))) {
			*ret = f;
			return 0;
		}
	return add_file(d, vendor, answer, ret);
}

static int attach(
	struct driver_probes *d, struct probed_process *p, const struct driver_file *f, int fd)
{
	char path[32], why[128];
	struct uprobe_places places = {.path = path,
		.offsets = f->offsets.items,
		.counters = f->counters.items,
		.cookies = f->cookies.items,
		.count = f->offsets.count,
		.pid = p->pid};

	if (!places.count)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	p->link = programs_probe_driver(d->c->programs, &places);
	if (p->link >= 0 || p->link == -ESRCH)
		return 0;
	snprintf(why, sizeof(why), "the driver's probes cannot be used: %s", strerror(-p->link));
	p->link = -1;
	return refuse(d, why);
}

/* Of the driver that this process has mapped. Most have no probes, and that is all. */
static int on_probes(void *context, uint64_t tag, struct files_answer *answer)
{
	struct driver_probes *d = context;
	struct probed_process *p = find_process(d, (uint32_t)tag);
	struct driver_file *f = NULL;
	int error;

	if (!p || p->link >= 0 || d->stopped || answer->error || !answer->data_size)
		return 0;
	if (answer->opened.copied)
		return refuse(d, "the driver's probes are in a file system that a user serves");
	error = find_file(d, p->vendor, answer, &f);
	return error ?: attach(d, p, f, answer->fd);
}

/* --- processes -------------------------------------------------------------------------------- */

static int list_names(struct driver_probes *d, const struct vendor *vendor)
{
	if (d->of == vendor)
		return 0;
	buf_reset(&d->names);
	for (const struct vendor_probe *p = vendor->driver_probes; p->name; p++)
		buf_append(&d->names, p->name, strlen(p->name) + 1);
	d->of = vendor;
	return d->names.failed ? error_memory(SUBJECT) : 0;
}

static int ask(struct driver_probes *d, struct probed_process *p, const struct proc_mapping *m)
{
	struct mapped_file mapped = {.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.device = makedev(m->major, m->minor),
		.inode = m->inode};
	struct files_question q = {.purpose = FILES_PROBES,
		.wait = true,
		.pid = p->pid,
		.path = m->path,
		.mapped = &mapped,
		.done = on_probes,
		.context = d,
		.tag = p->pid};
	int error = list_names(d, p->vendor);

	q.names = d->names.data;
	q.names_size = d->names.size;
	return error ?: files_ask(d->c->files, &q);
}

/* The code of a driver among the lines of /proc/PID/maps. */
static bool find_driver(char *maps, struct proc_mapping *ret, const struct vendor **ret_vendor)
{
	char *rest = maps, *line;

	while ((line = strsep(&rest, "\n"))) {
		if (!proc_mapping_parse(line, strlen(line), ret) || !ret->executable ||
			!ret->path_size)
			continue;
		*ret_vendor = vendor_of_probed_driver(ret->path);
		if (*ret_vendor)
			return true;
	}
	return false;
}

static int add_process(struct driver_probes *d, uint32_t pid)
{
	struct probed_process p = {.pid = pid, .link = -1};
	struct buf text = BUF_INIT;
	struct proc_mapping m;
	char path[32];
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if (!io_read_file(path, MAPS_MAX_BYTES, &text)) {
		buf_puts(&text, "");
		if (!text.failed && find_driver(text.data, &m, &p.vendor)) {
			error = vec_push(&d->processes, p) ? error_memory(SUBJECT) : 0;
			error = error ?: ask(d, &d->processes.items[d->processes.count - 1], &m);
		}
	}
	buf_release(&text);
	return error;
}

struct looking {
	struct driver_probes *d;
	uint64_t now_ns;
	int error;
};

static void look_at(void *context, struct process *process)
{
	struct looking *l = context;

	/* Files may be called like a driver, and come and go. */
	if (l->error || !process->maps_probed ||
		l->now_ns - process->probed_read_ns < MAPS_PAUSE_NS)
		return;
	process->probed_read_ns = l->now_ns;
	process->maps_probed = false; /* until it maps another one */
	if (!find_process(l->d, process->pid))
		l->error = add_process(l->d, process->pid);
}

int driver_probes_look(struct driver_probes *d)
{
	struct looking l = {.d = d, .now_ns = clock_now_ns(), .error = d->error};

	if (!d->stopped)
		processes_each(d->c->processes, look_at, &l);
	return l.error;
}

/* --- kernels that wait ------------------------------------------------------------------------ */

static bool opens_image(const struct driver_probes *d, uint32_t process)
{
	for (int i = 0; i < IMAGES_AT_ONCE; i++)
		if (d->requests[i].used && d->requests[i].process == process)
			return true;
	return false;
}

static int report_deferred(struct driver_probes *d, uint32_t process)
{
	size_t kept = 0;
	int error = 0;

	vec_foreach (k, &d->deferred) {
		if (k->process != process) {
			d->deferred.items[kept++] = *k;
			continue;
		}
		error = error ?: d->news.kernel(d->news.context, k);
		free((char *)k->name);
	}
	d->deferred.count = kept;
	return error;
}

/* The kernels that have waited for the last image of their process. */
static int report_late(struct driver_probes *d, uint32_t process)
{
	return opens_image(d, process) ? 0 : report_deferred(d, process);
}

static int report_kernel(struct driver_probes *d, const struct driver_kernel *k)
{
	struct driver_kernel mine = *k;

	if (!opens_image(d, k->process) || d->deferred.count >= DEFERRED_MAX)
		return report_deferred(d, k->process) ?: d->news.kernel(d->news.context, k);
	mine.name = strdup(k->name);
	if (mine.name && !vec_push(&d->deferred, mine))
		return 0;
	free((char *)mine.name);
	return error_memory(SUBJECT);
}

/* What is being opened is waited for, as nobody asks for it later. */
void driver_probes_leave(struct driver_probes *d, uint32_t pid)
{
	struct probed_process *p = find_process(d, pid);
	uint32_t process;
	int error = 0;

	if (!p)
		return;
	detach(p);
	*p = d->processes.items[--d->processes.count];
	if (tasks_process(d->c->tasks, pid, &process))
		return;
	if (opens_image(d, process) && d->waited_ns < ALL_LAST_IMAGES_NS) {
		uint64_t begin_ns = clock_now_ns();

		error = files_finish(d->c->files, LAST_IMAGES_NS);
		d->waited_ns += clock_now_ns() - begin_ns;
	}
	error = error ?: report_deferred(d, process);
	d->error = d->error ?: error;
}

/* --- images ----------------------------------------------------------------------------------- */

static int lose_image(struct driver_probes *d)
{
	return profile_count_loss(d->c->w, LOSS_DRIVER_IMAGES, 1);
}

/* What the reader found, checked once more. */
static int read_kernels(
	const struct files_answer *answer, struct driver_image_kernel **ret, size_t *ret_count)
{
	const char *at = answer->data, *end = at + answer->data_size;
	struct vec(struct driver_image_kernel) kernels = {0};
	struct code_kernel k;
	int error = 0;

	while (!error && (size_t)(end - at) >= sizeof(k)) {
		struct driver_image_kernel mine;

		memcpy(&k, at, sizeof(k));
		at += sizeof(k);
		if (k.name_size > (size_t)(end - at))
			break;
		mine = (struct driver_image_kernel){
			.name = at, .name_size = k.name_size, .address = k.address, .size = k.size};
		if (k.name_size)
			error = vec_push(&kernels, mine);
		at += k.name_size;
	}
	*ret = kernels.items;
	*ret_count = kernels.count;
	return error;
}

int driver_probes_finish(struct driver_probes *d)
{
	int error = 0;

	for (int i = 0; !error && i < IMAGES_AT_ONCE; i++) {
		if (d->requests[i].used)
			error = lose_image(d);
		d->requests[i].used = false;
	}
	vec_foreach (k, &d->deferred) {
		error = error ?: d->news.kernel(d->news.context, k);
		free((char *)k->name);
	}
	d->deferred.count = 0;
	return error;
}

static int on_image(void *context, uint64_t tag, struct files_answer *answer)
{
	struct driver_probes *d = context;
	struct image_request *r = &d->requests[tag];
	const struct vendor *vendor = d->sites.items[r->site].vendor;
	struct driver_image image = {.pid = r->pid,
		.process = r->process,
		.api = vendor->api,
		.time_ns = r->time_ns,
		.format = vendor->code_format,
		.fd = answer->fd};
	struct driver_image_kernel *kernels = NULL;
	int error;

	if (!r->used)
		return 0; /* it is too late */
	r->used = false;
	if (answer->error)
		return lose_image(d) ?: report_late(d, r->process);
	error = read_kernels(answer, &kernels, &image.kernel_count) ? error_memory(SUBJECT) : 0;
	image.kernels = kernels;
	error = error ?: d->news.image(d->news.context, &image);
	free(kernels);
	return error ?: report_late(d, r->process);
}

static int open_image(
	struct driver_probes *d, uint32_t pid, uint32_t site, uint64_t time_ns, const char *path)
{
	static const struct mapped_file nowhere;
	struct files_question q = {.purpose = FILES_IMAGE,
		.wait = true,
		.pid = pid,
		.path = path,
		.mapped = &nowhere,
		.copy_bytes = IMAGE_BYTES_MAX,
		.names = d->sites.items[site].vendor->code_format,
		.done = on_image,
		.context = d};

	uint32_t process = 0;
	int error = tasks_process(d->c->tasks, pid, &process);

	if (error)
		return error;
	while (q.tag < IMAGES_AT_ONCE && d->requests[q.tag].used)
		q.tag++;
	if (*path != '/' || q.tag == IMAGES_AT_ONCE || d->images++ >= IMAGES_MAX)
		return lose_image(d);
	d->requests[q.tag] = (struct image_request){
		.used = true, .pid = pid, .process = process, .site = site, .time_ns = time_ns};
	return files_ask(d->c->files, &q);
}

/* --- hits ------------------------------------------------------------------------------------- */

static int lose_hit(struct driver_probes *d)
{
	return profile_count_loss(d->c->w, LOSS_DRIVER_PROBES, 1);
}

static void drop_facts(struct driver_probes *d, size_t n)
{
	free(d->facts.items[n].name);
	d->facts.count--;
	memmove(&d->facts.items[n], &d->facts.items[n + 1],
		(d->facts.count - n) * sizeof(d->facts.items[n]));
}

static int keep_facts(struct driver_probes *d, const struct bpf_probe_event *e, uint32_t site)
{
	uint32_t tid = e->head.tid;
	struct facts f = {.tid = tid,
		.site = site,
		.time_ns = e->head.time_ns,
		.address = e->values[VALUE_ADDRESS],
		.size = e->values[VALUE_SIZE],
		.name = strdup(e->text)};

	/* Those whose stack was lost, and counted. */
	for (size_t n = d->facts.count; n; n--)
		if (d->facts.items[n - 1].tid == tid)
			drop_facts(d, n - 1);
	if (d->facts.count == FACTS_MAX)
		drop_facts(d, 0);
	if (!f.name || vec_push(&d->facts, f)) {
		free(f.name);
		return error_memory(SUBJECT);
	}
	return 0;
}

int driver_probes_facts(struct driver_probes *d, const struct bpf_probe_event *e, size_t size)
{
	uint32_t wanted = 1u << BPF_PROBE_VALUES, site = e->head.instance - 1;
	const struct vendor_probe *probe;

	if (size < sizeof(*e) || site >= d->sites.count || !memchr(e->text, 0, sizeof(e->text)))
		return lose_hit(d);
	probe = d->sites.items[site].probe;
	if (probe->kind == VENDOR_PROBE_KERNEL)
		wanted |= 1u << VALUE_ADDRESS | 1u << VALUE_SIZE;
	if (e->unread & wanted)
		return lose_hit(d);
	if (probe->kind == VENDOR_PROBE_IMAGE)
		return open_image(d, e->head.pid, site, e->head.time_ns, e->text);
	return keep_facts(d, e, site);
}

static int report_launch(struct driver_probes *d, const struct facts *f,
	const struct bpf_launch_event *e, uint32_t thread, uint32_t stack, uint32_t incomplete)
{
	const struct site *site = &d->sites.items[f->site];
	struct driver_kernel k = {.pid = e->pid,
		.api = site->vendor->api,
		.thread = thread,
		.stack = stack,
		.incomplete = incomplete,
		.time_ns = f->time_ns,
		.address = f->address,
		.size = f->size,
		.name = f->name,
		.probe = site->probe->name};
	int error = tasks_process(d->c->tasks, e->pid, &k.process);

	return error ?: report_kernel(d, &k);
}

int driver_probes_stack(struct driver_probes *d, const struct bpf_launch_event *e, uint32_t thread,
	uint32_t stack, uint32_t incomplete)
{
	for (size_t n = 0; n < d->facts.count; n++) {
		struct facts *f = &d->facts.items[n];
		int error;

		if (f->tid != e->tid || f->time_ns != e->time_ns)
			continue;
		error = report_launch(d, f, e, thread, stack, incomplete);
		drop_facts(d, n);
		return error;
	}
	return lose_hit(d);
}
