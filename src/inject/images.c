// SPDX-License-Identifier: MIT
/*
 * An image is the program's, and may be gone after the call that reported it, so it is copied
 * there, into memory of its own. Our thread sends images that the recorder does not have yet over
 * the socket, each in a sealed memfd. The descriptor exists for that moment only, since programs
 * may close or count descriptors.
 *
 *	slots[]:  FREE --reported--> FILLING --copied--> WAITING --our thread: sent, or sent before--> FREE
 *
 * The recorder reads images from the socket in its rounds. When it is slow, images wait here. When
 * too many wait, the program waits a little with each; once no slot was free for long, it does not,
 * and images are lost and counted.
 */
#include "inject/images.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bare/hash_step.h"
#include "guest/descriptor.h"
#include "inject/library.h"

#define SLOTS	      256u
#define BYTES_MAX     (256ull << 20) /* of all images that wait */
#define SENT_SLOTS    16384u	     /* a power of two */
#define PAUSE_NS      1000000
#define LOADER_PAUSES 20 /* of a thread that loads modules faster than they can be sent */
#define LOADER_NS     1000000000ull /* and of the whole program, until an image finds room again */
#define FINISH_NS                                                                                  \
	2000000000ull /* less than the ending process has for all of our end (collector.c) */

enum {
	FREE = 0,
	FILLING,
	WAITING,
};

struct slot {
	uint32_t state;
	uint32_t api;
	uint64_t checksum; /* 0: is to be found */
	images_find_checksum *find;
	void *memory;
	size_t size;
};

static struct {
	struct slot slots[SLOTS];
	uint64_t bytes;	  /* in all slots */
	uint64_t full_ns; /* since when no room is left; 0: the last image had room */
	/* Only our thread. */
	uint64_t sent[SENT_SLOTS]; /* checksums; 0: free */
	uint32_t sent_count;
} images;

static void pause_briefly(void)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
}

static struct slot *claim(void)
{
	for (uint32_t n = 0; n < SLOTS; n++) {
		uint32_t expected = FREE;

		if (__atomic_compare_exchange_n(&images.slots[n].state, &expected, FILLING, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &images.slots[n];
	}
	return NULL;
}

/* A slot for a copy, or NULL. */
static struct slot *reserve(size_t size)
{
	struct slot *p;

	if (__atomic_add_fetch(&images.bytes, size, __ATOMIC_RELAXED) <= BYTES_MAX) {
		p = claim();
		if (p)
			return p;
	}
	__atomic_fetch_sub(&images.bytes, size, __ATOMIC_RELAXED);
	return NULL;
}

static void release(struct slot *p)
{
	if (p->memory)
		munmap(p->memory, p->size);
	__atomic_fetch_sub(&images.bytes, p->size, __ATOMIC_RELAXED);
	p->memory = NULL;
	__atomic_store_n(&p->state, FREE, __ATOMIC_RELEASE);
}

static bool copy(struct slot *p, const void *image, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	p->size = size;
	p->memory = memory == MAP_FAILED ? NULL : memory;
	if (!p->memory)
		return false;
	madvise(memory, p->size, MADV_DONTFORK);
	memcpy(memory, image, p->size);
	return true;
}

/* Whether it is worth waiting for the recorder. */
static bool is_patient(void)
{
	uint64_t since_ns = __atomic_load_n(&images.full_ns, __ATOMIC_RELAXED), now = now_ns();

	if (!since_ns)
		__atomic_store_n(&images.full_ns, now, __ATOMIC_RELAXED);
	return !since_ns || now - since_ns < LOADER_NS;
}

static struct slot *reserve_patiently(size_t size)
{
	struct slot *p = reserve(size);

	for (int n = 0; !p && n < LOADER_PAUSES && is_patient(); n++) {
		collector_wake();
		pause_briefly();
		p = reserve(size);
	}
	if (p)
		__atomic_store_n(&images.full_ns, 0, __ATOMIC_RELAXED);
	return p;
}

static bool keep(
	uint32_t api, const void *image, size_t size, uint64_t checksum, images_find_checksum *find)
{
	struct slot *p;

	if (!image || !size || size > BYTES_MAX)
		return false;
	p = reserve_patiently(size);
	if (!p)
		return false;
	if (!copy(p, image, size)) {
		release(p);
		return false;
	}
	p->api = api;
	p->checksum = checksum;
	p->find = find;
	__atomic_store_n(&p->state, WAITING, __ATOMIC_RELEASE);
	return true;
}

void images_keep(
	uint32_t api, const void *image, size_t size, uint64_t checksum, images_find_checksum *find)
{
	if (keep(api, image, size, checksum, find))
		collector_wake();
	else
		count(WIRE_LOST_IMAGES, 1);
}

/* Of all bytes: four words at a time, each multiplied into a sum of its own. */
uint64_t images_checksum(const void *image, size_t size)
{
	uint64_t sums[4] = {size, 1, 2, 3}, words[4], h = 0;
	const uint8_t *at = image;

	for (; size; at += sizeof(words)) {
		size_t n = size < sizeof(words) ? size : sizeof(words);

		if (n < sizeof(words))
			memset(words, 0, sizeof(words));
		memcpy(words, at, n);
		for (int i = 0; i < 4; i++) {
			sums[i] = hash_step(sums[i], words[i]);
			sums[i] ^= sums[i] >> 32;
		}
		size -= n;
	}
	for (int i = 0; i < 4; i++)
		h = hash_step(h, sums[i]) ^ h >> 29;
	return h ? h : 1;
}

static bool has_checksum(struct slot *p)
{
	if (!p->checksum && !p->find(p->memory, p->size, &p->checksum))
		p->checksum = 0;
	return p->checksum;
}

/* The entry of this checksum, or a free one for it; NULL: neither. */
static uint64_t *find_sent(uint64_t checksum)
{
	uint32_t slot = (uint32_t)(checksum * HASH_FACTOR >> 32) % SENT_SLOTS;

	for (;; slot = (slot + 1) % SENT_SLOTS) {
		if (images.sent[slot] == checksum)
			return &images.sent[slot];
		if (!images.sent[slot])
			return images.sent_count < SENT_SLOTS / 2 ? &images.sent[slot] : NULL;
	}
}

/* 0; -EAGAIN: the recorder must read others first; another error: it is lost. */
static int hand_over(const struct slot *p)
{
	struct wire_image image = {
		.magic = WIRE_MAGIC,
		.api = p->api,
		.size = p->size,
		.checksum = p->checksum,
	};
	int fd, error;

	if (!connection_has_room(&library.connection))
		return -EAGAIN;
	fd = descriptor_of_copy("xpuprof-image", p->memory, p->size);
	if (fd < 0)
		return -ENOMEM;
	error = connection_send_image(&library.connection, &image, fd);
	close(fd);
	return error;
}

/* False: it has to wait. */
static bool send_one(struct slot *p)
{
	uint64_t *sent;
	int error;

	if (!has_checksum(p)) {
		count(WIRE_LOST_IMAGES, 1);
		release(p);
		return true;
	}
	sent = find_sent(p->checksum);
	if (!sent || *sent != p->checksum) {
		error = hand_over(p);
		if (error == -EAGAIN)
			return false;
		if (error)
			count(WIRE_LOST_IMAGES, 1);
		else if (sent)
			images.sent_count++, *sent = p->checksum;
	}
	release(p);
	return true;
}

bool images_send(void)
{
	for (uint32_t n = 0; n < SLOTS; n++)
		if (__atomic_load_n(&images.slots[n].state, __ATOMIC_ACQUIRE) == WAITING &&
			!send_one(&images.slots[n]))
			return false;
	return true;
}

void images_drop(void)
{
	for (uint32_t n = 0; n < SLOTS; n++) {
		struct slot *p = &images.slots[n];

		if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != WAITING)
			continue;
		count(WIRE_LOST_IMAGES, 1);
		release(p);
	}
}

void images_finish(void)
{
	uint64_t deadline_ns = now_ns() + FINISH_NS;

	while (!images_send() && now_ns() < deadline_ns) {
		if (connection_lost(&library.connection))
			break;
		connection_hurry(&library.connection);
		pause_briefly();
	}
	images_drop();
}
