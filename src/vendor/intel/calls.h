/* SPDX-License-Identifier: MIT */
/*
 * The calls of Level Zero that are followed: those that ask for work or wait for it.
 *
 *	COMMAND(our number, kind, name, place of the event among its arguments)
 *	EXECUTION(our number, kind, name), WAIT(our number, kind, name)
 *
 * Level Zero does not number its calls. So the numbers are ours, given out once; the kinds are
 * those of enum wire_call_kind. The first argument is the command list, or what is waited for.
 */
#pragma once

#define LEVELZERO_API 2u /* its number on the wire (wire/wire.h) */

/* Numbers are below this. */
#define LEVELZERO_CALL_NUMBERS 32

#define LEVELZERO_KERNELS(COMMAND)                                                                 \
	COMMAND(1, LAUNCH, CommandListAppendLaunchKernel, 3)                                       \
	COMMAND(2, LAUNCH, CommandListAppendLaunchCooperativeKernel, 3)                            \
	COMMAND(3, LAUNCH, CommandListAppendLaunchKernelIndirect, 3)                               \
	COMMAND(12, LAUNCH, CommandListAppendLaunchKernelWithParameters, 4)                        \
	COMMAND(13, LAUNCH, CommandListAppendLaunchKernelWithArguments, 6)

#define LEVELZERO_COPIES(COMMAND)                                                                  \
	COMMAND(4, COPY, CommandListAppendMemoryCopy, 4)                                           \
	COMMAND(5, COPY, CommandListAppendMemoryCopyRegion, 9)                                     \
	COMMAND(6, COPY, CommandListAppendMemoryCopyFromContext, 5)                                \
	COMMAND(7, SET, CommandListAppendMemoryFill, 5)                                            \
	COMMAND(14, COPY, CommandListAppendImageCopy, 3)                                           \
	COMMAND(15, COPY, CommandListAppendImageCopyRegion, 5)                                     \
	COMMAND(16, COPY, CommandListAppendImageCopyToMemory, 4)                                   \
	COMMAND(17, COPY, CommandListAppendImageCopyFromMemory, 4)                                 \
	COMMAND(18, COPY, CommandListAppendImageCopyToMemoryExt, 6)                                \
	COMMAND(19, COPY, CommandListAppendImageCopyFromMemoryExt, 6)                              \
	COMMAND(23, COPY, CommandListAppendMemoryCopyWithParameters, 5)                            \
	COMMAND(24, SET, CommandListAppendMemoryFillWithParameters, 6)

#define LEVELZERO_COMMANDS(COMMAND) LEVELZERO_KERNELS(COMMAND) LEVELZERO_COPIES(COMMAND)

/* Of recorded lists. */
#define LEVELZERO_EXECUTIONS(EXECUTION)                                                            \
	EXECUTION(20, GRAPH, CommandQueueExecuteCommandLists)                                      \
	EXECUTION(21, GRAPH, CommandListImmediateAppendCommandListsExp)                            \
	EXECUTION(22, GRAPH, CommandListImmediateAppendCommandListsWithParameters)

#define LEVELZERO_WAITS(WAIT)                                                                      \
	WAIT(8, SYNC, CommandListHostSynchronize)                                                  \
	WAIT(9, SYNC, CommandQueueSynchronize)                                                     \
	WAIT(10, SYNC, EventHostSynchronize)                                                       \
	WAIT(11, SYNC, FenceHostSynchronize)

/* Commands that are no work, and may signal an event: MARK(name, place of the event). They are not
 * reported. */
#define LEVELZERO_MARKS(MARK)                                                                      \
	MARK(CommandListAppendBarrier, 1)                                                          \
	MARK(CommandListAppendMemoryRangesBarrier, 4)                                              \
	MARK(CommandListAppendSignalEvent, 1)                                                      \
	MARK(CommandListAppendWriteGlobalTimestamp, 2)                                             \
	MARK(CommandListAppendQueryKernelTimestamps, 5)
