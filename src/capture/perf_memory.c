// SPDX-License-Identifier: MIT
#include "capture/perf_memory.h"

#include <string.h>

static const struct perf_page *page_of(struct perf_memory *pm, uint64_t address)
{
	uint64_t number = address / PERF_PAGE_BYTES;
	struct perf_page *page = &pm->pages[number % PERF_PAGES];

	if (page->round == pm->round && page->number == number)
		return page;
	page->number = number;
	page->round = pm->round;
	page->good = python_read(&pm->live, number * PERF_PAGE_BYTES, page->bytes, PERF_PAGE_BYTES);
	return page;
}

static bool read_live(struct perf_memory *pm, uint64_t address, uint8_t *ret, size_t size)
{
	while (size) {
		const struct perf_page *page = page_of(pm, address);
		size_t at = address % PERF_PAGE_BYTES, part = PERF_PAGE_BYTES - at;

		if (!page->good)
			return false;
		if (part > size)
			part = size;
		memcpy(ret, page->bytes + at, part);
		address += part;
		ret += part;
		size -= part;
	}
	return true;
}

bool perf_is_copied(const struct perf_sample *s, uint64_t address, size_t size)
{
	return address >= s->start.sp && size <= s->memory_size &&
	       address - s->start.sp <= s->memory_size - size;
}

static bool read_then(const struct python_memory *m, uint64_t address, void *ret, size_t size)
{
	struct perf_memory *pm = m->context;

	for (int i = 0; i < PERF_OTHERS; i++) {
		if (!address || address != pm->others[i].address || size != sizeof(uint64_t))
			continue;
		memcpy(ret, &pm->others[i].value, size);
		return true;
	}
	if (!perf_is_copied(pm->sample, address, size))
		return read_live(pm, address, ret, size);
	memcpy(ret, pm->sample->memory + (address - pm->sample->start.sp), size);
	return true;
}

void perf_memory_begin(struct perf_memory *pm, const struct perf_sample *sample)
{
	pm->sample = sample;
	pm->live = python_memory_of(sample->pid);
	perf_memory_renew(pm);
}

void perf_memory_renew(struct perf_memory *pm)
{
	pm->round++;
	memset(pm->others, 0, sizeof(pm->others));
}

struct python_memory perf_memory_of(struct perf_memory *pm)
{
	return (struct python_memory){.read = read_then, .context = pm, .pid = pm->sample->pid};
}

struct perf_region perf_region(const struct perf_sample *s, uint64_t start, uint64_t end)
{
	uint64_t last = s->start.sp + s->memory_size;

	if (start < s->start.sp)
		start = s->start.sp;
	return (struct perf_region){start, end < last ? end : last};
}

bool perf_each_word(const struct perf_sample *s, struct perf_region region,
	bool (*visit)(void *context, uint64_t word), void *context)
{
	uint64_t word;

	for (int i = 0; region.start == s->start.sp && i < BPF_REGISTERS; i++)
		if (visit(context, s->start.registers[i]))
			return true;
	for (uint64_t at = region.start; at < region.end && region.end - at >= 8; at += 8) {
		memcpy(&word, s->memory + (at - s->start.sp), sizeof(word));
		if (visit(context, word))
			return true;
	}
	return false;
}

struct range {
	uint64_t low, high;
};

static bool is_in_range(void *context, uint64_t word)
{
	const struct range *range = context;

	return word >= range->low && word <= range->high;
}

bool perf_is_mentioned(
	const struct perf_sample *s, struct perf_region region, uint64_t low, uint64_t high)
{
	struct range range = {low, high};

	return perf_each_word(s, region, is_in_range, &range);
}
