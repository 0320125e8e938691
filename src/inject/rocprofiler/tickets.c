// SPDX-License-Identifier: MIT
/*
 * Nodes of graphs, on their way from where a thread hands over a kernel to where its end is
 * reported. rocprofiler-sdk asks for the id of work before it says which kernel it is, so a ticket
 * is in the id, and the node is written behind it. Nobody gives one back: where so many pieces are
 * under way that a ticket is written again, the older one's node is lost, and counted.
 */
#include "inject/rocprofiler/rocprofiler.h"

#define TICKETS (1u << TICKET_BITS)

static uint64_t tickets[TICKETS]; /* node and, above that, correlation id */

uint32_t tickets_take(void)
{
	static uint32_t latest;
	uint32_t ticket;

	do
		ticket = __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED) % TICKETS;
	while (!ticket);
	return ticket;
}

void tickets_fill(uint32_t ticket, uint32_t correlation, uint32_t node)
{
	__atomic_store_n(&tickets[ticket], (uint64_t)correlation << 32 | node, __ATOMIC_RELEASE);
}

uint32_t tickets_node(uint32_t ticket, uint32_t correlation)
{
	uint64_t filled = __atomic_load_n(&tickets[ticket], __ATOMIC_ACQUIRE);

	if (!ticket)
		return 0;
	if (filled >> 32 == correlation)
		return (uint32_t)filled;
	if (filled)
		count(WIRE_LOST_NODES, 1);
	return 0;
}
