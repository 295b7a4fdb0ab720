/* Memory of oracle calls. Calls may come from several threads, so each takes a work from a pool and
 * returns it; a call that finds none there makes one. */
#ifndef BLV_PROBLEMS_WORK_POOL_H
#define BLV_PROBLEMS_WORK_POOL_H

/* The first member of every work. */
typedef struct pool_link {
    struct pool_link *next;
} pool_link;

typedef struct pool_kind {
    pool_link *(*create)(const void *owner); /* NULL when memory is short */
    void (*destroy)(const void *owner, pool_link *work);
} pool_kind;

typedef struct work_pool work_pool;

/* With one work in it. kind and owner are borrowed. NULL when memory is short. */
work_pool *pool_create(const pool_kind *kind, const void *owner);
void pool_destroy(work_pool *pool); /* NULL is allowed */

/* NULL when memory is short. */
pool_link *pool_take(work_pool *pool);
void pool_return(work_pool *pool, pool_link *work);

#endif
