// SPDX-License-Identifier: MIT
/*
 * A program that is joined and that checks itself: whatever is done to its threads, its calls
 * return what they return alone, and its calculations what they are.
 *
 *	join_target MODE...	each in a thread of its own, but the first, until SIGTERM; prints how
 *				often each went well, and what did not
 *
 * What a call waits for is done by a process of its own: the thread that waits is the only one.
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
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MODES_MAX = 64, SHORT_MS = 30, MANY_BYTES = 300000 };

static const struct timespec brief = {.tv_nsec = SHORT_MS * 1000000l};

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

/* --- with a partner --------------------------------------------------------------------------- */

struct wish {
	char what; /* the mode's name begins so */
	int number;
};

struct message {
	long type;
	char text[8];
};

static struct sockaddr_un address_of(int number)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "join_target %d", number);
	return a;
}

static void grant(int stream, struct wish wish)
{
	static char bytes[MANY_BYTES];
	struct message message = {1, "x"};
	struct sockaddr_un address = address_of(wish.number);

	usleep(SHORT_MS * 1000);
	switch (wish.what) {
	case 'r': /* in two parts */
		(void)!write(stream, bytes, 1);
		usleep(SHORT_MS * 1000);
		(void)!write(stream, bytes, 1);
		return;
	case 'w':
		(void)!recv(stream, bytes, sizeof(bytes), MSG_WAITALL);
		return;
	case 'a':
		stream = socket(AF_UNIX, SOCK_STREAM, 0);
		(void)!connect(stream, (struct sockaddr *)&address, sizeof(address));
		close(stream);
		return;
	case 'm':
		msgsnd(wish.number, &message, sizeof(message.text), 0);
		return;
	default:
		syscall(SYS_tgkill, getppid(), wish.number, SIGUSR1);
	}
}

static __thread int wishes, stream;

/* Granted a little later. */
static void ask(char what, int number)
{
	struct wish wish = {what, number};
	int ends[4];

	if (!wishes) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) ||
			socketpair(AF_UNIX, SOCK_STREAM, 0, ends + 2))
			abort();
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			signal(SIGTERM, SIG_IGN);
			while (recv(ends[1], &wish, sizeof(wish), 0) == sizeof(wish))
				grant(ends[3], wish);
			_exit(0);
		}
		close(ends[1]);
		close(ends[3]);
		wishes = ends[0];
		stream = ends[2];
	}
	(void)!send(wishes, &wish, sizeof(wish), 0);
}

static bool reads(void)
{
	char byte[2];
	ssize_t first, second;

	ask('r', 0);
	first = read(stream, byte, 1);
	second = read(stream, byte, 1);
	return first == 1 && second == 1 ? true : failed("read", (double)first);
}

static bool receives_all(void)
{
	char bytes[2];
	ssize_t n;

	ask('r', 0);
	n = recv(stream, bytes, 2, MSG_WAITALL);
	return n == 2 ? true : failed("recv", (double)n);
}

static bool writes(void)
{
	static char bytes[MANY_BYTES];
	ssize_t n;

	ask('w', 0);
	n = write(stream, bytes, sizeof(bytes));
	return n == MANY_BYTES ? true : failed("write", (double)n);
}

static bool accepts(void)
{
	static __thread int listening;
	int tid = (int)syscall(SYS_gettid), fd;
	struct sockaddr_un address = address_of(tid);

	if (!listening) {
		listening = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(listening, (struct sockaddr *)&address, sizeof(address)) ||
			listen(listening, 1))
			return failed("listen", 0);
	}
	ask('a', tid);
	fd = accept(listening, NULL, NULL);
	if (fd < 0)
		return failed("accept", fd);
	close(fd);
	return true;
}

static bool receives_message(void)
{
	struct message message = {0};
	int queue = msgget(IPC_PRIVATE, 0600);
	ssize_t n;

	ask('m', queue);
	n = msgrcv(queue, &message, sizeof(message.text), 0, 0);
	msgctl(queue, IPC_RMID, NULL);
	return n == sizeof(message.text) ? true : failed("msgrcv", (double)n);
}

static __thread volatile sig_atomic_t awakened;

static void awake(int number)
{
	awakened = 1;
}

/* It is not lost, however short the call is away from its waiting. */
static bool suspends(void)
{
	struct sigaction action = {.sa_handler = awake};
	sigset_t one, others;
	int result;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &one, &others);
	sigdelset(&others, SIGUSR1);
	awakened = 0;
	ask('s', (int)syscall(SYS_gettid));
	result = sigsuspend(&others);
	return result == -1 && errno == EINTR && awakened ? true : failed("sigsuspend", awakened);
}

/* --- alone ------------------------------------------------------------------------------------ */

static bool selects(void)
{
	struct timeval t = {.tv_usec = SHORT_MS * 1000};
	double since = now_ms();
	int result = select(0, NULL, NULL, NULL, &t);

	return result ? failed("select", result) : waited(since);
}

static bool polls_precisely(void)
{
	double since = now_ms();
	int result = ppoll(NULL, 0, &brief, NULL);

	return result ? failed("ppoll", result) : waited(since);
}

static bool sleeps_until(void)
{
	struct timespec until;
	double since = now_ms();
	int result;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += brief.tv_nsec;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	result = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	return result ? failed("clock_nanosleep", result) : waited(since);
}

static bool waits_for_futex(void)
{
	unsigned int word = 0;
	double since = now_ms();
	long result = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &brief, NULL, 0);

	return result == -1 && errno == ETIMEDOUT ? waited(since) : failed("futex", (double)result);
}

static bool waits_for_signal(void)
{
	sigset_t one;
	double since = now_ms();
	int result;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	result = sigtimedwait(&one, NULL, &brief);
	return result == -1 && errno == EAGAIN ? waited(since) : failed("sigtimedwait", result);
}

static bool waits_for_semaphore(void)
{
	struct sembuf down = {0, -1, 0};
	int set = semget(IPC_PRIVATE, 1, 0600), result, error;
	double since = now_ms();

	result = semtimedop(set, &down, 1, &brief);
	error = errno;
	semctl(set, 0, IPC_RMID);
	errno = error;
	return result == -1 && error == EAGAIN ? waited(since) : failed("semtimedop", result);
}

static bool receives_in_time(void)
{
	struct timeval t = {.tv_usec = SHORT_MS * 1000};
	int ends[2];
	char byte;
	double since = now_ms();
	ssize_t n;
	int error;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
		setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)))
		return failed("socketpair", 0);
	n = recv(ends[0], &byte, 1, 0);
	error = errno;
	close(ends[0]);
	close(ends[1]);
	errno = error;
	return n == -1 && error == EAGAIN ? waited(since) : failed("recv", (double)n);
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
	{"select", selects},
	{"ppoll", polls_precisely},
	{"sleep_until", sleeps_until},
	{"futex", waits_for_futex},
	{"condition", waits_for_condition},
	{"sigtimedwait", waits_for_signal},
	{"semtimedop", waits_for_semaphore},
	{"recv_timeout", receives_in_time},
	{"read", reads},
	{"recv_all", receives_all},
	{"write", writes},
	{"accept", accepts},
	{"msgrcv", receives_message},
	{"sigsuspend", suspends},
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
