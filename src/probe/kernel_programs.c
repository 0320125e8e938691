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
#include "probe/attach_place.h"

#define OBJECT_NAME "probe" /* what libbpf names sections after */
#define NAME_BYTES  128
#define FIRST_OURS  1500 /* types of maps from here on are none of the kernel's */

struct kernel_programs {
	struct plan *plan;
	const struct programs *programs;
	const struct user *user;
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

static bool fits(const struct plan_kernel_value *v, size_t size)
{
	return v->bytes <= sizeof(v->number) && v->offset <= size && v->bytes <= size - v->offset;
}

/* What the kernel's verifier takes as constant is set before it sees it. */
static int set_constant(const struct plan_kernel_value *v, struct bpf_map *map)
{
	size_t size = 0;
	const void *initial = bpf_map__initial_value(map, &size);
	uint8_t *bytes = initial && fits(v, size) ? malloc(size) : NULL;
	int error = bytes ? 0 : -EINVAL;

	if (bytes) {
		memcpy(bytes, initial, size);
		memcpy(bytes + v->offset, &v->number, v->bytes);
		error = bpf_map__set_initial_value(map, bytes, size);
	}
	free(bytes);
	return error;
}

/* What --set wants of a map, which the kernel does not know. */
static int set_value(const struct plan_kernel_value *v, const struct bpf_map *map)
{
	uint32_t size = bpf_map__value_size(map);
	uint8_t *bytes = calloc(1, size);
	int fd = bpf_map__fd(map), error = bytes && fits(v, size) ? 0 : -EINVAL;

	error = error ?: bpf_map_lookup_elem(fd, &v->key, bytes);
	if (!error) {
		memcpy(bytes + v->offset, &v->number, v->bytes);
		error = bpf_map_update_elem(fd, &v->key, bytes, BPF_ANY);
	}
	free(bytes);
	return error;
}

/* Before they are loaded (constants), or after it. */
static int set_values(
	const struct plan *p, const struct plan_object *o, struct bpf_object *from, bool constants)
{
	uint32_t object = (uint32_t)(o - p->objects.items);
	struct bpf_map *map;
	int error = 0;

	bpf_object__for_each_map(map, from)
	{
		uint32_t n = find_map(o->object, map);

		vec_foreach (v, &p->kernel_values) {
			if (error || v->object != object || v->map != n ||
				o->object->maps.items[n].is_readonly != constants)
				continue;
			error = constants ? set_constant(v, map) : set_value(v, map);
			if (error)
				error = error_errno(
					error, "cannot set a value of '%s'", name_of(map));
		}
	}
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
		error = set_values(k->plan, o, object, true);
		if (error) {
			bpf_object__close(object);
			return error;
		}
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

static int attach_at(const struct kernel_programs *k, const struct bpf_program *program,
	const char *place, struct bpf_link **ret)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options,
		.retprobe = !strncmp(bpf_program__section_name(program), "uret", 4));
	struct attach_place at;
	int error = attach_place_open(&at, k->user, place);

	if (error)
		return error;
	*ret = bpf_program__attach_uprobe_opts(program, -1, at.path, at.offset, &options);
	error = *ret ? 0 : -errno;
	attach_place_close(&at);
	return error;
}

/* libbpf would open as root what the section says. */
static bool is_only_for_ourselves(const struct kernel_programs *k, const char *section)
{
	return k->user->switched && strchr(section, '/') &&
	       (!strncmp(section, "uprobe", 6) || !strncmp(section, "uretprobe", 9) ||
		       !strncmp(section, "usdt", 4));
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

static int attach_by_section(struct kernel_programs *k, const struct plan_object *o,
	const struct bpf_program *program, struct bpf_link **ret)
{
	const char *name = bpf_program__name(program);
	const char *section = bpf_program__section_name(program);

	if (is_only_for_ourselves(k, section))
		return error_set(-EPERM,
			"program '%s' of '%s' is in section '%s', which under sudo does not say "
			"well enough where it runs: --attach %s=FILE:FUNCTION does",
			name, o->name, section, name);
	errno = 0;
	*ret = bpf_program__attach(program);
	return *ret ? 0 : refuse(o, program, errno ? -errno : -EOPNOTSUPP);
}

static int attach_one(
	struct kernel_programs *k, const struct plan_object *o, const struct bpf_program *program)
{
	const char *name = bpf_program__name(program), *place = place_of(k, name);
	struct bpf_link *link = NULL;
	int error;

	if (place && !attach_place_is(place))
		return error_set(-EINVAL, "--attach %s=%s: FILE:FUNCTION is needed", name, place);
	place = place ?: attach_place_of_section(bpf_program__section_name(program));
	if (!place)
		error = attach_by_section(k, o, program, &link);
	else if ((error = attach_at(k, program, place, &link)))
		error = error_errno(error, "cannot attach program '%s' at '%s'", name, place);
	if (error)
		return error;
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
		error = error ?: set_values(k->plan, o, object, false);
		error = error ?: share(k->plan, i, object);
		error = error ?: attach(k, o, object);
	}
	vec_foreach (text, &k->programs->attach)
		if (!error && !(k->attached >> (text - k->programs->attach.items) & 1))
			error = error_set(-ENOENT,
				"--attach %s: there is no such program for the kernel", *text);
	return error;
}

int kernel_programs_open(struct kernel_programs **ret, struct plan *plan,
	const struct programs *programs, const struct user *user)
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
	k->user = user;
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
