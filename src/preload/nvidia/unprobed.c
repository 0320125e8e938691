// SPDX-License-Identifier: MIT
#include "preload/nvidia/unprobed.h"

#include <errno.h>
#include <string.h>

#include "preload/link.h"
#include "preload/own_stack.h"
#include "preload/nvidia/compiled.h"
#include "preload/nvidia/probes.h"
#include "ptx/code_names.h"
#include "ptx/fatbin.h"
#include "ptx/names.h"

#define IMAGE_BYTES_MAX ((size_t)64 << 20)
#define ALL_BYTES_MAX	((uint64_t)512 << 20) /* that a process unpacks for names */
#define NAMES_MAX	4096		      /* of an image that are sent */

/* What is read of one image. */
struct reading {
	const void *image;
	const struct buf *text; /* empty: names are those of machine code */
	unsigned int sm;
	enum probe_fate why;
	const char *reason;
	struct buf code;
	struct ptx_names names;
	uint32_t sent;
	bool failed; /* not all names are known */
};

void unprobed_send_name(const char *name, enum probe_fate why, const char *reason)
{
	struct probe_kernel m = {.message = PROBE_KERNEL, .fate = why};

	if (reason)
		strncpy(m.about, reason, sizeof(m.about) - 1);
	strncpy(m.name, name, sizeof(m.name) - 1);
	link_send(&m, sizeof(m));
}

void unprobed_send(const struct image *i, enum probe_fate why)
{
	vec_foreach (k, &i->spliced.kernels)
		unprobed_send_name(k->name, why, NULL);
}

/* Whether somebody names kernels. */
static bool are_named(void)
{
	const struct ptx_probes *p = probes();

	if (p->only && strcmp(p->only, "*") != 0)
		return true;
	for (size_t i = 0; i < p->body_count; i++)
		if (strcmp(p->bodies[i].kernels, "*") != 0)
			return true;
	return false;
}

static bool is_meant(struct reading *r, const char *name)
{
	const struct ptx_probes *p = probes();

	if (!ptx_names_set(&r->names, name, strlen(name))) {
		r->failed = true;
		return false;
	}
	if (p->only && !ptx_names_match(&r->names, p->only, &r->failed))
		return false;
	for (size_t i = 0; i < p->body_count; i++)
		if (ptx_names_match(&r->names, p->bodies[i].kernels, &r->failed))
			return true;
	return false;
}

void unprobed_send_meant(const char *name, enum probe_fate why)
{
	struct reading r = {0};

	if (is_meant(&r, name))
		unprobed_send_name(name, why, NULL);
	if (r.failed)
		link_send_fate(PROBE_FATE_NO_NAMES, 1, NULL);
	ptx_names_release(&r.names);
}

static int take_name(void *context, const char *name)
{
	struct reading *r = context;

	if (!is_meant(r, name))
		return 0;
	if (r->sent == NAMES_MAX) {
		r->failed = true;
		return 1;
	}
	r->sent++;
	unprobed_send_name(name, r->why, r->reason);
	return 0;
}

/* A share of what a process unpacks. */
static bool may_unpack(size_t bytes)
{
	static uint64_t unpacked;

	return bytes <= IMAGE_BYTES_MAX &&
	       __atomic_add_fetch(&unpacked, bytes, __ATOMIC_RELAXED) <= ALL_BYTES_MAX;
}

static bool unpack(struct reading *r, const void *fatbin)
{
	size_t bytes = fatbin ? ptx_fatbin_bytes(fatbin) : 0;
	struct ptx_fatbin_entry e;
	int there = bytes ? ptx_fatbin_choose_code(fatbin, bytes, r->sm, &e) : -1;

	return there == 0 || (there > 0 && may_unpack(e.bytes) && !ptx_fatbin_unpack(&e, &r->code));
}

static bool find_code(struct reading *r)
{
	const void *fatbin = r->image;

	switch (ptx_image_of(r->image)) {
	case PTX_IMAGE_CUBIN:
		return compiled_copy(r->image, IMAGE_BYTES_MAX, &r->code);
	case PTX_IMAGE_WRAPPER:
		memcpy(&fatbin, (const char *)r->image + 8, sizeof(fatbin));
		return unpack(r, fatbin);
	case PTX_IMAGE_FATBIN:
		return unpack(r, fatbin);
	default:
		return false;
	}
}

static int read_names(struct reading *r)
{
	if (r->text && r->text->size)
		return text_names(r->text->data, r->text->size, take_name, r);
	if (!find_code(r))
		return -EINVAL;
	/* Of text that is not to be had, code is all that is left. */
	if (!r->code.size)
		return r->why == PROBE_FATE_UNREADABLE ? -ENOENT : 0;
	return code_names(r->code.data, r->code.size, take_name, r);
}

static void read_there(void *argument)
{
	struct reading *r = argument;

	if (read_names(r) < 0)
		r->failed = true;
}

static void send(struct reading *r)
{
	if (!are_named())
		return;
	if (!own_stack_call(read_there, r))
		r->failed = true;
	if (r->failed)
		link_send_fate(PROBE_FATE_NO_NAMES, 1, NULL);
	ptx_names_release(&r->names);
	buf_release(&r->code);
}

void unprobed_send_code(const void *image, unsigned int sm)
{
	send(&(struct reading){.image = image, .sm = sm, .why = PROBE_FATE_NO_TEXT});
}

void unprobed_send_unreadable(const struct image *i, unsigned int sm, const char *reason)
{
	send(&(struct reading){.image = i->original,
		.text = &i->text,
		.sm = sm,
		.why = PROBE_FATE_UNREADABLE,
		.reason = reason});
}
