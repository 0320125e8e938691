// SPDX-License-Identifier: MIT
/* Fatbins that nvcc made of one kernel with each of its compressions (tests/data/ptx/make.sh). */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "ptx/code_names.h"
#include "ptx/fatbin.h"
#include "tap.h"

struct file {
	uint8_t *bytes;
	size_t size;
};

static struct file file_of(const char *name)
{
	char path[200];
	struct file f = {malloc(8192), 0};
	FILE *file;

	snprintf(path, sizeof(path), "tests/data/ptx/%s", name);
	file = fopen(path, "re");
	f.size = file ? fread(f.bytes, 1, 8192, file) : 0;
	if (file)
		fclose(file);
	CHECK(f.size > 0);
	return f;
}

static struct buf text_for(const struct file *f, unsigned int sm, unsigned int *ret_sm)
{
	struct ptx_fatbin_entry e = {0};
	struct buf text = BUF_INIT;

	if (!ptx_fatbin_choose(f->bytes, f->size, sm, &e))
		CHECK(!ptx_fatbin_text(&e, &text));
	*ret_sm = e.sm;
	return text;
}

static const char *without_lines_before(const struct buf *text)
{
	const char *at = buf_text(text);

	return at + strspn(at, "\n");
}

static void each_compression_gives_the_text_that_stands_in_the_plain_one(void)
{
	static const char *const names[] = {
		"tiny-speed.fatbin", "tiny-size.fatbin", "tiny-balance.fatbin"};
	struct file plain = file_of("tiny-none.fatbin");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct file packed = file_of(names[i]);
		unsigned int sm;

		for (unsigned int gpu = 75; gpu <= 105; gpu += 15) {
			struct buf text = text_for(&packed, gpu, &sm),
				   same = text_for(&plain, gpu, &sm);
			const char *t = without_lines_before(&text);

			CHECK(strlen(t) > 200 && strstr(t, ".entry tiny"));
			CHECK(memmem(plain.bytes, plain.size, t, strlen(t)));
			CHECK_TEXT(t, without_lines_before(&same));
			buf_release(&text);
			buf_release(&same);
		}
		free(packed.bytes);
	}
	free(plain.bytes);
}

static int keep_name(void *context, const char *name)
{
	buf_puts(context, name);
	buf_putc(context, ' ');
	return 0;
}

static void machine_code_says_which_kernels_are_in_it(void)
{
	struct file f = file_of("tiny-lines.fatbin"), none = file_of("tiny-none.fatbin");
	struct buf code = BUF_INIT, names = BUF_INIT;
	struct ptx_fatbin_entry e;

	/* It is for sm_80, and for later ones of its major version. */
	CHECK(!ptx_fatbin_choose_code(f.bytes, f.size, 75, &e));
	CHECK(!ptx_fatbin_choose_code(f.bytes, f.size, 90, &e));
	CHECK(!ptx_fatbin_choose_code(none.bytes, none.size, 90, &e));
	CHECK(ptx_fatbin_choose_code(f.bytes, f.size / 2, 80, &e) == -EINVAL);
	CHECK(ptx_fatbin_choose_code(f.bytes, f.size, 86, &e) == 1 && e.is_code && e.sm == 80);
	CHECK(!ptx_fatbin_unpack(&e, &code) && code.size == e.bytes);
	CHECK(!code_names(code.data, code.size, keep_name, &names));
	CHECK_TEXT(buf_text(&names), "tiny ");
	/* What is cut off or changed is refused, or has other names. */
	srand(1);
	for (size_t size = 0; size < code.size; size++) {
		char *cut = malloc(size + 1);

		memcpy(cut, code.data, size);
		if (size)
			cut[(size_t)rand() % size] = (char)rand();
		(void)code_names(cut, size, keep_name, &names);
		free(cut);
	}
	CHECK(code_names(code.data, 63, keep_name, &names) == -EINVAL);
	buf_release(&code);
	buf_release(&names);
	free(f.bytes);
	free(none.bytes);
}

static void the_newest_that_the_gpu_takes_is_chosen(void)
{
	/* sm_75, sm_90, sm_90a, sm_100f */
	static const struct {
		unsigned int gpu, sm;
		enum ptx_scope scope;
	} expected[] = {
		{75, 75, PTX_ALL_LATER},
		{89, 75, PTX_ALL_LATER},
		{90, 90, PTX_ONLY_THIS},
		{100, 100, PTX_FAMILY},
		{103, 100, PTX_FAMILY},
		{120, 90, PTX_ALL_LATER},
	};
	struct file f = file_of("tiny-size.fatbin");

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct ptx_fatbin_entry e = {0};

		CHECK(!ptx_fatbin_choose(f.bytes, f.size, expected[i].gpu, &e));
		CHECK(e.sm == expected[i].sm && e.scope == expected[i].scope && e.version == 90);
	}
	free(f.bytes);
}

static void a_gpu_that_is_too_old_has_a_reason(void)
{
	struct file f = file_of("tiny-size.fatbin");
	struct ptx_fatbin_entry e;

	CHECK(ptx_fatbin_choose(f.bytes, f.size, 70, &e) == -ENOENT);
	CHECK_TEXT(error_text(), "its PTX is not for this GPU (sm_70)");
	free(f.bytes);
}

static void machine_code_alone_has_a_reason(void)
{
	struct file f = file_of("tiny-lines.fatbin");
	struct ptx_fatbin_entry e;

	/* The entry of kind 1 becomes one of kind 2. */
	for (size_t at = 16; at + 64 <= f.size;) {
		uint32_t header, data;

		memcpy(&header, f.bytes + at + 4, 4);
		memcpy(&data, f.bytes + at + 8, 4);
		f.bytes[at] = 2;
		at += header + data;
	}
	CHECK(ptx_fatbin_choose(f.bytes, f.size, 90, &e) == -ENOENT);
	CHECK_TEXT(error_text(), "it has no PTX, only machine code (2 images)");
	free(f.bytes);
}

static void options_of_the_compiler_are_kept(void)
{
	struct file f = file_of("tiny-lines.fatbin"), g = file_of("tiny-size.fatbin");
	struct ptx_fatbin_entry e = {0};

	CHECK(!ptx_fatbin_choose(f.bytes, f.size, 90, &e));
	CHECK(e.options_bytes == 22 && !memcmp(e.options, " --generate-line-info ", 22));
	CHECK(!ptx_fatbin_choose(g.bytes, g.size, 90, &e));
	CHECK(e.options_bytes == 0);
	free(f.bytes);
	free(g.bytes);
}

static void images_are_told_apart_by_their_beginning(void)
{
	static const uint32_t wrapper[4] = {0x466243b1, 1};
	struct file f = file_of("tiny-none.fatbin");

	CHECK(ptx_image_of(f.bytes) == PTX_IMAGE_FATBIN);
	CHECK(ptx_fatbin_bytes(f.bytes) == f.size);
	CHECK(ptx_image_of(wrapper) == PTX_IMAGE_WRAPPER);
	CHECK(ptx_image_of("\177ELF\002\001\001\0\0\0\0\0\0\0\0") == PTX_IMAGE_CUBIN);
	CHECK(ptx_image_of("//\n// Generated by") == PTX_IMAGE_TEXT);
	CHECK(ptx_image_of("\n\n  .version 9.0") == PTX_IMAGE_TEXT);
	CHECK(ptx_image_of("                    ") == PTX_IMAGE_OTHER);
	CHECK(ptx_image_of("") == PTX_IMAGE_OTHER);
	free(f.bytes);
}

static bool gives_text(const uint8_t *image, size_t size)
{
	struct ptx_fatbin_entry e;
	struct buf text = BUF_INIT;
	bool good = !ptx_fatbin_choose(image, size, 90, &e) && !ptx_fatbin_text(&e, &text);

	buf_release(&text);
	return good;
}

/* Every byte of it, changed, and every length: an error or some text, never more than that. */
static void a_damaged_fatbin_gives_an_error_or_text(void)
{
	static const char *const names[] = {
		"tiny-speed.fatbin", "tiny-size.fatbin", "tiny-none.fatbin"};
	size_t refused = 0, cut_refused = 0, bytes = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct file f = file_of(names[i]);

		bytes += f.size;
		for (size_t at = 0; at < f.size; at++) {
			uint8_t *changed = malloc(f.size), *cut = malloc(at + 1);

			memcpy(changed, f.bytes, f.size);
			memcpy(cut, f.bytes, at);
			changed[at] ^= at % 3 ? 0xff : 0x40;
			refused += !gives_text(changed, f.size);
			cut_refused += !gives_text(cut, at);
			free(changed);
			free(cut);
		}
		free(f.bytes);
	}
	CHECK(refused > 100 && refused < bytes);
	CHECK(cut_refused == bytes);
}

int main(void)
{
	RUN(each_compression_gives_the_text_that_stands_in_the_plain_one);
	RUN(machine_code_says_which_kernels_are_in_it);
	RUN(the_newest_that_the_gpu_takes_is_chosen);
	RUN(a_gpu_that_is_too_old_has_a_reason);
	RUN(machine_code_alone_has_a_reason);
	RUN(options_of_the_compiler_are_kept);
	RUN(images_are_told_apart_by_their_beginning);
	RUN(a_damaged_fatbin_gives_an_error_or_text);
	return tap_end();
}
