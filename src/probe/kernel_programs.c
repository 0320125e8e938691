// SPDX-License-Identifier: MIT
/*
 * libbpf reads the same file once more. Of its programs those for GPUs are left out, and of its
 * maps those that only these use; arrays of both are made so that they can be mapped.
 */
#include "probe/kernel_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "bpfload/refusal.h"

#define OBJECT_NAME "probe" /* what libbpf names sections after */
#define NAME_BYTES  128
#define FIRST_OURS  1500 /* types of maps from here on are none of the kernel's */

struct kernel_programs {
	struct plan *plan;
	const struct programs *programs;
	struct vec(struct bpf_object *) objects;
	struct vec(struct bpf_link *) links;
	uint64_t attached; /* a bit for each --attach that was used */
};

static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static bool is_for_gpu(const struct ebpf_object *o, const char *program)
{
	vec_foreach (p, &o->programs)
		if (!strcmp(p->name, program))
			return true;
	return false;
}

/* libbpf puts the name of the object before that of a section. */
static const char *name_of(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map), *dot = strchr(name, '.');

	return bpf_map__is_internal(map) && dot ? dot : name;
}

static uint32_t find_map(const struct ebpf_object *o, const struct bpf_map *map)
{
	vec_foreach (m, &o->maps)
		if (!strcmp(m->name, name_of(map)))
			return (uint32_t)(m - o->maps.items);
	return EBPF_MAPS_MAX;
}

static void configure_map(const struct plan_object *o, struct bpf_map *map)
{
	uint32_t n = find_map(o->object, map);
	const struct ebpf_map *m = n < EBPF_MAPS_MAX ? &o->object->maps.items[n] : NULL;

	if (!m)
		return;
	(void)bpf_map__set_autocreate(map, m->used_by_cpu);
	if (m->used_by_cpu && m->type >= FIRST_OURS && m->kind && m->kind->shape == EBPF_ARRAY)
		(void)bpf_map__set_type(map, BPF_MAP_TYPE_ARRAY);
	if (o->bodies.layout.maps[n].is_shared)
		(void)bpf_map__set_map_flags(map, bpf_map__map_flags(map) | BPF_F_MMAPABLE);
}

static int open_object(const struct plan_object *o, struct bpf_object **ret)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = OBJECT_NAME);
	struct bpf_object *object;
	struct bpf_program *program;
	struct bpf_map *map;

	libbpf_set_print(say_nothing);
	object = bpf_object__open_mem(o->object->data, o->object->size, &options);
	if (!object)
		return error_errno(
			-errno, "cannot read the programs for the kernel of '%s'", o->name);
	bpf_object__for_each_program(program, object)
	{
		if (is_for_gpu(o->object, bpf_program__name(program)))
			(void)bpf_program__set_autoload(program, false);
	}
	bpf_object__for_each_map(map, object)
	{
		configure_map(o, map);
	}
	*ret = object;
	return 0;
}

static int explain(const struct plan_object *o, int error)
{
	struct buf what = BUF_INIT, why = BUF_INIT;
	struct bpf_object *object;

	buf_printf(&what, "load the programs for the kernel of '%s'", o->name);
	if (error != -EPERM && error != -EAGAIN && !open_object(o, &object)) {
		refusal_find(object, &why);
		bpf_object__close(object);
	}
	error = why.size ? error_set(error, "cannot %s: the kernel does not take %s",
				   buf_text(&what), buf_text(&why))
			 : refusal_explain(error, buf_text(&what));
	buf_release(&what);
	buf_release(&why);
	return error;
}

static int load(struct kernel_programs *k, const struct plan_object *o, struct bpf_object **ret)
{
	struct bpf_object *object;
	int error, tries = 0;

	do {
		error = open_object(o, &object);
		if (error)
			return error;
		error = bpf_object__load(object);
		if (error)
			bpf_object__close(object);
	} while (refusal_was_interruption(error, ++tries));
	if (error)
		return explain(o, error);
	if (vec_push(&k->objects, object)) {
		bpf_object__close(object);
		return error_memory(NULL);
	}
	*ret = object;
	return 0;
}

/* Its value in the text "PROGRAM=FILE:FUNCTION" of --attach; NULL: there is none. */
static const char *place_of(struct kernel_programs *k, const char *program)
{
	size_t length = strlen(program);

	vec_foreach (text, &k->programs->attach) {
		if (strncmp(*text, program, length) != 0 || (*text)[length] != '=')
			continue;
		k->attached |= 1ull << (text - k->programs->attach.items);
		return *text + length + 1;
	}
	return NULL;
}

static struct bpf_link *attach_at(
	const struct bpf_program *program, const char *place, const char *colon)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = colon + 1,
		.retprobe = !strncmp(bpf_program__section_name(program), "uret", 4));
	char *file = strndup(place, (size_t)(colon - place));
	struct bpf_link *link =
		file ? bpf_program__attach_uprobe_opts(program, -1, file, 0, &options) : NULL;

	free(file);
	return link;
}

static int refuse(const struct plan_object *o, const struct bpf_program *program, int error)
{
	const char *name = bpf_program__name(program);
	const char *section = bpf_program__section_name(program);

	if (error == -EOPNOTSUPP || error == -ESRCH)
		return error_set(error,
			"program '%s' of '%s' is in section '%s', which does not say where it "
			"runs: --attach %s=FILE:FUNCTION does",
			name, o->name, section, name);
	return error_errno(
		error, "cannot attach program '%s' of '%s' (section '%s')", name, o->name, section);
}

static int attach_one(
	struct kernel_programs *k, const struct plan_object *o, const struct bpf_program *program)
{
	const char *name = bpf_program__name(program), *place = place_of(k, name);
	const char *colon = place ? strrchr(place, ':') : NULL;
	struct bpf_link *link;
	int error;

	if (place && (!colon || colon == place || !colon[1]))
		return error_set(-EINVAL, "--attach %s=%s: FILE:FUNCTION is needed", name, place);
	errno = 0;
	link = place ? attach_at(program, place, colon) : bpf_program__attach(program);
	if (!link) {
		error = errno ? -errno : -EOPNOTSUPP;
		return place ? error_errno(error, "cannot attach program '%s' at '%s'", name, place)
			     : refuse(o, program, error);
	}
	if (!vec_push(&k->links, link))
		return 0;
	bpf_link__destroy(link);
	return error_memory(NULL);
}

static int attach(struct kernel_programs *k, const struct plan_object *o, struct bpf_object *object)
{
	struct bpf_program *program;
	int error = 0;

	bpf_object__for_each_program(program, object)
	{
		if (!error && bpf_program__autoload(program))
			error = attach_one(k, o, program);
	}
	return error;
}

/* What --set wants of a map, which the kernel does not know. */
static int set_value(const struct plan_kernel_value *v, const struct bpf_map *map)
{
	uint32_t size = bpf_map__value_size(map);
	uint8_t *bytes = calloc(1, size);
	int fd = bpf_map__fd(map), error = bytes && v->bytes <= sizeof(v->number) &&
							   v->offset <= size &&
							   v->bytes <= size - v->offset
						   ? 0
						   : -EINVAL;

	error = error ?: bpf_map_lookup_elem(fd, &v->key, bytes);
	if (!error) {
		memcpy(bytes + v->offset, &v->number, v->bytes);
		error = bpf_map_update_elem(fd, &v->key, bytes, BPF_ANY);
	}
	free(bytes);
	return error ? error_errno(error, "cannot set a value of '%s'", name_of(map)) : 0;
}

static int set_values(const struct plan *p, uint32_t object, struct bpf_object *from)
{
	struct bpf_map *map;
	int error = 0;

	bpf_object__for_each_map(map, from)
	{
		uint32_t n = find_map(p->objects.items[object].object, map);

		vec_foreach (v, &p->kernel_values)
			if (!error && v->object == object && v->map == n)
				error = set_value(v, map);
	}
	return error;
}

static int map_shared(struct plan *p, uint32_t number, const struct bpf_map *map)
{
	struct plan_outside *s = &p->outsides.items[number];
	void *at;

	s->fd = bpf_map__fd(map);
	at = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (at == MAP_FAILED)
		return error_errno(
			-errno, "cannot map '%s', which programs share", bpf_map__name(map));
	s->memory = at;
	return 0;
}

static int share(struct plan *p, uint32_t object, struct bpf_object *from)
{
	const struct ebpf_object *o = p->objects.items[object].object;
	struct bpf_map *map;
	int error = 0;

	bpf_object__for_each_map(map, from)
	{
		uint32_t n = find_map(o, map);

		for (uint32_t i = 0; !error && i < p->outsides.count; i++) {
			const struct plan_outside *s = &p->outsides.items[i];

			if (s->is_shared && s->object == object && s->map == n)
				error = map_shared(p, i, map);
		}
	}
	return error;
}

static int open_all(struct kernel_programs *k)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < k->plan->objects.count; i++) {
		const struct plan_object *o = &k->plan->objects.items[i];
		struct bpf_object *object = NULL;

		if (!o->object->cpu_program_count)
			continue;
		error = load(k, o, &object);
		error = error ?: set_values(k->plan, i, object);
		error = error ?: share(k->plan, i, object);
		error = error ?: attach(k, o, object);
	}
	vec_foreach (text, &k->programs->attach)
		if (!error && !(k->attached >> (text - k->programs->attach.items) & 1))
			error = error_set(-ENOENT,
				"--attach %s: there is no such program for the kernel", *text);
	return error;
}

int kernel_programs_open(
	struct kernel_programs **ret, struct plan *plan, const struct programs *programs)
{
	struct kernel_programs *k;
	size_t count = 0;
	int error;

	*ret = NULL;
	vec_foreach (o, &plan->objects)
		count += o->object->cpu_program_count;
	if (!count && !programs->attach.count)
		return 0;
	k = calloc(1, sizeof(*k));
	if (!k)
		return error_memory(NULL);
	k->plan = plan;
	k->programs = programs;
	error = open_all(k);
	if (error)
		kernel_programs_close(k);
	else
		*ret = k;
	return error;
}

void kernel_programs_close(struct kernel_programs *k)
{
	if (!k)
		return;
	vec_foreach (link, &k->links)
		bpf_link__destroy(*link);
	vec_foreach (s, &k->plan->outsides) {
		if (s->memory)
			munmap(s->memory, s->bytes);
		s->memory = NULL;
		s->fd = -1;
	}
	vec_foreach (object, &k->objects)
		bpf_object__close(*object);
	vec_release(&k->links);
	vec_release(&k->objects);
	free(k);
}
