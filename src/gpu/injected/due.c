// SPDX-License-Identifier: MIT
/*
 * Samples of instructions that a tracer never hands over, and does not report.
 *
 * Kernels of one context that run at once share multiprocessors. So only the part of a kernel
 * counts that comes after all others so far: what is due is rather too little than too much.
 */
#include "base/error.h"
#include "base/text.h"
#include "gpu/injected/instance.h"
#include "profile/due.h"

#define CONTEXTS_MAX 4096u
/* Fewer are too few to miss some: a tracer may keep a few of each multiprocessor. */
#define DUE_MIN	   10000
#define CAME_LEAST 0.9
#define BIT(n)	   (1u << (n))
#define TOO_FAST   (BIT(WIRE_STALLS_OVERRUN) | BIT(WIRE_STALLS_UNFETCHED))

int due_find_context(struct instance *i, uint32_t context, uint32_t *ret)
{
	const uint64_t *found = map_get(&i->context_numbers, context);

	*ret = found ? (uint32_t)*found : 0;
	if (found || i->contexts.count >= CONTEXTS_MAX)
		return 0;
	if (vec_push(&i->contexts, (struct instance_context){0}) ||
		map_put(&i->context_numbers, context, i->contexts.count))
		return error_memory(NULL);
	*ret = (uint32_t)i->contexts.count;
	return 0;
}

void due_add_work(struct instance *i, const struct instance_op *op, const struct wire_work *w)
{
	struct instance_context *c;
	uint64_t start_ns;

	if (!op->context)
		return;
	c = &i->contexts.items[op->context - 1];
	start_ns = w->start_ns > c->reached_ns ? w->start_ns : c->reached_ns;
	if (start_ns >= w->end_ns)
		return;
	c->cycles += (double)(w->end_ns - start_ns) * op->cycles_per_ns;
	c->reached_ns = w->end_ns;
}

int due_add_window(struct instance *i, const struct wire_window *w)
{
	struct instance_context *c;
	uint32_t number;
	int error = due_find_context(i, w->context, &number);

	if (error || !number)
		return error;
	c = &i->contexts.items[number - 1];
	c->period = w->period;
	c->safe_period = w->safe_period;
	c->came += w->samples;
	return 0;
}

int due_note_refusal(struct instance *i, uint32_t context)
{
	uint32_t number;
	int error = due_find_context(i, context, &number);

	if (number)
		i->contexts.items[number - 1].refused = true;
	return error;
}

void due_end(struct instance *i)
{
	struct injected *s = i->injected;
	uint64_t lost = i->counted[WIRE_LOST_STALLS];

	if (i->corrupt || i->broken)
		return;
	vec_foreach (c, &i->contexts) {
		uint64_t due = due_samples(c->cycles, 1ull << c->period);

		if (c->refused || !c->came || c->period >= c->safe_period || due < DUE_MIN ||
			(double)(c->came + lost) >= CAME_LEAST * (double)due)
			continue;
		stalls_count_refused(i);
		s->shortfalls[i->sampled_api].due += due;
		s->shortfalls[i->sampled_api].came += c->came;
		if (s->shortfalls[i->sampled_api].safe_period < c->safe_period)
			s->shortfalls[i->sampled_api].safe_period = c->safe_period;
	}
}

static void put_shortfall(struct injected *s, uint32_t api)
{
	struct buf *lines = &s->refusal_lines;
	char came[TEXT_CELL], due[TEXT_CELL];

	if (lines->size)
		buf_putc(lines, '\n');
	buf_printf(lines, "%s: %s of %s that were due came",
		s->apis[api]->stalls_behind ?: "samples of GPU instructions are missing",
		text_count(came, s->shortfalls[api].came), text_count(due, s->shortfalls[api].due));
	stalls_put_safe_period(s->shortfalls[api].safe_period, lines);
}

int due_report(struct injected *s)
{
	bool any = false;

	for (uint32_t api = 0; api < WIRE_APIS; api++) {
		if (!s->shortfalls[api].due || s->refused[api] & TOO_FAST)
			continue;
		put_shortfall(s, api);
		any = true;
	}
	return any ? profile_set_meta(
			     s->shared->writer, META_STALLS_REFUSED, buf_text(&s->refusal_lines))
		   : 0;
}
