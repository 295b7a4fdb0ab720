#include "problems/work_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* One work waits in `hot`, which a single thread takes and returns without a lock. */
struct work_pool {
    const pool_kind *kind;
    const void *owner;
    _Atomic(pool_link *) hot;
    pthread_mutex_t lock;
    pool_link *rest;
};

work_pool *pool_create(const pool_kind *kind, const void *owner) {
    work_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->kind = kind;
    pool->owner = owner;
    pthread_mutex_init(&pool->lock, NULL);
    pool_link *first = kind->create(owner);
    atomic_init(&pool->hot, first);
    if (first)
        return pool;
    pool_destroy(pool);
    return NULL;
}

void pool_destroy(work_pool *pool) {
    if (!pool)
        return;
    pool_link *hot = atomic_load(&pool->hot);
    if (hot)
        pool->kind->destroy(pool->owner, hot);
    while (pool->rest) {
        pool_link *next = pool->rest->next;
        pool->kind->destroy(pool->owner, pool->rest);
        pool->rest = next;
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

pool_link *pool_take(work_pool *pool) {
    pool_link *work = atomic_exchange(&pool->hot, NULL);
    if (!work) {
        pthread_mutex_lock(&pool->lock);
        work = pool->rest;
        if (work)
            pool->rest = work->next;
        pthread_mutex_unlock(&pool->lock);
    }
    return work ? work : pool->kind->create(pool->owner);
}

void pool_return(work_pool *pool, pool_link *work) {
    work = atomic_exchange(&pool->hot, work);
    if (!work)
        return;
    pthread_mutex_lock(&pool->lock);
    work->next = pool->rest;
    pool->rest = work;
    pthread_mutex_unlock(&pool->lock);
}
