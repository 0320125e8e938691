// SPDX-License-Identifier: MIT
/* Calls of helpers: each argument is what the table says (helpers.c), and so is the result. */
#include "ebpf/check/transfer.h"

#define TEXT_MAX	256
#define PRINT_ARGUMENTS 3
#define RECORD_MAX	FLOW_STACK

struct call {
	const struct ebpf_helper *helper;
	uint8_t map; /* of the argument that is one */
	bool has_map;
};

static const struct value *argument(const struct checking *c, unsigned int n)
{
	return &c->state->registers[n + 1];
}

static int wrong(
	const struct checking *c, const struct call *call, unsigned int n, const char *what)
{
	return refuse(c, "argument %u of %s (%d) is %s", n + 1, call->helper->name,
		call->helper->id, what);
}

/* Memory that the helper reads, or writes 8 bytes to. */
static int check_memory(
	struct checking *c, const struct call *call, unsigned int n, uint32_t size, bool writes)
{
	const struct value *v = argument(c, n);
	struct value unknown = value_number(number_unknown());
	struct place p;
	int error;

	if (v->kind != VALUE_STACK && v->kind != VALUE_ELEMENT)
		return wrong(c, call, n, "no pointer to the stack or into a map");
	error = check_place(c, v, 0, size, writes, &p);
	if (error)
		return error;
	if (!p.in_bounds)
		return wrong(c, call, n, "a pointer that may lead outside of its memory");
	if (c->fact && p.kind == VALUE_STACK && !p.is_constant)
		c->analysis->frame_in_memory[p.which] = true;
	if (p.kind == VALUE_ELEMENT) {
		use_map(c, p.which, writes ? MAP_WRITTEN : MAP_READ);
		return 0;
	}
	return writes ? stack_write(c, &p, size, &unknown) : stack_read_region(c, &p, size);
}

static int check_map(struct checking *c, struct call *call, unsigned int n)
{
	const struct value *v = argument(c, n);
	const struct ebpf_map *m;
	bool by_access = call->helper->id == HELPER_OF_ACCESS;
	bool for_ring = !by_access && call->helper->id != HELPER_LOOKUP &&
			call->helper->id != HELPER_UPDATE && call->helper->id != HELPER_DELETE;

	if (v->kind != VALUE_MAP)
		return wrong(c, call, n, "no map");
	m = map_at(c, v->which);
	if (!m->kind)
		return refuse(c, "map '%s' is of type %u, which GPU programs cannot use", m->name,
			m->type);
	if ((m->kind->shape == EBPF_RING) != for_ring ||
		(m->kind->shape == EBPF_SITES) != by_access)
		return refuse(c, "%s (%d) is not for map '%s', which is a %s", call->helper->name,
			call->helper->id, m->name, m->kind->name);
	if (call->helper->id == HELPER_DELETE && m->kind->shape != EBPF_HASH)
		return refuse(c, "entries of map '%s', which is a %s, cannot be deleted", m->name,
			m->kind->name);
	call->map = v->which;
	call->has_map = true;
	return 0;
}

static int check_size(const struct checking *c, const struct call *call, unsigned int n)
{
	const struct value *v = argument(c, n);

	if (v->kind != VALUE_NUMBER || !number_is_constant(&v->number))
		return wrong(c, call, n, "no size that is the same on all ways");
	if (call->helper->id != HELPER_PRINTK && (!v->number.umin || v->number.umin > RECORD_MAX))
		return wrong(c, call, n, "a size of 0 or of more than 512 bytes");
	return 0;
}

static int check_text(struct checking *c, const struct call *call, unsigned int n)
{
	unsigned int extra;
	char text[TEXT_MAX];

	if (text_read(c, argument(c, n), text, sizeof(text)))
		return wrong(c, call, n, "no text that is known beforehand, of at most 255 bytes");
	extra = call->helper->id == HELPER_PRINTK ? text_conversions(text) : 0;
	if (extra > PRINT_ARGUMENTS)
		return wrong(c, call, n, "a text with more than 3 conversions");
	if (extra && text_has_text(text))
		return wrong(c, call, n, "a text with %s: GPU programs print numbers only");
	for (unsigned int i = 0; i < extra; i++)
		if (argument(c, 2 + i)->kind != VALUE_NUMBER)
			return wrong(c, call, 2 + i, "no number");
	return c->fact ? text_keep(c, text) : 0;
}

static int check_record(const struct checking *c, const struct call *call, unsigned int n)
{
	const struct value *v = argument(c, n);
	unsigned int calls = c->flow->frame_count - c->flow->record_count;

	if (v->kind != VALUE_STACK || v->which < calls || !number_is_constant(&v->number) ||
		v->number.smin != -(int64_t)c->analysis->frame_bytes[v->which])
		return wrong(c, call, n, "no record that bpf_ringbuf_reserve returned");
	return 0;
}

static int check_argument_of(struct checking *c, struct call *call, unsigned int n)
{
	const struct ebpf_map *m = call->has_map ? map_at(c, call->map) : NULL;
	int error = 0;

	switch (call->helper->arguments[n]) {
	case ARGUMENT_NUMBER:
		return argument(c, n)->kind == VALUE_NUMBER ? 0 : wrong(c, call, n, "no number");
	case ARGUMENT_MAP:
		return check_map(c, call, n);
	case ARGUMENT_KEY:
		return check_memory(c, call, n, m->key_size, false);
	case ARGUMENT_VALUE:
		return check_memory(c, call, n, m->value_size, false);
	case ARGUMENT_DATA:
		error = check_size(c, call, n + 1);
		return error
			       ?: check_memory(c, call, n,
					  (uint32_t)argument(c, n + 1)->number.umin, false);
	case ARGUMENT_SIZE:
		return check_size(c, call, n);
	case ARGUMENT_RESULT:
		return check_memory(c, call, n, 8, true);
	case ARGUMENT_RECORD:
		return check_record(c, call, n);
	case ARGUMENT_TEXT:
		return check_text(c, call, n);
	}
	return 0;
}

/* Whether all bytes that a helper reads are zeros: then an update with them begins a sum, however
 * many copies of the entry there are. */
static bool is_zeros(const struct checking *c, const struct value *v, uint32_t size)
{
	if (v->kind != VALUE_STACK || !number_is_constant(&v->number))
		return false;
	for (uint32_t i = 0; i < size; i++)
		if (text_byte(c, v, v->number.smin + i))
			return false;
	return true;
}

static void note_update(struct checking *c, const struct call *call)
{
	const struct value *flags = argument(c, 3);
	bool only_creates = number_is_constant(&flags->number) &&
			    flags->number.umin == BPF_NOEXIST &&
			    map_at(c, call->map)->kind->shape == EBPF_HASH &&
			    is_zeros(c, argument(c, 2), map_at(c, call->map)->value_size);

	use_map(c, call->map, only_creates ? MAP_CREATED : MAP_SET);
}

static void note_sent(struct checking *c, uint8_t map, uint32_t size)
{
	use_map(c, map, MAP_SENT);
	if (size > c->analysis->record_bytes[map])
		c->analysis->record_bytes[map] = size;
}

/* Whether the key of a look-up is one that the map has in any case. */
static bool is_there(const struct checking *c, const struct ebpf_map *m)
{
	const struct value *key = argument(c, 1);

	if (m->kind->shape != EBPF_ARRAY && m->kind->shape != EBPF_SM_ARRAY)
		return false;
	if (key->kind == VALUE_STACK && number_is_constant(&key->number))
		return stack_most(c, key) < m->max_entries;
	return false;
}

static struct value look_up(struct checking *c, const struct call *call)
{
	uint32_t identity = state_lookup_identity(c->step);
	bool there = call->helper->id == HELPER_OF_ACCESS || is_there(c, map_at(c, call->map));
	struct value v = {
		.kind = VALUE_ELEMENT,
		.which = call->map,
		.maybe_null = !there,
		.identity = identity,
		.number = number_constant(0),
	};

	state_drop_identity(c->state, identity);
	use_map(c, call->map, MAP_LOOKED_UP);
	if (c->fact)
		c->fact->is_there = there;
	return v;
}

static struct value reserve(struct checking *c, const struct call *call)
{
	uint8_t frame = flow_record_frame(c->flow, step_of(c)->target);
	uint32_t size = (uint32_t)argument(c, 1)->number.umin, bytes = (size + 7) & ~7u;

	c->analysis->frame_bytes[frame] = bytes;
	c->analysis->frame_map[frame] = call->map;
	state_forget_frame(c->state, frame);
	state_enter(c->state, frame);
	note_sent(c, call->map, size);
	return (struct value){
		.kind = VALUE_STACK,
		.which = frame,
		.number = number_constant((uint64_t) - (int64_t)bytes),
	};
}

/* What is not written of a record is sent as zeros. */
static void submit(struct checking *c)
{
	uint8_t frame = argument(c, 0)->which;

	if (c->fact)
		c->analysis->frame_needs_zeros[frame] = true;
	state_forget_frame(c->state, frame);
}

static struct value number_below(uint64_t limit)
{
	return value_number(number_up_to(limit - 1));
}

static struct value result_of(struct checking *c, const struct call *call)
{
	switch (call->helper->id) {
	case HELPER_LOOKUP:
	case HELPER_OF_ACCESS:
		return look_up(c, call);
	case HELPER_RING_RESERVE:
		return reserve(c, call);
	case HELPER_RING_SUBMIT:
	case HELPER_RING_DISCARD:
		submit(c);
		break;
	case HELPER_UPDATE:
		note_update(c, call);
		break;
	case HELPER_DELETE:
		use_map(c, call->map, MAP_DELETED);
		break;
	case HELPER_PERF_OUTPUT:
		note_sent(c, call->map, (uint32_t)argument(c, 4)->number.umin);
		break;
	case HELPER_RING_OUTPUT:
		note_sent(c, call->map, (uint32_t)argument(c, 2)->number.umin);
		break;
	case HELPER_LANE:
		return number_below(32);
	case HELPER_LOG2:
		return number_below(64);
	case HELPER_LANES:
	case HELPER_LINES:
		return number_below(33);
	case HELPER_SM:
	case HELPER_PROCESSOR:
	case HELPER_WARP_SLOT:
	case HELPER_ACTIVE_MASK:
		return number_below(1ull << 32);
	}
	return value_number(number_unknown());
}

static int check_place_of_call(
	const struct checking *c, const struct ebpf_helper *helper, int32_t id)
{
	const char *misplaced = ebpf_helper_misplaced(id, &c->flow->program->site);

	if (id == HELPER_TAIL_CALL)
		return refuse(c, "calls another program (bpf_tail_call), which GPUs cannot do");
	if (id == HELPER_VPRINTK)
		return refuse(
			c, "prints more than 3 numbers at once, which GPU programs cannot do");
	if (!helper)
		return refuse(c, "calls helper %d, which is unknown on GPUs", id);
	if (misplaced)
		return refuse(c, "%s", misplaced);
	if (id == HELPER_EXIT && !c->options->allow_exit)
		return refuse(c, "ends its thread (helper %d), which --allow-exit allows", id);
	return 0;
}

int check_call(struct checking *c)
{
	int32_t id = step_of(c)->insn.imm;
	struct call call = {.helper = ebpf_helper(id)};
	int error = check_place_of_call(c, call.helper, id);
	struct value result;

	for (unsigned int n = 0; !error && n < HELPER_ARGUMENTS; n++) {
		uint8_t kind = call.helper->arguments[n];

		if (kind != ARGUMENT_NONE && kind != ARGUMENT_ANY)
			error = check_set(c, (uint8_t)(n + 1));
		error = error ?: check_argument_of(c, &call, n);
	}
	if (error)
		return error;
	result = result_of(c, &call);
	for (unsigned int i = 1; i < FLOW_SHARED_REGISTERS; i++)
		c->state->registers[i] = (struct value){.kind = VALUE_UNSET};
	c->state->registers[0] = result;
	return 0;
}
