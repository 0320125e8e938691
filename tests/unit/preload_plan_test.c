// SPDX-License-Identifier: MIT
/* The plan that processes get: what xpuprof makes is sound, and of what is damaged nothing is read
 * that it does not have. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "ebpf/tools/tools.h"
#include "preload/plan.h"
#include "probe/plan.h"
#include "tap.h"

#define TRIES 200000

static const struct plan_options options = {.bodies.layout = {.threads = LAYOUT_THREADS,
						    .map_bytes = LAYOUT_MAP_BYTES,
						    .accesses = LAYOUT_ACCESSES},
	.per_thread = -1,
	.only = "vector*"};

/* A plan in memory behind which nothing can be read. */
struct sealed {
	uint8_t *pages, *at;
	size_t size, mapped;
};

static int add(struct plan *p, const char *name)
{
	const struct ebpf_tool *tool = ebpf_tool_named(name);
	struct ebpf_object *o;
	int error = ebpf_object_read(&o, tool->start, (size_t)(tool->end - tool->start));

	return error ?: plan_add(p, o, name, tool, &options);
}

static int add_patches(struct plan *p, uint32_t sm, const char *code)
{
	struct plan_patches new = {.sm = sm, .code = BUF_INIT};

	buf_puts(&new.code, code);
	return vec_push(&p->patches, new);
}

static struct sealed make(struct plan *p)
{
	struct sealed s = {0};

	plan_init(p);
	CHECK(!add(p, "blocks") && !add(p, "blocktime") && !add(p, "coalesce"));
	CHECK(!plan_set(p, "nanoseconds[3]=7"));
	CHECK(!add_patches(p, 80, "longer code") && !add_patches(p, 90, "code"));
	CHECK(plan_set(p, "nanoseconds[64]=7") && plan_set(p, "nothing=1") && plan_set(p, "="));
	CHECK(!plan_seal(p, &options));
	s.size = (size_t)lseek(p->fd, 0, SEEK_END);
	s.mapped = (s.size + PROBE_PAGE - 1) / PROBE_PAGE * PROBE_PAGE;
	s.pages = mmap(NULL, s.mapped + PROBE_PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(s.pages != MAP_FAILED && !mprotect(s.pages + s.mapped, PROBE_PAGE, PROT_NONE));
	/* Lists have to be aligned. */
	s.at = s.pages + (s.mapped - s.size) / 8 * 8;
	CHECK(pread(p->fd, s.at, s.size, 0) == (ssize_t)s.size);
	return s;
}

static void end(struct plan *p, struct sealed *s)
{
	munmap(s->pages, s->mapped + PROBE_PAGE);
	plan_release(p);
}

static void a_plan_is_sound(void)
{
	struct plan p;
	struct sealed s = make(&p);
	const struct probe_plan *plan = (const void *)s.at;
	const struct probe_patches *patches = (const void *)(s.at + plan->patches_at);

	CHECK(plan_is_sound(plan, s.size));
	CHECK(plan->body_count == 5 && plan->outside_count == 1 && plan->initial_count == 1);
	CHECK(plan->accesses == LAYOUT_ACCESSES);
	CHECK(plan->patch_count == 2 && patches[0].sm == 80 && patches[1].sm == 90);
	CHECK(patches[0].bytes == 11 && !memcmp(s.at + patches[0].at, "longer code", 11));
	CHECK(patches[1].bytes == 4 && !memcmp(s.at + patches[1].at, "code", 4));
	CHECK(!strcmp((const char *)s.at + plan->only_at, "vector*"));
	CHECK(!plan_is_sound(plan, s.size - 1) && !plan_is_sound(plan, 8));
	end(&p, &s);
}

/* Reads all that a library reads of a plan. */
static size_t read_all(const struct probe_plan *p)
{
	const struct probe_body *b = (const void *)((const char *)p + p->bodies_at);
	const struct probe_initial *n = (const void *)((const char *)p + p->initials_at);
	const struct probe_patches *c = (const void *)((const char *)p + p->patches_at);
	size_t sum = 0;

	for (uint32_t i = 0; i < p->patch_count; i++)
		for (uint64_t at = 0; at < c[i].bytes; at++)
			sum += ((const uint8_t *)p)[c[i].at + at];
	for (uint32_t i = 0; i < p->body_count; i++)
		sum += strlen((const char *)p + b[i].kernels_at) +
		       strlen((const char *)p + b[i].text_at);
	for (uint32_t i = 0; i < p->initial_count; i++)
		for (uint64_t at = 0; at < n[i].bytes; at++)
			sum += ((const uint8_t *)p)[n[i].data_at + at];
	return sum;
}

static void of_a_damaged_plan_nothing_is_read_that_is_not_there(void)
{
	struct plan p;
	struct sealed s = make(&p);
	unsigned int sound = 0, refused = 0;

	srand(1);
	for (int i = 0; i < TRIES; i++) {
		/* The head, and what lists begin with, matter most. */
		size_t at = (size_t)rand() % (i % 4 ? sizeof(struct probe_plan) : s.size);
		uint8_t before = s.at[at];

		s.at[at] = (uint8_t)rand();
		if (plan_is_sound((const void *)s.at, s.size)) {
			sound++;
			(void)read_all((const void *)s.at);
		} else {
			refused++;
		}
		s.at[at] = before;
	}
	CHECK(sound > 0 && refused > 1000);
	CHECK(plan_is_sound((const void *)s.at, s.size));
	end(&p, &s);
}

int main(void)
{
	RUN(a_plan_is_sound);
	RUN(of_a_damaged_plan_nothing_is_read_that_is_not_there);
	return tap_end();
}
