// SPDX-License-Identifier: MIT
#include "capture/keep.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "elf/elf_file.h"

static void put_mapping_path(struct buf *b, uint32_t pid, const struct mapped_file *f)
{
	buf_printf(b, "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)f->start,
		(unsigned long long)f->end);
}

bool keep_is_elf(uint32_t pid, const struct mapped_file *f)
{
	struct buf path = BUF_INIT;
	char magic[SELFMAG] = "";
	int fd;

	if (f->build_id_size)
		return true;
	put_mapping_path(&path, pid, f);
	fd = path.failed ? -1 : open(buf_text(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	buf_release(&path);
	if (fd < 0)
		return false;
	if (io_pread_full(fd, magic, sizeof(magic), 0) != sizeof(magic))
		magic[0] = '\0';
	close(fd);
	return !memcmp(magic, ELFMAG, SELFMAG);
}

static bool is_inode_of(const char *path, const struct mapped_file *f)
{
	struct stat st;

	return f->inode && !stat(path, &st) && st.st_ino == f->inode && st.st_dev == f->device;
}

/* By its build id, or where there is none by its inode. */
static struct elf_file *open_if_same(const char *path, const struct module *module)
{
	struct elf_file *file = NULL;
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t size;
	bool same;

	if (elf_file_open(&file, path))
		return NULL;
	size = elf_file_build_id(file, id);
	same = module->build_id_size
		       ? size == module->build_id_size && !memcmp(id, module->build_id, size)
		       : is_inode_of(path, &module->mapped);
	if (same)
		return file;
	elf_file_close(file);
	return NULL;
}

/* Under the mapping itself, as the process sees it, and as we do. */
static struct elf_file *open_module(const struct module *module)
{
	struct elf_file *file = NULL;

	for (int way = 0; !file && way < 3; way++) {
		struct buf path = BUF_INIT;

		if (way == 0)
			put_mapping_path(&path, module->pid, &module->mapped);
		else if (way == 1)
			buf_printf(&path, "/proc/%u/root%s", module->pid, module->path);
		else
			buf_puts(&path, module->path);
		if (!path.failed)
			file = open_if_same(buf_text(&path), module);
		buf_release(&path);
	}
	return file;
}

void keep_module(struct kept_files *k, const struct module *module)
{
	struct elf_file *file;

	if (module->kind == MODULE_ANON)
		(void)kept_files_add_process(k, module->profile_id, module->pid);
	if (module->kind != MODULE_FILE || module->path[0] != '/')
		return;
	file = open_module(module);
	if (file)
		(void)kept_files_add(k, module->profile_id, file, module->pid);
	elf_file_close(file);
}
