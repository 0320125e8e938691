// SPDX-License-Identifier: MIT
/*
 * Images of code, and where in a GPU's memory kernels have it, for whoever samples instructions by
 * their addresses. Only where samples are wanted.
 *
 * Intel's driver says where a kernel is (addresses.c) and gives the image of a module as it was
 * compiled. Both are asked for when a kernel is made, in the thread of the program that makes it;
 * our thread sends them, each image in a file in memory whose descriptor exists for that moment
 * only. Code is there until its module is destroyed, or another kernel is at its address.
 *
 * What there is no room for is counted.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/descriptor.h"
#include "inject/handles.h"
#include "inject/levelzero/levelzero.h"

#define NOTES_MAX   1024 /* that wait for our thread */
#define MODULES_MAX 65536
#define FINISH_NS   500000000ull
#define BYTES_MAX   ((size_t)256 << 20) /* of all images that wait */

struct module {
	void *context;
	address_function *address; /* of its kernels; NULL: their driver has none */
	uint16_t device;	   /* index */
	bool asked;		   /* its image was asked for */
	bool gone;		   /* the program has destroyed it */
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
	int image; /* 1: it is one; -1: it is a place */
	void *memory;
	size_t image_size;
	uint16_t device;
	struct named *name;
	struct wire_code code;
};

static struct {
	int32_t (*binary)(void *kernel, size_t *size, void *ret);
	int32_t (*image)(void *module, size_t *size, void *ret);
	struct handles modules_by_handle;
	struct module *modules;
	struct code_place *places;
	uint32_t module_count, place_count;
	struct note *notes; /* a ring: [sent, noted) */
	uint32_t sent, noted;
	size_t bytes; /* of images in notes */
	bool closed;  /* nothing is sent any more */
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

/* The module's image in memory of its own; NULL: it cannot be had, or too much waits already. */
static void *take_image(void *module, size_t size, uint64_t *ret_checksum)
{
	void *memory = size && size <= BYTES_MAX - code.bytes ? reserve(size) : NULL;
	size_t room = size;

	if (!memory)
		return NULL;
	if (code.image(module, &room, memory)) {
		munmap(memory, size);
		return NULL;
	}
	madvise(memory, size, MADV_DONTFORK);
	*ret_checksum = checksum_of(memory, size);
	code.bytes += size;
	return memory;
}

static void release_image(struct note *n)
{
	munmap(n->memory, n->image_size);
	code.bytes -= n->image_size;
}

/* --- notes, under the lock */

static struct note *next_note(void)
{
	if (code.closed || code.noted - code.sent == NOTES_MAX) {
		count(WIRE_LOST_IMAGES, 1);
		return NULL;
	}
	return &code.notes[code.noted % NOTES_MAX];
}

static void note_image(struct module *m, void *handle)
{
	struct note *n = next_note();
	void *memory = NULL;
	size_t size = 0;

	m->asked = true;
	if (!n || !code.image)
		return;
	if (!code.image(handle, &size, NULL))
		memory = take_image(handle, size, &m->checksum);
	if (!memory) {
		count(WIRE_LOST_IMAGES, 1);
		return;
	}
	*n = (struct note){
		.image = 1, .memory = memory, .image_size = size, .code.checksum = m->checksum};
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

bool code_knows(const void *module)
{
	return handles_get(&code.modules_by_handle, module);
}

void code_is_made(void *module, void *kernel, const char *name)
{
	struct module *m = (struct module *)handles_get(&code.modules_by_handle, module);
	uint64_t address = m && m->address ? address_of(m->address, kernel) : 0;
	size_t size = 0;

	if (!address || !code.binary || code.binary(kernel, &size, NULL) || !size)
		return;
	pthread_mutex_lock(&lock);
	if (!m->asked)
		note_image(m, module);
	note_place(m, address, size, name);
	pthread_mutex_unlock(&lock);
	collector_wake();
}

/* `asked`: there is no image to be had. */
static void add_module(void *handle, void *context, void *device, bool asked)
{
	address_function *address = addresses_of(device);
	int index = gpus_find(device);

	pthread_mutex_lock(&lock);
	if (index >= 0 && code.module_count < MODULES_MAX) {
		struct module *m = &code.modules[code.module_count++];

		*m = (struct module){.context = context,
			.address = address,
			.device = (uint16_t)index,
			.asked = asked};
		handles_put(&code.modules_by_handle, handle, (uintptr_t)m, NULL);
	} else {
		count(WIRE_LOST_IMAGES, 1);
	}
	pthread_mutex_unlock(&lock);
}

/* Where its module is not known, a kernel is one by itself. */
void code_is_earlier(void *kernel, const struct list *l, const char *name)
{
	if (!l->context)
		return;
	add_module(kernel, l->context->handle, gpus[l->place.device].handle, true);
	code_is_made(kernel, kernel, name);
}

/* (context, device, description, ret, ret_log) */
static void after_create_module(void **arguments, int32_t result, void *unused, void **instance)
{
	void **made = *(void **)arguments[3];

	if (!result && made && *made && is_alive())
		add_module(*made, *(void **)arguments[0], *(void **)arguments[1], false);
}

void code_is_gone(void *handle)
{
	struct module *m;

	pthread_mutex_lock(&lock);
	m = (struct module *)handles_get(&code.modules_by_handle, handle);
	for (uint32_t n = m && !m->gone ? m->kernels : 0; n; n = code.places[n - 1].next)
		note_end(m, code.places[n - 1].address);
	if (m)
		m->gone = true;
	pthread_mutex_unlock(&lock);
}

/* (module) */
static void before_destroy_module(void **arguments, int32_t result, void *unused, void **instance)
{
	if (is_alive())
		code_is_gone(*(void **)arguments[0]);
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
	addresses_init();
	tracer_register("ModuleCreate", NULL, after_create_module);
	tracer_register("ModuleDestroy", before_destroy_module, NULL);
}

static void release(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

void code_release(void)
{
	release(code.modules, MODULES_MAX * sizeof(*code.modules));
	release(code.places, MODULES_MAX * sizeof(*code.places));
	release(code.notes, NOTES_MAX * sizeof(*code.notes));
	handles_release(&code.modules_by_handle);
}

/* --- our thread */

/* False: it has to wait. */
static bool send_image(const struct note *n)
{
	const struct wire_image image = {.magic = WIRE_MAGIC,
		.api = LEVELZERO_API,
		.size = n->image_size,
		.checksum = n->code.checksum};
	int fd, error;

	if (!connection_has_room(&library.connection))
		return false;
	fd = descriptor_of_copy("xpuprof-image", n->memory, n->image_size);
	error = fd < 0 ? -ENOMEM : connection_send_image(&library.connection, &image, fd);
	if (fd >= 0)
		close(fd);
	if (error && error != -EAGAIN)
		count(WIRE_LOST_IMAGES, 1);
	return error != -EAGAIN;
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
		if (n->image > 0 && !send_image(n))
			return false;
		if (n->image < 0)
			send_place(n);
		pthread_mutex_lock(&lock);
		if (n->image > 0)
			release_image(n);
		code.sent++;
		pthread_mutex_unlock(&lock);
	}
}

void code_drop(void)
{
	pthread_mutex_lock(&lock);
	for (; code.sent != code.noted; code.sent++) {
		if (code.notes[code.sent % NOTES_MAX].image > 0)
			release_image(&code.notes[code.sent % NOTES_MAX]);
		count(WIRE_LOST_IMAGES, 1);
	}
	code.closed = true;
	pthread_mutex_unlock(&lock);
}

void code_finish(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t deadline_ns = now_ns() + FINISH_NS;

	while (!code_send() && now_ns() < deadline_ns && !connection_lost(&library.connection)) {
		connection_hurry(&library.connection);
		nanosleep(&pause, NULL);
	}
	code_drop();
}
