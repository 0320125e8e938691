/* SPDX-License-Identifier: MIT */
/* Calls of HSA that are simulated, and packets as programs put them into queues. */
#pragma once

#include <stdint.h>

#define HSA_PACKET_TYPE_DISPATCH 2
#define HSA_SYMBOL_KERNEL_OBJECT 22

struct hsa_signal {
	uint64_t handle;
};

struct hsa_agent {
	uint64_t handle;
};

struct hsa_executable {
	uint64_t handle;
};

struct hsa_executable_symbol {
	uint64_t handle;
};

struct hsa_queue {
	uint32_t type, features;
	void *base_address;
	struct hsa_signal doorbell;
	uint32_t size, reserved;
	uint64_t id;
};

struct hsa_dispatch_packet {
	uint16_t header, setup;
	uint16_t workgroup[3];
	uint16_t reserved;
	uint32_t grid[3]; /* items */
	uint32_t private_bytes, group_bytes;
	uint64_t kernel_object;
	void *arguments;
	uint64_t reserved2;
	struct hsa_signal completion;
};

int hsa_init(void);
int hsa_iterate_agents(int (*visit)(struct hsa_agent agent, void *data), void *data);
int hsa_queue_create(struct hsa_agent agent, uint32_t size, uint32_t type, void *callback,
	void *data, uint32_t private_bytes, uint32_t group_bytes, struct hsa_queue **ret);
uint64_t hsa_queue_add_write_index_screlease(const struct hsa_queue *queue, uint64_t value);
int hsa_signal_create(
	int64_t value, uint32_t count, const struct hsa_agent *consumers, struct hsa_signal *ret);
void hsa_signal_store_relaxed(struct hsa_signal signal, int64_t value);
void hsa_signal_store_screlease(struct hsa_signal signal, int64_t value);
/* Until the value is less than `compare`; the other conditions are not simulated. */
int64_t hsa_signal_wait_scacquire(
	struct hsa_signal signal, int condition, int64_t compare, uint64_t timeout, int state);
int hsa_executable_get_symbol_by_name(struct hsa_executable executable, const char *name,
	const struct hsa_agent *agent, struct hsa_executable_symbol *ret);
int hsa_executable_symbol_get_info(struct hsa_executable_symbol symbol, int attribute, void *ret);
int hsa_amd_memory_async_copy(void *to, struct hsa_agent to_agent, const void *from,
	struct hsa_agent from_agent, uint64_t size, uint32_t count, const struct hsa_signal *wait,
	struct hsa_signal completion);
