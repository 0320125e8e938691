// SPDX-License-Identifier: MIT
#include "preload/nvidia/images.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "preload/file.h"
#include "preload/link.h"
#include "preload/own_stack.h"
#include "preload/nvidia/alone.h"
#include "preload/nvidia/arenas.h"
#include "preload/nvidia/compiled.h"
#include "preload/nvidia/driver.h"
#include "preload/nvidia/modules.h"
#include "preload/nvidia/probes.h"
#include "preload/nvidia/sanitizer/patches.h"
#include "preload/nvidia/sites.h"
#include "preload/nvidia/unprobed.h"
#include "ptx/fatbin.h"

#define LINE_INFO "line-info"
#define NOTHING	  16 /* bytes of 0 behind a file: it may be empty */

static unsigned int capability(cu_device device)
{
	int major = 0, minor = 0;

	if (driver.cuDeviceGetAttribute(&major, CU_CAPABILITY_MAJOR, device) ||
		driver.cuDeviceGetAttribute(&minor, CU_CAPABILITY_MINOR, device))
		return 0;
	return major > 0 && minor >= 0 ? (unsigned int)(major * 10 + minor) : 0;
}

/* What the text has to be for: the oldest of the GPUs, as it may be loaded on each. */
static unsigned int oldest_capability(void)
{
	unsigned int oldest = 0;
	int count = 0;

	if (driver.cuDeviceGetCount(&count))
		return 0;
	for (int i = 0; i < count; i++) {
		unsigned int sm = capability(i);

		if (sm && (!oldest || sm < oldest))
			oldest = sm;
	}
	return oldest;
}

static int text_of_fatbin(const void *fatbin, struct buf *ret, bool *ret_has_lines)
{
	struct ptx_fatbin_entry e;
	size_t bytes = ptx_fatbin_bytes(fatbin);
	int error = bytes ? ptx_fatbin_choose(fatbin, bytes, oldest_capability(), &e)
			  : error_set(-EINVAL, "its size is not possible");

	if (error)
		return error;
	*ret_has_lines =
		e.options_bytes && memmem(e.options, e.options_bytes, LINE_INFO, strlen(LINE_INFO));
	return ptx_fatbin_text(&e, ret);
}

/* -ENOENT: there is no text in it. `ret_spliced` is set where it was compiled with programs. */
static int text_of(struct image *i, const void *image, uint64_t *ret_spliced)
{
	const void *fatbin = image;

	switch (ptx_image_of(image)) {
	case PTX_IMAGE_TEXT:
		buf_puts(&i->text, image);
		return i->text.failed ? -ENOMEM : 0;
	case PTX_IMAGE_CUBIN:
		i->is_compiled = compiled_find(image, &i->text, ret_spliced);
		return i->is_compiled ? 0 : -ENOENT;
	case PTX_IMAGE_WRAPPER:
		memcpy(&fatbin, (const char *)image + 8, sizeof(fatbin));
		return fatbin ? text_of_fatbin(fatbin, &i->text, &i->has_lines) : -EINVAL;
	case PTX_IMAGE_FATBIN:
		return text_of_fatbin(fatbin, &i->text, &i->has_lines);
	default:
		return error_set(-EINVAL, "it is of a kind that is not known");
	}
}

struct splicing {
	struct image *image;
	const struct ptx_probes *probes;
	int error;
};

static void splice_there(void *argument)
{
	struct splicing *s = argument;
	struct image *i = s->image;

	s->error = ptx_splice(i->text.data, i->text.size, s->probes, &i->spliced);
}

/* As error_text says. */
static void send_unreadable(const struct image *i)
{
	char why[PROBE_ABOUT_MAX] = "";

	strncpy(why, error_text(), sizeof(why) - 1);
	link_send_fate(PROBE_FATE_UNREADABLE, 1, why);
	unprobed_send_unreadable(i, oldest_capability(), why);
}

static int splice_text(struct image *i, const struct ptx_probes *p)
{
	struct splicing s = {.image = i, .probes = p};
	int error = own_stack_call(splice_there, &s) ? s.error : error_memory("a stack");

	if (error && error != -ENOENT)
		send_unreadable(i);
	if (error)
		return error;
	buf_putc(&i->spliced.text, 0);
	return i->spliced.text.failed ? -ENOMEM : 0;
}

/* Whether these programs, and all that depends on where their maps are, were compiled into it. */
static int check_compiled(const struct image *i, uint64_t spliced)
{
	const struct buf *text = &i->spliced.text;

	if (!i->is_compiled || ptx_hash(buf_text(text), text->size - 1) == spliced)
		return 0;
	link_send_fate(
		PROBE_FATE_UNREADABLE, 1, "it was compiled with programs of another version");
	unprobed_send(i, PROBE_FATE_UNREADABLE);
	return -ESTALE;
}

static bool splice(struct image *i, const void *image, const char *path)
{
	uint64_t spliced = 0;
	bool as_before;
	int error;

	*i = (struct image){.original = image, .path = path};
	/* What NVIDIA's Sanitizer library loads for us is not the program's. */
	if (!image || xpuprof_probe_is_calling() || !link_open() || !driver_open())
		return false;
	if (alone_is_wanted())
		modules_look_here();
	if (!probes()->body_count)
		return false;
	error = text_of(i, image, &spliced);
	i->is_code = error == -ENOENT;
	if (i->is_code && !patches_are_possible()) {
		link_send_fate(PROBE_FATE_NO_TEXT, 1, NULL);
		unprobed_send_code(image, oldest_capability());
	} else if (error && !i->is_code) {
		buf_reset(&i->text);
		send_unreadable(i);
	}
	error = error ?: splice_text(i, probes());
	error = error ?: check_compiled(i, spliced);
	as_before = !error && i->spliced.is_as_before;
	if (as_before)
		image_send(i);
	if (error || as_before)
		image_release(i);
	return !error && !as_before;
}

bool image_splice(struct image *i, const void *image)
{
	return splice(i, image, NULL);
}

const void *image_with_programs(const struct image *i)
{
	return i->is_compiled ? i->original : i->spliced.text.data;
}

bool image_splice_again(struct image *i, const struct ptx_bound *bounds, size_t count)
{
	struct ptx_probes p = *probes();

	ptx_spliced_release(&i->spliced);
	i->spliced = (struct ptx_spliced){0};
	p.bounds = bounds;
	p.bound_count = count;
	return !splice_text(i, &p);
}

bool image_splice_file(struct image *i, const char *path)
{
	struct buf file = BUF_INIT;

	*i = (struct image){0};
	if (path && link_open() && file_read(path, NOTHING, &file) && splice(i, file.data, path)) {
		i->file = file;
		return true;
	}
	buf_release(&file);
	return false;
}

void image_release(struct image *i)
{
	ptx_spliced_release(&i->spliced);
	vec_release(&i->sizes);
	buf_release(&i->text);
	buf_release(&i->file);
}

/* The file that it is, or the first of those that its text was made from. */
static const char *file_of(const struct image *i)
{
	if (i->path)
		return i->path;
	return i->spliced.files.count ? i->spliced.files.items[0].path : "";
}

/* The end of a path tells more than its beginning. */
static void copy_end(char to[PROBE_ABOUT_MAX], const char *path)
{
	size_t size = strlen(path);

	strncpy(to, size < PROBE_ABOUT_MAX ? path : path + size - PROBE_ABOUT_MAX + 1,
		PROBE_ABOUT_MAX - 1);
}

static void send_kernel(const struct image *i, size_t n)
{
	const struct ptx_probed *k = &i->spliced.kernels.items[n];
	struct probe_kernel m = {.message = PROBE_KERNEL,
		.bodies = k->bodies,
		.returns = k->returns,
		.accesses = k->accesses,
		.hash = k->hash,
		.module = i->spliced.module,
		.bound = k->bound};

	if (n < i->sizes.count) {
		m.with = i->sizes.items[n].with;
		m.without = i->sizes.items[n].without;
	}
	copy_end(m.about, file_of(i));
	strncpy(m.name, k->name, sizeof(m.name) - 1);
	link_send(&m, sizeof(m));
}

/* Numbers of files are an image's own; xpuprof gets the process's. */
static void send_files(const struct image *i, uint32_t first)
{
	vec_foreach (f, &i->spliced.files) {
		struct probe_file m = {.message = PROBE_FILE, .number = first + f->number};

		strncpy(m.path, f->path, sizeof(m.path) - 1);
		link_send(&m, sizeof(m));
	}
}

static void send_lines(const struct image *i, uint32_t first)
{
	struct probe_lines m = {.message = PROBE_LINES, .first_site = PROBE_NO_SITE};
	size_t n = 0;

	vec_foreach (l, &i->spliced.lines) {
		if (!m.count && i->first_site != PROBE_NO_SITE)
			m.first_site = i->first_site + n;
		m.hash = i->spliced.kernels.items[l->kernel].hash;
		m.lines[m.count++] = (struct probe_line){.insn = l->insn,
			.line = l->line,
			.file = l->file ? first + l->file : 0,
			.bytes = l->bytes,
			.kind = l->kind};
		n++;
		if (m.count < PROBE_LINES_MAX && n < i->spliced.lines.count &&
			l[1].kernel == l->kernel)
			continue;
		link_send(&m, sizeof(m));
		m.count = 0;
	}
}

/* Of what programs are for. */
static void send_unseen(const struct ptx_spliced *s)
{
	const struct ptx_probes *p = probes();
	bool at_exit = false, at_access = false;

	for (size_t i = 0; i < p->body_count; i++) {
		at_exit |= p->bodies[i].site == PTX_AT_EXIT;
		at_access |= p->bodies[i].site != PTX_AT_EXIT && p->bodies[i].site != PTX_AT_ENTRY;
	}
	if (s->unseen_accesses && at_access)
		link_send_module_fate(PROBE_FATE_UNSEEN_ACCESSES, s->unseen_accesses, s->module);
	if (s->unseen_exits && at_exit)
		link_send_module_fate(PROBE_FATE_UNSEEN_EXITS, s->unseen_exits, s->module);
}

void image_send(struct image *i)
{
	static uint32_t files;
	const struct ptx_spliced *s = &i->spliced;
	uint32_t last = 0, first;

	i->first_site = s->numbers_sites ? sites_number(s) : PROBE_NO_SITE;
	vec_foreach (f, &s->files)
		last = f->number > last ? f->number : last;
	first = __atomic_fetch_add(&files, last + 1, __ATOMIC_RELAXED);
	for (size_t n = 0; n < s->kernels.count; n++)
		send_kernel(i, n);
	if (s->lines.count)
		send_files(i, first);
	send_lines(i, first);
	link_send_fate(PROBE_FATE_SPLICED, s->kernels.count, NULL);
	if (!s->is_as_before)
		send_unseen(s);
	if (s->short_kernels)
		link_send_fate(PROBE_FATE_NO_PARAMETER, s->short_kernels, NULL);
	if (s->word_in_global)
		link_send_module_fate(PROBE_FATE_SLOW_WORD, 1, s->module);
}
