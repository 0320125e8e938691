/* SPDX-License-Identifier: MIT */
/*
 * The data model of a profile: what one recording is made of.
 *
 *	   strings <---- everything that has a name
 *	   modules <-- locations <-- stacks (a trie: parent + location)
 *	  segments --^       `----> inlines (a trie: caller + name and line)
 *	 processes <-- threads
 *	   devices <-- ops (what a piece of GPU work is: kernel + shape, kind of copy, ...)
 *	           <-- windows (stretches of time in which instructions were sampled)
 *	 processes <-- bursts (stretches of time in which GPU work was recorded, where not all was)
 *	  counters (what hardware counters count)
 *	   objects (of programs in GPU kernels) <-- their maps; contexts, kernels and accesses of these
 *	   modules <-- GPU functions <-- instructions --> inlines
 *
 *	   sample  (thread, stack, period)                    a CPU was here
 *	   call    (thread, stack, API, duration, result)     the program called a GPU API
 *	   work    (op, start, duration, launching stack)     the GPU did this
 *	   pending (thread, stack, API, reason)               a call that asked for work which never showed
 *	   stall   (window, instruction, reason, samples)     warps were seen at a GPU instruction
 *	   count   (device, counter, time, value)             what a hardware counter of a GPU counted, or a number
 *	                                                      that somebody wrote down (no device)
 *	   driver  (source, ring, name, thread, duration)     the kernel's GPU driver did this
 *	   wait    (thread, stack, reason, duration)          a thread did not run
 *	   life    (thread, duration, time on a CPU)          a thread was there
 *	   sync    (thread, stack, API, stream, duration)     a call of a GPU API waited for the GPU
 *	   marker  (thread, name, duration)                   the program gave this stretch of time a name
 *	   found   (map, context, launch, bytes)              a program in a GPU kernel found this
 *
 * Tables are interned: every id is dense, counted from 1, and 0 means "none" or "not known". Events
 * carry ids only. Times are CLOCK_MONOTONIC nanoseconds, durations nanoseconds, sizes bytes.
 *
 * These structs are what writer and reader exchange with the rest of the program; how they look in
 * the file is docs/file-format.md. The values of all enums are in the file: add at the end, never
 * renumber.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum profile_module_kind {
	MODULE_FILE = 1, /* an ELF file */
	MODULE_KERNEL,	 /* the kernel and its modules; addresses are virtual */
	MODULE_VDSO,
	MODULE_ANON, /* executable memory without a file: JIT code; addresses are virtual */
	/* An image of GPU code, in the format that its path begins with, before a colon; its build
	 * id is a checksum of it, 8 bytes, the highest first. */
	MODULE_GPU_CODE,
};

#define BUILD_ID_MAX 20

/* What is known of a module beside its kind. */
enum {
	MODULE_PYTHON = 1 << 0, /* has the Python interpreter in it: an executable or libpython */
	/* Of MODULE_ANON: enum profile_runtime of the process that made the code. */
	MODULE_RUNTIME_SHIFT = 1,
	MODULE_RUNTIME = 15 << MODULE_RUNTIME_SHIFT,
};

/* What makes code at run time (profile/runtimes.h). */
enum profile_runtime {
	RUNTIME_UNKNOWN = 0,
	RUNTIME_NODE,
	RUNTIME_JAVA,
	RUNTIME_DOTNET,
	RUNTIME_LUAJIT,
};

/* Something that code was mapped from. */
struct profile_module {
	enum profile_module_kind kind;
	uint32_t path;	/* string: as the process saw it */
	uint32_t flags; /* MODULE_* */
	uint8_t build_id_size;
	uint8_t build_id[BUILD_ID_MAX];
};

enum profile_frame_kind {
	FRAME_USER = 1, /* native code in user space */
	FRAME_KERNEL,	/* the operating system's kernel */
	FRAME_PYTHON,
	FRAME_NOTE, /* not code: says something about the stack; named in brackets */
};

/* A name that there was no room for. */
#define NAME_LEFT_OUT "[too many names]"
/* So too, of all processes and of the threads of a process that stand for each other. */
#define PROCESSES_LEFT_OUT "[too many processes]"
#define THREADS_LEFT_OUT   "[too many threads]"
/* And of files of code: MODULE_ANON, as addresses in it are virtual. */
#define FILES_LEFT_OUT "[too many files]"
/* What code made at run time is called that no map names: all of a process is one. */
#define NAME_OF_NAMELESS_JIT "[JIT code without names]"
/* The name of the note at the root end of a stack that does not reach its root; where it is known
 * why, that stands before the bracket: profile_incomplete_note, profile_note_is_incomplete. */
#define NOTE_INCOMPLETE "[incomplete stack]"

/*
 * A location in code. For MODULE_FILE `address` is an offset into the file, for MODULE_VDSO into
 * the mapping (which moves between processes); for other modules it is a virtual address. A return
 * address is stored less one, so that it lies inside the call. Notes and Python frames have no
 * module: `name` (and `line`, `file`) is all there is. For native frames `name` stays 0 until a
 * symbol is added (profile_add_symbol), perhaps at the end of the recording or much later.
 */
struct profile_location {
	enum profile_frame_kind kind;
	uint32_t module;
	uint64_t address;
	uint32_t name; /* string */
	uint32_t file; /* string: where in the function called `name` it is */
	uint32_t line;
	uint32_t inlined; /* inline id: the innermost function inlined here; comes with a symbol */
	/* where a function without a name begins, counted as `address`; 0: not known */
	uint64_t function;
};

/*
 * A function that the compiler put into its caller: where the code of a location belongs to such
 * functions, these are frames between its leaf side and the location's own function. Line and file
 * say where in this function the code (or the next inlined function's call) is.
 */
struct profile_inline {
	uint32_t caller; /* inline id: what it was put into; 0: the location's own function */
	uint32_t name;	 /* string */
	uint32_t file;	 /* string */
	uint32_t line;
};

/* Where a module's code was linked to run, for names that are looked up without the file. */
struct profile_segment {
	uint32_t module;
	uint64_t offset; /* in the file */
	uint64_t size;
	uint64_t vaddr;
};

/* A stack is the id of its leaf node; following `parent` to 0 leads to the root. */
struct profile_stack_node {
	uint32_t parent;
	uint32_t location;
};

/* A process image: exec begins a new one. */
struct profile_process {
	uint32_t pid;
	uint32_t parent; /* process id, not pid */
	uint64_t start_ns;
	uint32_t comm;	  /* string */
	uint32_t cmdline; /* string, arguments joined by blanks */
};

/* What is known of a thread beside its name. */
enum {
	THREAD_PROFILER = 1 << 0, /* the injected library's, not the program's */
};

struct profile_thread {
	uint32_t process;
	uint32_t tid;
	uint32_t name;	/* string */
	uint32_t flags; /* THREAD_* */
};

struct profile_device {
	uint8_t uuid[16];
	uint32_t ordinal; /* as the first process that used it counted */
	uint32_t name;	  /* string; begins with "Simulated GPU" under the simulated driver */
	uint32_t sm_count;
	uint64_t memory_bytes;
	uint32_t clock_khz; /* of the multiprocessors, at most; 0: not known */
};

enum profile_op_kind {
	OP_KERNEL = 1,
	OP_COPY,
	OP_SET,
};

/* Kinds of copies; also the kinds of memory for OP_SET's and OP_COPY's ends. Names:
 * profile_copy_name. */
enum profile_copy_kind {
	COPY_UNKNOWN = 0,
	COPY_HTOD,
	COPY_DTOH,
	COPY_HTOA,
	COPY_ATOH,
	COPY_ATOA,
	COPY_ATOD,
	COPY_DTOA,
	COPY_DTOD,
	COPY_HTOH,
	COPY_PTOP,
	COPY_KINDS
};

enum profile_memory_kind {
	MEMORY_UNKNOWN = 0,
	MEMORY_PAGEABLE,
	MEMORY_PINNED,
	MEMORY_DEVICE,
	MEMORY_ARRAY,
	MEMORY_MANAGED,
	MEMORY_DEVICE_STATIC,
	MEMORY_MANAGED_STATIC,
	MEMORY_KINDS
};

/* What a piece of GPU work is, without its times: the same for every launch of equal shape. */
struct profile_op {
	enum profile_op_kind kind;
	uint32_t process; /* whose context and stream numbers these are */
	uint32_t device;  /* device id of the profile */
	uint32_t context;
	uint32_t stream;
	uint32_t name; /* string: the kernel's mangled name; 0 for copies and sets */
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t registers;	       /* a thread */
	uint32_t shared_static_bytes;  /* a block */
	uint32_t shared_dynamic_bytes; /* a block */
	uint8_t copy_kind;	       /* enum profile_copy_kind, OP_COPY */
	uint8_t source_memory;	       /* enum profile_memory_kind, OP_COPY */
	uint8_t target_memory;	       /* enum profile_memory_kind, OP_COPY and OP_SET */
};

/* What a sample is. All but the first come from a reader, and are in no file. */
enum profile_sample_kind {
	SAMPLE_SEEN = 0, /* a sample */
	SAMPLE_ABSENT,	 /* time of a thread that has no sample */
	SAMPLE_KERNEL,	 /* profile_account.kernel_ns */
	SAMPLE_KINDS
};

struct profile_sample {
	uint64_t time_ns;
	/* The CPU time this sample stands for. A reader gives it its part of the thread's account,
	 * where there is one. */
	uint64_t period_ns;
	uint32_t thread;
	uint32_t stack; /* kernel frames, if any, are its leaf end */
	uint32_t cpu;
	enum profile_sample_kind kind;
	/* what goes with it of the thread's time in the kernel that no sample stands for; set by
	 * readers of a part of a recording (clip.h) */
	uint64_t kernel_ns;
};

/*
 * How long a thread ran in the recording, by the scheduler's own account, which is exact. Samples
 * only divide it. Of one thread these are added up.
 */
struct profile_account {
	uint64_t run_ns;
	/* of it: ran in the kernel, where this recording makes no samples; 0: they are made
	 * there, too */
	uint64_t kernel_ns;
	uint64_t end_ns; /* when the thread, or the recording, ended */
};

/* A function of GPU code: a kernel, or one that kernels call. */
struct profile_gpu_function {
	uint32_t module; /* MODULE_GPU_CODE */
	uint32_t name;	 /* string: mangled */
	uint32_t index;	 /* of its symbol in the image */
};

/*
 * One instruction of a GPU function. Only function and offset are there at first; the rest comes
 * later (profile_describe_instruction), when the image is read, and then also for instructions
 * without samples: the whole function can be shown. File and line are where in the function itself
 * the code is, as in a location. Code of device functions that were not inlined counts as the
 * kernel's that they stand behind; it has them as if they were inlined, at line 0 of the kernel.
 */
struct profile_instruction {
	uint32_t function; /* GPU function id */
	uint32_t offset;   /* in bytes, from where the function begins */
	/* string: "@P0 LDG.E.64 R2, [R4.64]", or as much of it as is known; 0: not known */
	uint32_t text;
	uint32_t file; /* string */
	uint32_t line;
	uint32_t inlined; /* inline id: the innermost function inlined here */
};

/*
 * A stretch of time for which the instruction samples of one context were collected. A sample says
 * at which instruction a warp was and why it did not go on; each SM samples its warps in turn, one
 * every `period_cycles` of its clock.
 */
struct profile_window {
	uint32_t process;
	uint32_t instance;
	uint32_t device;  /* id */
	uint32_t context; /* as in profile_op */
	uint64_t start_ns;
	/* samples may come a little late, and then count for the next window */
	uint64_t end_ns;
	uint64_t period_cycles; /* 0: not known */
	uint64_t samples;	/* all samples, those of the two next lines as well */
	uint64_t dropped;	/* the GPU could not keep them */
	/* they were in code whose instructions the driver does not report */
	uint64_t without_code;
	/* stalls name the launch (correlation): kernels ran one at a time, or the GPU says it */
	bool exact;
};

/*
 * Under --overhead GPU work is recorded in bursts: a stretch of time whose calls are followed, with
 * all the work that they asked for. It begins at a random time of its period, and stands for all of
 * it. One without a length says that no burst came in the period.
 */
struct profile_burst {
	uint32_t process;
	uint32_t instance;
	uint64_t since_ns; /* the period */
	uint64_t until_ns;
	uint64_t start_ns; /* the burst */
	uint64_t end_ns;
};

/* What a hardware counter counts. */
struct profile_counter {
	/* string: the vendor's, "dram__read_throughput.avg.pct_of_peak_sustained_elapsed" */
	uint32_t name;
	uint32_t unit; /* string: "%", "byte/s", ... */
};

/*
 * Programs that run inside GPU kernels, and what is known beside what they find (profile_found):
 * the objects that they are of, as they were loaded, and their maps; the contexts whose kernels
 * they ran in; these kernels, and places in their code that access memory.
 */
struct profile_probe_object {
	uint32_t name; /* string: of the file, or of the tool */
	uint32_t tool; /* string: one of ours; 0: a file */
	uint32_t file; /* string: the ELF file itself; 0: not kept */
};

#define PROBE_MAP_PRINTS   UINT32_MAX	    /* what programs print */
#define PROBE_MAP_SWITCHES (UINT32_MAX - 1) /* when programs were switched off and on */

struct profile_probe_map {
	uint32_t object; /* probe object id */
	uint32_t number; /* in the object, or PROBE_MAP_... */
	uint32_t name;	 /* string; 0 for PROBE_MAP_... */
};

struct profile_probe_context {
	uint32_t process;
	uint32_t device; /* id */
};

struct profile_probe_kernel {
	uint64_t hash; /* what programs know it by */
	uint32_t name; /* string: mangled */
	uint32_t programs, returns, accesses;
	uint32_t images; /* that have it */
	/* What it takes with programs: registers and local memory of a thread, warps that a
	 * multiprocessor has at once; so too without, from [3] on. 0: not known. */
	uint32_t size[6];
	/* String: the file that its module is, or is made from; of one without programs why. */
	uint32_t about;
	uint64_t module; /* hash of it; 0: not known */
	uint32_t bound;	 /* registers of a thread that its launch bounds leave; 0: it has none */
};

struct profile_probe_line {
	uint64_t kernel; /* hash */
	uint32_t insn;	 /* number of the access in it */
	uint32_t file;	 /* string */
	uint32_t line;
	uint32_t bytes, kind;
};

/* What a call of a GPU API is for. */
enum profile_call_kind {
	CALL_LAUNCH = 1, /* kernel launch */
	CALL_COPY,
	CALL_SET,
	CALL_GRAPH, /* graph launch */
	CALL_SYNC,  /* waits for the GPU */
	CALL_NODE,  /* adds a node to a graph; asks for no work by itself */
	CALL_KINDS
};

/* From a reader that is asked for a part of the recording only (clip.h), in no file: what of the
 * event lies before this piece of it. The event counts once, with the piece that has its begin. */
struct profile_cut {
	uint64_t passed_ns;
	bool continued; /* it began before this piece */
};

/* One outermost call of a GPU API. */
struct profile_call {
	uint64_t start_ns;
	uint64_t duration_ns;
	uint32_t thread;
	uint32_t stack; /* 0: not recorded */
	uint32_t api;	/* string: the call's name */
	enum profile_call_kind kind;
	int32_t result; /* the API's return code; 0 is success */
	uint32_t instance;
	uint32_t correlation;
	/* It was seen by the kernel, from outside of its program: nothing is known of its result
	 * and its work, and its duration only if it waited. (A call that waits has none, either,
	 * where only its begin was seen.) */
	bool observed;
	double weight; /* these two as in profile_work */
	uint32_t burst;
	struct profile_cut cut;
};

/* Why a piece of work has no launching stack. */
enum profile_join {
	JOIN_OK = 0,
	JOIN_NO_CPU_SIDE, /* stacks were not recorded: no rights, or --gpu-only without BPF */
	JOIN_STACK_LOST,  /* the call is known, its stack was lost on the way */
	JOIN_NO_LAUNCH,	  /* no call with this id was ever seen */
	JOIN_LATE,	  /* the call was seen and had to be forgotten before the work arrived */
	JOIN_REASONS
};

/* Larger ones would be no sample. */
#define WORK_STANDS_FOR_MAX 1000000u

/* One piece of GPU work. */
struct profile_work {
	uint64_t start_ns;
	uint64_t duration_ns;
	uint64_t bytes;	       /* copies and sets; 0 for kernels */
	uint64_t queued_ns;    /* 0: not known */
	uint64_t submitted_ns; /* 0: not known */
	uint64_t graph_node;   /* 0: not part of a graph */
	uint64_t launch_ns;    /* when the launching call began; 0: not known */
	/* the id that a kernel reads itself; in a graph the node's, in each of its runs; 0: it is
	 * not known, or no programs in kernels were recorded */
	uint64_t grid;
	uint32_t op;
	uint32_t thread;     /* that launched it; 0: not known */
	uint32_t stack;	     /* of the launching call; 0: see join */
	uint32_t node_stack; /* where the graph node was made; 0: none or not known */
	/* into which its graph was launched; 0: it is not of one, or not known */
	uint32_t graph_context;
	uint32_t graph_stream; /* so too: the op's may be one of the driver's own */
	uint32_t api;	       /* string: the launching call; 0: not known */
	uint32_t instance;
	uint32_t correlation;
	/* So many pieces of the same kernel (or sort of copy or set), of which this one was drawn
	 * to have times; 0: it stands for itself alone. What was not drawn is in no file. */
	uint32_t stands_for;
	enum profile_join join;
	/* From a reader, in no file: how many pieces it stands for, and in which burst it was asked
	 * for (bursts.h). 1 and 0 where everything was recorded. */
	double weight;
	uint32_t burst;
	struct profile_cut cut;
};

/* Why a call that asks for work has none. */
enum profile_pending_reason {
	PENDING_FAILED = 1, /* the call returned an error */
	PENDING_CAPTURED,   /* it became a node of a graph under capture */
	PENDING_EMPTY,	    /* it asked for nothing: zero bytes, an empty graph */
	PENDING_UNFINISHED, /* its work was not reported by the end of the recording */
	PENDING_NO_EXIT,    /* the call itself never returned */
	PENDING_FORGOTTEN,  /* it waited longer than the correlator can remember */
	/* the driver's tools interface ended before it reported it (LOSS_GPU_TRACER_ENDED) */
	PENDING_LOST,
	PENDING_REASONS
};

struct profile_pending {
	uint64_t start_ns;
	uint32_t thread;
	uint32_t stack;
	uint32_t api; /* string; 0: not known */
	uint32_t instance;
	uint32_t correlation;
	enum profile_pending_reason reason;
	double weight; /* as in profile_work */
};

/* Warps were seen at an instruction, for one reason, that often in a window. */
struct profile_stall {
	uint32_t window;
	uint32_t instruction;
	uint32_t reason;      /* string: the vendor's name of it, "..._stalled_barrier" */
	uint32_t correlation; /* of the launch, in exact windows; else 0 */
	uint64_t samples;
};

/* What a hardware counter counted in a stretch of time, on a whole device; or a number that was
 * written down beside the recording, for as long as it held. */
struct profile_count {
	uint64_t start_ns;
	uint64_t duration_ns;
	uint32_t device; /* 0: not of a counter */
	uint32_t counter;
	double value; /* finite */
};

/* What an event of a driver is. Names: profile_driver_kind_name. */
enum profile_driver_kind {
	DRIVER_MOMENT = 1, /* something happened; it has no duration */
	DRIVER_QUEUED,	   /* a job was in a ring's queue */
	DRIVER_RUN,	   /* the hardware ran it */
	DRIVER_WAIT,	   /* it had to wait for another */
	DRIVER_OTHER,	   /* something else lasted so long */
	DRIVER_KINDS
};

/* What the kernel's GPU driver did, for whatever process. Stretches of time come when they have
 * ended. */
struct profile_driver {
	uint64_t start_ns;
	uint64_t duration_ns; /* 0 in moments */
	uint64_t bytes;	      /* of a buffer, moved, ...; 0: not known, or nothing of the kind */
	uint64_t job;	      /* the same in all events of one job of a source; 0: not known */
	uint32_t thread;      /* whose it is; 0: not known */
	uint32_t source;      /* string: what watched it, "drm" */
	uint32_t ring;	      /* string: "gfx_0.0.0"; 0: it has none */
	uint32_t name;	      /* string: "queued", "run", "wait for sdma0", "VMA_BIND" */
	enum profile_driver_kind kind;
	bool foreign;	 /* of a process that was not recorded, but used the same GPU */
	bool unfinished; /* it went on when the recording ended: so long until then */
	struct profile_cut cut;
};

/* Why a thread did not run. Names: profile_wait_reason_name. */
enum profile_wait_reason {
	WAIT_OTHER = 1, /* asleep in the kernel, for something that has no name here */
	WAIT_RUN_QUEUE, /* it could have run all the time: its CPU was another's */
	WAIT_LOCK,	/* futex: a mutex, a condition variable, the end of a thread */
	WAIT_SLEEP,	/* for time to pass */
	WAIT_IO,	/* to read or write: files, pipes, sockets */
	WAIT_EVENTS,	/* poll, select, epoll */
	WAIT_PROCESS,	/* for another process to end */
	WAIT_FAULT,	/* for a page */
	WAIT_GPU,	/* in the driver of a GPU */
	WAIT_STOPPED,	/* stopped by a signal or a debugger */
	WAIT_REASONS
};

/*
 * A thread did not run for a while. Where threads sleep and wake up very often, only some of these
 * waits have a stack; the time of the others, at the same site in the same thread, is added to the
 * next one that has (`others`). So the times of a thread are complete; which of several stacks of a
 * site they have is sampled. With duration 0 only `others` counts: waits after which none of their
 * site was sent, with the last stack of the site (`assumed`), or with stack 0 where none is known,
 * or where they were too short for one.
 */
struct profile_wait {
	uint64_t start_ns;
	uint64_t duration_ns; /* until it ran again */
	uint64_t queued_ns;   /* at its end: it could have run, but had no CPU yet */
	uint64_t others_ns;   /* how long the others were, altogether */
	uint64_t others;
	uint32_t thread;
	uint32_t stack;
	uint32_t waker; /* thread that ended it; 0: not known, or none */
	enum profile_wait_reason reason;
	/* the stack was not walked: it is that of the thread's last wait at the same site */
	bool assumed;
	struct profile_cut cut;
};

/* A thread's stay in the recording, written when it ends: duration = run + all its waits. */
struct profile_life {
	uint64_t start_ns; /* of the thread, or of the recording */
	uint64_t duration_ns;
	uint64_t run_ns; /* on a CPU */
	uint32_t thread;
};

/* What a call of a GPU API waited for. */
enum profile_sync_kind {
	SYNC_STREAM = 1, /* everything in a stream */
	SYNC_EVENT,	 /* what was in a stream when an event was recorded there */
	SYNC_CONTEXT,	 /* everything in a context */
	SYNC_KINDS
};

/* A thread waited for the GPU inside a call of a GPU API, asleep or spinning. (Copies that wait for
 * themselves are no such calls: they and their work have one correlation id.) */
struct profile_sync {
	uint64_t start_ns;
	uint64_t duration_ns;
	/* SYNC_EVENT: when it was recorded, so only work that was launched before; 0: not known */
	uint64_t recorded_ns;
	uint32_t instance;
	uint32_t correlation; /* of the call */
	uint32_t thread;
	uint32_t stack;
	uint32_t api;	  /* string */
	uint32_t device;  /* device id; 0: not known */
	uint32_t context; /* as in profile_op */
	uint32_t stream;  /* so too; SYNC_CONTEXT: 0 */
	enum profile_sync_kind kind;
	struct profile_cut cut;
};

/* How a program marked a stretch of time. Names: profile_marker_kind_name. */
enum profile_marker_kind {
	MARKER_RANGE = 1, /* of one thread, or begun by one and ended by another */
	MARKER_MOMENT,	  /* it has no duration */
	MARKER_KINDS
};

/* A program gave a stretch of time a name. */
struct profile_marker {
	uint64_t start_ns;
	uint64_t duration_ns; /* 0 in moments */
	uint32_t thread;      /* that began it; 0: not known */
	uint32_t name;	      /* string */
	uint32_t domain;      /* string: whose name it is; 0: the program's */
	enum profile_marker_kind kind;
	bool unfinished; /* it went on when the recording ended: so long until then */
	struct profile_cut cut;
};

/*
 * What a program in a GPU kernel found: a record that it sent, or an entry of a map as it was when
 * it was last read (the key, then the value). Records are of the kernel whose work has the same
 * `grid` in the same process and device; in graphs of one of those that have it.
 */
struct profile_found {
	uint64_t time_ns; /* when it was read */
	uint64_t grid;	  /* 0: an entry of a map */
	uint32_t map;	  /* probe map id */
	uint32_t context; /* probe context id */
	uint32_t program; /* number in the object, plus 1; 0: an entry of a map */
	uint32_t sm;	  /* multiprocessor, plus 1; 0: of all, or not known */
	uint64_t thread;  /* of per-thread entries: number in the grid, plus 1; else 0 */
	uint32_t text;	  /* of what was printed: which of the program's texts */
	uint32_t size;
	const uint8_t *bytes; /* from a reader: until it reads the next event */
};

#define FOUND_MAX_BYTES 32768

enum profile_event_kind {
	EVENT_SAMPLE = 1,
	EVENT_CALL,
	EVENT_WORK,
	EVENT_PENDING,
	EVENT_STALL,
	EVENT_COUNT,
	EVENT_DRIVER,
	EVENT_WAIT,
	EVENT_LIFE,
	EVENT_SYNC,
	EVENT_MARKER,
	EVENT_FOUND,
};

struct profile_event {
	enum profile_event_kind kind;
	union {
		struct profile_sample sample;
		struct profile_call call;
		struct profile_work work;
		struct profile_pending pending;
		struct profile_stall stall;
		struct profile_count count;
		struct profile_driver driver;
		struct profile_wait wait;
		struct profile_life life;
		struct profile_sync sync;
		struct profile_marker marker;
		struct profile_found found;
	};
};

/*
 * Everything that can go missing, counted by cause: one row here, one row in the table of losses.c,
 * and every report shows it. `PENDING_*` and `JOIN_*` are counted from their events, not here.
 */
enum profile_loss {
	LOSS_SAMPLES_RING_FULL = 1, /* CPU samples */
	LOSS_STACKS_RING_FULL,	    /* launch stacks */
	/* stacks (samples, launches, waits) that do not reach their root, in all */
	LOSS_STACKS_INCOMPLETE,
	LOSS_MAPS_LOST,	    /* mapping events the kernel dropped */
	LOSS_GPU_RING_FULL, /* GPU-side records: the shared ring was full */
	LOSS_GPU_DROPPED,   /* GPU-side records that the tracer dropped */
	/* records of GPU work and launch markers, with impossible times or contents */
	LOSS_GPU_INVALID,
	/* GPU-side records longer or newer than we know and not understood */
	LOSS_GPU_UNKNOWN,
	LOSS_GPU_TAKEN,	    /* processes in which another profiler held the tracer */
	LOSS_GPU_NO_TRACER, /* processes in which no usable tracer was found */
	/* processes that mapped the library of a GPU driver, of which nothing was recorded */
	LOSS_GPU_NEVER_CONNECTED,
	LOSS_GPU_ABANDONED,	  /* records whose writer died in the middle */
	LOSS_GPU_CORRUPT,	  /* shared rings that were scribbled over and given up */
	LOSS_GPU_NODES_FORGOTTEN, /* graph nodes, too many to remember where each was made */
	/* Why stacks do not reach their root: each is counted in LOSS_STACKS_INCOMPLETE as well. */
	/* a return address or frame pointer of 0, in code that begins no thread */
	LOSS_WALK_NO_ROOT,
	LOSS_WALK_NO_MAPPING,  /* an address in no known mapping */
	LOSS_WALK_PENDING,     /* in code whose unwind table was not ready in time */
	LOSS_WALK_NO_RULE,     /* the file has no unwind information for the code */
	LOSS_WALK_UNSUPPORTED, /* it has, of a kind that is not followed */
	LOSS_WALK_FAULT,       /* the stack could not be read, or not far enough */
	LOSS_WALK_ASTRAY,      /* the caller's frame would lie below its callee's */
	LOSS_WALK_DEPTH,       /* more frames than are recorded */
	/* registers that a walk needs could not be read, or were just being exchanged */
	LOSS_WALK_UNKNOWN,
	LOSS_WALK_STALE,	/* the code was replaced meanwhile */
	LOSS_PYTHON_INCOMPLETE, /* stacks whose Python frames are not all there */
	LOSS_PYTHON_UNPLACED,	/* stacks whose Python frames do not fit the native ones */
	LOSS_PYTHON_UNNAMED,	/* Python frames whose code could not be read any more */
	/* raw stacks that had to be walked before their tables were ready */
	LOSS_STACKS_GIVEN_UP,
	LOSS_TABLES_FAILED,	 /* files whose unwind information is unreadable or damaged */
	LOSS_TABLES_EVICTED,	 /* unwind tables that had to make room for others */
	LOSS_SPACES_FULL,	 /* processes whose mappings did not fit into the kernel's table */
	LOSS_PYTHON_UNSUPPORTED, /* processes whose Python is of no kind that is known */
	LOSS_STALLS_DROPPED,	 /* instruction samples that the GPU or the tracer dropped */
	LOSS_STALLS_RING_FULL,	 /* instruction samples: the shared ring was full */
	/* processes whose instructions, or some, could not be sampled; META_STALLS_REFUSED says
	 * why */
	LOSS_STALLS_REFUSED,
	/* images of GPU code that could not be kept: their instructions have no source */
	LOSS_IMAGES_LOST,
	/* samples of hardware counters that came faster than they were read */
	LOSS_COUNTS_DROPPED,
	/* devices whose hardware counters could not be sampled; META_COUNTERS_REFUSED */
	LOSS_COUNTS_REFUSED,
	LOSS_DRIVER_RING_FULL, /* events of drivers */
	/* likewise: the kernel did not run the program that records them */
	LOSS_DRIVER_MISSED,
	LOSS_DRIVER_OBJECTS,  /* jobs, buffers: too many at once to remember when each began */
	LOSS_DRIVER_UNREAD,   /* fields of events of drivers that could not be read */
	LOSS_DRIVER_VANISHED, /* events of drivers that went away meanwhile, with their module */
	LOSS_WAITS_RING_FULL, /* waits of threads */
	LOSS_WAITS_UNTOLD,    /* threads of which it is not known how long they ran and waited */
	/* processes whose GPU work is missing from some time on; META_TRACER_ENDED says when */
	LOSS_GPU_TRACER_ENDED,
	LOSS_SAMPLES_INVALID, /* CPU samples whose record made no sense */
	LOSS_STACKS_INVALID,  /* launch stacks, so too */
	LOSS_WAITS_INVALID,   /* waits of threads, so too */
	/* processes in which the driver's tools interface refused what recording needs */
	LOSS_GPU_REFUSED,
	/* processes in which there was no memory, or no thread, to record GPU work with */
	LOSS_GPU_MEMORY,
	LOSS_STILL_RUNNING,
	/* connections to the recorder that were no library's in a process of the target's user */
	LOSS_GPU_STRANGERS,
	/* names, shapes and devices of GPU work beyond what is kept */
	LOSS_GPU_NAMES_CUT,
	/* stacks of launches, so too: a part of each is there */
	LOSS_GPU_STACKS_CUT,
	LOSS_GPU_THREADS_UNKNOWN, /* GPU-side records whose thread is not known */
	/* functions, reasons and instructions of samples beyond what is kept */
	LOSS_STALLS_CUT,
	/* GPU-side records in memory that the program had mapped over the shared ring */
	LOSS_GPU_RING_REPLACED,
	LOSS_TABLES_FULL, /* names and frames that the profile's tables have no room for */
	/* files that programs mapped, and that could not be opened or read in time, or in the
	 * memory allowed */
	LOSS_FILES_UNREADABLE,
	/* connections to the recorder that ended, as what came with them holds up who closes it */
	LOSS_GPU_DESCRIPTORS,
	/* processes whose memory held up, or ended, what reads Python there */
	LOSS_PYTHON_UNREADABLE,
	LOSS_MAPPINGS_CUT,  /* mappings of processes beyond what is kept */
	LOSS_PROCESSES_CUT, /* processes, so too: one stands for all of these */
	/* what threads did, beyond those that are kept: one of the process stands for them */
	LOSS_THREADS_CUT,
	LOSS_TASK_NAMES_CUT, /* names and command lines of processes, names of threads */
	LOSS_MODULES_CUT,    /* mappings of files beyond those that are kept */
	LOSS_STACKS_CUT,     /* stacks that were too deep, without their middle */
	/* processes that began a program with more rights, which ends samples without rights */
	LOSS_SAMPLES_RIGHTS,
	/* samples whose Python frames were not those of its time when they were read */
	LOSS_PYTHON_MOVED,
	/* places in code made at run time that other code came to later */
	LOSS_JIT_REPLACED,
	LOSS_ACCOUNTS,	   /* threads whose CPU time, or a part of it, was not reported */
	LOSS_WALK_GUESSED, /* a reason as LOSS_WALK_NO_ROOT: callers were guessed */
	/* processes that were not recorded any more, as that cost more than it might */
	LOSS_GPU_OVERHEAD,
	/* calls that wait for the GPU, in observed programs, that returned after the window, or the
	 * recording, was over */
	LOSS_WAITS_OBSERVED,
	LOSS_CALLS_OBSERVED, /* calls of observed programs that came faster than they were read */
	LOSS_GPU_UNTIMED,    /* work without times of its own: unknown or contradictory */
	/* Of programs in GPU kernels. */
	LOSS_PROBE_BOUNDS,     /* accesses outside of values, or not aligned: not made */
	LOSS_PROBE_FUEL,       /* runs that were ended in loops */
	LOSS_PROBE_FULL,       /* entries for which a hash had no place */
	LOSS_PROBE_THREADS,    /* threads behind the last that a per-thread array has */
	LOSS_PROBE_DROPPED,    /* records: the ring was full */
	LOSS_PROBE_UNREAD,     /* records that were being written when their program ended */
	LOSS_PROBE_CUT,	       /* records and entries too long for a recording */
	LOSS_PROBE_CONTEXTS,   /* contexts without programs, or whose maps were never read */
	LOSS_PROBE_OLD,	       /* contexts that ended without a word: maps as they were before */
	LOSS_PROBE_NO_TEXT,    /* images of machine code only */
	LOSS_PROBE_UNREADABLE, /* images that could not be read */
	LOSS_PROBE_REFUSED,    /* images that the driver refused with programs in them */
	LOSS_PROBE_UNSEEN,     /* accesses and ends of threads in functions that kernels call */
	LOSS_PROBE_NOTES,      /* messages of libraries */
	/* Of samples of instructions by their addresses. */
	LOSS_STALLS_OVERFLOWS, /* times that a GPU dropped some, without a number */
	LOSS_STALLS_OUTSIDE,   /* in no kernel whose place is known */
	LOSS_STALLS_AMBIGUOUS, /* where several processes had code */
	LOSS_STALLS_PLACES,    /* kernels whose places could not be kept */
	/* Of maps of programs in GPU kernels, while a recording is made. */
	LOSS_PROBE_LATE,   /* times a context did not say what was in its maps */
	LOSS_PROBE_AT_END, /* entries of maps that were written at the end only */
	LOSS_PROBE_SITES,  /* accesses behind the last that an array by access has a value for */
	/* Of probes that a GPU driver has in its own code. */
	LOSS_DRIVER_PROBES, /* hits that were lost, or whose arguments could not be read */
	LOSS_DRIVER_IMAGES, /* images of code that they named, and that could not be had */
	LOSS_GPU_LISTS,	    /* executions of command lists whose commands are not known */
	/* Of programs in GPU kernels, too. */
	LOSS_PROBE_SMALLER,    /* images whose kernels could not run in blocks as large as before */
	LOSS_PROBE_NOT_ON,     /* times programs could not be switched on in a module */
	LOSS_PROBE_SLOW,       /* modules without constant memory for them */
	LOSS_PROBE_NEVER_READ, /* contexts that ended before their maps were read */
	LOSS_PROBE_PROCESSES,  /* that could not connect */
	LOSS_PROBE_NO_NAMES,   /* images without them, whose kernels' names were not all read */
	LOSS_PROBE_PARAMETERS, /* kernels of which they read parameters that are not there, as 0 */
	LOSS_KINDS
};

/* Metadata keys (strings to strings; unknown keys are kept). Times are decimal nanoseconds. */
#define META_COMMAND	 "command" /* the recorded command line */
#define META_HOSTNAME	 "hostname"
#define META_KERNEL	 "kernel"   /* uname -r */
#define META_BOOT_ID	 "boot_id"  /* of the kernel: its addresses hold as long */
#define META_CPUS	 "cpus"	    /* online CPUs, decimal */
#define META_START_NS	 "start_ns" /* of the recording */
#define META_END_NS	 "end_ns"
#define META_REALTIME_NS "realtime_ns" /* CLOCK_REALTIME minus CLOCK_MONOTONIC at the start */
#define META_SAMPLE_HZ	 "sample_hz"   /* 0 or absent: no CPU samples */
#define META_SAMPLES_OF                                                                            \
	"samples_of" /* "user": of the program itself, not of the kernel; absent: of both */
#define META_SAMPLES_REFUSED "samples_refused" /* why there are none, or not all: a line */
#define META_STACK_SOURCE                                                                          \
	"stack_source" /* "inprocess", "bpf" or "none": where launch stacks came from */
#define META_STACKS_TAKEN                                                                          \
	"stacks_taken" /* launches whose stack was walked; the others repeated one */
#define META_GPU_REPORTED   "gpu_reported_ns" /* time of all GPU work the driver reported */
#define META_TRACER	    "cupti" /* the tracers (wire/wire.h): version and path, a line for each */
#define META_TRACER_ENDED   "cupti_ended" /* in which processes it ended, and when: lines of text */
#define META_PROBE_INTERVAL "probe_interval_ns" /* of probes: what changes in maps is written */
#define META_CLOCK_ERROR    "clock_error_ns"	/* bound on GPU against CPU time */
#define META_SIMULATED	    "simulated"		/* "1": some GPU in it was simulated */
#define META_JOINED	    "joined" /* pids of programs that ran already, a line each; absent: none */
#define META_OBSERVED                                                                              \
	"observed" /* programs of whose GPU work only the calls were seen: lines, pid and why */
#define META_UNSEEN                                                                                \
	"unseen" /* of a recording that grows: programs whose GPU work is not recorded, and why: \
		    lines of text; absent: none */
#define META_JOINED_LATE                                                                           \
	"joined_late" /* which were joined when another profiler had left them, and when: lines */
#define META_WOKEN "woken" /* those of them in which a library slept already; absent: none */
#define META_OVERHEAD                                                                              \
	"overhead" /* percent: GPU work was recorded in bursts, at this cost at most; absent: all was */
#define META_RECORDER_CPU                                                                          \
	"recorder_cpu_ns" /* CPU time of the recorder's own process, from start to end */
#define META_OPENCL_TIMES                                                                          \
	"opencl_times" /* "1/16": of OpenCL's commands, so many have times; absent: all have */
#define META_STALLS                                                                                \
	"stalls" /* "continuous" or "exact": how instructions were sampled; absent: not */
#define META_OFF_CPU                                                                               \
	"off_cpu" /* waits were recorded, those that last so many nanoseconds with stacks; absent: not */
#define META_STALLS_REFUSED   "stalls_refused"	 /* why not, where that was wanted: lines of text */
#define META_STALLS_CONTESTED "stalls_contested" /* who else claimed to do so: lines of text */
#define META_STALLS_HELD                                                                           \
	"stalls_held" /* how long programs that were joined were held for that, or as they were \
			  armed: lines of text */
#define META_GPU_TEXT                                                                              \
	"gpu_text" /* what wrote the text of instructions: names of programs, "decoded", or both */
#define META_COUNTERS                                                                              \
	"counters" /* nanoseconds between samples of hardware counters; absent: none */
#define META_COUNTERS_REFUSED                                                                      \
	"counters_refused"     /* why none, where they were wanted: lines of text */
#define META_DRIVERS "drivers" /* the monitors that watched GPU drivers: "drm,xe"; absent: none */
#define META_DRIVERS_REFUSED                                                                       \
	"drivers_refused" /* why none or not all, where they were wanted: lines of text */
#define META_PROBES_REFUSED                                                                        \
	"probes_refused" /* why images and contexts ran without programs in kernels: lines */
#define META_EXIT_STATUS "exit_status" /* of the command, as a shell would give it */
#define META_VERSION	 "xpuprof"     /* version that wrote it */

/* The nearest number; the last there is for what is beyond it. */
static inline uint64_t profile_rounded(double x)
{
	return x < 0x1p64 - 0x1p12 ? (uint64_t)(x + 0.5) : UINT64_MAX;
}

/* What stands for `weight` times as much. */
static inline uint64_t profile_weighed(uint64_t n, double weight)
{
	return weight == 1 ? n : profile_rounded((double)n * weight);
}

/* So too of a piece of something longer: what all its pieces have adds up to what the whole has. */
static inline uint64_t profile_weighed_piece(
	uint64_t ns, double weight, const struct profile_cut *cut)
{
	if (weight == 1)
		return ns;
	return profile_weighed(cut->passed_ns + ns, weight) -
	       profile_weighed(cut->passed_ns, weight);
}

/* The GPU time and the time of the calls that it stands for. */
static inline uint64_t profile_work_ns(const struct profile_work *w)
{
	return profile_weighed_piece(w->duration_ns, w->weight, &w->cut);
}

static inline uint64_t profile_call_ns(const struct profile_call *c)
{
	return profile_weighed_piece(c->duration_ns, c->weight, &c->cut);
}

/* Short names ("HtoD", "pinned", "failed", ...) and sentences for reports; never NULL. */
const char *profile_copy_name(unsigned int kind);
const char *profile_memory_name(unsigned int kind);
const char *profile_call_kind_name(unsigned int kind);
const char *profile_driver_kind_name(unsigned int kind);
const char *profile_marker_kind_name(unsigned int kind);
const char *profile_wait_reason_name(unsigned int reason);
/* What stands where a sample has no stack. */
const char *profile_sample_note(unsigned int kind);
const char *profile_join_text(unsigned int join);
const char *profile_pending_text(unsigned int reason);
/* Whether a note (NULL: none) says that its stack is incomplete, whatever the reason. */
bool profile_note_is_incomplete(const char *name);
/* What the note of a stack says that is incomplete for this reason (LOSS_WALK_*). */
const char *profile_incomplete_note(enum profile_loss why);
/* Whether it is one of the reasons of LOSS_STACKS_INCOMPLETE, which counts the same stacks. */
bool profile_loss_is_reason(unsigned int loss);
/* Whether something is missing altogether; otherwise it is there, with less known of it. */
bool profile_loss_is_event(unsigned int loss);
/* A stable key for machines ("gpu_ring_full"), and what people read behind the count; NULL past the
 * table. */
const char *profile_loss_key(unsigned int loss);
const char *profile_loss_text(unsigned int loss, uint64_t count);
