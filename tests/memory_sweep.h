/* A piece of work of which every request for memory fails in turn, until all of it succeeds: what
 * comes back is BLV_E_MEMORY with a message, nothing crashes, and nothing is kept. After
 * run_testing.h. */
#ifndef MEMORY_SWEEP_H
#define MEMORY_SWEEP_H

#include "alloc_testing.h"

/* A piece of work; writes why it failed. */
typedef blv_error (*work_fn)(void *context, blv_message *why);

/* Readers give back memory that they did not need; that request may be refused. */
static bool refusal_may_not_matter;
/* Memory that an oracle lacks makes it fail, which is what comes back then. */
static bool oracle_may_fail;

/* Beyond that only some: work that goes round and round asks for the same again. */
static long every_request_up_to = 3000;

static inline bool tells_of_memory(blv_error error, const char *text) {
    return error == BLV_E_MEMORY ? strstr(text, "memory") != NULL
                                 : oracle_may_fail && error == BLV_E_ORACLE && text[0];
}

static inline void fail_every_request(const char *what, work_fn work, void *context,
                                      bool with_message) {
    long before = memory_live;
    for (long n = 0; n < 100000; n += n < every_request_up_to ? 1 : n / 4) {
        blv_message why = {""};
        fail_request(n);
        blv_error error = work(context, &why);
        bool failed = a_request_failed();
        if (memory_live != before)
            fail_msg("%s: %ld bytes kept after request %ld", what, memory_live - before, n);
        if (!failed) {
            if (error != BLV_OK)
                fail_msg("%s: %s", what, why.text);
            assert_true(n > 0);
            return;
        }
        if (error == BLV_OK && refusal_may_not_matter)
            continue;
        if (!tells_of_memory(error, with_message ? why.text : "memory"))
            fail_msg("%s: request %ld: '%s': %s", what, n, blv_error_text(error), why.text);
    }
    fail_msg("%s: no end of requests", what);
}

#endif
