/* SPDX-License-Identifier: MIT */
/*
 * What the BPF programs send to src/capture/: the layout of the records in the three ring buffers,
 * and of the counters beside them. Included by both sides.
 *
 *	samples   struct bpf_sample_event, stack
 *	launches  struct bpf_launch_event, stack: of the launch marker, of observed calls, and of probes of
 *		  drivers; in front of the latter struct bpf_probe_event
 *	tasks     struct bpf_task_event, for EXEC followed by the arguments
 *	waits     struct bpf_wait_begin_event, stack; struct bpf_wait_event; struct bpf_life_event;
 *		  struct bpf_asleep_event
 *
 * Rings of their own, so that a flood of one kind cannot displace another. Times are
 * CLOCK_MONOTONIC. Pids are thread group ids and tids thread ids, both as the recorder's pid
 * namespace counts them.
 *
 * A stack, as its struct bpf_stack counts it (walk/frame.h; all leaf first):
 *
 *	user_depth words         native frames of the program
 *	kernel_depth words       addresses in the kernel
 *	python_depth * 2 words   Python frames
 *	entry_count words        where the evaluation loops are on the stack; only with raw material
 *	raw_size bytes           struct bpf_raw_stack and a piece of the stack. A multiple of 8.
 *
 * A stack that is deeper than a buffer is sent in parts: records of that kind, of the same thread
 * and time, in order of `part`, each with `more` set, and then the record itself. A part has the
 * next native words, Python frames and entries, or only some of these, and no kernel words.
 *
 * Raw material is sent when the walk came to code whose table is not ready (WALK_PENDING,
 * WALK_NO_MAPPING), or code was mapped that the recorder had not published yet, so that it can walk
 * later: in parts that have nothing else, each with the next piece of the stack.
 *
 * Between such records are those of Python code objects that were met, since they may be gone soon:
 * a head of that kind with `code_size` and `more` set, and a struct walk_python_code.
 *
 * The recorder publishes which code a process maps by its pid: an entry of `spaces` names a range
 * of `mappings`, an array that is shared with the recorder. A published range is never changed: a
 * change is a new range, and the old one is reused only seconds later. Fork copies the entry, exec
 * drops it.
 */
#pragma once

#include "walk/python.h"

#define BPF_KERNEL_DEPTH_MAX 127    /* frames of the kernel; its own limit */
#define BPF_MAPPINGS_MAX     131072 /* of all processes together */
#define BPF_STAGED_LINES     64	    /* of unwind tables, written in one go */
#define BPF_COMM_SIZE	     16
#define BPF_ARGUMENTS_MAX    512
#define BPF_SIGNALS	     32 /* those without queue */
#define BPF_ACCOUNTS_MAX     16384

struct bpf_stack {
	uint16_t user_depth;
	uint16_t kernel_depth;
	uint16_t python_depth;
	uint16_t entry_count;
	uint32_t raw_size;
	uint16_t walk_end;	    /* enum walk_end */
	uint16_t python_incomplete; /* Python's chain was not followed to its end */
	uint32_t space;		    /* bpf_space.generation that it was walked by; 0: none */
	uint16_t part;		    /* how many parts came before */
	uint8_t more;		    /* it is one itself */
	uint8_t python_void; /* the Python frames of those before, and their entries, are none */
	uint32_t code_size;  /* the record is a code object */
	uint32_t reserved;
};

#define BPF_PART_FRAMES	   256 /* native ones of a record at most */
#define BPF_REGISTERS	   16
#define BPF_RAW_PAGE_BYTES 4096
#define BPF_RAW_PAGES_MAX  256 /* of a stack: 1 MiB */

/*
 * The registers that a walk begins with; bytes of the stack follow, from sp or a later page on.
 * Pages that could not be read are left out: a program with a large array on its stack need not
 * have touched all of them.
 */
struct bpf_raw_stack {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t lr;
	uint64_t exact; /* 1: pc was interrupted there; 0: it is a return address */
	/* all of them, by DWARF's numbers; only with an interrupted pc */
	uint64_t registers[BPF_REGISTERS];
	uint32_t first; /* the page of the first byte, counted from the one that sp is in */
	uint32_t pages; /* bit i: the i-th from there on is there */
};

struct bpf_sample_event {
	uint64_t time_ns;
	uint64_t period_ns;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint32_t reserved;
	char comm[BPF_COMM_SIZE];
	struct bpf_stack stack;
};

/* Why a thread does not run; as enum profile_wait_reason. */
enum bpf_wait_reason {
	BPF_REASON_OTHER = 1,
	BPF_REASON_RUN_QUEUE,
	BPF_REASON_LOCK,
	BPF_REASON_SLEEP,
	BPF_REASON_IO,
	BPF_REASON_EVENTS,
	BPF_REASON_PROCESS,
	BPF_REASON_FAULT,
	BPF_REASON_GPU,
	BPF_REASON_STOPPED,
	/* not sent: a control call, which is for the GPU when the file is its driver's */
	BPF_REASON_DEVICE,
};

#define BPF_SYSTEM_CALLS 1024 /* whose numbers are below have a reason */

enum bpf_wait_kind {
	BPF_WAIT_BEGIN = 1,
	BPF_WAIT_END,
	BPF_WAIT_LIFE,
	BPF_WAIT_ASLEEP,
};

/* A thread stops running. It goes on at the next BPF_WAIT_END of the thread. */
struct bpf_wait_begin_event {
	uint64_t time_ns;
	uint32_t kind;
	uint32_t reason;
	uint32_t pid;
	uint32_t tid;
	uint64_t site; /* where it waits: the same number whenever the thread waits there; not 0 */
	char comm[BPF_COMM_SIZE];
	struct bpf_stack stack;
};

/* It runs again. Without a BEGIN the wait has no stack, or (duration 0) only the others count:
 * those of a site that the programs forget, or of a thread that ends. */
struct bpf_wait_event {
	uint64_t time_ns; /* when the wait ended */
	uint32_t kind;
	uint32_t reason;
	uint32_t pid;
	uint32_t tid;
	uint64_t duration_ns;
	uint64_t queued_ns;
	uint64_t others;
	uint64_t others_ns;
	uint32_t waker_pid;
	uint32_t waker_tid;
	uint64_t site; /* 0: none */
};

/* A thread ends, or the recording does. */
struct bpf_life_event {
	uint64_t time_ns; /* its position among all records; no later than until_ns */
	uint32_t kind;
	uint32_t reason; /* of its waiting */
	uint32_t pid;
	uint32_t tid;
	uint64_t since_ns;
	uint64_t until_ns;
	uint64_t run_ns;
	uint64_t waiting_since_ns; /* 0: it runs */
	uint64_t queued_since_ns;  /* 0: it sleeps */
	uint64_t site;		   /* of its waiting; 0: it runs, or has none */
};

/* A thread that waits when the recording begins, and where it entered the kernel. As after a
 * BPF_WAIT_BEGIN it goes on at the next BPF_WAIT_END of the thread; as long as none has come the
 * thread's own memory is as it was. */
struct bpf_asleep_event {
	uint64_t time_ns;
	uint32_t kind;
	uint32_t reason;
	uint32_t pid;
	uint32_t tid;
	char comm[BPF_COMM_SIZE];
	uint64_t thread_pointer;
	uint64_t stack_end;	    /* no frame is there, or higher up */
	struct bpf_raw_stack start; /* of no pages; pc 0: no walk can begin there, */
	uint32_t walk_end;	    /* for this reason (enum walk_end) */
	uint32_t kernel_depth;
	uint64_t kernel[BPF_KERNEL_DEPTH_MAX]; /* no more are sent than there are */
};

/* Who reports a call. */
enum bpf_call_source {
	BPF_CALL_MARKED = 0,
	BPF_CALL_OBSERVED, /* the kernel saw the call (struct bpf_observed) */
	BPF_CALL_PROBED,   /* a probe of the driver's own; `instance` is its site's index plus 1 */
	BPF_CALL_FACTS,	   /* what that says: it is a struct bpf_probe_event */
};

/* The frames begin with the caller of the marker, or of the observed call; of a probe with the
 * function that has it. */
struct bpf_launch_event {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t tid;
	uint32_t instance;
	uint32_t correlation; /* observed: which call */
	uint32_t call_kind;   /* so too: 0 */
	uint32_t observed;    /* enum bpf_call_source */
	uint64_t waited_ns;   /* so too: up to time_ns; 0: it is no call that waits */
	struct bpf_stack stack;
};

/*
 * A process whose calls of a driver's library have probes; an entry of `observed`, an array that is
 * shared with the recorder, which writes the first three. A probe's cookie has its index, and which
 * call it is. Calls are only sent while it is open; those that wait, when they return.
 */
struct bpf_observed {
	uint32_t instance; /* for the events */
	uint32_t open;
	uint64_t window;   /* number of the latest that was opened; from 1 */
	uint64_t calls;	   /* from here on sums: hits of the probes of calls, */
	uint64_t returns;  /* and of those of returns */
	uint64_t spent_ns; /* by the programs in these */
	uint64_t begun;	   /* calls that wait, and that are to be sent; */
	uint64_t ended;	   /* those of them that were */
	uint64_t reserved;
};

#define BPF_OBSERVED_MAX     64
#define BPF_COOKIE_INDEX     32 /* the bit that it begins at */
#define BPF_COOKIE_WAITS     (1ull << 31)
#define BPF_COOKIE_CALL_MASK 0xffffull

enum bpf_operand {
	BPF_CONSTANT = 1, /* `value` */
	BPF_REGISTER,	  /* `base`, without its lowest `shift` bits */
	BPF_MEMORY,	  /* at base + index * scale + value */
};

/* Where an argument of a driver's own probe is, as struct usdt_argument (elf/usdt.h) has it. Of one
 * that is a text: where the text begins. */
struct bpf_argument {
	uint8_t kind; /* enum bpf_operand; 0: it is not read */
	uint8_t size;
	uint8_t is_signed;
	uint8_t shift;
	uint8_t base, index;
	uint8_t scale;
	uint8_t unused;
	int64_t value;
};

#define BPF_PROBE_SITES	 1024
#define BPF_PROBE_VALUES 3
#define BPF_PROBE_TEXT	 1024

/* A site of such a probe, an entry of `probe_sites`, by the cookie. */
struct bpf_probe_site {
	struct bpf_argument values[BPF_PROBE_VALUES];
	struct bpf_argument text;
	uint32_t wants_stack; /* a BPF_CALL_PROBED of the same thread and time follows */
	uint32_t reserved;
};

struct bpf_probe_event {
	struct bpf_launch_event head; /* without a stack */
	uint64_t values[BPF_PROBE_VALUES];
	uint32_t unread; /* bits: values, and (BPF_PROBE_VALUES) the text that could not be read */
	uint32_t text_size; /* with its NUL, which is there also where the text was cut */
	char text[BPF_PROBE_TEXT];
};

/* Which mappings are a process's; value of `spaces`. */
struct bpf_space {
	uint32_t first; /* in `mappings` */
	uint32_t count;
	uint32_t generation; /* lowest bits of address_space.generation (capture/address_space.h) */
	/* the kernel does not report mappings to the programs, so they may have changed */
	uint32_t unsteady;
	uint64_t mapped_ns; /* the latest mapping of code that it knows of */
};

enum bpf_task_event_kind {
	TASK_FORK = 1, /* `parent` made process `pid` */
	TASK_THREAD,   /* `pid` made thread `tid` */
	TASK_EXEC,     /* `pid` runs another program now */
	TASK_RENAME,   /* thread `tid` of `pid` is called `comm` now */
	TASK_EXIT,     /* `pid` is gone, reaped, and its number free for reuse */
	TASK_ACCOUNT, /* thread `tid` of `pid` ran for so long, and no more; its time is that of its
			* end, so that it may come behind later changes */
};

struct bpf_task_event {
	uint64_t time_ns;
	uint32_t kind;
	uint32_t pid;
	uint32_t tid;
	uint32_t parent;
	uint64_t run_ns; /* EXEC: of the thread, in the earlier program; ACCOUNT */
	char comm[BPF_COMM_SIZE];
	uint32_t arguments_size;
	uint32_t reserved;
	/* Arguments follow, as in /proc/PID/cmdline: each ends in a NUL; cut off at
	 * BPF_ARGUMENTS_MAX. */
};

/* TASK_ACCOUNT. With tid 0 it is of no thread: a process that was there before. */
struct bpf_account_event {
	struct bpf_task_event task;
	/* The process, by a number that no other has, and what its threads ran that
	 * have ended, by the kernel's account of the process, which is a little behind. */
	uint64_t process;
	uint64_t process_ended_ns;
	/* What this thread is in that sum, or a little more; 0: it has not ended. With tid 0: what
	 * the sum was when the recording began. */
	uint64_t ended_ns;
	uint64_t last; /* no other account of this process comes */
};

/* What is kept of how long a thread runs. */
struct bpf_account {
	uint64_t before_ns; /* before it belonged to the recording, or as another program */
	uint64_t exit_ns;   /* when it ended; 0: it has not, or was reported */
	uint64_t run_ns;    /* with exit_ns: until then */
	uint64_t born_ns;   /* so too, and the rest: of the thread */
	uint64_t process;   /* as in struct bpf_account_event */
	uint32_t pid;	    /* as the recorder's namespace counts */
	uint32_t tid;
	char comm[BPF_COMM_SIZE];
};

/* What did not fit into a ring, counted where it happened. */
struct bpf_losses {
	uint64_t samples;
	uint64_t launches;
	uint64_t tasks;
	uint64_t waits;
	uint64_t accounts; /* threads whose CPU time is not reported */
	uint64_t observed; /* calls */
	uint64_t probed;   /* hits of drivers' own probes */
};
