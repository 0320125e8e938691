// SPDX-License-Identifier: MIT
/*
 * libelf reads headers and notes; section contents are read by ourselves, in pieces, where they are
 * needed. Headers are copied into plain tables at open, with every range checked against the size
 * of the file, so that the rest of the room deals in numbers that hold.
 */
#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "elf/elf_internal.h"

/* Notes are a few hundred bytes; a core file's can be large, and hold no build id of their own. */
#define NOTES_MAX_BYTES ((uint64_t)1 << 20)

static bool in_file(const struct elf_file *f, uint64_t offset, uint64_t size)
{
	return offset <= f->size && size <= f->size - offset;
}

static int load_segments(struct elf_file *f)
{
	size_t count;

	if (elf_getphdrnum(f->elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;
		struct elf_segment s;

		if (!gelf_getphdr(f->elf, (int)i, &p) || p.p_type != PT_LOAD)
			continue;
		if (p.p_memsz > UINT64_MAX - p.p_vaddr || p.p_filesz > UINT64_MAX - p.p_offset)
			continue;
		s = (struct elf_segment){
			.offset = p.p_offset,
			.file_size = p.p_filesz,
			.vaddr = p.p_vaddr,
			.memory_size = p.p_memsz,
			.executable = p.p_flags & PF_X,
		};
		if (vec_push(&f->segments, s))
			return -ENOMEM;
	}
	return 0;
}

static struct elf_section section_of(const struct elf_file *f, const GElf_Shdr *h)
{
	struct elf_section s = {
		.name = h->sh_name,
		.type = h->sh_type,
		.link = h->sh_link,
		.entry_bytes = h->sh_entsize ? h->sh_entsize : h->sh_addralign,
		.vaddr = h->sh_addr,
		.vaddr_end = h->sh_addr,
		.executable = h->sh_flags & SHF_EXECINSTR,
	};

	if (h->sh_size <= UINT64_MAX - h->sh_addr)
		s.vaddr_end = h->sh_addr + h->sh_size;
	if (h->sh_type == SHT_NOBITS || !in_file(f, h->sh_offset, h->sh_size))
		return s;
	s.compressed = h->sh_flags & SHF_COMPRESSED;
	s.stored_offset = h->sh_offset;
	s.stored_size = h->sh_size;
	if (!s.compressed) {
		s.offset = s.stored_offset;
		s.size = s.stored_size;
	}
	return s;
}

/* Section numbers are indices of the table, so one that cannot be read takes up an empty row. */
static int load_sections(struct elf_file *f)
{
	size_t count;

	if (elf_getshdrnum(f->elf, &count))
		return 0;
	if (elf_getshdrstrndx(f->elf, &f->section_names))
		f->section_names = 0;
	for (size_t i = 0; i < count; i++) {
		Elf_Scn *section = elf_getscn(f->elf, i);
		struct elf_section s = {0};
		GElf_Shdr h;

		if (section && gelf_getshdr(section, &h))
			s = section_of(f, &h);
		if (vec_push(&f->sections, s))
			return -ENOMEM;
	}
	return 0;
}

static int load_headers(struct elf_file *f)
{
	const unsigned char native =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	GElf_Ehdr h;
	int error;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return error_set(-ENOEXEC, "libelf does not know its own version");
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF || !gelf_getehdr(f->elf, &h))
		return error_set(-ENOEXEC, "'%s' is not an ELF file", f->path);
	if (h.e_ident[EI_DATA] != native)
		return error_set(
			-ENOEXEC, "'%s' has another byte order than this machine", f->path);
	f->is_64bit = h.e_ident[EI_CLASS] == ELFCLASS64;
	f->machine = h.e_machine;
	f->entry = h.e_entry;
	error = load_segments(f);
	error = error ?: load_sections(f);
	return error ? error_errno(error, "cannot read the headers of '%s'", f->path) : 0;
}

/* Reading anything but regular files may block or have effects. */
static int examine(struct elf_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return error_errno(-errno, "cannot examine '%s'", f->path);
	if (!S_ISREG(st.st_mode))
		return error_set(-ENOEXEC, "'%s' is not a regular file", f->path);
	f->size = (uint64_t)st.st_size;
	return 0;
}

int elf_file_open_fd(struct elf_file **ret, int fd, const char *name)
{
	struct elf_file *f = calloc(1, sizeof(*f));
	int error;

	if (!f || !(f->path = strdup(name))) {
		free(f);
		close(fd);
		return error_errno(-ENOMEM, "cannot open '%s'", name);
	}
	f->fd = fd;
	error = examine(f);
	error = error ?: load_headers(f);
	if (error) {
		elf_file_close(f);
		return error;
	}
	*ret = f;
	return 0;
}

int elf_file_open(struct elf_file **ret, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? error_errno(-errno, "cannot open '%s'", path)
		      : elf_file_open_fd(ret, fd, path);
}

void elf_file_close(struct elf_file *f)
{
	if (!f)
		return;
	elf_symbols_release(f);
	elf_extents_free(f->extents);
	elf_end(f->elf);
	vec_release(&f->segments);
	vec_release(&f->sections);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f);
}

/* Looks for the build id among the notes of one range of the file; its size, or 0. */
static size_t build_id_in(struct elf_file *f, uint64_t offset, uint64_t size, uint64_t align,
	uint8_t ret_id[ELF_BUILD_ID_MAX])
{
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr note;
	Elf_Data *data;

	if (!size || size > NOTES_MAX_BYTES || !in_file(f, offset, size))
		return 0;
	data = elf_getdata_rawchunk(
		f->elf, (int64_t)offset, size, align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	if (!data)
		return 0;
	while ((at = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0) {
		const char *bytes = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
			memcmp(bytes + name_at, "GNU", sizeof("GNU")))
			continue;
		if (!note.n_descsz || note.n_descsz > ELF_BUILD_ID_MAX)
			continue;
		memcpy(ret_id, bytes + desc_at, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

static size_t build_id_in_segments(struct elf_file *f, uint8_t ret_id[ELF_BUILD_ID_MAX])
{
	size_t count, size;

	if (elf_getphdrnum(f->elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(f->elf, (int)i, &p) || p.p_type != PT_NOTE)
			continue;
		size = build_id_in(f, p.p_offset, p.p_filesz, p.p_align, ret_id);
		if (size)
			return size;
	}
	return 0;
}

/* The segments first, as the kernel does; a separate debug file has the note in its sections
 * only. */
size_t elf_file_build_id(struct elf_file *f, uint8_t ret_id[ELF_BUILD_ID_MAX])
{
	size_t size = build_id_in_segments(f, ret_id);

	for (size_t i = 0; !size && i < f->sections.count; i++) {
		const struct elf_section *s = &f->sections.items[i];

		if (s->type == SHT_NOTE)
			size = build_id_in(f, s->offset, s->size, 4, ret_id);
	}
	return size;
}

int elf_file_fd(const struct elf_file *f)
{
	return f->fd;
}

int elf_file_stat(const struct elf_file *f, struct stat *ret)
{
	return fstat(f->fd, ret) ? error_errno(-errno, "cannot examine '%s'", f->path) : 0;
}

uint16_t elf_file_machine(const struct elf_file *f)
{
	return f->machine;
}

bool elf_file_is_64bit(const struct elf_file *f)
{
	return f->is_64bit;
}

uint64_t elf_file_entry(const struct elf_file *f)
{
	return f->entry;
}

/* Segments may share a page of the file; what is executed is what callers ask for. */
int elf_file_offset_to_vaddr(struct elf_file *f, uint64_t offset, uint64_t *ret_vaddr)
{
	const struct elf_segment *found = NULL;

	vec_foreach (s, &f->segments) {
		if (offset < s->offset || offset - s->offset >= s->file_size)
			continue;
		if (!found || (s->executable && !found->executable))
			found = s;
	}
	if (!found)
		return -ENOENT;
	*ret_vaddr = offset - found->offset + found->vaddr;
	return 0;
}

int elf_file_vaddr_to_offset(struct elf_file *f, uint64_t vaddr, uint64_t *ret_offset)
{
	vec_foreach (s, &f->segments) {
		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->file_size)
			continue;
		*ret_offset = vaddr - s->vaddr + s->offset;
		return 0;
	}
	return -ENOENT;
}

const struct elf_segment *elf_find_code(const struct elf_file *f, uint64_t vaddr)
{
	vec_foreach (s, &f->segments)
		if (s->executable && vaddr >= s->vaddr && vaddr - s->vaddr < s->memory_size)
			return s;
	return NULL;
}

int elf_file_code_range(
	const struct elf_file *f, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct elf_segment *s = elf_find_code(f, vaddr);

	if (!s)
		return -ENOENT;
	*ret_start = s->vaddr;
	*ret_end = s->vaddr + s->memory_size;
	return 0;
}

const struct elf_section *elf_find_section(const struct elf_file *f, uint32_t type)
{
	vec_foreach (s, &f->sections)
		if (s->type == type && s->size)
			return s;
	return NULL;
}

static const char *section_name(struct elf_file *f, const struct elf_section *s)
{
	const char *name = elf_strptr(f->elf, f->section_names, s->name);

	return name ? name : "";
}

bool elf_section_is_called(struct elf_file *f, const struct elf_section *s, const char *name)
{
	return !strcmp(section_name(f, s), name);
}

bool elf_section_name_begins(struct elf_file *f, const struct elf_section *s, const char *prefix)
{
	return !strncmp(section_name(f, s), prefix, strlen(prefix));
}

const struct elf_section *elf_find_named_section(struct elf_file *f, const char *name)
{
	vec_foreach (s, &f->sections)
		if (s->size && elf_section_is_called(f, s, name))
			return s;
	return NULL;
}

/* Compressed contents count as none in the table of sections. */
bool elf_has_dwarf(struct elf_file *f)
{
	vec_foreach (s, &f->sections)
		if (s->type != SHT_NOBITS && (elf_section_is_called(f, s, ".debug_info") ||
						     elf_section_is_called(f, s, ".zdebug_info")))
			return true;
	return false;
}

void elf_file_search(struct elf_file *f, const struct debug_search *search)
{
	f->search = *search;
}

bool elf_file_code_at(const struct elf_file *f, size_t n, struct elf_code *ret)
{
	vec_foreach (s, &f->segments) {
		if (!s->executable || n--)
			continue;
		*ret = (struct elf_code){s->offset, s->file_size, s->vaddr};
		return true;
	}
	return false;
}

bool elf_file_is_debug_file(const struct elf_file *f)
{
	vec_foreach (s, &f->sections)
		if (s->executable && s->type == SHT_NOBITS)
			return true;
	return false;
}
