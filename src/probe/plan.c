// SPDX-License-Identifier: MIT
#include "probe/plan_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/io.h"
#include "ebpf/tools/tools.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)

static int no_memory(void)
{
	return error_memory("programs for GPUs");
}

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + PROBE_PAGE - 1) / PROBE_PAGE * PROBE_PAGE;
}

void plan_init(struct plan *p)
{
	*p = (struct plan){.fd = -1};
}

void plan_release(struct plan *p)
{
	vec_foreach (o, &p->objects) {
		bodies_release(&o->bodies);
		ebpf_object_close(o->object);
		free(o->name);
	}
	vec_release(&p->objects);
	vec_release(&p->outsides);
	vec_release(&p->kernel_values);
	vec_release(&p->hash_entries);
	buf_release(&p->notes);
	vec_foreach (patches, &p->patches)
		buf_release(&patches->code);
	vec_release(&p->patches);
	buf_release(&p->initials);
	buf_release(&p->data);
	if (p->fd >= 0)
		close(p->fd);
	plan_init(p);
}

int plan_choose_threads(struct ebpf_object *o, const struct ebpf_tool *tool, int per_thread)
{
	const char *counts = tool ? tool->counts : NULL;

	if (per_thread < 0)
		return 0;
	if (counts && strcmp(counts, per_thread ? "threads" : "warps") != 0)
		return error_set(-EINVAL, "'%s' counts %s, and does not go with --%s", tool->name,
			counts, per_thread ? "thread" : "warp");
	vec_foreach (program, &o->programs)
		program->site.per_thread = per_thread;
	return 0;
}

static uint32_t program_count(const struct plan *p)
{
	const struct plan_object *last = p->objects.items + p->objects.count;

	return p->objects.count ? last[-1].first_program + (uint32_t)last[-1].object->programs.count
				: 0;
}

static int check_object(const struct ebpf_object *o, const char *name)
{
	if (!o->programs.count)
		return error_set(-ENOENT, "'%s' has no program for a GPU", name);
	return 0;
}

int plan_add(struct plan *p, struct ebpf_object *o, const char *name, const struct ebpf_tool *tool,
	const struct plan_options *options)
{
	struct plan_object new = {
		.name = strdup(name), .tool = tool, .object = o, .first_program = program_count(p)};
	struct bodies_options bodies = options->bodies;
	int error = new.name ? check_object(o, name) : no_memory();

	for (size_t i = 0; i < EBPF_PROGRAMS_MAX; i++)
		new.launches[i] = (struct plan_launch){{1, 1, 1}, {1, 1, 1}};
	error = error ?: plan_choose_threads(o, tool, options->per_thread);
	bodies.layout.first_program = new.first_program;
	if (p->objects.count)
		bodies.layout.after = &p->objects.items[p->objects.count - 1].bodies.layout;
	error = error ?: bodies_make(&new.bodies, o, &bodies);
	if (!error && vec_push(&p->objects, new)) {
		bodies_release(&new.bodies);
		error = no_memory();
	}
	if (error) {
		ebpf_object_close(o);
		free(new.name);
	}
	return error;
}

static int add_outside(struct plan *p, const struct map_place *place, uint32_t object, uint32_t map)
{
	struct plan_outside new = {.place = place,
		.object = object,
		.map = map,
		.fd = -1,
		.is_shared = place->is_shared};

	new.is_ring = place->shape == EBPF_RING;
	new.bytes = new.is_ring ? place->stride *ARENA_SMS : place->bytes;
	if (new.is_shared) {
		new.bytes = whole_pages(new.bytes);
		if (p->shared_count++ == PROBE_SHARED_MAX)
			return error_set(-E2BIG,
				"programs for the kernel and for GPUs share more than %u maps",
				PROBE_SHARED_MAX);
	}
	if (new.is_ring)
		new.tails = p->ring_count++;
	return vec_push(&p->outsides, new) ? no_memory() : 0;
}

static int find_outsides(struct plan *p)
{
	const struct map_place *prints = NULL;
	int error = 0;

	for (uint32_t i = 0; !error && i < p->objects.count; i++) {
		const struct layout *l = &p->objects.items[i].bodies.layout;

		for (uint32_t map = 0; !error && map < l->map_count; map++)
			if (l->maps[map].is_used && l->maps[map].is_outside)
				error = add_outside(p, &l->maps[map], i, map);
		if (l->prints.is_used)
			prints = &l->prints;
		p->arena_bytes = l->size;
	}
	return error || !prints ? error : add_outside(p, prints, 0, PLAN_PRINTS);
}

static void place_all(struct plan *p)
{
	p->snapshot_at = PROBE_TAILS_AT + whole_pages(p->ring_count * ARENA_SMS * 8);
	p->outside_at = p->snapshot_at + whole_pages(p->arena_bytes);
	p->shared_bytes = p->outside_at;
	vec_foreach (o, &p->outsides) {
		if (o->is_shared)
			continue;
		o->at = p->shared_bytes;
		p->shared_bytes += whole_pages(o->bytes);
	}
}

static const struct plan_outside *outside_of(const struct plan *p, uint32_t object, uint32_t map)
{
	vec_foreach (o, &p->outsides)
		if (o->object == object && o->map == map)
			return o;
	return NULL;
}

void plan_add_initial(struct plan *p, uint32_t object, uint32_t map, uint64_t offset,
	const void *data, uint64_t bytes)
{
	const struct map_place *place = &p->objects.items[object].bodies.layout.maps[map];
	const struct plan_outside *o = place->is_outside ? outside_of(p, object, map) : NULL;
	struct probe_initial initial = {.data_at = p->data.size,
		.bytes = bytes,
		.at = (o ? o->at : place->offset) + offset,
		.is_outside = o != NULL};

	buf_append(&p->data, data, bytes);
	buf_append(&p->initials, &initial, sizeof(initial));
	p->initial_count++;
}

static void add_sections(struct plan *p)
{
	for (uint32_t i = 0; i < p->objects.count; i++) {
		const struct ebpf_object *o = p->objects.items[i].object;

		for (uint32_t map = 0; map < o->maps.count; map++) {
			const struct ebpf_map *m = &o->maps.items[map];

			const struct map_place *place_ =
				&p->objects.items[i].bodies.layout.maps[map];

			if (m->initial && place_->is_used && !place_->is_shared)
				plan_add_initial(p, i, map, 0, m->initial, m->value_size);
		}
	}
}

int plan_place(struct plan *p)
{
	int error;

	if (p->shared_bytes)
		return 0;
	error = find_outsides(p);
	if (error)
		return error;
	place_all(p);
	add_sections(p);
	return 0;
}

/* "8,4": 8, 4 and 1. */
static bool read_sizes(const char **text, uint32_t *ret)
{
	for (int i = 0; i < 3; i++) {
		char *end;
		unsigned long n = strtoul(*text, &end, 10);

		if (end == *text || !n || n > INT32_MAX)
			return false;
		ret[i] = (uint32_t)n;
		*text = end;
		if (*end != ',')
			return true;
		++*text;
	}
	return false;
}

static struct plan_launch *find_launch(struct plan *p, const char *name, size_t length)
{
	vec_foreach (o, &p->objects)
		vec_foreach (program, &o->object->programs)
			if (program->site.where == EBPF_ALONE &&
				!strncmp(program->name, name, length) && !program->name[length])
				return &o->launches[program - o->object->programs.items];
	return NULL;
}

int plan_set_launch(struct plan *p, const char *text)
{
	const char *equals = strchr(text, '='), *at = equals ? equals + 1 : text;
	struct plan_launch launch = {{1, 1, 1}, {1, 1, 1}}, *of;

	if (!equals || !read_sizes(&at, launch.grid) || *at++ != ':' ||
		!read_sizes(&at, launch.block) || *at)
		return error_set(-EINVAL,
			"cannot read '%s': PROGRAM=BLOCKS:THREADS, each N, N,N or N,N,N", text);
	of = find_launch(p, text, (size_t)(equals - text));
	if (!of)
		return error_set(-ENOENT, "no program is a kernel of its own that is called '%.*s'",
			(int)(equals - text), text);
	*of = launch;
	return 0;
}

/* The text at the plan's end: where it is. */
static uint64_t put_text(struct buf *out, const char *text)
{
	uint64_t at = out->size;

	buf_append(out, text, strlen(text) + 1);
	return at;
}

static void pad(struct buf *out)
{
	static const char zeros[8];

	buf_append(out, zeros, -out->size & 7);
}

static int put_bodies(const struct plan *p, struct buf *out, struct probe_plan *head)
{
	struct buf rows = BUF_INIT;

	vec_foreach (o, &p->objects)
		vec_foreach (b, &o->bodies.items) {
			const struct plan_launch *launch = &o->launches[b - o->bodies.items.items];
			struct probe_body row = {0};
			struct ptx_body body;

			body_probe(b, &body);
			row = (struct probe_body){.kernels_at = put_text(out, body.kernels),
				.text_at = put_text(out, body.text),
				.site = body.site,
				.once_per_warp = body.once_per_warp,
				.pair = body.pair < 0 ? -1 : body.pair + (int)o->first_program,
				.site_copies = body.site_copies,
				.site_stride = body.site_stride,
				.version = body.version,
				.sm = body.sm,
				.is_alone = b->program->site.where == EBPF_ALONE};
			memcpy(row.grid, launch->grid, sizeof(row.grid));
			memcpy(row.block, launch->block, sizeof(row.block));
			buf_append(&rows, &row, sizeof(row));
			head->body_count++;
		}
	pad(out);
	head->bodies_at = out->size;
	buf_append(out, buf_text(&rows), rows.size);
	buf_release_for(&rows, out);
	return head->body_count <= PROBE_BODIES_MAX
		       ? 0
		       : error_set(-E2BIG, "there are more than %u programs", PROBE_BODIES_MAX);
}

static void put_outsides(const struct plan *p, struct buf *out, struct probe_plan *head)
{
	head->outsides_at = out->size;
	head->outside_count = (uint32_t)p->outsides.count;
	vec_foreach (o, &p->outsides) {
		const struct layout *l = &p->objects.items[o->object].bodies.layout;
		struct probe_outside row = {.at = o->at,
			.bytes = o->bytes,
			.address = o->map == PLAN_PRINTS ? ARENA_PRINTS : l->first_address + o->map,
			.is_ring = o->is_ring,
			.is_shared = o->is_shared,
			.control_at = o->is_ring ? o->place->offset : 0,
			.tails = o->tails};

		buf_append(out, &row, sizeof(row));
	}
}

static void put_initials(const struct plan *p, struct buf *out, struct probe_plan *head)
{
	const struct probe_initial *rows = (const void *)buf_text(&p->initials);
	uint64_t data_at = out->size;

	buf_append(out, buf_text(&p->data), p->data.size);
	pad(out);
	head->initials_at = out->size;
	head->initial_count = p->initial_count;
	for (uint32_t i = 0; i < p->initial_count; i++) {
		struct probe_initial row = rows[i];

		row.data_at += data_at;
		buf_append(out, &row, sizeof(row));
	}
}

static void put_patches(const struct plan *p, struct buf *out, struct probe_plan *head)
{
	struct buf rows = BUF_INIT;

	vec_foreach (patches, &p->patches) {
		struct probe_patches row = {
			.at = out->size, .bytes = patches->code.size, .sm = patches->sm};

		buf_append(&rows, &row, sizeof(row));
		buf_append(out, buf_text(&patches->code), patches->code.size);
		pad(out);
	}
	head->patches_at = out->size;
	head->patch_count = (uint32_t)p->patches.count;
	buf_append(out, buf_text(&rows), rows.size);
	buf_release_for(&rows, out);
}

static int make_file(struct plan *p, const struct buf *bytes)
{
	p->fd = memfd_create("xpuprof-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (p->fd < 0)
		return error_errno(-errno, "cannot make a file in memory");
	if (io_write_all(p->fd, bytes->data, bytes->size) || fcntl(p->fd, F_ADD_SEALS, SEALS))
		return error_errno(-errno, "cannot write a file in memory");
	return 0;
}

/* What the kernel's programs have for themselves, nobody here reads. */
static void warn_unread(const struct plan_object *o, struct buf *out)
{
	vec_foreach (m, &o->object->maps)
		if (m->used_by_cpu && !m->is_section &&
			!o->bodies.layout.maps[m - o->object->maps.items].is_used)
			buf_printf(out,
				"map '%s' of '%s' is used by programs for the kernel only: what is "
				"in it is not shown\n",
				m->name, o->name);
}

void plan_warn_patches(const struct plan *p, struct buf *out)
{
	vec_foreach (o, &p->objects)
		vec_foreach (body, &o->bodies.items) {
			const char *lacks = body_lacks_as_patch(body);

			if (lacks)
				buf_printf(out,
					"program '%s' cannot run in machine code (--sanitizer): it "
					"needs %s\n",
					body->program->name, lacks);
		}
}

void plan_warn(const struct plan *p, struct buf *out)
{
	buf_append(out, buf_text(&p->notes), p->notes.size);
	vec_foreach (o, &p->objects)
		warn_unread(o, out);
	vec_foreach (o, &p->objects)
		for (uint32_t i = 0; i < o->bodies.layout.map_count; i++)
			if (o->bodies.layout.maps[i].is_contended)
				buf_printf(out,
					"map '%s' of '%s' is slow: programs in every thread use "
					"atomics on it, and threads wait for each other there "
					"(--warp runs them once for each warp)\n",
					o->object->maps.items[i].name, o->name);
}

int plan_seal(struct plan *p, const struct plan_options *options)
{
	struct probe_plan head = {
		.magic = PROBE_MAGIC, .version = PROBE_VERSION, .measures = options->measures};
	struct buf out = BUF_INIT;
	int error = plan_place(p);

	if (error)
		return error;
	buf_append(&out, &head, sizeof(head));
	if (options->only)
		head.only_at = put_text(&out, options->only);
	error = put_bodies(p, &out, &head);
	put_outsides(p, &out, &head);
	put_initials(p, &out, &head);
	put_patches(p, &out, &head);
	head.arena_bytes = p->arena_bytes;
	head.shared_bytes = p->shared_bytes;
	head.snapshot_at = p->snapshot_at;
	head.outside_at = p->outside_at;
	vec_foreach (o, &p->objects) {
		const struct layout *l = &o->bodies.layout;

		head.map_count += l->map_count;
		for (uint32_t i = 0; i < l->map_count; i++)
			if (l->maps[i].is_used && l->maps[i].shape == EBPF_SITES)
				head.accesses = l->accesses;
	}
	head.size = out.size;
	if (!error && (out.failed || p->data.failed || p->initials.failed))
		error = no_memory();
	if (!error && out.size > PROBE_PLAN_MAX)
		error = error_set(-EFBIG, "the programs are too large");
	if (!error) {
		memcpy(out.data, &head, sizeof(head));
		p->hash = hash_bytes(out.data, out.size);
		error = make_file(p, &out);
	}
	buf_release(&out);
	return error;
}
