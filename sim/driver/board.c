// SPDX-License-Identifier: MIT
#include "board.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim.h"

enum { READ_BYTES_OF_THREAD = 64, WRITTEN_BYTES_OF_THREAD = 32 };

static struct board *board;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_board(void)
{
	const char *path = getenv("XPUPROF_SIM_BOARD");
	int fd = path && *path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
	void *memory = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof(struct board)))
		memory =
			mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory != MAP_FAILED)
		board = memory;
	if (fd >= 0)
		close(fd);
}

struct board *xpuprof_sim_board(void)
{
	pthread_once(&once, open_board);
	return board;
}

static void describe_kernel(struct board_entry *e, const struct sim_kernel *k)
{
	uint64_t blocks = (uint64_t)k->grid.x * k->grid.y * k->grid.z;

	e->block_threads = k->block.x * k->block.y * k->block.z;
	e->tensor = strstr(sim_symbol(k->function), "gemm") != NULL;
	e->read_bytes = blocks * e->block_threads * READ_BYTES_OF_THREAD;
	e->written_bytes = blocks * e->block_threads * WRITTEN_BYTES_OF_THREAD;
}

static void describe_copy(struct board_entry *e, const struct sim_copy *c)
{
	uint64_t bytes = c->width * c->height * c->depth;
	bool reads = c->from.kind == SIM_MEMORY_DEVICE, writes = c->to.kind == SIM_MEMORY_DEVICE;

	e->read_bytes = reads ? bytes : 0;
	e->written_bytes = writes ? bytes : 0;
	e->pcie_read_bytes = reads ? 0 : bytes;
	e->pcie_written_bytes = writes ? 0 : bytes;
}

void sim_board_note(int device, const struct sim_work *work, const struct sim_run *run)
{
	struct board *b = xpuprof_sim_board();
	struct board_entry e = {
		.device = (uint32_t)device, .start_ns = run->start_ns, .end_ns = run->end_ns};
	struct board_entry *slot;
	uint64_t number;

	if (!b)
		return;
	if (work->type == CU_GRAPH_NODE_TYPE_KERNEL)
		describe_kernel(&e, &work->kernel);
	else if (work->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		describe_copy(&e, &work->copy);
	else if (work->type == CU_GRAPH_NODE_TYPE_MEMSET)
		e.written_bytes = work->fill.width * work->fill.height * work->fill.element_bytes;
	number = atomic_fetch_add(&b->next, 1);
	slot = &b->entries[number % BOARD_ENTRIES];
	atomic_store(&slot->number, 0);
	memcpy((char *)slot + sizeof(slot->number), (char *)&e + sizeof(e.number),
		sizeof(e) - sizeof(e.number));
	atomic_store(&slot->number, number + 1);
}
