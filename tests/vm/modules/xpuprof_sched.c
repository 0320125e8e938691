// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/xpuprof_sched: a real user of the DRM scheduler whose hardware is a timer. Lines (lines.h):
 *
 *	job name=a ring=gfx client=7 run_us=5000 after=b,c
 *
 * queues a job in the process that writes: on a ring (the module's parameter "rings" names them; each runs "depth" jobs
 * at a time), for a client (each has a queue of its own on each ring; newer kernels tell its number), which runs so
 * long, and not before the jobs that are named have ended. One that is not told how long runs until
 *
 *	end name=a
 *
 * which waits until it runs, and ends it. And
 *
 *	wait
 *
 * waits until all jobs have ended, says of each
 *
 *	ran name=a ring=gfx client=7 pushed=T0 queued=T1 begun=T2 ending=T3 ended=T4
 *
 * and forgets them. The kernel's events are: that it was queued between T0 and T1; that it runs before T2, and after
 * T0; that it is done between T3 and T4. (T3 is when the hardware says so. When it is faster than the scheduler's
 * worker, that sees it only after having given it the job.)
 *
 * Jobs and their fences live as long as the scheduler wants; what is kept of them is in records, until "wait".
 */
#include "lines.h"

#include <drm/gpu_scheduler.h>
#include <linux/device.h>
#include <linux/dma-fence.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#define RINGS_MAX 8
#define NAME_MAX_BYTES 32
#define AFTER_MAX 8

static char *rings[RINGS_MAX] = { "gfx", "compute", "sdma0" };
static int ring_count = 3;
module_param_array(rings, charp, &ring_count, 0444);
MODULE_PARM_DESC(rings, "names of the rings");

static uint depth = 1;
module_param(depth, uint, 0444);
MODULE_PARM_DESC(depth, "how many jobs of a ring run at a time");

struct ring {
	struct drm_gpu_scheduler scheduler;
	struct drm_gpu_scheduler *list[1];
	const char *name;
	u64 context, last_seqno;
	spinlock_t lock; /* for the fences of its jobs */
};

/* One client's queue on one ring. */
struct queue {
	struct list_head others;
	struct drm_sched_entity entity;
	struct ring *ring;
	u64 client;
};

struct record {
	struct list_head others;
	char name[NAME_MAX_BYTES];
	struct queue *queue;
	struct dma_fence *finished;
	struct dma_fence_cb callback; /* of finished */
	struct dma_fence *hardware;   /* of a job that runs until it is ended */
	u64 run_us;
	u64 pushed_ns, queued_ns, begun_ns, ending_ns, ended_ns;
	bool ended; /* last of all */
};

struct job {
	struct drm_sched_job base;
	struct record *record;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
	struct dma_fence *after[AFTER_MAX];
	unsigned int after_count;
#endif
};

/* A kernel misses trace events of an interrupt that comes while a tracing program runs on the CPU (bpf_prog_active in
 * kernel/trace/bpf_trace.c). So that tests know what will be seen, jobs end outside of interrupts unless told. */
static bool interrupts;
module_param(interrupts, bool, 0444);
MODULE_PARM_DESC(interrupts, "whether jobs end in interrupts");

/* What the hardware says when a job has ended. Its memory is given back as that of the fence, which is its first; that
 * may be after its record has gone. */
struct hardware_fence {
	struct dma_fence base;
	struct hrtimer timer;
	struct work_struct work;
	struct record *record;
	struct ring *ring;
};

static struct device *device;
static struct workqueue_struct *enders;
static struct line_device lines;
static struct ring all_rings[RINGS_MAX];
static DEFINE_MUTEX(lock); /* of the two lists */
static LIST_HEAD(queues);
static LIST_HEAD(records);
static atomic_t running = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(changed);

/* ------------------------------------------------------------------ the hardware */

static const char *fence_driver(struct dma_fence *fence)
{
	return "xpuprof_sched";
}

static const char *fence_timeline(struct dma_fence *fence)
{
	return container_of(fence, struct hardware_fence, base)->ring->name;
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_driver,
	.get_timeline_name = fence_timeline,
};

/* The fence is its caller's no more. */
static void end_job(struct record *record, struct dma_fence *fence)
{
	record->ending_ns = ktime_get_mono_fast_ns();
	dma_fence_signal(fence);
	dma_fence_put(fence);
}

static void end_outside(struct work_struct *work)
{
	struct hardware_fence *fence = container_of(work, struct hardware_fence, work);

	end_job(fence->record, &fence->base);
}

static enum hrtimer_restart time_is_up(struct hrtimer *timer)
{
	struct hardware_fence *fence = container_of(timer, struct hardware_fence, timer);

	if (interrupts)
		end_job(fence->record, &fence->base);
	else
		queue_work(enders, &fence->work);
	return HRTIMER_NORESTART;
}

static void begin_timer(struct hardware_fence *fence, u64 us)
{
	INIT_WORK(&fence->work, end_outside);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(&fence->timer, time_is_up, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&fence->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	fence->timer.function = time_is_up;
#endif
	hrtimer_start(&fence->timer, ns_to_ktime(us * NSEC_PER_USEC), HRTIMER_MODE_REL);
}

static struct dma_fence *run_job(struct drm_sched_job *base)
{
	struct record *record = container_of(base, struct job, base)->record;
	struct ring *ring = record->queue->ring;
	struct hardware_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	record->begun_ns = ktime_get_mono_fast_ns();
	if (!fence)
		return ERR_PTR(-ENOMEM);
	fence->record = record;
	fence->ring = ring;
	dma_fence_init(&fence->base, &fence_ops, &ring->lock, ring->context, ++ring->last_seqno);
	dma_fence_get(&fence->base); /* whoever's ends it */
	if (record->run_us) {
		begin_timer(fence, record->run_us);
	} else {
		smp_store_release(&record->hardware, &fence->base);
		wake_up_all(&changed);
	}
	return &fence->base;
}

/* ------------------------------------------------------------------ the scheduler */

/* The last that touches a job's record. */
static void job_is_done(struct dma_fence *finished, struct dma_fence_cb *callback)
{
	struct record *record = container_of(callback, struct record, callback);

	record->ended_ns = ktime_get_mono_fast_ns();
	smp_store_release(&record->ended, true);
	if (atomic_dec_and_test(&running))
		wake_up_all(&changed);
}

static void free_job(struct drm_sched_job *base)
{
	struct job *job = container_of(base, struct job, base);

	drm_sched_job_cleanup(base);
	kfree(job);
}

/* No job is ever late: the schedulers are told to wait for ever. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
static enum drm_gpu_sched_stat job_is_late(struct drm_sched_job *base)
{
	return DRM_GPU_SCHED_STAT_RESET;
}
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
static enum drm_gpu_sched_stat job_is_late(struct drm_sched_job *base)
{
	return DRM_GPU_SCHED_STAT_NOMINAL;
}
#else
static void job_is_late(struct drm_sched_job *base)
{
}

static struct dma_fence *next_dependency(struct drm_sched_job *base, struct drm_sched_entity *entity)
{
	struct job *job = container_of(base, struct job, base);

	return job->after_count ? job->after[--job->after_count] : NULL;
}
#endif

static const struct drm_sched_backend_ops scheduler_ops = {
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
	.dependency = next_dependency,
#endif
	.run_job = run_job,
	.timedout_job = job_is_late,
	.free_job = free_job,
};

static int begin_scheduler(struct ring *ring)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	const struct drm_sched_init_args arguments = {
		.ops = &scheduler_ops,
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
		.credit_limit = depth,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = ring->name,
		.dev = device,
	};

	return drm_sched_init(&ring->scheduler, &arguments);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	return drm_sched_init(&ring->scheduler, &scheduler_ops, NULL, DRM_SCHED_PRIORITY_COUNT, depth, 0,
			      MAX_SCHEDULE_TIMEOUT, NULL, NULL, ring->name, device);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
	return drm_sched_init(&ring->scheduler, &scheduler_ops, depth, 0, MAX_SCHEDULE_TIMEOUT, NULL, NULL, ring->name,
			      device);
#else
	return drm_sched_init(&ring->scheduler, &scheduler_ops, depth, 0, MAX_SCHEDULE_TIMEOUT, ring->name);
#endif
}

static int begin_job(struct job *job, struct queue *queue)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	return drm_sched_job_init(&job->base, &queue->entity, 1, NULL, queue->client);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	return drm_sched_job_init(&job->base, &queue->entity, 1, NULL);
#else
	return drm_sched_job_init(&job->base, &queue->entity, NULL);
#endif
}

/* `finished` changes hands. */
static int add_dependency(struct job *job, struct dma_fence *finished)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
	return drm_sched_job_add_dependency(&job->base, finished);
#else
	if (job->after_count == AFTER_MAX) {
		dma_fence_put(finished);
		return -E2BIG;
	}
	job->after[job->after_count++] = finished;
	return 0;
#endif
}

/* Gives it to the scheduler, which frees it. */
static void push_job(struct job *job)
{
	struct record *record = job->record;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
	drm_sched_job_arm(&job->base);
#endif
	record->finished = dma_fence_get(&job->base.s_fence->finished);
	dma_fence_add_callback(record->finished, &record->callback, job_is_done);
	atomic_inc(&running);
	record->pushed_ns = ktime_get_mono_fast_ns();
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
	drm_sched_entity_push_job(&job->base);
#else
	drm_sched_entity_push_job(&job->base, &record->queue->entity);
#endif
	record->queued_ns = ktime_get_mono_fast_ns();
}

/* ------------------------------------------------------------------ lines */

static struct ring *find_ring(const char *name)
{
	int i;

	for (i = 0; i < ring_count; i++)
		if (!strcmp(all_rings[i].name, name))
			return &all_rings[i];
	return NULL;
}

static struct queue *get_queue(struct ring *ring, u64 client)
{
	struct queue *queue;

	list_for_each_entry(queue, &queues, others)
		if (queue->ring == ring && queue->client == client)
			return queue;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	if (!queue)
		return NULL;
	queue->ring = ring;
	queue->client = client;
	if (drm_sched_entity_init(&queue->entity, DRM_SCHED_PRIORITY_NORMAL, ring->list, 1, NULL)) {
		kfree(queue);
		return NULL;
	}
	list_add_tail(&queue->others, &queues);
	return queue;
}

static struct record *find_record(const char *name, size_t size)
{
	struct record *record;

	list_for_each_entry_reverse(record, &records, others)
		if (strlen(record->name) == size && !strncmp(record->name, name, size))
			return record;
	return NULL;
}

/* Jobs by name, with commas between. */
static int add_dependencies(struct job *job, const char *names)
{
	struct record *record;
	int error = 0;
	size_t size;

	while (*names && !error) {
		size = strcspn(names, ",");
		record = find_record(names, size);
		error = record ? add_dependency(job, dma_fence_get(record->finished)) : -ENOENT;
		names += size;
		names += *names == ',';
	}
	return error;
}

static void queue_job(const struct line *line)
{
	struct ring *ring = find_ring(line_text(line, "ring"));
	struct record *record = kzalloc(sizeof(*record), GFP_KERNEL);
	struct job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	int error = ring ? -ENOMEM : -ENOENT;

	mutex_lock(&lock);
	if (!ring || !record || !job)
		goto fail;
	strscpy(record->name, line_text(line, "name"), sizeof(record->name));
	record->run_us = line_number(line, "run_us");
	record->queue = get_queue(ring, line_number(line, "client"));
	if (!record->queue)
		goto fail;
	job->record = record;
	error = begin_job(job, record->queue);
	if (error)
		goto fail;
	error = add_dependencies(job, line_text(line, "after"));
	if (error) {
		drm_sched_job_cleanup(&job->base);
		goto fail;
	}
	list_add_tail(&record->others, &records);
	push_job(job);
	mutex_unlock(&lock);
	return;
fail:
	mutex_unlock(&lock);
	line_say(line, "failed job error=%d\n", error);
	kfree(record);
	kfree(job);
}

static void forget_record(struct record *record)
{
	dma_fence_put(record->finished);
	list_del(&record->others);
	kfree(record);
}

static void end_by_name(const struct line *line)
{
	const char *name = line_text(line, "name");
	struct record *record;
	struct dma_fence *fence;

	mutex_lock(&lock);
	record = find_record(name, strlen(name));
	mutex_unlock(&lock);
	if (!record || record->run_us) {
		line_say(line, "failed end error=%d\n", -ENOENT);
		return;
	}
	if (wait_event_killable(changed, smp_load_acquire(&record->hardware)))
		return;
	fence = xchg(&record->hardware, NULL);
	if (fence)
		end_job(record, fence);
}

static void wait_for_jobs(const struct line *line)
{
	struct record *record, *next;

	if (wait_event_killable(changed, !atomic_read(&running)))
		return;
	mutex_lock(&lock);
	list_for_each_entry_safe(record, next, &records, others) {
		if (!smp_load_acquire(&record->ended))
			continue; /* of another process, queued just now */
		line_say(line, "ran name=%s ring=%s client=%llu pushed=%llu queued=%llu begun=%llu ending=%llu ended=%llu\n",
			 record->name, record->queue->ring->name, record->queue->client, record->pushed_ns,
			 record->queued_ns, record->begun_ns, record->ending_ns, record->ended_ns);
		forget_record(record);
	}
	mutex_unlock(&lock);
}

static const struct line_action actions[] = {
	{ "job", queue_job },
	{ "end", end_by_name },
	{ "wait", wait_for_jobs },
	{}
};

/* ------------------------------------------------------------------ the module */

static void end_rings(int count)
{
	while (count)
		drm_sched_fini(&all_rings[--count].scheduler);
}

static int begin_rings(void)
{
	struct ring *ring;
	int i, error;

	for (i = 0; i < ring_count; i++) {
		ring = &all_rings[i];
		ring->name = rings[i];
		ring->list[0] = &ring->scheduler;
		ring->context = dma_fence_context_alloc(1);
		spin_lock_init(&ring->lock);
		error = begin_scheduler(ring);
		if (error) {
			end_rings(i);
			return error;
		}
	}
	return 0;
}

static int __init begin(void)
{
	int error;

	device = root_device_register("xpuprof_sched");
	if (IS_ERR(device))
		return PTR_ERR(device);
	enders = alloc_workqueue("xpuprof_sched", WQ_HIGHPRI | WQ_UNBOUND, 0);
	error = enders ? begin_rings() : -ENOMEM;
	if (error)
		goto no_rings;
	error = line_device_register(&lines, "xpuprof_sched", actions);
	if (error)
		goto no_lines;
	return 0;
no_lines:
	end_rings(ring_count);
no_rings:
	if (enders)
		destroy_workqueue(enders);
	root_device_unregister(device);
	return error;
}
module_init(begin);

static void __exit end(void)
{
	struct queue *queue, *next_queue;
	struct record *record, *next_record;

	line_device_unregister(&lines);
	wait_event(changed, !atomic_read(&running));
	list_for_each_entry_safe(queue, next_queue, &queues, others) {
		drm_sched_entity_destroy(&queue->entity);
		kfree(queue);
	}
	end_rings(ring_count);
	list_for_each_entry_safe(record, next_record, &records, others)
		forget_record(record);
	destroy_workqueue(enders);
	root_device_unregister(device);
	synchronize_rcu(); /* for timers that are about to return */
	rcu_barrier(); /* for fences that are yet to be freed */
}
module_exit(end);

MODULE_DESCRIPTION("a user of the DRM scheduler whose hardware is a timer");
MODULE_LICENSE("GPL");
