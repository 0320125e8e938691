// SPDX-License-Identifier: MIT
#include "page/file_heats.h"

#include "page/heat_json.h"

#define COLUMNS	    400
#define COLUMNS_MIN 25
#define ROWS	    40

static int write_heat(
	struct json_writer *w, const struct recording_reading *g, const struct heat_wanted *wanted)
{
	struct heat h = {0};
	int error = heat_read(&h, &g->sums, g->reader, wanted);

	if (!error)
		heat_json_write(w, heat_name(wanted->of), &h, wanted->of, g->start_ns);
	heat_release(&h);
	return error;
}

static int write_all(struct buf *out, const struct recording_reading *g, uint32_t columns)
{
	struct heat_wanted wanted = {.columns = columns, .rows = ROWS};
	struct json_writer w = {.out = out};
	int error = 0;

	json_begin(&w, NULL, '{');
	for (wanted.of = 0; !error && wanted.of < HEAT_KINDS; wanted.of++)
		if (wanted.of != HEAT_FUNCTION)
			error = write_heat(&w, g, &wanted);
	json_end(&w, '}');
	return error;
}

int file_heats_json(struct buf *out, const struct recording_reading *g, size_t most_bytes)
{
	uint32_t columns = heat_is_known(&g->sums, g->reader) ? COLUMNS : 0;

	for (; columns >= COLUMNS_MIN; columns /= 2) {
		int error = write_all(out, g, columns);

		if (error || out->size <= most_bytes)
			return error;
		buf_reset(out);
	}
	buf_puts(out, "{}");
	return 0;
}
