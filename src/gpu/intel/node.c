// SPDX-License-Identifier: MIT
#include "gpu/intel/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "gpu/intel/xe_abi.h"

#define FIRST_NODE    128
#define DRIVER	      "xe"
#define SIMULATED     "Simulated GPU" /* what a simulated driver's description is */
#define ANSWER_MAX    65536u
#define ATTRIBUTE_MAX 4096 /* the kernel's are not longer */
#define WAIT_RECORDS  1	   /* a poll ends with so many */

/* The answer to a query, of at least `least` bytes, to be freed; NULL with *ret_error. */
static void *query(int fd, uint32_t what, size_t least, size_t *ret_size, int *ret_error)
{
	struct xe_query q = {.query = what};
	void *answer = NULL;

	*ret_error = ioctl(fd, XE_IOCTL_QUERY, &q) ? -errno : 0;
	if (!*ret_error && (q.size < least || q.size > ANSWER_MAX))
		*ret_error = -EPROTO;
	if (*ret_error)
		return NULL;
	answer = calloc(1, q.size);
	q.data = (uint64_t)(uintptr_t)answer;
	*ret_size = q.size;
	if (!answer || ioctl(fd, XE_IOCTL_QUERY, &q)) {
		*ret_error = answer ? -errno : -ENOMEM;
		free(answer);
		return NULL;
	}
	return answer;
}

/* What the kernel says of the node's device; empty where that cannot be read. */
static void read_device(unsigned int number, const char *name, char *ret, size_t room)
{
	char path[64];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/drm/renderD%u/device/%s", FIRST_NODE + number,
		name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? 0 : read(fd, ret, room - 1);
	ret[size > 0 ? size : 0] = 0;
	if (fd >= 0)
		close(fd);
}

/* Nothing, where its place cannot be read. */
static uint64_t read_pci(unsigned int number)
{
	static const char key[] = "PCI_SLOT_NAME=";
	unsigned int domain, bus, device, function;
	char text[ATTRIBUTE_MAX];
	const char *at;

	read_device(number, "uevent", text, sizeof(text));
	at = strstr(text, key);
	if (!at || sscanf(at + strlen(key), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return 0;
	return (uint64_t)domain << 16 | bus << 8 | device << 3 | function;
}

static bool is_of_another_vendor(unsigned int number)
{
	char text[ATTRIBUTE_MAX];

	read_device(number, "vendor", text, sizeof(text));
	return *text && strtoul(text, NULL, 16) != INTEL_VENDOR;
}

static bool is_xe(int fd, bool *ret_simulated)
{
	char name[sizeof(DRIVER) + 1] = "";
	char text[sizeof(SIMULATED) + 1] = "";
	struct xe_version v = {.name = name,
		.name_size = sizeof(name) - 1,
		.text = text,
		.text_size = sizeof(text) - 1};

	if (ioctl(fd, XE_IOCTL_VERSION, &v) || strcmp(name, DRIVER))
		return false;
	*ret_simulated = !strncmp(text, SIMULATED, strlen(SIMULATED));
	return true;
}

static int read_gts(struct intel_node *n)
{
	size_t size = 0;
	int error = 0;
	struct xe_gts *all = query(n->fd, XE_QUERY_GTS, sizeof(*all), &size, &error);

	if (!all)
		return error;
	for (size_t i = 0; i < all->count && i < (size - sizeof(*all)) / sizeof(all->gts[0]); i++) {
		const struct xe_gt *gt = &all->gts[i];

		if (gt->type == XE_GT_MAIN && n->gt_count < INTEL_NODE_GTS_MAX)
			n->gts[n->gt_count++] =
				(struct intel_gt){gt->id, gt->tile, gt->major, gt->minor};
	}
	free(all);
	return 0;
}

int intel_node_open(unsigned int number, struct intel_node *ret)
{
	struct intel_node n = {.number = number, .fd = -1};
	char path[32];
	int error;

	*ret = n;
	if (is_of_another_vendor(number))
		return -ENODEV;
	ret->pci = n.pci = read_pci(number);
	snprintf(path, sizeof(path), "/dev/dri/renderD%u", FIRST_NODE + number);
	n.fd = open(path, O_RDWR | O_CLOEXEC);
	if (n.fd < 0)
		return errno == ENOENT ? -ENODEV : error_errno(-errno, "cannot open '%s'", path);
	error = is_xe(n.fd, &n.simulated) ? read_gts(&n) : -ENODEV;
	if (error) {
		intel_node_close(&n);
		return error == -ENODEV ? error : error_errno(error, "cannot ask '%s'", path);
	}
	*ret = n;
	return 0;
}

static uint16_t read_number(unsigned int number, const char *name)
{
	char text[ATTRIBUTE_MAX];

	read_device(number, name, text, sizeof(text));
	return (uint16_t)strtoul(text, NULL, 16);
}

/* Vendor, device, revision, domain (16 bits each), bus, device, function. */
void intel_node_uuid(const struct intel_node *n, uint8_t ret[16])
{
	uint16_t words[4] = {INTEL_VENDOR, read_number(n->number, "device"),
		read_number(n->number, "revision"), (uint16_t)(n->pci >> 16)};

	memset(ret, 0, 16);
	memcpy(ret, words, sizeof(words));
	ret[8] = (uint8_t)(n->pci >> 8);
	ret[9] = (uint8_t)(n->pci >> 3 & 0x1f);
	ret[10] = (uint8_t)(n->pci & 7);
}

void intel_node_close(struct intel_node *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

/* Of the device's rates the one that is nearest. */
static uint64_t choose_rate(const struct xe_eu_stall *s, size_t size, uint64_t wanted)
{
	size_t count = (size - sizeof(*s)) / sizeof(s->rates[0]);
	uint64_t best = 0;

	for (size_t i = 0; i < s->rate_count && i < count; i++) {
		uint64_t rate = s->rates[i];
		uint64_t off = rate > wanted ? rate - wanted : wanted - rate;
		uint64_t best_off = best > wanted ? best - wanted : wanted - best;

		if (rate && (!best || off < best_off))
			best = rate;
	}
	return best;
}

static int open_stream(int fd, uint16_t gt, uint64_t rate)
{
	struct xe_property p[3] = {
		{.name = XE_SET_PROPERTY, .property = XE_STALL_RATE, .value = rate},
		{.name = XE_SET_PROPERTY, .property = XE_STALL_GT, .value = gt},
		{.name = XE_SET_PROPERTY, .property = XE_STALL_WAIT_FOR, .value = WAIT_RECORDS},
	};
	struct xe_observation o = {.type = XE_OBSERVE_EU_STALLS,
		.what = XE_OBSERVE_OPEN,
		.properties = (uint64_t)(uintptr_t)p};
	int stream, error;

	p[0].next = (uint64_t)(uintptr_t)&p[1];
	p[1].next = (uint64_t)(uintptr_t)&p[2];
	stream = ioctl(fd, XE_IOCTL_OBSERVATION, &o);
	if (stream < 0)
		return -errno;
	if (fcntl(stream, F_SETFD, FD_CLOEXEC) || fcntl(stream, F_SETFL, O_NONBLOCK) ||
		ioctl(stream, XE_IOCTL_ENABLE, 0)) {
		error = -errno;
		close(stream);
		return error;
	}
	return stream;
}

int intel_stream_open(const struct intel_node *n, const struct intel_gt *gt, uint64_t period_cycles,
	struct intel_stream *ret)
{
	struct intel_stream s = {0};
	size_t size = 0;
	int error = 0;
	struct xe_eu_stall *stall = query(n->fd, XE_QUERY_EU_STALL, sizeof(*stall), &size, &error);

	if (!stall)
		return error == -EINVAL || error == -ENODEV ? -EOPNOTSUPP : error;
	s.layout = stall_layout_of(gt->major, gt->minor, stall->record_bytes);
	s.period_cycles = choose_rate(stall, size, period_cycles);
	free(stall);
	if (!s.layout || !s.period_cycles)
		return -EOPNOTSUPP;
	s.fd = open_stream(n->fd, gt->id, s.period_cycles);
	if (s.fd < 0)
		return s.fd == -EPERM ? -EACCES : s.fd;
	*ret = s;
	return 0;
}
