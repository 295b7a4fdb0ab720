/* Threads that share out tasks: each task once, room of its own for each member, and no waiting for
 * helpers that never come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread_pool.h"

enum { MOST_TASKS = 5000 };

typedef struct tally {
    int members;
    size_t count;
    atomic_int times[MOST_TASKS];
    atomic_int busy[BLV_TEAM_MAX]; /* tasks that run now with this member */
    atomic_int wrong;
    double result[MOST_TASKS]; /* not atomic: must be visible when the call returns */
} tally;

static void count_task(void *context, size_t task, int member) {
    tally *t = context;
    if (member < 0 || member >= t->members || task >= t->count) {
        atomic_fetch_add(&t->wrong, 1);
        return;
    }
    if (atomic_fetch_add(&t->busy[member], 1) != 0)
        atomic_fetch_add(&t->wrong, 1);
    double sum = 0.0;
    for (size_t k = 0; k <= task % 300; k++)
        sum += (double)(k * task);
    t->result[task] = sum;
    atomic_fetch_add(&t->times[task], 1);
    atomic_fetch_sub(&t->busy[member], 1);
}

static int check_call(tally *t, int members, size_t count) {
    memset(t, 0, sizeof *t);
    t->members = members < 1 ? 1 : members;
    t->count = count;
    blv_threads_run(members, count, count_task, t);
    int bad = atomic_load(&t->wrong);
    for (size_t i = 0; i < MOST_TASKS; i++) {
        const size_t last = i % 300;
        bad += atomic_load(&t->times[i]) != (i < count);
        bad += i < count && t->result[i] != (double)(i * (last * (last + 1) / 2));
    }
    return bad;
}

static void test_each_task_once(void **state) {
    (void)state;
    static const int members[] = {0, 1, 2, 3, 7, 64, BLV_TEAM_MAX, 100000};
    static const size_t counts[] = {0, 1, 2, 3, 17, 256, 1000, MOST_TASKS};
    tally *t = malloc(sizeof *t);
    assert_non_null(t);
    for (size_t m = 0; m < sizeof members / sizeof *members; m++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int again = 0; again < 20; again++)
                assert_int_equal(check_call(t, members[m], counts[c]), 0);
    free(t);
}

static void *call_often(void *bad) {
    tally *t = malloc(sizeof *t);
    for (int i = 0; t && i < 300; i++)
        *(int *)bad += check_call(t, 3, (size_t)(i % 50));
    *(int *)bad += !t;
    free(t);
    return NULL;
}

static void test_calls_from_many_threads(void **state) {
    (void)state;
    pthread_t thread[4];
    int bad[4] = {0};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_often, &bad[i]), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_int_equal(bad[i], 0);
    }
}

static void add_one(void *context, size_t task, int member) {
    (void)task;
    (void)member;
    atomic_fetch_add((atomic_int *)context, 1);
}

static void call_again(void *context, size_t task, int member) {
    (void)task;
    (void)member;
    blv_threads_run(2, 10, add_one, context);
}

static void test_tasks_may_call_it(void **state) {
    (void)state;
    atomic_int total = 0;
    blv_threads_run(3, 40, call_again, &total);
    assert_int_equal(atomic_load(&total), 400);
}

/* The helpers stay behind in the parent, even those that were at work. */
static void test_child_after_fork(void **state) {
    (void)state;
    if (getenv("BLV_EMULATED"))
        skip(); /* qemu itself fails in children of processes with threads */
    tally *t = malloc(sizeof *t);
    assert_non_null(t);
    assert_int_equal(check_call(t, 4, 1000), 0);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(60);
            _exit(check_call(t, 4, 1000) != 0);
        }
        assert_int_equal(check_call(t, 4, 1000), 0);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    free(t);
}

static void test_processors(void **state) {
    (void)state;
    assert_in_range(blv_threads_processors(), 1, 1 << 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_task_once),    cmocka_unit_test(test_calls_from_many_threads),
        cmocka_unit_test(test_tasks_may_call_it), cmocka_unit_test(test_child_after_fork),
        cmocka_unit_test(test_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
