/* Our passes and the same oracles in PyTorch, on the same shapes, in the same run.
 *
 *     bench_peers [word]          only the oracles whose name has this word in it
 *
 * The other side is peers/oracles.py, run by the first python3 in PATH; without it, or without
 * torch, our times stand alone. There "usual" is what most would write; the other names stand for
 * the fastest way that we know, "tuned" without a graph and the rest with one. Both sides take
 * turns, one waiting while the other is timed. A time is the median of a turn, the lowest of all
 * turns; "at best" is the ratio of the best samples. The last column has the ratio that we want at
 * least, where there is one, or "disturbed" where one side was slower with two threads than with
 * one: then other work had the cores. */
#include "kernels/cpu/host_sweep.h"
#include "machine_peak.h"
#include "peer.h"
#include "text_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 3, PEERS = 4, BATCH = 64 };
static const double ORACLE_SECONDS = 4.0; /* no further turn after this */

/* Hv at a new point in every call, as PyTorch's from scratch; or at the same one again, as on its
 * graph when that is retained. */
typedef enum kind {
    SOFTMAX_GRADIENT,
    SOFTMAX_HV,
    SOFTMAX_HV_AGAIN,
    LOGISTIC_BATCH,
    SPARSE_GRADIENT
} kind;

typedef struct oracle {
    const char *name;
    kind kind;
    size_t rows, columns, classes;
    struct {
        const char *name;
        double at_least[2]; /* ratio wanted with one thread and with two; 0: any */
    } peer[PEERS];          /* as many as have a name */
} oracle;

static const oracle oracles[] = {
    {"softmax-gradient-20000",
     SOFTMAX_GRADIENT,
     20000,
     784,
     10,
     {{"autograd", {4.0, 0.0}}, {"autograd-usual", {0.0, 0.0}}, {"tuned", {0.0, 2.5}}}},
    {"softmax-gradient-1000",
     SOFTMAX_GRADIENT,
     1000,
     784,
     10,
     {{"autograd", {4.0, 0.0}}, {"autograd-usual", {0.0, 0.0}}, {"tuned", {0.0, 2.5}}}},
    {"softmax-hv-20000",
     SOFTMAX_HV,
     20000,
     784,
     10,
     {{"scratch", {8.0, 8.0}}, {"scratch-usual", {0.0, 0.0}}}},
    {"softmax-hv-again-20000",
     SOFTMAX_HV_AGAIN,
     20000,
     784,
     10,
     {{"retained", {4.0, 4.0}}, {"retained-usual", {0.0, 0.0}}}},
    {"softmax-hv-1000",
     SOFTMAX_HV,
     1000,
     784,
     10,
     {{"scratch", {8.0, 8.0}}, {"scratch-usual", {0.0, 0.0}}}},
    {"softmax-hv-again-1000",
     SOFTMAX_HV_AGAIN,
     1000,
     784,
     10,
     {{"retained", {4.0, 4.0}}, {"retained-usual", {0.0, 0.0}}}},
    {"logistic-batch-cold",
     LOGISTIC_BATCH,
     371840,
     54,
     1,
     {{"autograd", {35.0, 35.0}}, {"tuned", {0.0, 0.0}}}},
    {"logistic-batch-hot",
     LOGISTIC_BATCH,
     512,
     54,
     1,
     {{"autograd", {35.0, 35.0}}, {"tuned", {0.0, 0.0}}}},
    {"sparse-gradient",
     SPARSE_GRADIENT,
     5657,
     130107,
     20,
     {{"autograd", {14.0, 14.0}}, {"autograd-usual", {0.0, 0.0}}, {"tuned", {0.0, 0.0}}}},
};

static timing time_peer(peer *p, const oracle *o, int way, int threads) {
    char name[96];
    snprintf(name, sizeof name, "%s/%s", o->name, o->peer[way].name);
    return peer_time(p, name, threads);
}

/* An oracle on our side. */
typedef struct subject {
    bool sparse;
    blv_rows rows;
    blv_sweep pass;
    blv_sweep_work *work[2];
    text_rows text;
    void *data, *weight, *ridge, *w, *next_w, *v, *result;
    int32_t *label;
    size_t *order, blocks, turn; /* blocks of rows in a shuffled order; 0 blocks: all rows */
    int threads;                 /* of the next call */
} subject;

static void *numbers(size_t count, bool single, double low, double high, uint64_t *state) {
    void *array = bench_memory(count, single ? sizeof(float) : sizeof(double));
    for (size_t i = 0; i < count; i++) {
        const double number = low + (high - low) * draw_uniform(state);
        if (single)
            ((float *)array)[i] = (float)number;
        else
            ((double *)array)[i] = number;
    }
    return array;
}

static void shuffle_blocks(subject *s, size_t blocks, uint64_t *state) {
    s->blocks = blocks;
    s->order = bench_memory(blocks, sizeof *s->order);
    for (size_t i = 0; i < blocks; i++) {
        const size_t at = (size_t)(draw_uniform(state) * (double)(i + 1));
        s->order[i] = s->order[at];
        s->order[at] = i;
    }
}

static bool subject_open(subject *s, const oracle *o) {
    const bool logistic = o->kind == LOGISTIC_BATCH, single = !logistic;
    const bool hv = o->kind == SOFTMAX_HV || o->kind == SOFTMAX_HV_AGAIN;
    const size_t weights = o->classes * o->columns;
    uint64_t state = 1;
    *s = (subject){.sparse = o->kind == SPARSE_GRADIENT};
    s->rows = (blv_rows){.rows = o->rows, .columns = o->columns, .count = o->rows};
    s->w = numbers(weights, single, -0.05, 0.05, &state);
    s->v = numbers(weights, single, -0.05, 0.05, &state);
    s->result = bench_memory(weights, sizeof(double));
    s->pass = (blv_sweep){.classes = o->classes, .w = s->w, .scale = 1.0 / (double)o->rows};
    if (s->sparse) {
        text_rows_open(&s->text, o->rows, o->columns, 157, &state);
        s->rows.row_start = s->text.row_start;
        s->rows.column = s->text.column;
        s->rows.value = s->text.value_f32;
        s->rows.column_start = s->text.column_start;
        s->rows.row = s->text.row;
        s->rows.column_value = s->text.column_value_f32;
        s->pass.ridge_column = s->ridge = numbers(o->columns, true, 0.5e-4, 1.5e-4, &state);
    } else {
        s->rows.dense = s->data = numbers(o->rows * o->columns, single, -0.5, 0.5, &state);
        s->rows.stride = o->columns;
        s->pass.ridge = 1e-3;
    }
    if (o->kind == SOFTMAX_GRADIENT || hv)
        s->rows.weight = s->weight = numbers(o->rows, true, 0.0, 1.0, &state);
    if (o->kind == SOFTMAX_HV)
        s->next_w = numbers(weights, single, -0.05, 0.05, &state);
    if (hv) {
        s->pass.keep = true;
        s->pass.v = s->v;
        s->pass.hessian = s->result;
    } else {
        s->pass.gradient = s->result;
    }
    if (logistic) {
        s->rows.count = s->rows.next_count = BATCH;
        s->pass.scale = 1.0 / BATCH;
        shuffle_blocks(s, o->rows / BATCH, &state);
    }
    s->rows.label = s->label = bench_memory(o->rows, sizeof *s->label);
    for (size_t i = 0; i < o->rows; i++)
        s->label[i] = (int32_t)(draw_uniform(&state) * (double)(logistic ? 2 : o->classes));
    for (int threads = 1; threads <= 2; threads++)
        s->work[threads - 1] =
            blv_sweep_work_create(o->classes, o->columns, single ? sizeof(float) : sizeof(double),
                                  s->sparse, s->rows.count, threads);
    for (int i = 0; hv && i < 2 && s->work[i]; i++)
        if (!blv_sweep_work_keep(s->work[i], o->rows))
            return false;
    return s->work[0] && s->work[1];
}

static void subject_close(subject *s) {
    void *all[] = {s->data, s->weight, s->ridge, s->w,    s->next_w,
                   s->v,    s->result, s->label, s->order};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    text_rows_close(&s->text);
    blv_sweep_work_destroy(s->work[0]);
    blv_sweep_work_destroy(s->work[1]);
}

static void call(void *context) {
    subject *s = context;
    if (s->next_w)
        s->pass.w = s->pass.w == s->w ? s->next_w : s->w;
    if (s->blocks) {
        s->rows.first = s->order[s->turn] * BATCH;
        s->turn = s->turn + 1 < s->blocks ? s->turn + 1 : 0;
        s->rows.next_first = s->order[s->turn] * BATCH;
    }
    blv_host_sweep(&s->rows, &s->pass, s->work[s->threads - 1]);
}

static timing time_subject(subject *s, int threads) {
    s->threads = threads;
    return timing_of(call, s);
}

static void print_rows(const oracle *o, int threads, const timing *ours,
                       const timing (*theirs)[PEERS]) {
    const timing mine = ours[threads - 1];
    printf("%-24s %2d %11.2f", o->name, threads, 1e6 * mine.median);
    for (int k = 0; k < PEERS && !isnan(theirs[threads - 1][k].median); k++) {
        const timing other = theirs[threads - 1][k];
        const double ratio = other.median / mine.median;
        const double wanted = o->peer[k].at_least[threads - 1];
        if (k > 0)
            printf("\n%39s", "");
        printf(" %-14s %11.2f %6.1fx %6.1fx", o->peer[k].name, 1e6 * other.median, ratio,
               other.lowest / mine.lowest);
        if (timing_disturbed(ours[0], mine) || timing_disturbed(theirs[0][k], other))
            printf(" disturbed");
        else if (wanted > 0.0)
            printf(" %6.1fx%s", wanted, ratio < wanted ? " missed" : "");
    }
    printf("\n");
    fflush(stdout);
}

static bool bench_oracle(const oracle *o, peer *p) {
    timing ours[2] = {{NAN, NAN}, {NAN, NAN}};
    timing theirs[2][PEERS];
    for (int k = 0; k < 2 * PEERS; k++)
        theirs[k / PEERS][k % PEERS] = (timing){NAN, NAN};
    subject s;
    const bool open = subject_open(&s, o);
    const double start = seconds_now();
    for (int turn = 0;
         open && turn < TURNS && (turn == 0 || seconds_now() - start < ORACLE_SECONDS); turn++)
        for (int threads = 1; threads <= 2; threads++) {
            timing_improve(&ours[threads - 1], time_subject(&s, threads));
            for (int k = 0; k < PEERS && o->peer[k].name; k++)
                timing_improve(&theirs[threads - 1][k], time_peer(p, o, k, threads));
        }
    for (int threads = 1; open && threads <= 2; threads++)
        print_rows(o, threads, ours, (const timing(*)[PEERS])theirs);
    subject_close(&s);
    return open;
}

int main(int argc, char **argv) {
    peer p;
    bool complete = true;
    print_load("before");
    fflush(stdout);
    peer_open(&p, BENCH_PEERS "/oracles.py");
    if (p.ask)
        printf("against %s; microseconds a call\n", p.version);
    else
        puts("python3 with torch is not there (make bench-peers gets it): our side only");
    printf("%-24s %2s %11s %-14s %11s %7s %7s %7s\n", "", "th", "ours", "peer", "peer", "ratio",
           "at best", "wanted");
    for (size_t i = 0; complete && i < sizeof oracles / sizeof *oracles; i++)
        if (argc < 2 || strstr(oracles[i].name, argv[1]))
            complete = bench_oracle(&oracles[i], &p);
    peer_close(&p);
    print_load("after");
    if (!complete)
        fputs("bench_peers: out of memory\n", stderr);
    return complete ? 0 : 1;
}
