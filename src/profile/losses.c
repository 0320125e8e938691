// SPDX-License-Identifier: MIT
/* Everything that is counted when it goes missing: one row each. */
#include "profile/model.h"

#include <string.h>

struct loss {
	const char *key;  /* for machines; never changes */
	const char *text; /* for people; follows a number */
	const char *note; /* of the stack, for reasons of LOSS_STACKS_INCOMPLETE */
	bool lesser;	  /* nothing is missing altogether */
	const char *one;  /* the text behind 1, where it differs */
};

// clang-format off
#define WALK(key, why) {(key), "incomplete stacks: " why, "[incomplete stack: " why "]", .lesser = true}
#define LOSS(k, t) {.key = (k), .text = (t)}
#define LOSS_ONE(k, t, text_of_one) {.key = (k), .text = (t), .one = (text_of_one)}
#define LESSER(key, text) {(key), (text), .lesser = true}
#define LESSER_ONE(key, text, text_of_one) {(key), (text), .lesser = true, .one = (text_of_one)}
// clang-format on

// clang-format off
static const struct loss losses[LOSS_KINDS] = {
	[LOSS_SAMPLES_RING_FULL] = LOSS("samples_ring_full",
		"CPU samples lost: the kernel's ring was full"),
	[LOSS_STACKS_RING_FULL] = LOSS("stacks_ring_full",
		"launch stacks lost: the kernel's ring was full"),
	[LOSS_STACKS_INCOMPLETE] = LESSER_ONE("stacks_incomplete", "incomplete stacks", "incomplete stack"),
	[LOSS_MAPS_LOST] = {"maps_lost", "mapping events dropped by the kernel",
		.one = "mapping event dropped by the kernel"},
	[LOSS_GPU_RING_FULL] = LOSS("gpu_ring_full", "GPU records lost: the shared ring was full"),
	[LOSS_GPU_DROPPED] = LOSS("gpu_dropped", "GPU records dropped by CUPTI"),
	[LOSS_GPU_INVALID] = LOSS("gpu_invalid",
		"GPU records or launch markers without times (their work had not ended) or with impossible contents"),
	[LOSS_GPU_UNKNOWN] = LOSS("gpu_unknown", "GPU records newer than this xpuprof understands"),
	[LOSS_GPU_TAKEN] = {"gpu_taken", "processes in which another profiler held CUPTI",
		.one = "process in which another profiler held CUPTI"},
	[LOSS_GPU_NO_TRACER] = {"gpu_no_cupti", "processes in which no usable tracer was found",
		.one = "process in which no usable tracer was found"},
	[LOSS_GPU_NEVER_CONNECTED] = {"gpu_never_connected",
		"processes that mapped a GPU driver of which nothing was recorded",
		.one = "process that mapped a GPU driver of which nothing was recorded"},
	[LOSS_GPU_ABANDONED] = LOSS("gpu_abandoned", "GPU records whose writer died in the middle"),
	[LOSS_GPU_CORRUPT] = LOSS("gpu_corrupt", "shared rings that were scribbled over and given up"),
	[LOSS_GPU_NODES_FORGOTTEN] = LOSS("gpu_nodes_forgotten",
		"graph nodes, too many to remember where each was made"),
	[LOSS_WALK_NO_ROOT] = WALK("walk_no_root", "the caller is not known"),
	[LOSS_WALK_NO_MAPPING] = WALK("walk_no_mapping", "code in no known mapping"),
	[LOSS_WALK_PENDING] = WALK("walk_pending", "unwind table not ready"),
	[LOSS_WALK_NO_RULE] = WALK("walk_no_rule", "no unwind information"),
	[LOSS_WALK_UNSUPPORTED] = WALK("walk_unsupported", "unwind information of an unusual kind"),
	[LOSS_WALK_FAULT] = WALK("walk_fault", "stack memory not readable"),
	[LOSS_WALK_ASTRAY] = WALK("walk_astray", "the caller's frame is not above"),
	[LOSS_WALK_DEPTH] = WALK("walk_depth", "too deep"),
	[LOSS_WALK_UNKNOWN] = WALK("walk_unknown", "registers not readable"),
	[LOSS_WALK_STALE] = WALK("walk_stale", "code was replaced meanwhile"),
	[LOSS_PYTHON_INCOMPLETE] =
		LESSER_ONE("python_incomplete", "stacks without some of their Python frames",
			"stack without some of its Python frames"),
	[LOSS_PYTHON_UNPLACED] = LESSER_ONE("python_unplaced",
		"stacks in which some Python frames stand at the root, as their place is not known",
		"stack in which some Python frames stand at the root, as their place is not known"),
	[LOSS_PYTHON_UNNAMED] =
		LESSER_ONE("python_unnamed", "Python frames whose code could not be read any more",
			"Python frame whose code could not be read any more"),
	[LOSS_STACKS_GIVEN_UP] = LESSER_ONE("stacks_given_up",
		"stacks that could not wait for the unwind tables they need",
		"stack that could not wait for the unwind tables it needs"),
	[LOSS_TABLES_FAILED] =
		LESSER_ONE("tables_failed", "files whose unwind information could not be read",
			"file whose unwind information could not be read"),
	[LOSS_TABLES_EVICTED] =
		LESSER("tables_evicted", "unwind tables that made room for others"),
	[LOSS_SPACES_FULL] = LESSER("spaces_full",
		"times that a process's mappings found no room in the kernel"),
	[LOSS_PYTHON_UNSUPPORTED] = LESSER_ONE("python_unsupported",
		"processes whose Python is of a version that is not known; its functions are not shown",
		"process whose Python is of a version that is not known; its functions are not shown"),
	[LOSS_STALLS_DROPPED] = LOSS("stalls_dropped", "instruction samples dropped by the GPU or CUPTI"),
	[LOSS_STALLS_RING_FULL] =
		LOSS("stalls_ring_full", "instruction samples lost: the shared ring was full"),
	[LOSS_STALLS_REFUSED] = {"stalls_refused", "processes not all of whose GPU instructions could be sampled",
		.one = "process not all of whose GPU instructions could be sampled"},
	[LOSS_IMAGES_LOST] = LESSER_ONE("images_lost",
		"images of GPU code that could not be kept; their instructions have no source",
		"image of GPU code that could not be kept; its instructions have no source"),
	[LOSS_COUNTS_DROPPED] = LOSS("counts_dropped", "samples of hardware counters missing, as they came faster than they were read"),
	[LOSS_COUNTS_REFUSED] = {"counts_refused", "devices whose hardware counters could not be sampled",
		.one = "device whose hardware counters could not be sampled"},
	[LOSS_DRIVER_RING_FULL] = LOSS("driver_ring_full", "driver events lost: the kernel's ring was full"),
	[LOSS_DRIVER_MISSED] = LOSS("driver_missed",
		"driver events missed, as the kernel was busy with another of its tracing programs"),
	[LOSS_DRIVER_OBJECTS] = LOSS("driver_objects",
		"driver jobs without durations: too many at once to remember"),
	[LOSS_DRIVER_UNREAD] =
		LESSER("driver_unread", "fields of driver events that could not be read"),
	[LOSS_DRIVER_VANISHED] = {"driver_vanished",
		"driver events that were gone before the end, with their module",
		.one = "driver event that was gone before the end, with its module"},
	[LOSS_WAITS_RING_FULL] = LOSS("waits_ring_full", "waits of threads lost: the kernel's ring was full"),
	[LOSS_WAITS_UNTOLD] = {"waits_untold", "threads whose time running and waiting is not known",
		.one = "thread whose time running and waiting is not known"},
	[LOSS_GPU_TRACER_ENDED] = {"gpu_cupti_ended", "processes in which CUPTI ended before they did",
		.one = "process in which CUPTI ended before it did"},
	[LOSS_SAMPLES_INVALID] = LOSS_ONE("samples_invalid", "CPU samples whose records made no sense",
		"CPU sample whose record made no sense"),
	[LOSS_STACKS_INVALID] = LOSS_ONE("stacks_invalid", "launch stacks whose records made no sense",
		"launch stack whose record made no sense"),
	[LOSS_WAITS_INVALID] = LOSS_ONE("waits_invalid", "waits of threads whose records made no sense",
		"wait of a thread whose record made no sense"),
	[LOSS_GPU_REFUSED] = LOSS_ONE("gpu_refused",
		"processes in which the GPU driver refused to report work",
		"process in which the GPU driver refused to report work"),
	[LOSS_GPU_MEMORY] = LOSS_ONE("gpu_memory",
		"processes in which memory was short for recording GPU work",
		"process in which memory was short for recording GPU work"),
	[LOSS_STILL_RUNNING] = LESSER_ONE("still_running",
		"processes that the command had started and that ran on when the recording ended",
		"process that the command had started and that ran on when the recording ended"),
	[LOSS_GPU_STRANGERS] = LOSS_ONE("gpu_strangers",
		"connections to the recorder refused: of another user, in another's name, silent, or too many of a process",
		"connection to the recorder refused: of another user, in another's name, silent, or one too many of a process"),
	[LOSS_GPU_NAMES_CUT] = LESSER_ONE("gpu_names_cut",
		"names and shapes of GPU work left out: too many different ones",
		"name or shape of GPU work left out: too many different ones"),
	[LOSS_GPU_STACKS_CUT] = LESSER_ONE("gpu_stacks_cut",
		"launch stacks of which a part is left out: too many different ones",
		"launch stack of which a part is left out: too many different ones"),
	[LOSS_GPU_THREADS_UNKNOWN] = LESSER_ONE("gpu_threads_unknown",
		"GPU calls whose thread could not be found", "GPU call whose thread could not be found"),
	[LOSS_STALLS_CUT] = LESSER_ONE("stalls_cut",
		"functions, instructions and stall reasons of GPU code left out: too many different ones",
		"function, instruction or stall reason of GPU code left out: too many different ones"),
	[LOSS_GPU_RING_REPLACED] = LOSS_ONE("gpu_ring_replaced",
		"GPU records lost: the program mapped other memory over the shared ring",
		"GPU record lost: the program mapped other memory over the shared ring"),
	[LOSS_TABLES_FULL] = LESSER_ONE("tables_full",
		"names and frames of stacks left out: too many different ones",
		"name or frame of a stack left out: too many different ones"),
	[LOSS_FILES_UNREADABLE] = LESSER("files_unreadable",
		"files of programs that could not be read: damaged, too large, too slow, another user's"),
	[LOSS_GPU_DESCRIPTORS] = LOSS_ONE("gpu_descriptors",
		"connections to the recorder ended: the program passed what holds up whoever closes it",
		"connection to the recorder ended: the program passed what holds up whoever closes it"),
	[LOSS_PYTHON_UNREADABLE] = LESSER_ONE("python_unreadable",
		"processes whose memory could not be read in time: Python without names, sleepers without stacks",
		"process whose memory could not be read in time: Python without names, sleepers without stacks"),
	[LOSS_MAPPINGS_CUT] = LESSER_ONE("mappings_cut",
		"mappings of code left out, as processes have too many; frames there are [unknown]",
		"mapping of code left out, as processes have too many; frames there are [unknown]"),
	[LOSS_PROCESSES_CUT] = LESSER_ONE("processes_cut",
		"processes shown as one, " PROCESSES_LEFT_OUT, "process shown as " PROCESSES_LEFT_OUT),
	[LOSS_THREADS_CUT] = LESSER_ONE("threads_cut",
		"events of threads that are shown as one of their process, " THREADS_LEFT_OUT,
		"event of a thread that is shown as " THREADS_LEFT_OUT),
	[LOSS_TASK_NAMES_CUT] = LESSER_ONE("task_names_cut",
		"names of processes and threads left out: too many different ones",
		"name of a process or thread left out: too many different ones"),
	[LOSS_MODULES_CUT] = LESSER_ONE("modules_cut",
		"mappings of code shown as one file, " FILES_LEFT_OUT,
		"mapping of code whose file is shown as " FILES_LEFT_OUT),
	[LOSS_STACKS_CUT] = LESSER_ONE("stacks_cut",
		"stacks of more than 2,048 frames, of which the middle is left out",
		"stack of more than 2,048 frames, of which the middle is left out"),
	[LOSS_SAMPLES_RIGHTS] = LESSER_ONE("samples_rights",
		"processes not sampled, or not further: their program has more rights, or may not be read",
		"process not sampled, or not further: its program has more rights, or may not be read"),
	[LOSS_PYTHON_MOVED] = LESSER_ONE("python_moved",
		"samples without Python frames, as these were others when they could be read",
		"sample without Python frames, as these were others when they could be read"),
	[LOSS_JIT_REPLACED] = LESSER_ONE("jit_replaced",
		"places in JIT code named as what was first there; other code came to them later",
		"place in JIT code named as what was first there; other code came to it later"),
	[LOSS_ACCOUNTS] = LOSS_ONE("accounts_lost",
		"threads whose CPU time, or a part of it, is missing", "thread whose CPU time, or a part of it, is missing"),
	[LOSS_GPU_OVERHEAD] = LOSS_ONE("gpu_overhead",
		"processes whose GPU work was not recorded to the end: --overhead could not be held",
		"process whose GPU work was not recorded to the end: --overhead could not be held"),
	[LOSS_WALK_GUESSED] = WALK("walk_guessed", "some callers are guesses"),
	[LOSS_WAITS_OBSERVED] = LOSS_ONE("waits_observed",
		"calls that wait for the GPU, of observed programs, that had not returned when observing ended",
		"call that waits for the GPU, of an observed program, that had not returned when observing ended"),
	[LOSS_GPU_LISTS] = LOSS_ONE("gpu_lists",
		"executions of lists of GPU commands that were recorded unseen: what is in them is not known",
		"execution of a list of GPU commands that was recorded unseen: what is in it is not known"),
	[LOSS_GPU_UNTIMED] = LESSER_ONE("gpu_untimed",
		"pieces of GPU work without times of their own: unknown, or they contradict themselves",
		"piece of GPU work without times of its own: unknown, or they contradict themselves"),
	[LOSS_CALLS_OBSERVED] = LOSS_ONE("calls_observed",
		"calls of observed programs: they came faster than they were read", "call of an observed program: they came faster than they were read"),
	[LOSS_PROBE_BOUNDS] = LOSS_ONE("probe_bounds",
		"accesses of probes were outside of values, or not aligned: they read 0 or were not made",
		"access of a probe was outside of a value, or not aligned: it read 0 or was not made"),
	[LOSS_PROBE_FUEL] = LOSS_ONE("probe_fuel", "runs of probes were ended in loops that took too long",
		"run of a probe was ended in a loop that took too long"),
	[LOSS_PROBE_FULL] = LOSS_ONE("probe_full", "times an entry found no place in a hash of probes",
		"time an entry found no place in a hash of probes"),
	[LOSS_PROBE_THREADS] = LOSS_ONE("probe_threads",
		"times a thread had no place in a per-thread array of probes",
		"time a thread had no place in a per-thread array of probes"),
	[LOSS_PROBE_DROPPED] = LOSS_ONE("probe_dropped", "records of probes lost: the ring was full",
		"record of probes lost: the ring was full"),
	[LOSS_PROBE_UNREAD] = LOSS_ONE("probe_unread",
		"records of probes were being written when their program ended",
		"record of probes was being written when its program ended"),
	[LOSS_PROBE_CUT] = LOSS_ONE("probe_cut", "records and entries of probes too long for a recording",
		"record or entry of probes too long for a recording"),
	[LOSS_PROBE_CONTEXTS] = LOSS_ONE("probe_contexts",
		"contexts ran without probes: there were too many, or no memory",
		"context ran without probes: there were too many, or no memory"),
	[LOSS_PROBE_OLD] = LESSER_ONE("probe_old",
		"contexts ended without a word: maps of probes are up to a second older",
		"context ended without a word: maps of probes are up to a second older"),
	[LOSS_PROBE_NO_TEXT] = LESSER_ONE("probe_no_text",
		"images have machine code only, no text to put probes into: their kernels ran without",
		"image has machine code only, no text to put probes into: its kernels ran without"),
	[LOSS_PROBE_UNREADABLE] = LESSER_ONE("probe_unreadable",
		"images could not be given probes, and ran without",
		"image could not be given probes, and ran without"),
	[LOSS_PROBE_REFUSED] = LESSER_ONE("probe_refused",
		"images with probes were refused by the driver, and ran as they are",
		"image with probes was refused by the driver, and ran as it is"),
	[LOSS_PROBE_UNSEEN] = LESSER_ONE("probe_unseen",
		"accesses and ends of threads in kernels are where probes do not see them: in functions that are called, or straight behind loops in which threads wait",
		"access or end of threads in a kernel is where probes do not see it: in a function that is called, or straight behind a loop in which threads wait"),
	[LOSS_PROBE_NOTES] = LOSS_ONE("probe_notes",
		"messages of processes with probes were lost", "message of a process with probes was lost"),
	[LOSS_STALLS_OVERFLOWS] = LOSS_ONE("stalls_overflows",
		"times that a GPU dropped instruction samples, and does not say how many",
		"time that a GPU dropped instruction samples, and does not say how many"),
	[LOSS_STALLS_OUTSIDE] = LOSS_ONE("stalls_outside",
		"instruction samples outside of all kernels whose place in the GPU's memory is known",
		"instruction sample outside of all kernels whose place in the GPU's memory is known"),
	[LOSS_STALLS_AMBIGUOUS] = LOSS_ONE("stalls_ambiguous",
		"instruction samples at addresses where several processes had code",
		"instruction sample at an address where several processes had code"),
	[LOSS_STALLS_PLACES] = LOSS_ONE("stalls_places",
		"kernels whose place in the GPU's memory could not be kept",
		"kernel whose place in the GPU's memory could not be kept"),
	[LOSS_PROBE_SITES] = LOSS_ONE("probe_accesses",
		"accesses in kernels had no place in an array by access of probes ('xpuprof probe --accesses' makes it larger)",
		"access in a kernel had no place in an array by access of probes ('xpuprof probe --accesses' makes it larger)"),
	[LOSS_PROBE_LATE] = LESSER_ONE("probe_late",
		"times a context did not say in time what was in its maps: for a while the recording has what was there before",
		"time a context did not say in time what was in its maps: for a while the recording has what was there before"),
	[LOSS_PROBE_AT_END] = LESSER_ONE("probe_at_end",
		"entries of maps of probes are in the recording as they were at its end only: there were too many",
		"entry of a map of probes is in the recording as it was at its end only: there were too many"),
	[LOSS_DRIVER_PROBES] = LOSS_ONE("driver_probes",
		"hits of a GPU driver's own probes lost, or without arguments that could be read",
		"hit of a GPU driver's own probes lost, or without arguments that could be read"),
	[LOSS_DRIVER_IMAGES] = LOSS_ONE("driver_images",
		"files of GPU code that a driver's probe named could not be opened or are none: no lines or instructions of these",
		"file of GPU code that a driver's probe named could not be opened or is none: no lines or instructions of it"),
	[LOSS_PROBE_SMALLER] = LESSER_ONE("probe_smaller",
		"images with probes could not have run in blocks as large as before, and ran as they are",
		"image with probes could not have run in blocks as large as before, and ran as it is"),
	[LOSS_PROBE_NOT_ON] = LOSS_ONE("probe_not_on", "times probes could not be switched on in a module",
		"time probes could not be switched on in a module"),
	[LOSS_PROBE_SLOW] = LESSER_ONE("probe_slow",
		"modules had no constant memory left: probes cost more there",
		"module had no constant memory left: probes cost more there"),
	[LOSS_PROBE_NEVER_READ] = LOSS_ONE("probe_never_read",
		"contexts ended before maps of probes could be read", "context ended before its maps of probes could be read"),
	[LOSS_PROBE_PROCESSES] = LOSS_ONE("probe_processes",
		"processes could not connect: no probes ran in them", "process could not connect: no probes ran in it"),
	[LOSS_PROBE_NO_NAMES] = LESSER_ONE("probe_no_names",
		"images ran without probes, and the names of their kernels were not all read",
		"image ran without probes, and the names of its kernels were not all read"),
	[LOSS_PROBE_PARAMETERS] = LESSER_ONE("probe_parameters",
		"kernels have fewer parameters than probes read of them: those are 0",
		"kernel has fewer parameters than probes read of it: those are 0"),
};
// clang-format on

const char *profile_loss_key(unsigned int loss)
{
	return loss < LOSS_KINDS ? losses[loss].key : NULL;
}

const char *profile_loss_text(unsigned int loss, uint64_t count)
{
	if (loss >= LOSS_KINDS)
		return NULL;
	return count == 1 && losses[loss].one ? losses[loss].one : losses[loss].text;
}

bool profile_loss_is_reason(unsigned int loss)
{
	return loss < LOSS_KINDS && losses[loss].note;
}

bool profile_loss_is_event(unsigned int loss)
{
	return loss && loss < LOSS_KINDS && !losses[loss].lesser;
}

const char *profile_incomplete_note(enum profile_loss why)
{
	return profile_loss_is_reason(why) ? losses[why].note : NOTE_INCOMPLETE;
}

bool profile_note_is_incomplete(const char *name)
{
	static const char known[] = NOTE_INCOMPLETE, beginning[] = "[incomplete stack: ";

	return name && (!strcmp(name, known) || !strncmp(name, beginning, sizeof(beginning) - 1));
}
