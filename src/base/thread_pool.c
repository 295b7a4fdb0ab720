#define _GNU_SOURCE /* sched_getaffinity */
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { CACHE_LINE = 64 };

/* How often a helper that has nothing to do looks for more before it sleeps, and a caller whether
 * the helpers are through: about 50 microseconds, which is what waking a thread takes. */
enum { LOOKS = 2000 };

typedef struct stretch {
    _Alignas(CACHE_LINE) atomic_size_t next;
    size_t end;
} stretch;

/* One call. It lives on the caller's stack: helpers touch it while they are `inside` only. */
typedef struct job {
    blv_threads_fn run;
    void *context;
    int members;
    int joined;        /* members so far; under the lock */
    atomic_int inside; /* helpers at work */
    struct job *next;  /* other calls that are under way; under the lock */
    stretch stretches[BLV_TEAM_MAX];
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t posted, left; /* a job came; the last helper left a job */
    job *jobs;
    int helpers, sleeping;
    bool closing;
    pthread_t thread[BLV_TEAM_MAX];
    atomic_uint calls; /* goes up with every job */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .posted = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void pause_a_little(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static void work_as(job *j, int member) {
    for (int k = 0; k < j->members; k++) {
        stretch *s = &j->stretches[(member + k) % j->members];
        for (size_t task; (task = atomic_fetch_add(&s->next, 1)) < s->end;)
            j->run(j->context, task, member);
    }
}

/* With the lock held, as the next two. */
static job *find_job(void) {
    job *j = pool.jobs;
    while (j && j->joined == j->members)
        j = j->next;
    return j;
}

static void help(job *j) {
    const int member = j->joined++;
    atomic_fetch_add(&j->inside, 1);
    pthread_mutex_unlock(&pool.lock);
    work_as(j, member);
    pthread_mutex_lock(&pool.lock);
    j->joined = j->members; /* nothing is left: nobody need join */
    if (atomic_fetch_sub(&j->inside, 1) == 1)
        pthread_cond_broadcast(&pool.left);
}

static void wait_for_job(void) {
    const unsigned seen = atomic_load(&pool.calls);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < LOOKS && atomic_load_explicit(&pool.calls, memory_order_relaxed) == seen;
         i++)
        pause_a_little();
    pthread_mutex_lock(&pool.lock);
    pool.sleeping++;
    while (!pool.closing && atomic_load(&pool.calls) == seen)
        pthread_cond_wait(&pool.posted, &pool.lock);
    pool.sleeping--;
}

static void *helper(void *nothing) {
    (void)nothing;
    pthread_mutex_lock(&pool.lock);
    while (!pool.closing) {
        job *j = find_job();
        if (j)
            help(j);
        else
            wait_for_job();
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

/* The child has none of the helpers, and the lock may have been held by one. */
static void forget_helpers(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.posted, NULL);
    pthread_cond_init(&pool.left, NULL);
    pool.jobs = NULL;
    pool.helpers = pool.sleeping = 0;
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, forget_helpers);
}

__attribute__((destructor)) static void dismiss_helpers(void) {
    pthread_mutex_lock(&pool.lock);
    pool.closing = true;
    const int helpers = pool.helpers;
    pthread_cond_broadcast(&pool.posted);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < helpers; i++)
        pthread_join(pool.thread[i], NULL);
}

/* With the lock held. Helpers take no signals: those are for the program's own threads. */
static void hire(int wanted) {
    if (pool.helpers >= wanted || pool.closing)
        return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (pool.helpers < wanted &&
           pthread_create(&pool.thread[pool.helpers], NULL, helper, NULL) == 0)
        pool.helpers++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void post(job *j) {
    pthread_mutex_lock(&pool.lock);
    hire(j->members - 1);
    j->next = pool.jobs;
    pool.jobs = j;
    atomic_fetch_add(&pool.calls, 1);
    if (pool.sleeping > 0)
        pthread_cond_broadcast(&pool.posted);
    pthread_mutex_unlock(&pool.lock);
}

static void withdraw(job *j) {
    pthread_mutex_lock(&pool.lock);
    job **at = &pool.jobs;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < LOOKS && atomic_load(&j->inside) > 0; i++)
        pause_a_little();
    pthread_mutex_lock(&pool.lock); /* even when nobody is inside: the last may still hold it */
    while (atomic_load(&j->inside) > 0)
        pthread_cond_wait(&pool.left, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

void blv_threads_run(int members, size_t count, blv_threads_fn run, void *context) {
    if (members > BLV_TEAM_MAX)
        members = BLV_TEAM_MAX;
    if ((size_t)members > count)
        members = (int)count;
    if (members <= 1) {
        for (size_t task = 0; task < count; task++)
            run(context, task, 0);
        return;
    }
    job j;
    j.run = run;
    j.context = context;
    j.members = members;
    j.joined = 1;
    atomic_init(&j.inside, 0);
    for (size_t m = 0; m < (size_t)members; m++) {
        atomic_init(&j.stretches[m].next, count * m / (size_t)members);
        j.stretches[m].end = count * (m + 1) / (size_t)members;
    }
    pthread_once(&once, watch_forks);
    post(&j);
    work_as(&j, 0);
    withdraw(&j);
}

int blv_threads_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}
