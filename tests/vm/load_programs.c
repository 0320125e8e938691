// SPDX-License-Identifier: MIT
/*
 * Loads the programs of a BPF object, as TAP, and notes what the verifier had to look at: all at
 * once, and each by itself where that fails.
 *
 * usage: load_programs FILE.bpf.o
 *
 * Of programs called NAME and NAME_without_..., which stand in for each other on kernels that lack
 * something, one has to load. Those that time waits or observe calls need not where tracing
 * programs have no task storage (before 5.12). What the verifier has against a program is printed,
 * its end if it is long. It takes about a microsecond an instruction, and at the start of each
 * recording, so that none may take too many.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_BYTES    (16 << 20)
#define LOG_SHOWN    6000
#define STATS	     4 /* kernel_log_level: only the summary, unless it fails */
#define ALTERNATIVE  "_without_"
#define PROGRAMS_MAX 64
#define VERIFIED_MAX 50000 /* instructions; on Linux 7.2, which takes the most, it is 33,000 */

struct outcome {
	char name[64];
	bool loaded;
	char *log;
};

/* What libbpf itself has to say, kept for when it fails. */
static char said[64 << 10];

static int keep(enum libbpf_print_level level, const char *format, va_list args)
{
	size_t used = strlen(said);

	if (level == LIBBPF_DEBUG)
		return 0;
	return vsnprintf(said + used, sizeof(said) - used, format, args);
}

/* Only what this kernel knows can be made; a program that needs more does not load then. */
static void choose_maps(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(
		map, object) if (libbpf_probe_bpf_map_type(bpf_map__type(map), NULL) == 0)
		bpf_map__set_autocreate(map, false);
}

static void choose_program(struct bpf_object *object, const char *name, char *log)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		bool chosen = !strcmp(bpf_program__name(program), name);

		bpf_program__set_autoload(program, chosen);
		if (chosen)
			bpf_program__set_log_buf(program, log, LOG_BYTES);
		if (chosen)
			bpf_program__set_log_level(program, STATS);
	}
}

static int prepare_all(struct bpf_object *object, struct outcome *outcomes)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		outcomes->log = calloc(1, LOG_BYTES);
		if (!outcomes->log)
			return -1;
		bpf_program__set_log_buf(program, outcomes->log, LOG_BYTES);
		bpf_program__set_log_level(program, STATS);
		outcomes++;
	}
	return 0;
}

/* Whether they all load. The kernel's types are read once then, which takes longer than many a
 * program. */
static bool load_all(const char *path, struct outcome *outcomes, int count)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	bool loaded;

	if (!object)
		return false;
	choose_maps(object);
	loaded = !prepare_all(object, outcomes) && !bpf_object__load(object);
	bpf_object__close(object);
	for (int i = 0; i < count; i++) {
		outcomes[i].loaded = loaded;
		if (loaded)
			continue;
		free(outcomes[i].log);
		outcomes[i].log = NULL;
	}
	return loaded;
}

static int load_one(const char *path, struct outcome *o)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	int error;

	o->log = calloc(1, LOG_BYTES);
	if (!object || !o->log)
		return -1;
	*said = '\0';
	choose_maps(object);
	choose_program(object, o->name, o->log);
	error = bpf_object__load(object);
	o->loaded = !error;
	if (error && !*o->log)
		snprintf(o->log, LOG_BYTES, "%s", said);
	bpf_object__close(object);
	return 0;
}

static int find_programs(const char *path, struct outcome *outcomes)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	int count = 0;

	if (!object)
		return -1;
	bpf_object__for_each_program(program, object) if (count < PROGRAMS_MAX) snprintf(
		outcomes[count++].name, sizeof(outcomes[0].name), "%s", bpf_program__name(program));
	bpf_object__close(object);
	return count;
}

/* Another program stands in for this one. */
static bool replaced(const struct outcome *o, const struct outcome *all, int count)
{
	size_t stem = strcspn(o->name, "");
	const char *at = strstr(o->name, ALTERNATIVE);

	if (at)
		stem = (size_t)(at - o->name);
	for (int i = 0; i < count; i++)
		if (all[i].loaded && &all[i] != o && !strncmp(all[i].name, o->name, stem) &&
			(!all[i].name[stem] ||
				!strncmp(all[i].name + stem, ALTERNATIVE, strlen(ALTERNATIVE))))
			return true;
	return false;
}

/* What needs task storage and has nothing to stand in for it. */
static bool is_too_new(const struct outcome *o)
{
	static const char *const newer[] = {"on_new_thread", "on_exec_waits", "on_switch",
		"on_waking", "each_thread", "on_observed", "on_observed_return", "on_driver_probe"};

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_task_storage_get, NULL) == 1)
		return false;
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
		if (!strcmp(o->name, newer[i]))
			return true;
	return false;
}

static void print_log(const char *log)
{
	size_t size = strlen(log);
	char *copy = strdup(size > LOG_SHOWN ? log + size - LOG_SHOWN : log);

	for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
		printf("#   %s\n", line);
	free(copy);
}

/* How many instructions the verifier looked at. */
static unsigned long verified(const char *log)
{
	const char *at = log ? strstr(log, "\nprocessed ") : NULL;

	return at ? strtoul(at + strlen("\nprocessed "), NULL, 10) : 0;
}

static bool print_outcome(int number, const struct outcome *o, const struct outcome *all, int count)
{
	bool good = o->loaded ? verified(o->log) <= VERIFIED_MAX : is_too_new(o);
	bool ok = good || (!o->loaded && replaced(o, all, count));

	printf("%sok %d - %s %s\n", ok ? "" : "not ", number, o->name,
		!o->loaded && ok ? "is not for this kernel" : "loads quickly enough");
	if (o->loaded || !ok)
		print_log(o->log);
	return ok;
}

int main(int argc, char **argv)
{
	static struct outcome outcomes[PROGRAMS_MAX];
	int count, failed = 0;
	bool all;

	if (argc != 2) {
		fprintf(stderr, "usage: load_programs FILE.bpf.o\n");
		return 2;
	}
	libbpf_set_print(keep);
	count = find_programs(argv[1], outcomes);
	all = count > 0 && load_all(argv[1], outcomes, count);
	for (int i = 0; i < count && !all; i++)
		if (load_one(argv[1], &outcomes[i]))
			count = -1;
	if (count <= 0) {
		fprintf(stderr, "load_programs: cannot open '%s'\n", argv[1]);
		return 1;
	}
	for (int i = 0; i < count; i++)
		failed += !print_outcome(i + 1, &outcomes[i], outcomes, count);
	printf("1..%d\n", count);
	return failed > 0;
}
