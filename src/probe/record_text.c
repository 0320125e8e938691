// SPDX-License-Identifier: MIT
#include "probe/record_text.h"

#include <string.h>

#include "probe/typed.h"

static const struct body *body_of(const struct plan_object *o, uint16_t program)
{
	uint32_t n = program - o->first_program;

	return program >= o->first_program && n < o->bodies.items.count ? &o->bodies.items.items[n]
									: NULL;
}

/* Texts of all objects come through one ring. */
bool record_find(const struct plan *plan, const struct server_record *r, uint32_t *ret_object,
	const struct body **ret_body)
{
	bool prints = r->ring->map == PLAN_PRINTS;

	for (uint32_t i = prints ? 0 : r->ring->object; i < plan->objects.count; i++) {
		*ret_object = i;
		*ret_body = body_of(&plan->objects.items[i], r->program);
		if (*ret_body || !prints)
			return *ret_body;
	}
	return false;
}

static void put_printed(struct buf *out, const struct body *b, const struct server_record *r)
{
	struct arena_print p = {0};

	if (r->text >= b->text_count)
		return;
	memcpy(&p, r->data, r->bytes < sizeof(p) ? r->bytes : sizeof(p));
	typed_print(out, b->texts[r->text], p.arguments);
}

/* The type of its bytes, if there are enough. */
static uint32_t type_of(const struct plan_object *o, const struct server_record *r)
{
	uint32_t type = o->object->maps.items[r->ring->map].value_type;

	return ebpf_btf_size(&o->object->btf, type) <= r->bytes ? type : 0;
}

void record_text(struct buf *out, const struct plan *plan, const struct server_record *r)
{
	const struct plan_object *o;
	const struct body *b;
	uint32_t object;

	if (!record_find(plan, r, &object, &b))
		return;
	o = &plan->objects.items[object];
	if (r->ring->map == PLAN_PRINTS) {
		buf_printf(out, "%s: ", b->program->name);
		put_printed(out, b, r);
		return;
	}
	buf_printf(out, "%s: ", o->object->maps.items[r->ring->map].name);
	typed_text(out, &o->object->btf, type_of(o, r), r->data, r->bytes);
}

void record_json(struct json_writer *w, const struct plan *plan, const struct server_record *r)
{
	const struct plan_object *o;
	struct buf text = BUF_INIT;
	const struct body *b;
	uint32_t object;

	if (!record_find(plan, r, &object, &b))
		return;
	o = &plan->objects.items[object];
	json_text(w, "program", b->program->name);
	json_number(w, "device", r->arena->device);
	json_number(w, "sm", r->sm);
	json_number(w, "launch", r->launch);
	if (r->ring->map == PLAN_PRINTS) {
		put_printed(&text, b, r);
		json_text(w, "text", buf_text(&text));
	} else {
		json_text(w, "map", o->object->maps.items[r->ring->map].name);
		typed_json(w, "value", &o->object->btf, type_of(o, r), r->data, r->bytes);
	}
	buf_release_for(&text, w->out);
}
