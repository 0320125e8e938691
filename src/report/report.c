// SPDX-License-Identifier: MIT
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/sections.h"
#include "report/table.h"

/* Which part of what was recorded a section needs to be written. */
enum part { PART_ANY, PART_GAPS, PART_GAPS_UNKNOWN, PART_STALLS, PART_COUNTERS, PART_PROBES };

struct section {
	const struct table *text_table, *json_table;
	/* Instead of these, or what only one of the forms has. */
	void (*text)(const struct report *r, struct buf *out);
	void (*json)(const struct report *r, struct json_writer *w);
	enum part part;
};

/* In the order of either form. For people what matters to most comes first; that of the JSON stays
 * as it is. */
static const struct section sections[] = {
	{.text_table = &report_devices},
	{.text = report_idle_text, .part = PART_GAPS},
	{.text = report_idle_unknown_text, .part = PART_GAPS_UNKNOWN},
	{&report_kernels, &report_kernels},
	{.text_table = &report_functions},
	{&report_copies, &report_copies},
	{&report_sets, &report_sets},
	{.text_table = &report_waiting_calls},
	{&report_asking_calls, &report_calls},
	{.text_table = &report_observed_calls},
	{.text_table = &report_markers},
	{.text_table = &report_metrics},
	{.json_table = &report_devices},
	{.text = report_latency_text, .json = report_latency_json},
	{.text = report_gaps_text, .json = report_idle_json, .part = PART_GAPS},
	{&report_sync_waits, &report_sync_waits, .part = PART_GAPS},
	{.json_table = &report_functions},
	{.json_table = &report_markers},
	{.json_table = &report_metrics},
	{.text = report_waits_text, .json = report_waits_json},
	{.text = report_drivers_text, .json = report_drivers_json},
	{.text = report_processes_text, .json = report_processes_json},
	{.text = report_threads_text, .json = report_threads_json},
	{.text = report_stacks_text},
	{.text = report_joins_text, .json = report_joins_json},
	{.json = report_stacks_json},
	{.text = report_losses_text, .json = report_losses_json},
	{.text = report_notes_text},
	{.text = report_stalls_text, .json = report_stalls_json, .part = PART_STALLS},
	{.text = report_counters_text, .json = report_counters_json, .part = PART_COUNTERS},
	{.text = report_probes_text, .json = report_probes_json, .part = PART_PROBES},
};

#define SECTIONS_END (sections + sizeof(sections) / sizeof(*sections))

static bool has_part(const struct report *r, enum part part)
{
	switch (part) {
	case PART_GAPS:
		return r->gaps;
	case PART_GAPS_UNKNOWN:
		return r->gaps_unknown;
	case PART_STALLS:
		return r->stalls;
	case PART_COUNTERS:
		return r->counters;
	case PART_PROBES:
		return r->probes;
	default:
		return true;
	}
}

void report_text(const struct report *r, struct buf *out)
{
	bool in_short = r->stalls || r->counters || r->probes;

	report_head_text(r, out);
	for (const struct section *s = sections; s < SECTIONS_END; s++) {
		if (!has_part(r, s->part) || (in_short && s->part == PART_ANY))
			continue;
		if (s->text_table)
			table_text(r, s->text_table, out);
		if (s->text)
			s->text(r, out);
	}
}

void report_json(const struct report *r, struct buf *out)
{
	struct json_writer w = {.out = out};

	json_begin(&w, NULL, '{');
	report_head_json(r, &w);
	for (const struct section *s = sections; s < SECTIONS_END; s++) {
		if (!has_part(r, s->part))
			continue;
		if (s->json_table)
			table_json(r, s->json_table, &w);
		if (s->json)
			s->json(r, &w);
	}
	json_end(&w, '}');
	buf_putc(out, '\n');
}

const char *report_meta(const struct report *r, const char *key)
{
	const char *text = profile_meta(r->reader, key);

	return text && *text ? text : NULL;
}

void report_lines(struct buf *out, const char *first, const char *others, const char *text)
{
	struct buf line = BUF_INIT;

	while (text && *text) {
		size_t length = strcspn(text, "\n");

		buf_reset(&line);
		buf_append(&line, text, length);
		buf_puts(out, first);
		text_fit(out, buf_text(&line), 0);
		buf_putc(out, '\n');
		first = others;
		text += length + (text[length] != '\0');
	}
	buf_release_for(&line, out);
}

void report_string_json(
	const struct report *r, struct json_writer *w, const char *name, uint32_t id)
{
	json_text(w, name, id ? profile_string(r->reader, id, NULL) : NULL);
}

void report_uuid_json(struct json_writer *w, const struct profile_device *device)
{
	char text[2 * sizeof(device->uuid) + 1];

	for (size_t i = 0; i < sizeof(device->uuid); i++)
		snprintf(text + 2 * i, 3, "%02x", device->uuid[i]);
	json_text(w, "uuid", text);
}
