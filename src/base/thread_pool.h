/* Threads that share out the tasks of one call.
 *
 * The calling thread works through all tasks itself; others are woken to help and are not waited
 * for unless they have begun one. So a call never takes much longer than on one thread, even where
 * every other processor is busy with something else, in a child after fork, or when no thread could
 * be started. Helpers are kept between calls: they are the only state that calls share, and no
 * result depends on them. */
#pragma once

#include <stddef.h>

#define BLV_TEAM_MAX 256

/* task: 0 .. count - 1, each once. member: 0 .. members - 1, for room of its own: two tasks that
 * run at the same time have different ones. */
typedef void (*blv_threads_fn)(void *context, size_t task, int member);

/* members: threads at most, the calling one included; more than BLV_TEAM_MAX count as that many.
 * Each member begins with neighbouring tasks, the same in every call of the same shape, whose data
 * may still be in its cache, and then takes from the others. Everything that tasks wrote is visible
 * when the call returns. Tasks may call it again. */
void blv_threads_run(int members, size_t count, blv_threads_fn run, void *context);

/* Processors that this process may use. */
int blv_threads_processors(void);
