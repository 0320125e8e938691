// SPDX-License-Identifier: MIT
/* Kernels that processes have: with programs, and without. How many are kept is limited. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "probe/server.h"

#define KERNELS_MAX 65536

static uint64_t name_key(const struct server_kernel *k)
{
	return hash_bytes(k->name, strlen(k->name));
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Of a name and a file. */
static uint64_t place_key(const struct server_kernel *k)
{
	const char *file = last_part(k->file);

	return hash_combine(name_key(k), hash_bytes(file, strlen(file)));
}

static int count(struct map *m, uint64_t key)
{
	const uint64_t *at = map_get(m, key);

	return map_put(m, key, at ? *at + 1 : 1);
}

static int keep(struct server *s, const struct server_kernel *k)
{
	struct server_kernel new = *k;

	new.name = strdup(k->name);
	new.file = strdup(k->file);
	if (!new.name || !new.file || vec_push(&s->kernels, new)) {
		free(new.name);
		free(new.file);
		return -ENOMEM;
	}
	if (map_put(&s->kernel_by_hash, k->hash, s->kernels.count - 1) ||
		count(&s->kernels_named, name_key(k)) || count(&s->kernels_named, place_key(k)))
		return -ENOMEM;
	return 0;
}

int server_add_kernel(struct server *s, const struct server_kernel *k)
{
	const uint64_t *at = map_get(&s->kernel_by_hash, k->hash);

	if (at) {
		s->kernels.items[*at].images += k->images;
		return 0;
	}
	return s->kernels.count < KERNELS_MAX ? keep(s, k) : -ENOMEM;
}

static int keep_unprobed(struct server *s, const struct server_unprobed *k)
{
	struct server_unprobed mine = *k;

	mine.name = strdup(k->name);
	mine.reason = strdup(k->reason);
	if (mine.name && mine.reason && !vec_push(&s->unprobed, mine))
		return 0;
	free(mine.name);
	free(mine.reason);
	return -ENOMEM;
}

int server_add_unprobed(struct server *s, const struct server_unprobed *k)
{
	struct server_unprobed new = *k;
	const uint64_t *at;
	uint64_t key;

	new.hash = hash_bytes(k->name, strlen(k->name));
	key = hash_combine(
		hash_combine(new.hash, k->why), hash_bytes(k->reason, strlen(k->reason)));
	at = map_get(&s->unprobed_by_key, key);
	if (at) {
		s->unprobed.items[*at].images += k->images;
		return 0;
	}
	if (s->unprobed.count >= KERNELS_MAX || keep_unprobed(s, &new))
		return -ENOMEM;
	return map_put(&s->unprobed_by_key, key, s->unprobed.count - 1);
}

const struct server_kernel *server_kernel(const struct server *s, uint64_t hash)
{
	const uint64_t *at = map_get(&s->kernel_by_hash, hash);

	return at ? &s->kernels.items[*at] : NULL;
}

const char *server_kernel_name(const struct server *s, uint64_t hash)
{
	const struct server_kernel *k = server_kernel(s, hash);

	return k ? k->name : NULL;
}

static bool several_have(const struct server *s, uint64_t key)
{
	const uint64_t *at = map_get(&s->kernels_named, key);

	return at && *at > 1;
}

bool server_kernel_has_double(const struct server *s, const struct server_kernel *k)
{
	return several_have(s, name_key(k));
}

void server_kernel_module(const struct server *s, const struct server_kernel *k, struct buf *out)
{
	const char *file = last_part(k->file);

	buf_puts(out, file);
	if (k->module && (!*file || several_have(s, place_key(k))))
		buf_printf(out, "%s%08" PRIx64, *file ? " " : "", k->module >> 32);
}
