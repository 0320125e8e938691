// SPDX-License-Identifier: MIT
/*
 * A program that is joined and that checks itself: whatever is done to its threads, its calls return
 * what they return alone, and its calculations what they are.
 *
 *	join_target MODE...	each in a thread of its own, but the first, until SIGTERM; prints how
 *				often each went well, and what did not
 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { MODES_MAX = 64, SHORT_MS = 30 };

static volatile sig_atomic_t ended;
static volatile unsigned long signals_seen;

struct work {
	const char *name;
	bool (*once)(void);
	unsigned long rounds, failed;
	char why[128];
};

static __thread struct work *self;

static bool failed(const char *what, double value)
{
	snprintf(self->why, sizeof(self->why), "%s: %g (errno %d)", what, value, errno);
	return false;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Waited at least as long, and not much longer (it may begin anew once or twice). */
static bool waited(double since_ms)
{
	double ms = now_ms() - since_ms;

	return ms >= SHORT_MS - 1 && ms < 5000 ? true : failed("waited ms", ms);
}

/* Values in all kinds of registers, over many iterations. */
__attribute__((noinline)) static double calculate(double seed)
{
	double a = seed, b = seed * 2, c = seed * 3, d = seed * 5;
	unsigned long i1 = 1, i2 = 2, i3 = 3, i4 = 4, i5 = 5, i6 = 6;

	for (int n = 0; n < 20000; n++) {
		a = a * 0.999 + sqrt(fabs(b));
		b = b * 0.998 + sin(c);
		c = c * 0.997 + d * 0.001;
		d = d * 0.996 + a * 0.0001;
		i1 = i1 * 6364136223846793005ul + i2;
		i2 ^= i1 >> 7;
		i3 += i2 * i4;
		i4 ^= i3 >> 9;
		i5 += i4 ^ i6;
		i6 = i6 * 3 + i5;
	}
	return a + b + c + d + (double)((i1 ^ i2 ^ i3 ^ i4 ^ i5 ^ i6) >> 40);
}

static bool spins(void)
{
	static double expected;
	double found = calculate(1.25);

	if (!expected)
		expected = found;
	return found == expected ? true : failed("calculated", found);
}

static bool allocates(void)
{
	static __thread char *held[64];
	static __thread unsigned int n;

	for (int k = 0; k < 1000; k++, n++) {
		free(held[n % 64]);
		held[n % 64] = malloc(20 + n * 7919 % 30000);
		held[n % 64][0] = 1;
	}
	return true;
}

static bool loads(void)
{
	void *handle = dlopen("libm.so.6", RTLD_NOW);
	bool good = handle && dlsym(handle, "cos");

	if (handle)
		dlclose(handle);
	return good ? true : failed("dlopen", 0);
}

static bool sleeps(void)
{
	struct timespec t = {.tv_nsec = SHORT_MS * 1000000l};
	double since = now_ms();
	int result = nanosleep(&t, NULL);

	return result ? failed("nanosleep", result) : waited(since);
}

static bool polls(void)
{
	double since = now_ms();
	int result = poll(NULL, 0, SHORT_MS);

	return result ? failed("poll", result) : waited(since);
}

static bool waits_for_events(void)
{
	static __thread int epoll;
	struct epoll_event event;
	double since = now_ms();
	int result;

	epoll = epoll ? epoll : epoll_create1(0);
	result = epoll_wait(epoll, &event, 1, SHORT_MS);
	return result ? failed("epoll_wait", result) : waited(since);
}

static void *write_later(void *context)
{
	usleep(SHORT_MS * 1000);
	(void)!write(*(int *)context, "x", 1);
	return NULL;
}

static bool reads(void)
{
	int ends[2];
	pthread_t other;
	ssize_t n;
	char byte = 0;

	if (pipe(ends) || pthread_create(&other, NULL, write_later, &ends[1]))
		return failed("pipe", 0);
	n = read(ends[0], &byte, 1);
	pthread_join(other, NULL);
	close(ends[0]);
	close(ends[1]);
	return n == 1 && byte == 'x' ? true : failed("read", (double)n);
}

static bool waits_for_condition(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec until;
	double since = now_ms();
	int result;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += SHORT_MS * 1000000l;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&lock);
	result = pthread_cond_timedwait(&condition, &lock, &until);
	pthread_mutex_unlock(&lock);
	return result == ETIMEDOUT ? waited(since) : failed("pthread_cond_timedwait", result);
}

static void count_signal(int number)
{
	__atomic_fetch_add(&signals_seen, 1, __ATOMIC_RELAXED);
}

/* Each that is sent arrives, once: of this kind they queue. */
static bool sends_signals(void)
{
	static unsigned long sent;
	double since = now_ms();

	for (int n = 0; n < 50; n++, sent++)
		sigqueue(getpid(), SIGRTMIN, (union sigval){0});
	while (signals_seen < sent && now_ms() - since < 5000)
		usleep(100);
	return signals_seen == sent ? true : failed("signals", (double)signals_seen - (double)sent);
}

static const struct work modes[] = {
	{"spin", spins},
	{"alloc", allocates},
	{"load", loads},
	{"sleep", sleeps},
	{"poll", polls},
	{"epoll", waits_for_events},
	{"read", reads},
	{"condition", waits_for_condition},
	{"signals", sends_signals},
};

/* Only those that send them take them: others would be interrupted by that alone. */
static void choose_signals(void)
{
	sigset_t queued;

	sigemptyset(&queued);
	sigaddset(&queued, SIGRTMIN);
	pthread_sigmask(self->once == sends_signals ? SIG_UNBLOCK : SIG_BLOCK, &queued, NULL);
}

static void *run(void *context)
{
	self = context;
	choose_signals();
	while (!ended) {
		errno = 0;
		if (self->once())
			self->rounds++;
		else if (!ended) /* the signal for that interrupts, too */
			self->failed++;
	}
	return NULL;
}

static void end(int number)
{
	ended = 1;
}

static bool find_mode(const char *name, struct work *ret)
{
	for (size_t n = 0; n < sizeof(modes) / sizeof(modes[0]); n++)
		if (!strcmp(modes[n].name, name)) {
			*ret = modes[n];
			return true;
		}
	return false;
}

int main(int argc, char **argv)
{
	static struct work works[MODES_MAX];
	pthread_t threads[MODES_MAX];
	struct sigaction counts = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
	struct sigaction ends = {.sa_handler = end, .sa_flags = SA_RESTART};
	int count = argc - 1, bad = 0;

	sigaction(SIGRTMIN, &counts, NULL);
	sigaction(SIGTERM, &ends, NULL);
	for (int n = 0; n < count; n++)
		if (n == MODES_MAX || !find_mode(argv[n + 1], &works[n]))
			return 2;
	puts("ready");
	fflush(stdout);
	for (int n = 1; n < count; n++)
		pthread_create(&threads[n], NULL, run, &works[n]);
	run(&works[0]);
	for (int n = 1; n < count; n++)
		pthread_join(threads[n], NULL);
	for (int n = 0; n < count; n++) {
		printf("%s %lu %lu %s\n", works[n].name, works[n].rounds, works[n].failed,
			works[n].why);
		bad |= works[n].failed || !works[n].rounds;
	}
	return bad;
}
