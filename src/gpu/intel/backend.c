// SPDX-License-Identifier: MIT
/*
 * Stall samples of Intel's GPUs: where they are wanted, the streams of a GPU's main GTs are opened
 * when a program is first seen to use it, and read as long as the recording goes on. What programs
 * do is reported by the library in them (gpu/levelzero/, gpu/injected/).
 *
 * A GPU is found by its place on the PCI bus, which Intel's driver puts into the UUID of a device.
 */
#include "gpu/intel/intel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/vec.h"
#include "gpu/intel/node.h"
#include "gpu/intel/probed.h"
#include "gpu/intel/sampler.h"

#define SUBJECT		  "samples of GPU instructions"
#define READ_BYTES	  ((size_t)256 << 10)
#define READS_MAX	  64		/* at once, of a stream */
#define WINDOW_NS	  5000000ull	/* at least; the kernel looks at the hardware as often */
#define RIPE_NS		  1000000000ull /* what libraries say of code comes so late at most */
#define REFUSALS_TEXT_MAX 4096
#define FORGET_NS	  1000000000ull /* so often places of ended code are forgotten */
/* Of one stream: 50 bytes each. */
#define INSTRUCTIONS_MAX 600000u

struct stream {
	struct intel_stream s; /* fd -1: it has ended */
	struct sampler *sampler;
	unsigned int node, tile;
	uint64_t pci;	    /* of the GPU that it was opened for */
	uint64_t window_ns; /* its present window began */
};

struct gpu_backend {
	struct gpu_shared *shared;
	struct kept_images *images;
	uint64_t period_cycles;
	bool exact; /* that was asked for, and cannot be had */
	int epoll;
	uint8_t *bytes; /* READ_BYTES */
	struct vec(struct stream) streams;
	uint64_t forgot_ns;		 /* code that had ended */
	struct vec(uint64_t) devices;	 /* by their place: their streams were opened, or not */
	uint64_t used[INTEL_NODES / 64]; /* bits: nodes at no known place, the same */
	struct buf refusals;
	struct probed *probed;	/* what drivers say themselves */
	uint32_t probed_device; /* of the programs that have no library; 0: none was looked for */
	bool probed_ignored;	/* a library said it all, too */
};

/* The UUID of a device: vendor, device, revision, domain, bus, device, function, 4 bytes, part. */
static uint64_t pci_of(const uint8_t uuid[16])
{
	uint64_t domain = (uint64_t)uuid[6] | (uint64_t)uuid[7] << 8;

	return domain << 16 | (uint64_t)uuid[8] << 8 | (uint64_t)(uuid[9] & 0x1f) << 3 |
	       (uuid[10] & 7);
}

static bool is_intels(const uint8_t uuid[16])
{
	return (uuid[0] | uuid[1] << 8) == INTEL_VENDOR;
}

/* 0: the device is the GPU; else, in the driver of 2026 (NEO, device.cpp), the tile that it is,
 * counted from 1. */
static unsigned int part_of(const uint8_t uuid[16])
{
	return uuid[15];
}

static void intel_close(struct gpu_backend *b)
{
	if (!b)
		return;
	vec_foreach (s, &b->streams) {
		if (s->s.fd >= 0)
			close(s->s.fd);
		sampler_free(s->sampler);
	}
	vec_release(&b->streams);
	vec_release(&b->devices);
	if (b->epoll >= 0)
		close(b->epoll);
	buf_release(&b->refusals);
	probed_free(b->probed);
	free(b->bytes);
	free(b);
}

static int intel_open(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct gpu_backend *b;

	*ret = NULL;
	if (!options->stalls)
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return error_memory(SUBJECT);
	b->shared = shared;
	b->images = options->images;
	b->exact = options->stalls == GPU_STALLS_EXACT;
	b->period_cycles = options->stall_period ? 1ull << options->stall_period : UINT64_MAX;
	b->epoll = epoll_create1(EPOLL_CLOEXEC);
	b->bytes = malloc(READ_BYTES);
	b->probed = probed_new(shared, b->images);
	if (b->epoll < 0 || !b->bytes || !b->probed) {
		intel_close(b);
		return error_memory(SUBJECT);
	}
	*ret = b;
	return 0;
}

static const char *reason_of(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return "that needs root, CAP_PERFMON, or dev.xe.observation_paranoid=0 (sysctl)";
	case -EBUSY:
		return "another program samples it";
	case -EOPNOTSUPP:
		return "its driver, before Linux 6.15, or its hardware cannot, or its records are "
		       "of a "
		       "kind that is not known";
	default:
		return strerror(-error);
	}
}

static int refuse_gpu(struct gpu_backend *b, const char *gpu, const char *reason)
{
	int error = profile_count_loss(b->shared->writer, LOSS_STALLS_REFUSED, 1);

	/* programs can make up devices */
	if (error || b->refusals.size > REFUSALS_TEXT_MAX)
		return error;
	buf_printf(&b->refusals, "%sinstructions of Intel's GPU %s are not sampled: %s",
		b->refusals.size ? "\n" : "", gpu, reason);
	return profile_set_meta(b->shared->writer, META_STALLS_REFUSED, buf_text(&b->refusals));
}

static int refuse(struct gpu_backend *b, unsigned int node, const char *reason)
{
	char name[32];

	snprintf(name, sizeof(name), "renderD%u", 128 + node);
	return refuse_gpu(b, name, reason);
}

/* None of the nodes is the device's. */
static int refuse_device(struct gpu_backend *b, uint64_t pci)
{
	char name[32];

	snprintf(name, sizeof(name), "%04x:%02x:%02x.%x", (unsigned int)(pci >> 16),
		(unsigned int)(pci >> 8 & 0xff), (unsigned int)(pci >> 3 & 0x1f),
		(unsigned int)(pci & 7));
	return refuse_gpu(b, name, "its driver is not xe, or it has no node in /dev/dri");
}

static int add_stream(struct gpu_backend *b, const struct intel_node *n, const struct intel_gt *gt,
	const struct intel_stream *opened, uint64_t pci)
{
	struct stream s = {.s = *opened,
		.node = n->number,
		.tile = gt->tile,
		.pci = pci,
		.window_ns = clock_now_ns()};
	struct sampler_options o = {.layout = opened->layout,
		.writer = b->shared->writer,
		.places = b->shared->places,
		.images = b->images,
		.instructions_max = INSTRUCTIONS_MAX};
	struct epoll_event event = {.events = EPOLLIN};

	s.sampler = sampler_new(&o, s.window_ns);
	if (!s.sampler || vec_push(&b->streams, s)) {
		sampler_free(s.sampler);
		close(opened->fd);
		return error_memory(SUBJECT);
	}
	/* Where it cannot be waited for, it is read when the loop goes round. */
	(void)epoll_ctl(b->epoll, EPOLL_CTL_ADD, opened->fd, &event);
	return 0;
}

static int use_node(struct gpu_backend *b, const struct intel_node *n, uint64_t pci)
{
	int error = n->gt_count ? 0 : refuse(b, n->number, reason_of(-EOPNOTSUPP));

	if (b->exact && !error)
		error = refuse(b, n->number,
			"not exactly: samples do not name their launch there, "
			"so they are divided among launches");
	for (uint32_t i = 0; !error && i < n->gt_count; i++) {
		struct intel_stream s;
		int cannot = intel_stream_open(n, &n->gts[i], b->period_cycles, &s);

		error = cannot ? refuse(b, n->number, reason_of(cannot))
			       : add_stream(b, n, &n->gts[i], &s, pci);
		if (cannot)
			break;
	}
	return error;
}

/* Sets *ret_found where the node is the device's, or may be. */
static int try_node(struct gpu_backend *b, unsigned int number, uint64_t pci, bool *ret_found)
{
	struct intel_node n;
	int error = intel_node_open(number, &n);

	if (error == -ENODEV || (n.pci && n.pci != pci)) {
		intel_node_close(&n);
		return 0;
	}
	*ret_found = true;
	if (!n.pci)
		b->used[number / 64] |= 1ull << number % 64;
	error = error ? refuse(b, number, reason_of(error)) : use_node(b, &n, pci);
	intel_node_close(&n);
	return error;
}

/* The streams of a GPU, when a device at its place is first used. */
static int open_streams(struct gpu_backend *b, uint64_t pci)
{
	bool found = false;
	int error = 0;

	vec_foreach (p, &b->devices)
		if (*p == pci)
			return 0;
	if (vec_push(&b->devices, pci))
		return error_memory(SUBJECT);
	for (unsigned int i = 0; !error && i < INTEL_NODES; i++) {
		if (b->used[i / 64] >> i % 64 & 1)
			found = true;
		else
			error = try_node(b, i, pci, &found);
	}
	return error || found ? error : refuse_device(b, pci);
}

/* What runs on a tile is seen there alone, what runs on the GPU may be on each of them. How many of
 * its streams there are. */
static unsigned int add_device(
	struct gpu_backend *b, uint64_t pci, unsigned int part, uint32_t device)
{
	unsigned int count = 0;

	vec_foreach (s, &b->streams)
		if (s->pci == pci && (!part || part == s->tile + 1)) {
			sampler_add_device(s->sampler, device);
			count++;
		}
	return count;
}

/* Tiles of one GPU may be devices of their own, at one place. */
static int intel_device_used(struct gpu_backend *b, const uint8_t uuid[16], uint32_t device)
{
	uint64_t pci = pci_of(uuid);
	int error = is_intels(uuid) ? open_streams(b, pci) : 0;

	/* A part that is no tile is taken for all of them. */
	if (!error && is_intels(uuid) && !add_device(b, pci, part_of(uuid), device))
		add_device(b, pci, 0, device);
	return error;
}

/* --- programs without a library */

static int add_probed_device(struct gpu_backend *b, const struct intel_node *n)
{
	struct profile_device device = {0};
	char name[48];
	int error;

	intel_node_uuid(n, device.uuid);
	snprintf(name, sizeof(name), "%s %04x:%02x:%02x.%x",
		n->simulated ? "Simulated GPU" : "Intel GPU", (unsigned int)(n->pci >> 16),
		device.uuid[8], device.uuid[9], device.uuid[10]);
	error = profile_add_string(b->shared->writer, name, strlen(name), &device.name);
	if (!error && n->simulated)
		error = profile_set_meta(b->shared->writer, META_SIMULATED, "1");
	return error ?: profile_add_device(b->shared->writer, &device, &b->probed_device);
}

/* All GPUs of Intel's may be the one: the first names them all. */
static int use_all_nodes(struct gpu_backend *b)
{
	bool found = false;
	int error = 0;

	for (unsigned int i = 0; !error && i < INTEL_NODES; i++) {
		struct intel_node n;
		uint8_t uuid[16];
		bool is_there = intel_node_open(i, &n) != -ENODEV;

		intel_node_uuid(&n, uuid);
		if (is_there && !found)
			error = add_probed_device(b, &n);
		intel_node_close(&n);
		found |= is_there;
		if (is_there)
			error = error ?: intel_device_used(b, uuid, b->probed_device);
	}
	if (error || found)
		return error;
	error = add_probed_device(b, &(struct intel_node){.fd = -1});
	return error ?: refuse_device(b, 0);
}

static bool intel_hears_drivers(void)
{
	bool found = false;

	for (unsigned int i = 0; i < INTEL_NODES && !found; i++) {
		struct intel_node n;

		found = intel_node_open(i, &n) != -ENODEV;
		intel_node_close(&n);
	}
	return found;
}

static int intel_driver_kernel(struct gpu_backend *b, const struct driver_kernel *k, bool reported)
{
	int error = 0;

	b->probed_ignored |= reported;
	if (reported)
		return 0;
	if (!b->probed_device)
		error = use_all_nodes(b);
	return error ?: probed_kernel(b->probed, k, b->probed_device);
}

static int intel_driver_image(struct gpu_backend *b, const struct driver_image *i, bool reported)
{
	return reported ? 0 : probed_image(b->probed, i);
}

static bool intel_is_probed(const struct gpu_backend *b, uint32_t process)
{
	return probed_has(b->probed, process);
}

static int intel_driver_refused(struct gpu_backend *b, const char *why)
{
	int error = profile_count_loss(b->shared->writer, LOSS_STALLS_REFUSED, 1);

	if (error || b->refusals.size > REFUSALS_TEXT_MAX || strstr(buf_text(&b->refusals), why))
		return error;
	buf_printf(&b->refusals, "%s%s", b->refusals.size ? "\n" : "", why);
	return profile_set_meta(b->shared->writer, META_STALLS_REFUSED, buf_text(&b->refusals));
}

static int intel_leaves(struct gpu_backend *b, uint32_t pid)
{
	return probed_leave(b->probed, pid);
}

/* --- reading */

static int end_stream(struct gpu_backend *b, struct stream *s, int error)
{
	char reason[160];

	snprintf(reason, sizeof(reason), "its stream ended (%s)", strerror(error));
	close(s->s.fd);
	s->s.fd = -1;
	return refuse(b, s->node, reason);
}

/* As far as there is something. */
static int read_stream(struct gpu_backend *b, struct stream *s)
{
	int error = 0;

	for (int n = 0; !error && s->s.fd >= 0 && n < READS_MAX; n++) {
		ssize_t size = read(s->s.fd, b->bytes, READ_BYTES);

		if (size > 0)
			error = sampler_add(s->sampler, b->bytes, (size_t)size);
		else if (!size || errno == EAGAIN || errno == EINTR)
			break;
		else if (errno == EIO)
			error = sampler_overflow(s->sampler);
		else
			error = end_stream(b, s, errno);
	}
	return error;
}

static int intel_poll_fd(struct gpu_backend *b)
{
	return b->epoll;
}

static int intel_snapshot(struct gpu_backend *b)
{
	return 0;
}

static int end_windows(struct gpu_backend *b, uint64_t least_ns, uint64_t ripe_ns)
{
	int error = 0;

	vec_foreach (s, &b->streams) {
		uint64_t now_ns;

		error = error ?: read_stream(b, s);
		now_ns = clock_now_ns();
		if (error || now_ns - s->window_ns < least_ns)
			continue;
		s->window_ns = now_ns;
		error = sampler_end_window(s->sampler, now_ns, ripe_ns ?: now_ns - RIPE_NS);
	}
	return error;
}

/* Code that ended before the oldest window of all streams, also of those that will be opened. */
static void forget_code(struct gpu_backend *b)
{
	uint64_t now_ns = clock_now_ns(), oldest_ns = now_ns;

	if (!b->shared->places || now_ns - b->forgot_ns < FORGET_NS)
		return;
	b->forgot_ns = now_ns;
	vec_foreach (s, &b->streams) {
		uint64_t ns = sampler_oldest_ns(s->sampler);

		oldest_ns = ns < oldest_ns ? ns : oldest_ns;
	}
	code_places_forget(b->shared->places, oldest_ns);
}

static int intel_drain(struct gpu_backend *b, bool *ret_busy)
{
	int error = end_windows(b, WINDOW_NS, 0);

	forget_code(b);
	return error;
}

static int intel_stop(struct gpu_backend *b)
{
	return 0;
}

static int intel_finish(struct gpu_backend *b)
{
	return end_windows(b, 0, UINT64_MAX) ?: probed_leave_all(b->probed);
}

static void intel_stats(const struct gpu_backend *b, struct gpu_stats *ret)
{
	ret->stalls_refused = buf_text(&b->refusals);
	if (b->probed_ignored)
		ret->stalls_contested = "the probes of Intel's driver were not used where the "
					"library says the same";
}

const struct gpu_backend_ops intel_backend = {
	.name = "intel",
	.open = intel_open,
	.poll_fd = intel_poll_fd,
	.snapshot = intel_snapshot,
	.drain = intel_drain,
	.stop = intel_stop,
	.finish = intel_finish,
	.device_used = intel_device_used,
	.hears_drivers = intel_hears_drivers,
	.driver_kernel = intel_driver_kernel,
	.driver_image = intel_driver_image,
	.driver_refused = intel_driver_refused,
	.is_probed = intel_is_probed,
	.leaves = intel_leaves,
	.stats = intel_stats,
	.close = intel_close,
};
