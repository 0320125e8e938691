// SPDX-License-Identifier: MIT
#include "code.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_REASON = 2, MADE_UP_PCS = 12, MADE_UP_STEP = 16, LINE_BYTES = 1024, NAME_BYTES = 512 };

/* As an H200 numbers them. */
static const char *const names[SIM_REASONS] = {
#define REASON(name)                                                                               \
	"smsp__pcsamp_warps_issue_stalled_" #name,                                                 \
		"smsp__pcsamp_warps_issue_stalled_" #name "_not_issued"
	"smsp__pcsamp_sample_count", "smsp__pcsamp_samples_data_dropped", REASON(barrier),
	REASON(branch_resolving), REASON(dispatch_stall), REASON(drain), REASON(imc_miss),
	REASON(lg_throttle), REASON(long_scoreboard), REASON(math_pipe_throttle), REASON(membar),
	REASON(mio_throttle), REASON(misc), REASON(no_instructions), REASON(not_selected),
	REASON(selected), REASON(short_scoreboard), REASON(sleeping), REASON(tex_throttle),
	REASON(wait), REASON(warpgroup_arrive)
#undef REASON
};

static struct {
	pthread_mutex_t lock;
	bool read;
	struct code_kernel *kernels;
	struct code_image *images;
} code = {.lock = PTHREAD_MUTEX_INITIALIZER};

const char *code_reason(uint32_t index)
{
	return names[index];
}

static int reason_of(const char *name)
{
	const char *vendor = "smsp__pcsamp_warps_issue_stalled_";
	size_t prefix = strlen(vendor);

	if (!strncmp(name, vendor, prefix))
		name += prefix;
	for (int i = FIRST_REASON; i < SIM_REASONS; i++)
		if (!strcmp(names[i] + prefix, name))
			return i;
	return -1;
}

CUpti_ComputeCrcCallbackFunc code_compute_checksum;

/* FNV-1a: NVIDIA's own is another, and nothing depends on which. */
uint64_t code_checksum(const void *image, size_t size)
{
	const unsigned char *p = image;
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ p[i]) * 1099511628211u;
	return hash;
}

/* The index of a symbol in an image's table of them; 0: not there. The files are our own. */
static uint32_t symbol_index(const struct code_image *image, const char *name)
{
	const Elf64_Ehdr *h = (const void *)image->bytes;
	const Elf64_Shdr *sections = (const void *)(image->bytes + h->e_shoff);

	for (int i = 0; i < h->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(image->bytes + sections[i].sh_offset);
		const char *text = image->bytes + sections[sections[i].sh_link].sh_offset;

		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		for (uint32_t n = 0; n < sections[i].sh_size / sizeof(*symbols); n++)
			if (ELF64_ST_TYPE(symbols[n].st_info) == STT_FUNC &&
				!strcmp(text + symbols[n].st_name, name))
				return n;
	}
	return 0;
}

static void *grown(void *array, uint32_t count, size_t item)
{
	return count & (count - 1) ? array : realloc(array, (count ? 2 * (size_t)count : 1) * item);
}

static bool add_function(struct code_kernel *k, const char *name, uint32_t index)
{
	struct code_function *f = grown(k->functions, k->function_count, sizeof(*f));

	if (!f)
		return false;
	k->functions = f;
	f[k->function_count++] = (struct code_function){strdup(name), index};
	return true;
}

static bool add_row(struct code_kernel *k, uint32_t offset, int reason, uint32_t weight)
{
	struct code_row *rows = grown(k->rows, k->row_count, sizeof(*rows));

	if (!rows)
		return false;
	k->rows = rows;
	rows[k->row_count++] =
		(struct code_row){k->function_count - 1, offset, (uint32_t)reason, weight};
	if (reason % 2 == 0)
		k->weight += weight;
	return true;
}

static struct code_kernel *add_kernel(const char *name, struct code_image *image)
{
	struct code_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->name = strdup(name);
	k->image = image;
	k->checksum = image ? image->checksum : code_checksum(name, strlen(name));
	k->next = code.kernels;
	code.kernels = k;
	return k;
}

/* Fails the process: a stream that is wrong must not pass for a passed test. */
static void wrong(const char *path, int line)
{
	fprintf(stderr, "simulated CUDA: %s:%d: cannot be understood\n", path, line);
	abort();
}

static struct code_image *read_image(const char *folder, const char *name)
{
	struct code_image *image = calloc(1, sizeof(*image));
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file || !image || fseek(file, 0, SEEK_END))
		wrong(path, 0);
	image->size = (size_t)ftell(file);
	image->bytes = malloc(image->size);
	rewind(file);
	if (!image->bytes || fread(image->bytes, 1, image->size, file) != image->size ||
		image->size < sizeof(Elf64_Ehdr) || memcmp(image->bytes, ELFMAG, SELFMAG))
		wrong(path, 0);
	fclose(file);
	if (code_compute_checksum)
		code_compute_checksum(image->bytes, image->size, &image->checksum);
	else
		image->checksum = code_checksum(image->bytes, image->size);
	image->next = code.images;
	return code.images = image;
}

struct reader {
	const char *folder;
	struct code_image *image;
	struct code_kernel *kernel;
};

static bool read_line(struct reader *r, const char *line)
{
	char name[NAME_BYTES];
	unsigned int offset, weight;

	if (line[strspn(line, " \t\n")] == 0 || *line == '#')
		return true;
	if (sscanf(line, "image %511s", name) == 1)
		return (r->image = read_image(r->folder, name));
	if (sscanf(line, "kernel %511s", name) == 1 && r->image) {
		r->kernel = add_kernel(name, r->image);
		return r->kernel && add_function(r->kernel, name, symbol_index(r->image, name));
	}
	if (sscanf(line, "function %511s", name) == 1 && r->kernel)
		return add_function(r->kernel, name, symbol_index(r->image, name));
	return r->kernel && sscanf(line, "%x %511s %u", &offset, name, &weight) == 3 &&
	       reason_of(name) >= 0 && add_row(r->kernel, offset, reason_of(name), weight);
}

static void read_file(const char *folder, const char *name)
{
	struct reader r = {.folder = folder};
	char path[4096], line[LINE_BYTES];
	FILE *file;
	int number = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		wrong(path, 0);
	while (fgets(line, sizeof(line), file))
		if (number++, !read_line(&r, line))
			wrong(path, number);
	fclose(file);
}

/* Once; the lock is held. */
static void read_files(void)
{
	const char *folder = getenv("XPUPROF_SIM_STALLS"), *dot;
	DIR *dir = folder && *folder && !code.read ? opendir(folder) : NULL;
	struct dirent *entry;

	if (folder && *folder && !code.read && !dir)
		wrong(folder, 0);
	code.read = true;
	while (dir && (entry = readdir(dir))) {
		dot = strrchr(entry->d_name, '.');
		if (dot && !strcmp(dot, ".stalls"))
			read_file(folder, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

static struct code_kernel *make_up(const char *name)
{
	static const char *const why[] = {"long_scoreboard", "wait", "barrier", "selected",
		"short_scoreboard", "not_selected"};
	struct code_kernel *k = add_kernel(name, NULL);
	uint64_t hash;

	if (!k)
		return NULL;
	hash = k->checksum;
	add_function(k, name, (uint32_t)(hash % 97) + 1);
	for (uint32_t pc = 0; pc < MADE_UP_PCS; pc++, hash = hash * 6364136223846793005u + 1) {
		uint32_t at = pc * MADE_UP_STEP, weight = 2 + (uint32_t)(hash >> 60);
		int first = reason_of(why[(hash >> 33) % 6]),
		    second = reason_of("math_pipe_throttle");

		add_row(k, at, first, weight);
		add_row(k, at, first + 1, weight / 2);
		add_row(k, at, second, 1 + (uint32_t)(hash >> 62));
	}
	return k;
}

struct code_kernel *code_kernel_find(const char *name)
{
	struct code_kernel *k;

	pthread_mutex_lock(&code.lock);
	read_files();
	for (k = code.kernels; k && strcmp(k->name, name); k = k->next)
		;
	if (!k)
		k = make_up(name);
	pthread_mutex_unlock(&code.lock);
	return k;
}

/* Whether the text has the word and not just part of a longer one. */
static bool has_word(const char *text, const char *word)
{
	size_t size = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += size)
		if (at > text && !isalnum((unsigned char)at[-1]) && at[-1] != '_' &&
			!isalnum((unsigned char)at[size]) && at[size] != '_')
			return true;
	return false;
}

struct code_image *code_image_of(const char *ptx)
{
	struct code_image *image = NULL;

	pthread_mutex_lock(&code.lock);
	read_files();
	for (struct code_kernel *k = code.kernels; k && !image; k = k->next)
		if (k->image && has_word(ptx, k->name))
			image = k->image;
	pthread_mutex_unlock(&code.lock);
	return image;
}
