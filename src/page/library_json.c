// SPDX-License-Identifier: MIT
#include "page/library_json.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/json_writer.h"
#include "base/vec.h"
#include "view/names/location_text.h"

#define SUBJECT "the functions of a library"

struct finding {
	const struct profile_reader *reader;
	const char *text;
	struct location_texts texts;
	struct interner *names;	 /* of frames, with their letter */
	struct vec(bool) inside; /* by name: all of it so far */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *file_of(const struct finding *f, const struct profile_location *l)
{
	const struct profile_module *m = profile_module(f->reader, l->module);

	if (l->kind == FRAME_PYTHON)
		return profile_string(f->reader, l->file, NULL);
	if (l->kind == FRAME_KERNEL)
		return "[kernel]";
	return m ? base_name(profile_string(f->reader, m->path, NULL)) : "";
}

static int add_location(struct finding *f, const struct profile_location *l, struct buf *name)
{
	bool inside = strcasestr(file_of(f, l), f->text);
	struct buf text = BUF_INIT;
	enum tree_kind kind = location_text(&f->texts, l, &text);
	uint32_t id;
	int added, error = 0;

	buf_reset(name);
	buf_printf(name, "%c%s", 'a' + (int)kind, buf_text(&text));
	if (name->failed || text.failed ||
		interner_add(f->names, buf_text(name), name->size, &id, &added) ||
		(added && vec_push(&f->inside, true)))
		error = error_memory(SUBJECT);
	else
		f->inside.items[id - 1] &= inside;
	buf_release(&text);
	return error;
}

static int find(struct finding *f)
{
	uint32_t count = profile_counts(f->reader).locations;
	struct buf name = BUF_INIT;
	int error = interner_new(&f->names) ? error_memory(SUBJECT) : 0;

	error = error ?: location_texts_init(&f->texts, f->reader, false);
	for (uint32_t id = 1; !error && id <= count; id++)
		error = add_location(f, profile_location(f->reader, id), &name);
	buf_release(&name);
	return error;
}

static void write(const struct finding *f, struct buf *out)
{
	struct json_writer w = {.out = out};

	json_begin(&w, NULL, '{');
	json_begin(&w, "frames", '[');
	for (uint32_t id = 1; id <= f->inside.count; id++)
		if (f->inside.items[id - 1])
			json_text(&w, NULL, interner_get(f->names, id, NULL));
	json_end(&w, ']');
	json_end(&w, '}');
}

int library_json(struct recording *r, const struct http_request *q, struct buf *out)
{
	struct finding f = {.reader = recording_now(r)->reader, .text = http_argument(q, "text")};
	int error = f.text && *f.text ? 0 : error_set(-EINVAL, "say which library");

	error = error ?: find(&f);
	if (!error)
		write(&f, out);
	location_texts_release(&f.texts);
	interner_free(f.names);
	vec_release(&f.inside);
	return error;
}
