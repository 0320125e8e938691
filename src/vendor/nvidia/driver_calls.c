// SPDX-License-Identifier: MIT
/* The followed calls of the driver that ask for work or wait for it. libcuda exports them under the
 * names that CUPTI has for them. */
#include "vendor/nvidia/calls.h"
#include "vendor/nvidia/nvidia.h"

// clang-format off
#define OF_LAUNCH(name) {name, VENDOR_CALL_LAUNCH},
#define OF_COPY(name)	{name, VENDOR_CALL_COPY},
#define OF_SET(name)	{name, VENDOR_CALL_SET},
#define OF_GRAPH(name)	{name, VENDOR_CALL_GRAPH},
#define OF_SYNC(name)	{name, VENDOR_CALL_SYNC},
#define OF_NODE(name)
#define OF_EVENT(name)
#define DRIVER(id, kind, name, first, second) OF_##kind(#name)

const struct vendor_call nvidia_driver_calls[] = {CUDA_DRIVER_CALLS(DRIVER) {0}};
