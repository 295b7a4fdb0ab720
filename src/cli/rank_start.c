#include "cli/rank_start.h"
#include "base/hash.h"
#include "base/rank_exchange.h"
#include "cli/common.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libbilevel-mpi.so." BLV_LIBRARY_NUMBER

typedef blv_error (*start_fn)(blv_ranks **ranks, blv_message *why);
typedef void (*leave_fn)(blv_ranks *ranks, int exit_code, void (*alone)(void));

static blv_ranks *ranks;
static int first_stderr = -1; /* where the messages of this rank would go */
static leave_fn leave;

/* The starter's words for the rank and the number of ranks: Open MPI, then PMI as others have it.
 */
static const char *started_by(const char *const *names) {
    const char *value = NULL;
    for (; !value && *names; names++)
        value = getenv(*names);
    return value;
}

/* mpirun, srun --mpi=pmi2, or srun --mpi=pmix with several tasks. */
static bool is_on_ranks(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
    const char *tasks = getenv("PMIX_RANK") ? getenv("SLURM_STEP_NUM_TASKS") : NULL;
    return started_by(names) || (tasks && atol(tasks) > 1);
}

/* This rank has failed alone, and says so. */
static void last_words(void) {
    if (ranks->rank != 0 && !strstr(cli_last_complaint(), BLV_NO_EXCHANGE))
        dprintf(first_stderr, "bilevel: rank %d: %s\n", ranks->rank, cli_last_complaint());
}

static void end_ranks(int code, void *unused) {
    (void)unused;
    leave(ranks, code, last_words);
}

static void hide_streams(void) {
    first_stderr = dup(STDERR_FILENO);
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        cli_die("the standard streams of a rank cannot be closed");
}

/* Ranks that do different things would wait for each other for ever. */
static void expect_same_words(int argc, char **argv) {
    uint64_t words = blv_hash_text(0, blv_version()), first;
    for (int i = 1; i < argc; i++)
        words = blv_hash_text(words, argv[i]);
    first = words;
    double others = !ranks->broadcast(ranks->context, 0, &first, sizeof first) || first != words;
    if (!ranks->sum(ranks->context, 1, &others) || others > 0.0)
        cli_die("%.0f of %d ranks have other arguments than the first, or another version", others,
                ranks->count);
}

void cli_ranks_start(int argc, char **argv) {
    if (!is_on_ranks())
        return;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    start_fn start = NULL;
    if (library) {
        *(void **)&start = dlsym(library, "blv_mpi_start");
        *(void **)&leave = dlsym(library, "blv_mpi_leave");
    }
    if (!start || !leave)
        cli_die("started by mpirun, but without MPI: %s", dlerror());
    cli_expect(start(&ranks, &cli_why));
    on_exit(end_ranks, NULL);
    if (ranks->rank != 0)
        hide_streams();
    expect_same_words(argc, argv);
}

const blv_ranks *cli_ranks(void) {
    return ranks;
}

static bool take_word(int *word) {
    return !ranks ||
           (blv_ranks_all(ranks, true) && ranks->broadcast(ranks->context, 0, word, sizeof *word));
}

int cli_rank_word(int word) {
    if (!take_word(&word))
        cli_die(BLV_NO_EXCHANGE);
    return word;
}

int cli_rank_exit(int code) {
    if (!take_word(&code) && code == CLI_DONE)
        cli_die(BLV_NO_EXCHANGE);
    return code;
}

bool cli_rank_writes(void) {
    return !ranks || ranks->rank == 0;
}

int cli_rank_threads(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_STEP_TASKS_PER_NODE" /* such as 2(x4) */, NULL};
    const char *local = started_by(names);
    if (!ranks)
        return 0;
    const long neighbours = local ? atol(local) : ranks->count;
    const long share = sysconf(_SC_NPROCESSORS_ONLN) / (neighbours > 0 ? neighbours : 1);
    cpu_set_t bound; /* mpirun may have bound this rank to some of them */
    if (sched_getaffinity(0, sizeof bound, &bound) == 0 && CPU_COUNT(&bound) < share)
        return CPU_COUNT(&bound);
    return share > 1 ? (int)share : 1;
}
