// SPDX-License-Identifier: MIT
/*
 * The generic program of monitors; what it does with an event is told in bpf/monitor.h.
 *
 * One body with three entries: a tracepoint, a function's entry, a function's return. An object is opened once for
 * each event, with one entry loaded, and the event's plan in read-only data. The verifier knows what stands there
 * when the place that is read is known, so that every branch on it has one side only, and the kernel takes the other
 * side out. All loops over the plan are therefore unrolled, and they end by counts (plan_counts) which stay in a
 * register: reading a plan's row costs time even when it says that there is nothing to do.
 *
 * Fields of a record are read by instructions of their own, one each. Where the field is and how large is only known
 * when the object is opened: the loader writes it into the instructions (LOAD_FIELD). Only
 * strings of any length take a call.
 *
 * What is long lives in memory of the CPU (struct state), and not on the stack, which has 512 bytes. That also makes
 * the verifier's work short: it does not follow what stands there.
 */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/monitor.h"

#define UINT64_MAX (~0ull)

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set before loading. */
const volatile struct monitor_plan plan;
const volatile struct monitor_plan_counts plan_counts;

/* The copies share it. */
uint32_t running;

/* A power of two. */
#define CACHED_PLACES 64

struct state {
	struct monitor_losses lost; /* first, for the loader */
	uint64_t field[MONITOR_FIELDS];
	uint64_t value[MONITOR_COUNTS];
	uint64_t missed[MONITOR_ACTS]; /* ACT_ADVANCE; MONITOR_NO_VALUE: that is not so */
	uint64_t period[MONITOR_ACTS];
	uint64_t back[MONITOR_ACTS];
	char string[MONITOR_STRINGS][MONITOR_STRING_BYTES];
	char label[MONITOR_LABELS][MONITOR_LABEL_BYTES];
	struct monitor_object_key key[MONITOR_ACTS];
	struct monitor_object object[MONITOR_ACTS]; /* about to be there */
	struct monitor_object named; /* has only an owner, whom a text names */
	struct monitor_cell_key cell[MONITOR_COUNTS];
	struct monitor_cell_key label_cell;
	uint64_t began_ns[MONITOR_ACTS]; /* of stopwatches; 0: there was none */
	uint32_t places[CACHED_PLACES];	 /* of cells that were used last, from 1; 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct state);
} states SEC(".maps");

/* The maps from here on are shared, and sized by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct monitor_object_key);
	__type(value, struct monitor_object);
} objects SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} stopwatches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct monitor_cell_place);
} cells SEC(".maps");

/* Which place of `cells` is whose. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct monitor_cell_key);
	__type(value, uint32_t);
} cell_places SEC(".maps");

/* Places that are empty. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, uint32_t);
} free_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, MONITOR_STACK_DEPTH * sizeof(uint64_t));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");

/* What an event is about, as far as it is known. */
struct event {
	void *ctx;
	uint64_t now_ns;
	struct monitor_object *object[MONITOR_ACTS]; /* that an act found or opened */
	struct monitor_object *slot[MONITOR_ACTS];   /* where one of its key is or was */
	const struct monitor_object *named;
};

#define unrolled _Pragma("clang loop unroll(full)")

/* A choice by a number that the verifier knows. */
static __always_inline struct monitor_object *object_of(const struct event *e, uint8_t act)
{
	if (act == 0)
		return e->object[0];
	if (act == 1)
		return e->object[1];
	if (act == 2)
		return e->object[2];
	if (act == 3)
		return e->object[3];
	_Static_assert(MONITOR_ACTS == 5, "each act has to be named here");
	return act == 4 ? e->object[4] : NULL;
}

static __always_inline bool is_none(uint64_t value)
{
	return value >> 63;
}

static __always_inline uint64_t number(const struct state *s, uint8_t field)
{
	return field < MONITOR_FIELDS ? s->field[field] : 0;
}

static __always_inline void copy_words(void *to, const void *from, uint32_t words)
{
	unrolled for (uint32_t i = 0; i < words; i++)
		((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
}

static __always_inline void zero_words(void *to, uint32_t words)
{
	unrolled for (uint32_t i = 0; i < words; i++)
		((volatile uint64_t *)to)[i] = 0;
}

/* ------------------------------------------------------------------ fields */

/* From what was read, with zeros above its size. */
static __always_inline uint64_t worth(uint64_t raw, uint32_t i)
{
	uint8_t read = plan.field[i].read;

	if (read == READ_SIGNED || read == READ_ARGUMENT_SIGNED || read == READ_RESULT_SIGNED) {
		if (plan.field[i].size == 4)
			raw = (int64_t)(int32_t)raw;
		else if (plan.field[i].size == 2)
			raw = (int64_t)(int16_t)raw;
		else if (plan.field[i].size == 1)
			raw = (int64_t)(signed char)raw;
	}
	if (plan.field[i].subtract)
		raw -= (int64_t)plan.field[i].subtract;
	if (plan.field[i].shift && !is_none(raw))
		raw <<= plan.field[i].shift & 63;
	return raw;
}

static __always_inline uint64_t lowest(uint64_t raw, uint8_t size)
{
	if (size == 4)
		return (uint32_t)raw;
	if (size == 2)
		return (uint16_t)raw;
	return size == 1 ? (uint8_t)raw : raw;
}

/* A string of at most `size` bytes with its end, if it has one. `to` has MONITOR_STRING_BYTES. */
static __noinline int read_string(struct state *s, char *to, uint64_t address, uint64_t size)
{
	zero_words(to, MONITOR_STRING_BYTES / 8);
	asm volatile("" : "+r"(size));
	if (size > MONITOR_STRING_BYTES)
		size = MONITOR_STRING_BYTES;
	if (size && bpf_probe_read_kernel_str(to, size, (const void *)address) < 0)
		s->lost.unread++;
	return 0;
}

/* "__data_loc" and "__rel_loc". */
static __always_inline void read_located(
	struct state *s, uint32_t i, char *to, void *ctx, uint64_t located)
{
	uint64_t offset = located & 0xffff, size = located >> 16 & 0xffff;

	if (plan.field[i].read == READ_REL_LOC)
		offset += plan.field[i].offset + sizeof(uint32_t);
	if (offset < sizeof(uint64_t) || offset + size > MONITOR_EVENT_BYTES) {
		s->lost.unread++;
		size = 0;
	}
	read_string(s, to, (uint64_t)ctx + offset, size);
}

/* An array need not have an end: one byte more is read, and made to be it. */
static __always_inline void read_chars(struct state *s, uint32_t i, char *to, void *ctx)
{
	uint8_t size = plan.field[i].size;

	read_string(s, to, (uint64_t)ctx + plan.field[i].offset, (uint64_t)size + 1);
	if (size < MONITOR_STRING_BYTES)
		to[size] = '\0';
}

static __always_inline void keep_string(struct state *s, uint32_t i, void *ctx, uint64_t raw)
{
	uint8_t read = plan.field[i].read;
	char *to = s->string[plan.field[i].string];

	if (read == READ_DATA_LOC || read == READ_REL_LOC)
		read_located(s, i, to, ctx, raw);
	else if (read == READ_CHARS)
		read_chars(s, i, to, ctx);
	else
		read_string(s, to, raw, MONITOR_STRING_BYTES);
}

/* The bytes before the first that is 0. */
static __always_inline uint64_t up_to_end(uint64_t word)
{
	uint64_t ends = (word - 0x0101010101010101ull) & ~word & 0x8080808080808080ull;

	return ends ? word & (((ends & -ends) >> 7) - 1) : word;
}

/* The instructions that the loader makes others of; see MONITOR_LOADS. */
#define LOAD_FIELD(ctx, i) (*(volatile uint64_t *)((char *)(ctx) + MONITOR_LOADS + (i) * 8))
#define LOAD_NAME(ctx, i, n)                                                                       \
	((uint64_t) * (volatile uint32_t *)((char *)(ctx) + MONITOR_NAME_LOADS +                   \
			      (i) * MONITOR_NAME_BYTES + (n) * 4))

/* What is behind it in `to` is zero: nothing else is put there. */
static __always_inline void load_name(uint64_t *to, void *ctx, uint32_t i)
{
	uint64_t first = LOAD_NAME(ctx, i, 0) | LOAD_NAME(ctx, i, 1) << 32;
	uint64_t second = LOAD_NAME(ctx, i, 2) | LOAD_NAME(ctx, i, 3) << 32;

	to[0] = up_to_end(first);
	to[1] = first == to[0] && first >> 56 ? up_to_end(second) : 0;
}

static __always_inline void keep_field(struct state *s, uint32_t i, void *ctx, uint64_t raw)
{
	uint8_t read = plan.field[i].read;

	if (read == READ_NOTHING)
		return; /* it is 0 or empty as it was made */
	if (plan.field[i].string < MONITOR_STRINGS)
		keep_string(s, i, ctx, raw);
	else if (read == READ_THREAD)
		s->field[i] = (uint32_t)bpf_get_current_pid_tgid();
	else
		s->field[i] = worth(raw, i);
}

static __always_inline void read_record(struct state *s, void *ctx)
{
	uint8_t count = plan_counts.fields;
	uint32_t names = plan_counts.names;

	unrolled for (uint32_t i = 0; i < MONITOR_FIELDS; i++) {
		if (names & 1u << i)
			load_name((uint64_t *)s->string[plan.field[i].string], ctx, i);
		else if (i < count)
			keep_field(s, i, ctx, plan.field[i].size ? LOAD_FIELD(ctx, i) : 0);
	}
}

struct registers {
	uint64_t argument[5], result;
};

/* What the compiler takes as it is: it must not make one load of several, whose place is a variable; verifiers do not
 * take that. */
static __always_inline uint64_t as_it_is(uint64_t value)
{
	asm volatile("" : "+r"(value));
	return value;
}

static __always_inline uint64_t argument(const struct registers *r, uint16_t number)
{
	if (number == 0)
		return r->argument[0];
	if (number == 1)
		return r->argument[1];
	if (number == 2)
		return r->argument[2];
	if (number == 3)
		return r->argument[3];
	return number == 4 ? r->argument[4] : 0;
}

static __always_inline uint64_t read_register(const struct registers *r, uint32_t i)
{
	uint8_t read = plan.field[i].read;
	uint64_t raw = read == READ_RESULT || read == READ_RESULT_SIGNED
			       ? r->result
			       : argument(r, plan.field[i].offset);

	return lowest(raw, plan.field[i].size);
}

static __always_inline void read_registers(struct state *s, struct pt_regs *ctx)
{
	const struct registers r = {
		.argument = {as_it_is(PT_REGS_PARM1(ctx)), as_it_is(PT_REGS_PARM2(ctx)),
			as_it_is(PT_REGS_PARM3(ctx)), as_it_is(PT_REGS_PARM4(ctx)),
			as_it_is(PT_REGS_PARM5(ctx))},
		.result = as_it_is(PT_REGS_RC(ctx)),
	};
	uint8_t count = plan_counts.fields;

	unrolled for (uint32_t i = 0; i < MONITOR_FIELDS; i++)
		if (i < count)
			keep_field(s, i, ctx, plan.field[i].read != READ_NOTHING ? read_register(&r, i) : 0);
}

/* ------------------------------------------------------------------ processes in texts */

#define PID_MAX	       0x7fffffff
#define PID_DIGITS_MAX 10

/* The character at `at`, which may be behind the end. */
static __always_inline char character(const char *text, uint32_t at)
{
	asm volatile("" : "+r"(at));
	return text[at & (MONITOR_STRING_BYTES - 1)];
}

/* Up to a comma. */
static __always_inline void copy_name(struct state *s, const char *from)
{
	char *comm = s->named.comm;
	bool ended;

	if (bpf_probe_read_kernel(comm, MONITOR_COMM_BYTES, from))
		s->lost.unread++;
	comm[MONITOR_COMM_BYTES - 1] = '\0';
	ended = comm[0] == '<'; /* "<unknown>" */
	unrolled for (uint32_t i = 0; i < MONITOR_COMM_BYTES; i++) {
		ended |= comm[i] == ',' || !comm[i];
		if (ended)
			comm[i] = '\0';
	}
}

/*
 * "pid=1234, name=x, ...", "pid='1234', name=x, ..."; anything else names nobody. A string has its end within its
 * MONITOR_STRING_BYTES.
 */
static __noinline int read_named(struct state *s, const char *text)
{
	uint32_t at = text[4] == '\'' ? 5 : 4;
	uint64_t pid = 0;
	char next = 0;

	zero_words(&s->named, sizeof(s->named) / 8);
	if (text[0] != 'p' || text[1] != 'i' || text[2] != 'd' || text[3] != '=')
		return 0;
	unrolled for (uint32_t i = 0; i <= PID_DIGITS_MAX; i++) {
		next = character(text, at);
		if (next < '0' || next > '9')
			break;
		pid = pid * 10 + (next - '0');
		at++;
	}
	if ((next != ',' && next != '\'') || !pid || pid > PID_MAX)
		return 0;
	s->named.pid = pid;
	s->named.tid = pid;
	at += next == '\'' ? 2 : 1;
	if (character(text, at) == ' ' && character(text, at + 1) == 'n' &&
		character(text, at + 2) == 'a' && character(text, at + 3) == 'm' &&
		character(text, at + 4) == 'e' && character(text, at + 5) == '=')
		copy_name(s, text + ((at + 6) & (MONITOR_STRING_BYTES - 1)));
	return 0;
}

/* ------------------------------------------------------------------ labels and owners */

/* Long strings are cut, so that every label has an end. */
static __always_inline void cut_copy(char *to, const char *from)
{
	copy_words(to, from, MONITOR_LABEL_BYTES / 8);
	to[MONITOR_LABEL_BYTES - 1] = '\0';
}

static __always_inline void label_from_field(char *to, const struct state *s, uint8_t index)
{
	uint8_t slot;

	if (index >= MONITOR_FIELDS)
		return;
	slot = plan.field[index].string;
	if (slot < MONITOR_STRINGS) {
		cut_copy(to, s->string[slot]);
		return;
	}
	*(uint64_t *)to = s->field[index];
	to[MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
}

static __always_inline void label_from_act(
	char *to, const struct event *e, const volatile struct monitor_label_plan *from)
{
	const struct monitor_object *o = object_of(e, from->index);

	if (!o)
		o = object_of(e, from->other);
	if (!o)
		zero_words(to, MONITOR_LABEL_BYTES / 8);
	else
		copy_words(to, o->label[from->which & 1], MONITOR_LABEL_BYTES / 8);
}

/* What a plan does not speak of stays zero, as `to` was made: no other plan makes labels there. */
static __always_inline void make_label(char *to, const struct state *s, const struct event *e,
	const volatile struct monitor_label_plan *from)
{
	if (from->from == LABEL_FIELD)
		label_from_field(to, s, from->index);
	else if (from->from == LABEL_ACT)
		label_from_act(to, e, from);
}

/* The object that says whose event this is, or NULL: then it is the current process'. */
static __always_inline const struct monitor_object *owner_of(const struct event *e)
{
	if (plan.process_text < MONITOR_STRINGS)
		return e->named;
	return object_of(e, plan.process_act);
}

static __always_inline uint64_t client_of(const struct state *s, const struct monitor_object *owner)
{
	if (plan.client != MONITOR_NONE)
		return number(s, plan.client);
	return owner ? owner->client : 0;
}

static __always_inline uint32_t pid_of(const struct monitor_object *owner)
{
	return owner ? owner->pid : bpf_get_current_pid_tgid() >> 32;
}

/* ------------------------------------------------------------------ objects */

static __always_inline uint64_t key_word(const struct state *s, uint8_t field)
{
	const uint64_t *words;
	uint64_t hash = 0;
	uint8_t slot;

	if (field >= MONITOR_FIELDS)
		return 0;
	slot = plan.field[field].string;
	if (slot >= MONITOR_STRINGS)
		return s->field[field];
	words = (const uint64_t *)s->string[slot];
	unrolled for (uint32_t i = 0; i < MONITOR_STRING_BYTES / 8; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash;
}

static __always_inline void set_owner(struct monitor_object *o, const struct monitor_object *owner)
{
	uint64_t id;

	if (owner) {
		o->pid = owner->pid;
		o->tid = owner->tid;
		o->cgroup = owner->cgroup;
		copy_words(o->comm, owner->comm, MONITOR_COMM_BYTES / 8);
		return;
	}
	id = bpf_get_current_pid_tgid();
	o->pid = id >> 32;
	o->tid = (uint32_t)id;
	o->cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(o->comm, sizeof(o->comm));
}

static __always_inline void begin(
	struct monitor_object *o, struct state *s, const struct event *e, uint32_t i)
{
	/* One that this act opens does not own itself. */
	const struct monitor_object *owner = plan.process_act < i ? owner_of(e) : NULL;

	unrolled for (uint32_t stage = 1; stage < MONITOR_STAGES; stage++)
		o->stage_ns[stage] = 0;
	o->value = number(s, plan.act[i].value);
	o->client = client_of(s, owner);
	if (plan_counts.owners[i])
		set_owner(o, owner);
	o->kernel_stack = o->user_stack = -1;
	if (plan.act[i].stacks) {
		o->kernel_stack = bpf_get_stackid(e->ctx, &stacks, 0);
		o->user_stack = bpf_get_stackid(e->ctx, &stacks, BPF_F_USER_STACK);
	}
	unrolled for (uint32_t l = 0; l < MONITOR_LABELS; l++) {
		if (plan.act[i].label[l].from == LABEL_EMPTY)
			zero_words(o->label[l], MONITOR_LABEL_BYTES / 8);
		else if (plan.act[i].label[l].from == LABEL_FIELD)
			zero_words(o->label[l] + sizeof(uint64_t), MONITOR_LABEL_BYTES / 8 - 1);
		make_label(o->label[l], s, e, &plan.act[i].label[l]);
	}
	o->stage_ns[0] = e->now_ns;
}

/* Where there was none of this key. Returns it as it is in the map now, or NULL when there is no room. */
static __always_inline struct monitor_object *insert(
	struct state *s, const struct event *e, uint32_t i)
{
	begin(&s->object[i], s, e, i);
	if (!bpf_map_update_elem(&objects, &s->key[i], &s->object[i], BPF_ANY))
		return &s->object[i];
	s->lost.objects++;
	return NULL;
}

static __always_inline struct monitor_object *open_object(
	struct state *s, const struct event *e, uint32_t i)
{
	if (!e->slot[i])
		return insert(s, e, i);
	begin(e->slot[i], s, e, i);
	return e->slot[i];
}

static __always_inline struct monitor_object *advance(
	struct state *s, const struct event *e, uint32_t i)
{
	struct monitor_object *o = e->object[i];
	uint8_t field = plan.act[i].value;
	uint64_t value = number(s, field), ahead, half = 1ull << 63;

	s->missed[i] = s->period[i] = s->back[i] = MONITOR_NO_VALUE;
	if (!o)
		return open_object(s, e, i);
	ahead = value - o->value;
	if (field < MONITOR_FIELDS && plan.field[field].size < 8) {
		ahead = lowest(ahead, plan.field[field].size);
		half = 1ull << (plan.field[field].size * 8 - 1 & 63);
	}
	if (ahead && ahead < half) {
		if (ahead > 1)
			s->missed[i] = ahead - 1;
		s->period[i] = (e->now_ns - o->stage_ns[0]) / ahead;
	} else
		s->back[i] = 1;
	o->value = value;
	o->stage_ns[0] = e->now_ns;
	return o;
}

#define STOPWATCH_MASK ((1ull << MONITOR_STOPWATCH_BITS) - 1)

/* Neighbours are not in the same line of memory. */
static __always_inline uint64_t *find_stopwatch(uint64_t thread)
{
	uint32_t place = (uint32_t)thread * 40503 & (MONITOR_STOPWATCHES - 1);

	return bpf_map_lookup_elem(&stopwatches, &place);
}

/* Whether that was all; else it is an object like others. */
static __always_inline bool do_stopwatch(struct state *s, const struct event *e, uint32_t i)
{
	uint64_t thread = number(s, plan.act[i].key[0]);
	uint64_t whose = thread >> 16 << MONITOR_STOPWATCH_BITS, word, *watch = find_stopwatch(thread);

	s->began_ns[i] = 0;
	if (!watch)
		return false;
	word = *(volatile uint64_t *)watch;
	if (plan.act[i].kind == ACT_OPEN) {
		if (word && (word & ~STOPWATCH_MASK) != whose)
			return false;
		*(volatile uint64_t *)watch = whose | (e->now_ns & STOPWATCH_MASK);
		return true;
	}
	if (!word || (word & ~STOPWATCH_MASK) != whose)
		return false;
	*(volatile uint64_t *)watch = 0;
	s->began_ns[i] = e->now_ns - (e->now_ns - word & STOPWATCH_MASK);
	return true;
}

static __always_inline void do_act(struct state *s, struct event *e, uint32_t i)
{
	uint8_t kind = plan.act[i].kind;
	struct monitor_object *o;

	e->object[i] = e->slot[i] = NULL;
	if (kind == ACT_NOTHING)
		return;
	if (plan_counts.stopwatch[i] && do_stopwatch(s, e, i))
		return;
	s->key[i].kind = plan.act[i].object;
	unrolled for (uint32_t k = 0; k < MONITOR_KEY_WORDS; k++)
		s->key[i].word[k] = key_word(s, plan.act[i].key[k]);
	o = e->slot[i] = bpf_map_lookup_elem(&objects, &s->key[i]);
	if (o && !o->stage_ns[0])
		o = NULL;
	if (o && plan.act[i].only_value && o->value != number(s, plan.act[i].value))
		o = NULL;
	e->object[i] = o;
	if (kind == ACT_OPEN)
		e->object[i] = open_object(s, e, i);
	else if (kind == ACT_ADVANCE)
		e->object[i] = advance(s, e, i);
	else if (!o && (kind == ACT_MARK || kind == ACT_CLOSE))
		s->lost.strangers += !plan.act[i].optional;
	else if (kind == ACT_MARK)
		o->stage_ns[plan.act[i].stage % MONITOR_STAGES] = e->now_ns;
}

/* What would have changed the object before it was counted. */
static __always_inline void finish_act(struct state *s, const struct event *e, uint32_t i)
{
	uint8_t kind = plan.act[i].kind;

	if (kind == ACT_REOPEN)
		open_object(s, e, i);
	if (kind != ACT_CLOSE || !e->object[i])
		return;
	if (plan.act[i].recurs)
		e->object[i]->stage_ns[0] = 0;
	else
		bpf_map_delete_elem(&objects, &s->key[i]);
}

/* ------------------------------------------------------------------ counts */

static __always_inline uint32_t highest_bit(uint64_t v)
{
	uint32_t p = 0;

	if (v >> 32) {
		v >>= 32;
		p += 32;
	}
	if (v >> 16) {
		v >>= 16;
		p += 16;
	}
	if (v >> 8) {
		v >>= 8;
		p += 8;
	}
	if (v >> 4) {
		v >>= 4;
		p += 4;
	}
	if (v >> 2) {
		v >>= 2;
		p += 2;
	}
	return p + (v >> 1);
}

static __always_inline uint32_t bucket_of(uint64_t v)
{
	uint32_t p;

	if (v < MONITOR_BUCKET_PARTS)
		return v;
	p = highest_bit(v);
	return (p - 2) * MONITOR_BUCKET_PARTS + (v >> (p - 3 & 63) & (MONITOR_BUCKET_PARTS - 1));
}

static __always_inline bool same_key(
	const struct monitor_cell_key *a, const struct monitor_cell_key *b)
{
	const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
	uint64_t differs = 0;

	unrolled for (uint32_t i = 0; i < sizeof(*a) / 8; i++)
		differs |= x[i] ^ y[i];
	return !differs;
}

static __always_inline void begin_cell(struct monitor_cell_place *p,
	const struct monitor_cell_key *key, const struct monitor_object *owner)
{
	copy_words(&p->key, key, sizeof(*key) / 8);
	p->cell.min = UINT64_MAX;
	if (!key->pid)
		return;
	if (owner) {
		p->cell.cgroup = owner->cgroup;
		copy_words(p->cell.comm, owner->comm, MONITOR_COMM_BYTES / 8);
	} else {
		p->cell.cgroup = bpf_get_current_cgroup_id();
		bpf_get_current_comm(p->cell.comm, sizeof(p->cell.comm));
	}
}

/* Nobody else has the key, which has this CPU in it. */
static __always_inline struct monitor_cell_place *new_place(
	struct state *s, const struct monitor_cell_key *key, const struct monitor_object *owner)
{
	struct monitor_cell_place *p;
	uint32_t index;

	if (bpf_map_pop_elem(&free_places, &index))
		return NULL;
	p = bpf_map_lookup_elem(&cells, &index);
	if (!p)
		return NULL;
	begin_cell(p, key, owner);
	if (!bpf_map_update_elem(&cell_places, key, &index, BPF_ANY))
		return p;
	p->key.series = MONITOR_SERIES_FREE;
	bpf_map_push_elem(&free_places, &index, 0);
	return NULL;
}

static __always_inline struct monitor_cell_place *search_place(struct state *s,
	const struct monitor_cell_key *key, const struct monitor_object *owner, uint32_t *cached)
{
	const uint32_t *known = bpf_map_lookup_elem(&cell_places, key);
	struct monitor_cell_place *p;
	uint32_t index;

	if (!known) {
		p = new_place(s, key, owner);
		if (!p)
			s->lost.cells++;
		return p; /* it is remembered the next time */
	}
	index = *known;
	*cached = index + 1;
	return bpf_map_lookup_elem(&cells, &index);
}

/* `hash` of what tells this event's keys apart. */
static __always_inline struct monitor_cell_place *find_cell(struct state *s,
	const struct monitor_cell_key *key, const struct monitor_object *owner, uint64_t hash)
{
	uint32_t *cached = &s->places[hash * 0x9e3779b97f4a7c15ull >> 58 & (CACHED_PLACES - 1)];
	uint32_t index = *cached - 1;
	struct monitor_cell_place *p = bpf_map_lookup_elem(&cells, &index);

	if (p && same_key(&p->key, key))
		return p;
	return search_place(s, key, owner, cached);
}

static __always_inline void add_value(struct monitor_cell *c, uint64_t value, bool histogram)
{
	uint32_t bucket;

	c->sum += value;
	if (value < c->min)
		c->min = value;
	if (value > c->max)
		c->max = value;
	if (!histogram)
		return;
	bucket = bucket_of(value);
	if (bucket >= MONITOR_BUCKETS)
		bucket = MONITOR_BUCKETS - 1;
	asm volatile("" : "+r"(bucket));
	if (bucket < MONITOR_BUCKETS)
		c->buckets[bucket]++;
}

static __always_inline uint64_t time_since(const struct event *e, uint64_t from_ns)
{
	return from_ns && e->now_ns >= from_ns ? e->now_ns - from_ns : MONITOR_NO_VALUE;
}

static __always_inline uint64_t object_value(const struct event *e, uint8_t act)
{
	const struct monitor_object *o = object_of(e, act);

	return o ? o->value : MONITOR_NO_VALUE;
}

/* Another CPU may have brought the object to its stage after we looked at the clock. */
static __always_inline uint64_t duration_of(
	const struct state *s, const struct event *e, uint8_t act, uint8_t stage)
{
	const struct monitor_object *o = object_of(e, act);
	uint64_t from_ns = o ? o->stage_ns[stage % MONITOR_STAGES] : 0;

	if (!o && act < MONITOR_ACTS && plan_counts.stopwatch[act])
		from_ns = s->began_ns[act];
	if (!from_ns)
		return MONITOR_NO_VALUE;
	return e->now_ns > from_ns ? e->now_ns - from_ns : 0;
}

/* In bytes, where the fields are in pages: one more of what the last is counted in. */
static __always_inline uint64_t range_of(const struct state *s, uint8_t first, uint8_t last)
{
	uint64_t low = number(s, first), high = number(s, last);

	if (is_none(low) || is_none(high) || high < low || last >= MONITOR_FIELDS)
		return MONITOR_NO_VALUE;
	return high - low + (1ull << (plan.field[last].shift & 63));
}

/* What is to be added, or a number that is none. */
static __always_inline uint64_t value_of(const struct state *s, const struct event *e, uint32_t i)
{
	uint8_t value = plan.count[i].value, index = plan.count[i].index, from = plan.count[i].from;

	if (value == VALUE_ONE)
		return 1;
	if (value == VALUE_FIELD)
		return number(s, index);
	if (value == VALUE_DURATION)
		return duration_of(s, e, index, from);
	if (value == VALUE_KEPT)
		return object_value(e, index);
	if (value == VALUE_AGE)
		return time_since(e, number(s, index));
	if (value == VALUE_RANGE)
		return range_of(s, from, index);
	if (value == VALUE_PAIRED)
		return is_none(object_value(e, from)) ? MONITOR_NO_VALUE : number(s, index);
	if (index >= MONITOR_ACTS || !object_of(e, index))
		return MONITOR_NO_VALUE;
	if (value == VALUE_MISSED)
		return s->missed[index];
	if (value == VALUE_PERIOD)
		return s->period[index];
	return value == VALUE_BACK ? s->back[index] : MONITOR_NO_VALUE;
}

/* What tells labels apart, added up in haste. */
static __always_inline uint64_t hash_label(
	const char *label, const volatile struct monitor_label_plan *from)
{
	const uint64_t *words = (const uint64_t *)label;
	uint8_t index = from->index;

	if (from->from == LABEL_EMPTY)
		return 0;
	if (from->from == LABEL_FIELD && index < MONITOR_FIELDS &&
		plan.field[index].string >= MONITOR_STRINGS)
		return words[0];
	return words[0] + words[1] * 3 + words[2] * 5 + words[3] * 7;
}

static __always_inline uint64_t make_key(struct state *s, const struct event *e, uint32_t i,
	const struct monitor_object *owner)
{
	struct monitor_cell_key *key = &s->cell[i];
	uint64_t hash = i;

	key->series = plan.count[i].series;
	key->cpu = bpf_get_smp_processor_id();
	if (plan.count[i].by_process) {
		key->pid = pid_of(owner);
		key->client = client_of(s, owner);
		hash += key->pid + key->client * 11;
	}
	unrolled for (uint32_t l = 0; l < MONITOR_LABELS; l++) {
		make_label(key->label[l], s, e, &plan.count[i].label[l]);
		hash = hash * 13 + hash_label(key->label[l], &plan.count[i].label[l]);
	}
	return hash;
}

static __always_inline void add_count(struct state *s, const struct event *e, uint32_t i)
{
	const struct monitor_object *owner = owner_of(e);
	uint64_t value = value_of(s, e, i);
	struct monitor_cell_place *p;

	s->value[i] = MONITOR_NO_VALUE;
	if (is_none(value))
		return;
	s->value[i] = value;
	p = find_cell(s, &s->cell[i], owner, make_key(s, e, i, owner));
	if (!p)
		return;
	if (plan.count[i].value != VALUE_ONE)
		add_value(&p->cell, value, plan.count[i].histogram);
	p->cell.count++;
}

/* ------------------------------------------------------------------ filters */

static __always_inline void count_label(struct state *s)
{
	struct monitor_cell_key *key = &s->label_cell;
	struct monitor_cell_place *p;

	key->series = MONITOR_SERIES_LABELS;
	key->cpu = bpf_get_smp_processor_id();
	copy_words(key->label[0], s->label[0], MONITOR_LABEL_BYTES / 8);
	p = find_cell(s, key, NULL, *(uint64_t *)key->label[0]);
	if (p)
		p->cell.count++;
}

static __always_inline bool has_label(const struct state *s)
{
	const uint64_t *have = (const uint64_t *)s->label[0];
	const volatile uint64_t *only = (const volatile uint64_t *)plan.only;

	if (s->label[0][MONITOR_LABEL_BYTES - 1] == MONITOR_LABEL_NUMBER)
		return plan_counts.only == 2 && have[0] == plan_counts.only_number;
	return have[0] == only[0] && have[1] == only[1] && have[2] == only[2] && have[3] == only[3];
}

static __always_inline bool passes(struct state *s, const struct event *e)
{
	if (plan_counts.only) {
		make_label(s->label[0], s, e, &plan.label[0]);
		count_label(s);
		if (!has_label(s))
			return false;
	}
	return !plan.pid || pid_of(owner_of(e)) == plan.pid;
}

/* ------------------------------------------------------------------ records */

/* Only a ring that fills up is worth a wake-up. */
static __always_inline uint64_t wakeup_flags(void)
{
	return bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >= plan_counts.wakeup_bytes
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

static __always_inline void fill_whose(
	struct monitor_record *r, const struct state *s, const struct monitor_object *owner)
{
	uint64_t id;

	r->client = client_of(s, owner);
	if (owner) {
		r->pid = owner->pid;
		r->tid = owner->tid;
		r->cgroup = owner->cgroup;
		copy_words(r->comm, owner->comm, MONITOR_COMM_BYTES / 8);
		return;
	}
	id = bpf_get_current_pid_tgid();
	r->pid = id >> 32;
	r->tid = (uint32_t)id;
	r->cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(r->comm, sizeof(r->comm));
}

static __always_inline void send_record(struct state *s, const struct event *e)
{
	struct monitor_record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r) {
		s->lost.records++;
		return;
	}
	r->message = MESSAGE_RECORD;
	r->event = plan.event;
	r->cpu = bpf_get_smp_processor_id();
	r->time_ns = e->now_ns;
	fill_whose(r, s, owner_of(e));
	unrolled for (uint32_t i = 0; i < MONITOR_COUNTS; i++)
		r->count[i] = i < plan_counts.counts ? s->value[i] : MONITOR_NO_VALUE;
	unrolled for (uint32_t l = 0; l < MONITOR_LABELS; l++) {
		make_label(s->label[l], s, e, &plan.label[l]);
		copy_words(r->label[l], s->label[l], MONITOR_LABEL_BYTES / 8);
	}
	copy_words(r->field, s->field, MONITOR_FIELDS);
	copy_words(r->string, s->string, sizeof(r->string) / 8);
	bpf_ringbuf_submit(r, wakeup_flags());
}

static __always_inline void send_span(struct state *s, const struct event *e, uint32_t i)
{
	const struct monitor_object *owner = owner_of(e);
	struct monitor_span *p;

	if (!plan.count[i].busy || is_none(s->value[i]))
		return;
	p = bpf_ringbuf_reserve(&records, sizeof(*p), 0);
	if (!p) {
		s->lost.records++;
		return;
	}
	p->message = MESSAGE_SPAN;
	p->event = plan.event;
	p->count = i;
	p->end_ns = e->now_ns;
	p->duration_ns = s->value[i];
	p->client = client_of(s, owner);
	p->pid = pid_of(owner);
	p->reserved = 0;
	/* A label that the plan leaves empty is so in the cell's key too. */
	unrolled for (uint32_t l = 0; l < MONITOR_LABELS; l++)
		copy_words(p->label[l], s->cell[i].label[l], MONITOR_LABEL_BYTES / 8);
	bpf_ringbuf_submit(p, wakeup_flags());
}

static __always_inline bool wants_record(const struct state *s)
{
	uint8_t above = plan.above_count;

	if (plan.records != 2)
		return plan.records;
	return above < MONITOR_COUNTS && !is_none(s->value[above]) &&
	       s->value[above] >= plan.above;
}

/* ------------------------------------------------------------------ the body */

static __always_inline void tell(struct state *s, const struct event *e)
{
	uint8_t counts = plan_counts.counts;

	if (!passes(s, e))
		return;
	unrolled for (uint32_t i = 0; i < MONITOR_COUNTS; i++)
		if (i < counts)
			add_count(s, e, i);
	if (wants_record(s)) {
		send_record(s, e);
		return;
	}
	unrolled for (uint32_t i = 0; i < MONITOR_COUNTS; i++)
		if (i < counts)
			send_span(s, e, i);
}

static __always_inline int happened(void *ctx, struct state *s)
{
	struct event e = {.ctx = ctx};
	uint8_t acts = plan_counts.acts;

	if (plan_counts.time)
		e.now_ns = bpf_ktime_get_ns();
	if (plan.process_text < MONITOR_STRINGS) {
		read_named(s, s->string[plan.process_text]);
		e.named = &s->named;
	}
	unrolled for (uint32_t i = 0; i < MONITOR_ACTS; i++)
		if (i < acts)
			do_act(s, &e, i);
	tell(s, &e);
	unrolled for (uint32_t i = 0; i < MONITOR_ACTS; i++)
		if (i < acts)
			finish_act(s, &e, i);
	return 0;
}

static __always_inline struct state *enter(void)
{
	uint32_t zero = 0;
	struct state *s;

	if (!running)
		return NULL;
	s = bpf_map_lookup_elem(&states, &zero);
	if (s)
		s->lost.seen++;
	return s;
}

SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	struct state *s = enter();

	if (!s)
		return 0;
	read_record(s, ctx);
	return happened(ctx, s);
}

SEC("kprobe")
int on_function(struct pt_regs *ctx)
{
	struct state *s = enter();

	if (!s)
		return 0;
	read_registers(s, ctx);
	return happened(ctx, s);
}

SEC("kretprobe")
int on_return(struct pt_regs *ctx)
{
	struct state *s = enter();

	if (!s)
		return 0;
	read_registers(s, ctx);
	return happened(ctx, s);
}
