/* SPDX-License-Identifier: MIT */
/*
 * The calls of HIP that are followed: those that ask for work or wait for it.
 *
 *	CALL(our number, kind, name, place of the stream)
 *
 * HIP's tracer numbers its calls, but a number is known by its name only. So the numbers here are
 * ours, given out once; the kinds are those of enum wire_call_kind, and two of calls that are never
 * sent: STREAM and CHANGE. The stream is so many bytes
 * behind the first argument, as the tracer lays arguments out: as a C structure of them. Names with
 * _spt are those of programs whose default stream is the thread's own.
 */
#pragma once

#define AMD_API 3u /* its number on the wire (wire/wire.h) */

/* Numbers are below this. */
#define AMD_CALL_NUMBERS 192

#define AMD_NO_STREAM 0xffffu
/* It is in the configuration that the first argument points to. */
#define AMD_CONFIGURED_STREAM	 0xfffeu
#define AMD_CONFIGURATION_STREAM 32u

#define AMD_LAUNCHES(CALL)                                                                         \
	CALL(1, LAUNCH, hipLaunchKernel, 48)                                                       \
	CALL(2, LAUNCH, hipLaunchKernel_spt, 48)                                                   \
	CALL(3, LAUNCH, hipExtLaunchKernel, 48)                                                    \
	CALL(4, LAUNCH, hipLaunchCooperativeKernel, 48)                                            \
	CALL(5, LAUNCH, hipLaunchCooperativeKernel_spt, 48)                                        \
	CALL(6, LAUNCH, hipLaunchCooperativeKernelMultiDevice, AMD_NO_STREAM)                      \
	CALL(7, LAUNCH, hipExtLaunchMultiKernelMultiDevice, AMD_NO_STREAM)                         \
	CALL(8, LAUNCH, hipLaunchByPtr, AMD_NO_STREAM)                                             \
	CALL(9, LAUNCH, hipModuleLaunchKernel, 40)                                                 \
	CALL(10, LAUNCH, hipModuleLaunchCooperativeKernel, 40)                                     \
	CALL(11, LAUNCH, hipModuleLaunchCooperativeKernelMultiDevice, AMD_NO_STREAM)               \
	CALL(12, LAUNCH, hipExtModuleLaunchKernel, 40)                                             \
	CALL(13, LAUNCH, hipHccModuleLaunchKernel, 40)                                             \
	CALL(14, LAUNCH, hipLaunchKernelExC, AMD_CONFIGURED_STREAM)                                \
	CALL(15, LAUNCH, hipDrvLaunchKernelEx, AMD_CONFIGURED_STREAM)                              \
	CALL(16, GRAPH, hipGraphLaunch, 8)                                                         \
	CALL(17, GRAPH, hipGraphLaunch_spt, 8)

#define AMD_COPIES(CALL)                                                                           \
	CALL(20, COPY, hipMemcpy, AMD_NO_STREAM)                                                   \
	CALL(21, COPY, hipMemcpy_spt, AMD_NO_STREAM)                                               \
	CALL(22, COPY, hipMemcpyAsync, 32)                                                         \
	CALL(23, COPY, hipMemcpyAsync_spt, 32)                                                     \
	CALL(24, COPY, hipMemcpyWithStream, 32)                                                    \
	CALL(25, COPY, hipMemcpyHtoD, AMD_NO_STREAM)                                               \
	CALL(26, COPY, hipMemcpyDtoH, AMD_NO_STREAM)                                               \
	CALL(27, COPY, hipMemcpyDtoD, AMD_NO_STREAM)                                               \
	CALL(28, COPY, hipMemcpyHtoDAsync, 24)                                                     \
	CALL(29, COPY, hipMemcpyDtoHAsync, 24)                                                     \
	CALL(30, COPY, hipMemcpyDtoDAsync, 24)                                                     \
	CALL(31, COPY, hipMemcpy2D, AMD_NO_STREAM)                                                 \
	CALL(32, COPY, hipMemcpy2D_spt, AMD_NO_STREAM)                                             \
	CALL(33, COPY, hipMemcpy2DAsync, 56)                                                       \
	CALL(34, COPY, hipMemcpy2DAsync_spt, 56)                                                   \
	CALL(35, COPY, hipMemcpy3D, AMD_NO_STREAM)                                                 \
	CALL(36, COPY, hipMemcpy3D_spt, AMD_NO_STREAM)                                             \
	CALL(37, COPY, hipMemcpy3DAsync, 8)                                                        \
	CALL(38, COPY, hipMemcpy3DAsync_spt, 8)                                                    \
	CALL(39, COPY, hipMemcpyPeer, AMD_NO_STREAM)                                               \
	CALL(40, COPY, hipMemcpyPeerAsync, 40)                                                     \
	CALL(41, COPY, hipMemcpyToSymbol, AMD_NO_STREAM)                                           \
	CALL(42, COPY, hipMemcpyToSymbol_spt, AMD_NO_STREAM)                                       \
	CALL(43, COPY, hipMemcpyToSymbolAsync, 40)                                                 \
	CALL(44, COPY, hipMemcpyToSymbolAsync_spt, 40)                                             \
	CALL(45, COPY, hipMemcpyFromSymbol, AMD_NO_STREAM)                                         \
	CALL(46, COPY, hipMemcpyFromSymbol_spt, AMD_NO_STREAM)                                     \
	CALL(47, COPY, hipMemcpyFromSymbolAsync, 40)                                               \
	CALL(48, COPY, hipMemcpyFromSymbolAsync_spt, 40)                                           \
	CALL(49, COPY, hipMemcpyParam2D, AMD_NO_STREAM)                                            \
	CALL(50, COPY, hipMemcpyParam2DAsync, 8)                                                   \
	CALL(51, COPY, hipDrvMemcpy3D, AMD_NO_STREAM)                                              \
	CALL(52, COPY, hipDrvMemcpy3DAsync, 8)                                                     \
	CALL(53, COPY, hipDrvMemcpy2DUnaligned, AMD_NO_STREAM)                                     \
	CALL(54, COPY, hipMemcpyToArray, AMD_NO_STREAM)                                            \
	CALL(55, COPY, hipMemcpyFromArray, AMD_NO_STREAM)                                          \
	CALL(56, COPY, hipMemcpy2DToArray, AMD_NO_STREAM)                                          \
	CALL(57, COPY, hipMemcpy2DToArrayAsync, 64)                                                \
	CALL(58, COPY, hipMemcpy2DFromArray, AMD_NO_STREAM)                                        \
	CALL(59, COPY, hipMemcpy2DFromArrayAsync, 64)                                              \
	CALL(60, COPY, hipMemcpyAtoH, AMD_NO_STREAM)                                               \
	CALL(61, COPY, hipMemcpyHtoA, AMD_NO_STREAM)                                               \
	CALL(62, COPY, hipMemcpyAtoD, AMD_NO_STREAM)                                               \
	CALL(63, COPY, hipMemcpyDtoA, AMD_NO_STREAM)                                               \
	CALL(64, COPY, hipMemcpyAtoA, AMD_NO_STREAM)                                               \
	CALL(65, COPY, hipMemcpyAtoHAsync, 32)                                                     \
	CALL(66, COPY, hipMemcpyHtoAAsync, 32)                                                     \
	CALL(67, COPY, hipMemcpy2DArrayToArray, AMD_NO_STREAM)

#define AMD_SETS(CALL)                                                                             \
	CALL(80, SET, hipMemset, AMD_NO_STREAM)                                                    \
	CALL(81, SET, hipMemset_spt, AMD_NO_STREAM)                                                \
	CALL(82, SET, hipMemsetAsync, 24)                                                          \
	CALL(83, SET, hipMemsetAsync_spt, 24)                                                      \
	CALL(84, SET, hipMemsetD8, AMD_NO_STREAM)                                                  \
	CALL(85, SET, hipMemsetD8Async, 24)                                                        \
	CALL(86, SET, hipMemsetD16, AMD_NO_STREAM)                                                 \
	CALL(87, SET, hipMemsetD16Async, 24)                                                       \
	CALL(88, SET, hipMemsetD32, AMD_NO_STREAM)                                                 \
	CALL(89, SET, hipMemsetD32Async, 24)                                                       \
	CALL(90, SET, hipMemset2D, AMD_NO_STREAM)                                                  \
	CALL(91, SET, hipMemset2D_spt, AMD_NO_STREAM)                                              \
	CALL(92, SET, hipMemset2DAsync, 40)                                                        \
	CALL(93, SET, hipMemset2DAsync_spt, 40)                                                    \
	CALL(94, SET, hipMemset3D, AMD_NO_STREAM)                                                  \
	CALL(95, SET, hipMemset3D_spt, AMD_NO_STREAM)                                              \
	CALL(96, SET, hipMemset3DAsync, 64)                                                        \
	CALL(97, SET, hipMemset3DAsync_spt, 64)

#define AMD_WAITS(CALL)                                                                            \
	CALL(100, SYNC, hipDeviceSynchronize, AMD_NO_STREAM)                                       \
	CALL(101, SYNC, hipCtxSynchronize, AMD_NO_STREAM)                                          \
	CALL(102, SYNC, hipStreamSynchronize, 0)                                                   \
	CALL(103, SYNC, hipStreamSynchronize_spt, 0)                                               \
	CALL(104, SYNC, hipEventSynchronize, AMD_NO_STREAM)

/* Events are recorded in streams: never sent as calls. */
#define AMD_EVENTS(CALL)                                                                           \
	CALL(110, EVENT, hipEventRecord, 8)                                                        \
	CALL(111, EVENT, hipEventRecord_spt, 8)                                                    \
	CALL(112, EVENT, hipEventRecordWithFlags, 8)

/* They give the program a stream, whose address is their first argument: never sent, either. */
#define AMD_STREAMS(CALL)                                                                          \
	CALL(120, STREAM, hipStreamCreate, AMD_NO_STREAM)                                          \
	CALL(121, STREAM, hipStreamCreateWithFlags, AMD_NO_STREAM)                                 \
	CALL(122, STREAM, hipStreamCreateWithPriority, AMD_NO_STREAM)                              \
	CALL(123, STREAM, hipExtStreamCreateWithCUMask, AMD_NO_STREAM)

/* They add a node to a graph: its address, the graph, nodes that it depends on, how many these are,
 * and what it does. */
#define AMD_NODES(CALL)                                                                            \
	CALL(130, NODE, hipGraphAddKernelNode, AMD_NO_STREAM)                                      \
	CALL(131, NODE, hipGraphAddMemcpyNode, AMD_NO_STREAM)                                      \
	CALL(132, NODE, hipGraphAddMemcpyNode1D, AMD_NO_STREAM)                                    \
	CALL(133, NODE, hipGraphAddMemcpyNodeFromSymbol, AMD_NO_STREAM)                            \
	CALL(134, NODE, hipGraphAddMemcpyNodeToSymbol, AMD_NO_STREAM)                              \
	CALL(135, NODE, hipDrvGraphAddMemcpyNode, AMD_NO_STREAM)                                   \
	CALL(136, NODE, hipGraphAddMemsetNode, AMD_NO_STREAM)                                      \
	CALL(137, NODE, hipDrvGraphAddMemsetNode, AMD_NO_STREAM)

/* What else happens to graphs, and to streams that are captured: never sent. */
#define AMD_GRAPHS(CALL)                                                                           \
	CALL(140, CHANGE, hipStreamBeginCapture, 0)                                                \
	CALL(141, CHANGE, hipStreamBeginCapture_spt, 0)                                            \
	CALL(142, CHANGE, hipStreamEndCapture, 0)                                                  \
	CALL(143, CHANGE, hipStreamEndCapture_spt, 0)                                              \
	CALL(144, CHANGE, hipStreamWaitEvent, 0)                                                   \
	CALL(145, CHANGE, hipStreamWaitEvent_spt, 0)                                               \
	CALL(146, CHANGE, hipStreamUpdateCaptureDependencies, 0)                                   \
	CALL(147, CHANGE, hipGraphCreate, AMD_NO_STREAM)                                           \
	CALL(148, CHANGE, hipGraphDestroy, AMD_NO_STREAM)                                          \
	CALL(149, CHANGE, hipGraphClone, AMD_NO_STREAM)                                            \
	CALL(150, CHANGE, hipGraphInstantiate, AMD_NO_STREAM)                                      \
	CALL(151, CHANGE, hipGraphInstantiateWithFlags, AMD_NO_STREAM)                             \
	CALL(152, CHANGE, hipGraphInstantiateWithParams, AMD_NO_STREAM)                            \
	CALL(153, CHANGE, hipGraphExecUpdate, AMD_NO_STREAM)                                       \
	CALL(154, CHANGE, hipGraphExecDestroy, AMD_NO_STREAM)                                      \
	CALL(155, CHANGE, hipGraphAddNode, AMD_NO_STREAM)                                          \
	CALL(156, CHANGE, hipGraphAddChildGraphNode, AMD_NO_STREAM)                                \
	CALL(157, CHANGE, hipGraphRemoveDependencies, AMD_NO_STREAM)                               \
	CALL(158, CHANGE, hipGraphDestroyNode, AMD_NO_STREAM)                                      \
	CALL(159, CHANGE, hipGraphKernelNodeSetParams, AMD_NO_STREAM)                              \
	CALL(160, CHANGE, hipGraphNodeSetParams, AMD_NO_STREAM)                                    \
	CALL(161, CHANGE, hipGraphExecKernelNodeSetParams, AMD_NO_STREAM)                          \
	CALL(162, CHANGE, hipGraphExecNodeSetParams, AMD_NO_STREAM)                                \
	CALL(163, CHANGE, hipGraphExecChildGraphNodeSetParams, AMD_NO_STREAM)                      \
	CALL(164, CHANGE, hipGraphNodeSetEnabled, AMD_NO_STREAM)                                   \
	CALL(165, CHANGE, hipModuleGetFunction, AMD_NO_STREAM)                                     \
	CALL(166, CHANGE, hipGetFuncBySymbol, AMD_NO_STREAM)                                       \
	CALL(167, CHANGE, hipStreamBeginCaptureToGraph, 0)

/* Calls of HSA, in programs without HIP: kernels are handed over where the doorbell of their queue
 * rings, which is a signal like others. */
#define AMD_HSA(CALL)                                                                              \
	CALL(170, LAUNCH, hsa_signal_store_relaxed, AMD_NO_STREAM)                                 \
	CALL(171, LAUNCH, hsa_signal_store_screlease, AMD_NO_STREAM)                               \
	CALL(172, SYNC, hsa_signal_wait_relaxed, AMD_NO_STREAM)                                    \
	CALL(173, SYNC, hsa_signal_wait_scacquire, AMD_NO_STREAM)

#define AMD_HSA_EXTENSIONS(CALL)                                                                   \
	CALL(174, COPY, hsa_amd_memory_async_copy, AMD_NO_STREAM)                                  \
	CALL(175, COPY, hsa_amd_memory_async_copy_on_engine, AMD_NO_STREAM)                        \
	CALL(176, COPY, hsa_amd_memory_async_copy_rect, AMD_NO_STREAM)

/* Those of HIP that are reported. */
#define AMD_CALLS(CALL)                                                                            \
	AMD_LAUNCHES(CALL) AMD_COPIES(CALL) AMD_SETS(CALL) AMD_WAITS(CALL) AMD_NODES(CALL)
