/* Error codes, outcomes of a run, and readable messages.
 *
 * An error says that a call could not be carried out. An outcome says how a run ended.
 * The two are separate: a run that diverges is an outcome, and the call that ran it returns BLV_OK.
 */
#ifndef BILEVEL_STATUS_H
#define BILEVEL_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BLV_API __attribute__((visibility("default")))
#define BLV_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define BLV_API
#define BLV_PRINTF(fmt, args)
#endif

/* The first element of every struct that a caller fills and the library reads:
 * {BLV_SIZED(blv_solver), .name = ...}. It tells the library which edition of the struct it got. */
#define BLV_SIZED(type) .size = sizeof(type)

#define BLV_VERSION_MAJOR 0
#define BLV_VERSION_MINOR 1
#define BLV_VERSION_PATCH 0

/* "major.minor.patch" of the library that is linked. Static storage. */
BLV_API const char *blv_version(void);

/* name, value, text */
#define BLV_ERROR_LIST(X)                                                                          \
    X(BLV_OK, 0, "no error")                                                                       \
    X(BLV_E_MEMORY, 1, "out of memory")                                                            \
    X(BLV_E_ARGUMENT, 2, "bad argument")                                                           \
    X(BLV_E_NAME, 3, "unknown name")                                                               \
    X(BLV_E_VALUE, 4, "value not allowed")                                                         \
    X(BLV_E_ORDER, 5, "call out of order")                                                         \
    X(BLV_E_ORACLE, 6, "an oracle failed")                                                         \
    X(BLV_E_FILE, 7, "file cannot be read or written")                                             \
    X(BLV_E_FORMAT, 8, "malformed file")                                                           \
    X(BLV_E_UNSUPPORTED, 9, "not possible with this problem")                                      \
    X(BLV_E_STOPPED, 10, "stopped on request")                                                     \
    X(BLV_E_FAILED, 11, "a run failed")                                                            \
    X(BLV_E_DEVICE, 12, "a device or a network failed")

typedef enum blv_error {
#define X(name, value, text) name = value,
    BLV_ERROR_LIST(X)
#undef X
} blv_error;

/* Returns the error of a call that failed, in functions that return a blv_error themselves. */
#define BLV_CHECK(call)                                                                            \
    do {                                                                                           \
        blv_error blv_check_error = (call);                                                        \
        if (blv_check_error != BLV_OK)                                                             \
            return blv_check_error;                                                                \
    } while (0)

/* Outcomes: 0 still running, > 0 converged, as the certificate says, < 0 ended without converging.
 * Outcomes of -20 and below are failures (exit code 1 of the command); the others are limits that
 * were asked for, or all that the method can do.
 * name, value, word, text */
#define BLV_OUTCOME_LIST(X)                                                                        \
    X(BLV_RUNNING, 0, "running", "not ended")                                                      \
    X(BLV_CONVERGED, 1, "converged", "certified to the tolerance")                                 \
    X(BLV_TARGET_REACHED, 2, "target", "the target value was reached")                             \
    X(BLV_LIMIT_ITERATIONS, -1, "iterations", "the iteration limit was reached")                   \
    X(BLV_LIMIT_SECONDS, -2, "seconds", "the time limit was reached")                              \
    X(BLV_LIMIT_BUDGET, -3, "budget", "the oracle budget was used up")                             \
    X(BLV_STOPPED_MONITOR, -4, "monitor", "the monitor asked to stop")                             \
    X(BLV_STOPPED_REQUEST, -5, "stopped", "a stop was requested")                                  \
    X(BLV_STALLED, -6, "stalled", "no further progress is possible in this precision")             \
    X(BLV_UNCERTIFIED, -7, "uncertified",                                                          \
      "the method's own test was met, but not certified to the tolerance")                         \
    X(BLV_DIVERGED, -20, "diverged",                                                               \
      "a value left every scale or was not finite, or an oracle kept rejecting points")            \
    X(BLV_SINGULAR, -21, "singular", "the lower-level Hessian is singular")                        \
    X(BLV_ORACLE_FAILED, -22, "failed", "an oracle failed fatally")

typedef enum blv_outcome {
#define X(name, value, word, text) name = value,
    BLV_OUTCOME_LIST(X)
#undef X
} blv_outcome;

/* Static strings. */
BLV_API const char *blv_error_text(blv_error error);
BLV_API const char *blv_outcome_word(blv_outcome outcome);
BLV_API const char *blv_outcome_text(blv_outcome outcome);

/* A readable message, owned by the caller. Functions that take one accept NULL, and write it only
 * when they return an error. */
typedef struct blv_message {
    char text[512];
} blv_message;

#ifdef __cplusplus
}
#endif
#endif
