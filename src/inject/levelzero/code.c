// SPDX-License-Identifier: MIT
/*
 * Images of code, and where in a GPU's memory kernels have it, for whoever samples instructions by
 * their addresses. Only where samples are wanted.
 *
 * Intel's driver says where a kernel is (zexKernelGetBaseAddress, no part of the API's headers: it
 * is asked for by its name) and gives the image of a module as it was compiled. Both are asked for
 * when a kernel is made, in the thread of the program that makes it; our thread sends them. Code
 * is there until its module is destroyed, or another kernel is at its address.
 *
 * What there is no room for is counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/handles.h"
#include "inject/levelzero/levelzero.h"

#define NOTES_MAX   1024 /* that wait for our thread */
#define MODULES_MAX 65536
#define DRIVERS_MAX 16
#define IMAGE_MAX   ((size_t)256 << 20)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

struct module {
	void *context;
	uint16_t device; /* index */
	bool asked;	 /* its image was asked for */
	bool gone;	 /* the program has destroyed it */
	uint64_t checksum;
	uint32_t kernels; /* the latest of its kernels whose place was noted, plus one */
};

/* A kernel's place, to be ended with its module. */
struct code_place {
	uint64_t address;
	uint32_t next; /* of the same module, plus one */
};

/* What our thread is to send: an image, or a place. */
struct note {
	int image; /* a descriptor; -1: it is a place */
	uint64_t image_size;
	uint16_t device;
	struct named *name;
	struct wire_code code;
};

static struct {
	int32_t (*base_address)(void *kernel, uint64_t *ret);
	int32_t (*binary)(void *kernel, size_t *size, void *ret);
	int32_t (*image)(void *module, size_t *size, void *ret);
	struct handles modules_by_handle;
	struct module *modules;
	struct code_place *places;
	uint32_t module_count, place_count;
	struct note *notes; /* a ring: [sent, noted) */
	uint32_t sent, noted;
} code;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* --- images */

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* Not 0. */
static uint64_t checksum_of(const uint8_t *image, size_t size)
{
	uint64_t h = mix(1, size), word;

	for (size_t at = 0; at < size; at += sizeof(word)) {
		size_t n = size - at < sizeof(word) ? size - at : sizeof(word);

		word = 0;
		memcpy(&word, image + at, n);
		h = mix(h, word);
	}
	return h ? h : 1;
}

static int make_memfd(void)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("xpuprof-image", flags | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL ? memfd_create("xpuprof-image", flags) : fd;
}

/* The module's image in memory that nobody can change any more: its descriptor, or -1. */
static int take_image(void *module, size_t size, uint64_t *ret_checksum)
{
	int fd = size && size <= IMAGE_MAX ? make_memfd() : -1;
	void *memory = MAP_FAILED;
	bool taken = false;

	if (fd >= 0 && !ftruncate(fd, (off_t)size))
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory != MAP_FAILED) {
		taken = !code.image(module, &size, memory);
		*ret_checksum = checksum_of(memory, size);
		munmap(memory, size);
	}
	if (taken &&
		!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --- notes, under the lock */

static struct note *next_note(void)
{
	if (code.noted - code.sent == NOTES_MAX) {
		count(WIRE_LOST_IMAGES, 1);
		return NULL;
	}
	return &code.notes[code.noted % NOTES_MAX];
}

static void note_image(struct module *m, void *handle)
{
	struct note *n = next_note();
	size_t size = 0;
	int fd = -1;

	m->asked = true;
	if (!n || !code.image)
		return;
	if (!code.image(handle, &size, NULL))
		fd = take_image(handle, size, &m->checksum);
	if (fd < 0) {
		count(WIRE_LOST_IMAGES, 1);
		return;
	}
	*n = (struct note){.image = fd, .image_size = size, .code.checksum = m->checksum};
	code.noted++;
}

static void note_place(struct module *m, uint64_t address, uint64_t size, const char *name)
{
	struct note *n = next_note();

	if (n && code.place_count == MODULES_MAX)
		count(WIRE_LOST_IMAGES, 1);
	if (!n || code.place_count == MODULES_MAX)
		return;
	code.places[code.place_count++] = (struct code_place){address, m->kernels};
	m->kernels = code.place_count;
	*n = (struct note){.image = -1, .device = m->device, .name = names_keep(name)};
	n->code = (struct wire_code){.type = WIRE_CODE,
		.api = LEVELZERO_API,
		.address = address,
		.size = size,
		.time_ns = now_ns(),
		.checksum = m->checksum,
		.context = objects_context(m->context)};
	code.noted++;
}

static void note_end(const struct module *m, uint64_t address)
{
	struct note *n = next_note();

	if (!n)
		return;
	*n = (struct note){.image = -1, .device = m->device};
	n->code = (struct wire_code){.type = WIRE_CODE,
		.api = LEVELZERO_API,
		.gone = true,
		.address = address,
		.time_ns = now_ns()};
	code.noted++;
}

/* --- what the program makes */

void code_is_made(void *module, void *kernel, const char *name)
{
	uint64_t address = 0;
	size_t size = 0;
	struct module *m;

	if (!code.base_address || !code.binary || code.base_address(kernel, &address) ||
		code.binary(kernel, &size, NULL) || !address || !size)
		return;
	pthread_mutex_lock(&lock);
	m = (struct module *)handles_get(&code.modules_by_handle, module);
	if (m && !m->asked)
		note_image(m, module);
	if (m)
		note_place(m, address, size, name);
	pthread_mutex_unlock(&lock);
	collector_wake();
}

/* (context, device, description, ret, ret_log) */
static void after_create_module(void **arguments, int32_t result, void *unused, void **instance)
{
	void **made = *(void **)arguments[3];
	int device;

	if (result || !made || !*made || !is_alive())
		return;
	device = gpus_find(*(void **)arguments[1]);
	pthread_mutex_lock(&lock);
	if (device >= 0 && code.module_count < MODULES_MAX) {
		struct module *m = &code.modules[code.module_count++];

		*m = (struct module){.context = *(void **)arguments[0], .device = (uint16_t)device};
		handles_put(&code.modules_by_handle, *made, (uintptr_t)m, NULL);
	} else {
		count(WIRE_LOST_IMAGES, 1);
	}
	pthread_mutex_unlock(&lock);
}

/* (module) */
static void before_destroy_module(void **arguments, int32_t result, void *unused, void **instance)
{
	struct module *m;

	if (!is_alive())
		return;
	pthread_mutex_lock(&lock);
	m = (struct module *)handles_get(&code.modules_by_handle, *(void **)arguments[0]);
	for (uint32_t n = m && !m->gone ? m->kernels : 0; n; n = code.places[n - 1].next)
		note_end(m, code.places[n - 1].address);
	if (m)
		m->gone = true;
	pthread_mutex_unlock(&lock);
}

/* Any driver's that has it. */
static void find_base_address(void)
{
	int32_t (*drivers)(uint32_t *, void **), (*function)(void *, const char *, void **);
	void *all[DRIVERS_MAX];
	uint32_t found = DRIVERS_MAX;

	*(void **)&drivers = loader_symbol("zeDriverGet");
	*(void **)&function = loader_symbol("zeDriverGetExtensionFunctionAddress");
	if (!drivers || !function || drivers(&found, all))
		return;
	for (uint32_t n = 0; n < found && n < DRIVERS_MAX && !code.base_address; n++)
		if (function(all[n], "zexKernelGetBaseAddress", (void **)&code.base_address))
			code.base_address = NULL;
}

void code_register(void)
{
	code.modules = reserve(MODULES_MAX * sizeof(*code.modules));
	code.places = reserve(MODULES_MAX * sizeof(*code.places));
	code.notes = reserve(NOTES_MAX * sizeof(*code.notes));
	if (!code.modules || !code.places || !code.notes || handles_init(&code.modules_by_handle))
		return;
	*(void **)&code.binary = loader_symbol("zeKernelGetBinaryExp");
	*(void **)&code.image = loader_symbol("zeModuleGetNativeBinary");
	find_base_address();
	tracer_register("ModuleCreate", NULL, after_create_module);
	tracer_register("ModuleDestroy", before_destroy_module, NULL);
}

/* --- our thread */

/* False: it has to wait. */
static bool send_image(const struct note *n)
{
	const struct wire_image image = {.magic = WIRE_MAGIC,
		.api = LEVELZERO_API,
		.size = n->image_size,
		.checksum = n->code.checksum};
	int error = -EAGAIN;

	if (connection_has_room(&library.connection))
		error = connection_send_image(&library.connection, &image, n->image);
	if (error == -EAGAIN)
		return false;
	if (error)
		count(WIRE_LOST_IMAGES, 1);
	close(n->image);
	return true;
}

static void send_place(struct note *n)
{
	struct device *d = &gpus[n->device];
	const char *name = n->name ? n->name->text : "";

	gpus_introduce(d);
	n->code.device = d->record.number;
	n->code.name_size = (uint32_t)strlen(name);
	if (!send_long(&n->code, sizeof(n->code), name, n->code.name_size))
		count(WIRE_LOST_IMAGES, 1);
}

bool code_send(void)
{
	for (;;) {
		struct note *n = NULL;

		pthread_mutex_lock(&lock);
		if (code.sent != code.noted)
			n = &code.notes[code.sent % NOTES_MAX];
		pthread_mutex_unlock(&lock);
		if (!n)
			return true;
		if (n->image >= 0 && !send_image(n))
			return false;
		if (n->image < 0)
			send_place(n);
		pthread_mutex_lock(&lock);
		code.sent++;
		pthread_mutex_unlock(&lock);
	}
}
