// SPDX-License-Identifier: MIT
/*
 * A driver writes its image before it launches anything of it, so a kernel's image is known when it
 * is first launched. An image has the addresses that it was loaded at: a kernel is that of the
 * image's whose address is its.
 */
#include "gpu/intel/probed.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "gpu/code_places.h"
#include "gpucode/kept_images.h"

#define SUBJECT		  "kernels that a driver's probes tell"
#define KERNELS_MAX	  65536u
#define NAMES_BYTES_MAX	  ((uint64_t)32 << 20)
#define IMAGE_KERNELS_MAX (1u << 18)
#define MODULES_MAX	  16384u

struct probed_program {
	uint32_t pid, process, instance, correlation;
};

/* A kernel at a place, as it was launched. */
struct probed_kernel {
	uint32_t process, name, module, function, op;
	uint64_t address, size;
};

struct probed {
	struct gpu_shared *shared;
	struct kept_images *images;
	struct vec(struct probed_program) programs;
	struct vec(struct probed_kernel) kernels;
	struct map processes; /* those that have launched anything */
	struct map by_place;  /* process and address -> the latest kernel there */
	struct map image_of;  /* process and address -> module */
	uint64_t names_bytes; /* that the profile got */
	uint32_t modules;     /* so too */
	uint32_t probe;	      /* string: of launches; 0: not yet */
};

struct probed *probed_new(struct gpu_shared *shared, struct kept_images *images)
{
	struct probed *p = calloc(1, sizeof(*p));

	if (p) {
		p->shared = shared;
		p->images = images;
	}
	return p;
}

void probed_free(struct probed *p)
{
	if (!p)
		return;
	vec_release(&p->programs);
	vec_release(&p->kernels);
	map_release(&p->processes);
	map_release(&p->by_place);
	map_release(&p->image_of);
	free(p);
}

/* Addresses have 48 or 57 bits; in those above some drivers repeat the highest of them. */
static uint64_t plain(uint64_t address)
{
	if (address >> 48 == 0xffff)
		return address & ((1ull << 48) - 1);
	return address & ((1ull << 57) - 1);
}

static uint64_t place_key(uint32_t process, uint64_t address)
{
	return hash_combine(process, address);
}

/* --- images ----------------------------------------------------------------------------------- */

static int add_module(struct probed *p, const char *format, uint64_t checksum, uint32_t *ret)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = sizeof(checksum)};
	char name[64];
	int error;

	for (size_t n = 0; n < sizeof(checksum); n++)
		m.build_id[n] = (uint8_t)(checksum >> (56 - 8 * n));
	snprintf(name, sizeof(name), "%s:%016" PRIx64, format, checksum);
	error = profile_add_string(p->shared->writer, name, strlen(name), &m.path);
	return error ?: profile_add_module(p->shared->writer, &m, ret);
}

/* Of a copy that nobody can change any more. */
static bool read_checksum(int fd, uint64_t *ret, uint64_t *ret_size)
{
	struct stat st;
	void *data;

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ||
		fstat(fd, &st) || st.st_size <= 0)
		return false;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return false;
	*ret = hash_bytes(data, (size_t)st.st_size);
	*ret_size = (uint64_t)st.st_size;
	munmap(data, (size_t)st.st_size);
	return true;
}

static int lose_image(struct probed *p)
{
	return profile_count_loss(p->shared->writer, LOSS_DRIVER_IMAGES, 1);
}

static int keep_image(struct probed *p, const struct driver_image *i, uint32_t *ret)
{
	uint64_t checksum = 0, size = 0;
	int error;

	*ret = 0;
	if (p->modules >= MODULES_MAX || !read_checksum(i->fd, &checksum, &size))
		return lose_image(p);
	p->modules++;
	error = add_module(p, i->format, checksum, ret);
	if (error || !p->images)
		return error;
	error = kept_images_add(p->images, *ret, i->fd, size);
	if (error == -ENOMEM)
		return error_memory(SUBJECT);
	return error ? lose_image(p) : 0;
}

int probed_image(struct probed *p, const struct driver_image *i)
{
	bool is_full = false;
	uint32_t module;
	int error = keep_image(p, i, &module);

	for (size_t n = 0; !error && module && n < i->kernel_count; n++) {
		uint64_t key = place_key(i->process, plain(i->kernels[n].address));
		uint64_t *known = map_get(&p->image_of, key);

		if (!i->kernels[n].address)
			continue;
		if (known)
			*known = module;
		else if (p->image_of.count >= IMAGE_KERNELS_MAX)
			is_full = true;
		else if (map_put(&p->image_of, key, module))
			error = error_memory(SUBJECT);
	}
	return error || !is_full ? error : lose_image(p);
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* The module of a kernel without an image is one of its own. */
static int module_of(struct probed *p, const struct probed_kernel *k, uint32_t *ret)
{
	uint64_t key = place_key(k->process, k->address);
	const uint64_t *module = map_get(&p->image_of, key);

	if (module) {
		*ret = (uint32_t)*module;
		return 0;
	}
	return add_module(p, "zebin", key, ret);
}

static int add_kernel(struct probed *p, struct probed_kernel *k, uint32_t device)
{
	struct profile_gpu_function function = {.module = k->module, .name = k->name};
	struct profile_op op = {
		.kind = OP_KERNEL, .process = k->process, .device = device, .name = k->name};
	int error = profile_add_gpu_function(p->shared->writer, &function, &k->function);

	error = error ?: profile_add_op(p->shared->writer, &op, &k->op);
	if (error)
		return error;
	return vec_push(&p->kernels, *k) || map_put(&p->by_place, place_key(k->process, k->address),
						    p->kernels.count - 1)
		       ? error_memory(SUBJECT)
		       : 0;
}

static bool is_same(const struct probed_kernel *a, const struct probed_kernel *b)
{
	return a->process == b->process && a->address == b->address && a->size == b->size &&
	       a->name == b->name && a->module == b->module;
}

/* The kernel that is launched; function 0: there are too many. */
static int find_kernel(
	struct probed *p, const struct driver_kernel *k, uint32_t device, struct probed_kernel *ret)
{
	struct probed_kernel mine = {
		.process = k->process, .address = plain(k->address), .size = k->size};
	const uint64_t *known = map_get(&p->by_place, place_key(mine.process, mine.address));
	uint64_t before = profile_writer_table_bytes(p->shared->writer);
	bool is_full = p->kernels.count >= KERNELS_MAX || p->names_bytes >= NAMES_BYTES_MAX;
	size_t name_size = strlen(k->name);
	int error;

	*ret = mine;
	if (is_full &&
		(!known || p->kernels.items[*known].name !=
				   profile_find_string(p->shared->writer, k->name, name_size)))
		return profile_count_loss(p->shared->writer, LOSS_STALLS_PLACES, 1);
	error = profile_add_string(p->shared->writer, k->name, name_size, &mine.name);
	error = error ?: module_of(p, &mine, &mine.module);
	if (error)
		return error;
	if (known && is_same(&p->kernels.items[*known], &mine)) {
		*ret = p->kernels.items[*known];
		return 0;
	}
	if (p->kernels.count >= KERNELS_MAX)
		return profile_count_loss(p->shared->writer, LOSS_STALLS_PLACES, 1);
	error = add_kernel(p, &mine, device);
	p->names_bytes += profile_writer_table_bytes(p->shared->writer) - before;
	*ret = mine;
	return error;
}

/* Its code is where it is launched, from now on, if it was not there before. */
static int place_kernel(struct probed *p, const struct probed_program *program,
	const struct probed_kernel *k, uint32_t device, uint64_t time_ns)
{
	struct code_place place = {.address = k->address,
		.size = k->size,
		.from_ns = time_ns,
		.process = program->process,
		.instance = program->instance,
		.device = device,
		.module = k->module,
		.function = k->function};
	int error;

	if (code_places_has(p->shared->places, &place))
		return 0;
	error = code_places_add(p->shared->places, &place);
	if (error == -ENOMEM)
		return error_memory(SUBJECT);
	return error ? profile_count_loss(p->shared->writer, LOSS_STALLS_PLACES, 1) : 0;
}

/* --- launches --------------------------------------------------------------------------------- */

static int find_program(
	struct probed *p, const struct driver_kernel *k, struct probed_program **ret)
{
	struct probed_program new = {.pid = k->pid, .process = k->process};

	vec_foreach (program, &p->programs)
		if (program->pid == k->pid && program->process == k->process) {
			*ret = program;
			return 0;
		}
	new.instance = ++p->shared->last_instance;
	if (vec_push(&p->programs, new) || map_put(&p->processes, k->process, 1))
		return error_memory(SUBJECT);
	*ret = &p->programs.items[p->programs.count - 1];
	return 0;
}

static int report_launch(
	struct probed *p, const struct driver_kernel *k, struct probed_program *program)
{
	const struct gpu_events *events = &p->shared->events;
	struct gpu_launch launch = {.instance = program->instance,
		.correlation = program->correlation,
		.time_ns = k->time_ns,
		.pid = k->pid,
		.thread = k->thread,
		.stack = k->stack,
		.incomplete = k->incomplete,
		.kind = CALL_LAUNCH};
	struct gpu_call call = {.instance = program->instance,
		.correlation = program->correlation,
		.start_ns = k->time_ns,
		.end_ns = k->time_ns,
		.thread = k->thread,
		.api = p->probe,
		.kind = CALL_LAUNCH};
	int error = profile_count_incomplete(p->shared->writer, k->incomplete);

	error = error ?: events->launch(events->context, &launch);
	return error ?: events->call(events->context, &call);
}

static int report_work(struct probed *p, const struct driver_kernel *k,
	const struct probed_program *program, uint32_t op)
{
	const struct gpu_events *events = &p->shared->events;
	struct gpu_work work = {.instance = program->instance,
		.correlation = program->correlation,
		.start_ns = k->time_ns,
		.end_ns = k->time_ns,
		.op = op};
	int error = profile_count_loss(p->shared->writer, LOSS_GPU_UNTIMED, 1);

	return error ?: events->work(events->context, &work);
}

int probed_kernel(struct probed *p, const struct driver_kernel *k, uint32_t device)
{
	struct probed_program *program = NULL;
	struct probed_kernel kernel = {0};
	int error = find_program(p, k, &program);

	if (!error && !p->probe)
		error = profile_add_string(
			p->shared->writer, k->probe, strlen(k->probe), &p->probe);
	error = error ?: find_kernel(p, k, device, &kernel);
	if (error || !kernel.function)
		return error;
	program->correlation++;
	error = place_kernel(p, program, &kernel, device, k->time_ns);
	error = error ?: report_launch(p, k, program);
	return error ?: report_work(p, k, program, kernel.op);
}

bool probed_has(const struct probed *p, uint32_t process)
{
	return map_get(&p->processes, process);
}

/* --- ends ------------------------------------------------------------------------------------- */

static int end_program(struct probed *p, const struct probed_program *program)
{
	const struct gpu_events *events = &p->shared->events;

	code_places_end_all(p->shared->places, program->instance, clock_now_ns());
	return events->instance_end(events->context, program->instance);
}

int probed_leave(struct probed *p, uint32_t pid)
{
	size_t kept = 0;
	int error = 0;

	vec_foreach (program, &p->programs)
		if (program->pid == pid)
			error = error ?: end_program(p, program);
		else
			p->programs.items[kept++] = *program;
	p->programs.count = kept;
	return error;
}

int probed_leave_all(struct probed *p)
{
	int error = 0;

	vec_foreach (program, &p->programs)
		error = error ?: end_program(p, program);
	p->programs.count = 0;
	return error;
}
