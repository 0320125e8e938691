// SPDX-License-Identifier: MIT
#include "export/frame_places.h"

#include <stdlib.h>

#include "base/error.h"
#include "view/names/location_text.h"

#define SUBJECT "the files of functions"

struct finding {
	struct tree *tree;
	struct location_texts texts;
	struct frame_place *places;
	size_t count;
	struct buf text;
};

static int find(struct finding *f, const struct profile_location *l)
{
	enum tree_kind kind;
	uint32_t frame;
	int error;

	if (!l || !l->file || !l->name)
		return 0;
	buf_reset(&f->text);
	kind = location_text(&f->texts, l, &f->text);
	if (f->text.failed)
		return error_memory(SUBJECT);
	error = tree_add_frame(f->tree, kind, 0, buf_text(&f->text), f->text.size, &frame);
	if (!error && frame < f->count && !f->places[frame].file)
		f->places[frame] = (struct frame_place){l->file, f->texts.lines ? l->line : 0};
	return error;
}

static int find_all(struct finding *f)
{
	const struct profile_reader *r = f->texts.reader;
	struct profile_counts counts = profile_counts(r);
	int error = 0;

	for (uint32_t id = 1; !error && id <= counts.locations; id++)
		error = find(f, profile_location(r, id));
	for (uint32_t id = 1; !error && id <= counts.inlines; id++) {
		const struct profile_location l = location_of_inline(r, id);

		error = find(f, &l);
	}
	return error;
}

int frame_places_find(
	struct tree *t, const struct profile_reader *r, bool lines, struct frame_place **ret)
{
	struct finding f = {.tree = t, .count = tree_frame_count(t)};
	int error = location_texts_init(&f.texts, r, lines);

	f.places = calloc(f.count + 1, sizeof(*f.places));
	if (!f.places)
		error = error_memory(SUBJECT);
	error = error ?: find_all(&f);
	location_texts_release(&f.texts);
	buf_release(&f.text);
	if (error)
		free(f.places);
	else
		*ret = f.places;
	return error;
}
