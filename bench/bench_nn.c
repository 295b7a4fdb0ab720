/* Gradients and Hessian products of networks, ours and those of PyTorch, in the same run.
 *
 *     bench_nn [word]          only the cases whose name has this word in it
 *
 * The other side is peers/networks.py, run by the first python3 in PATH; without it, or without
 * torch, our times stand alone. Rows are random numbers, or images like handwriting, of which four
 * fifths are zeros; PyTorch takes as long for either. Both sides take turns. A time is the median
 * of a turn, the lowest of all turns; "at best" is the ratio of the best samples; "peak" is the
 * share of the multiply-adds that this machine can do, zeros counted as work. */
#include "base/random.h"
#include "machine_peak.h"
#include "nn/nn.h"
#include "peer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 3, PEERS = 2, CLASSES = 10, SIDE = 28 };
static const double CASE_SECONDS = 6.0; /* no further turn after this */

typedef enum kind { GRADIENT, HV } kind;

typedef struct bench_case {
    const char *name, *net;
    size_t inputs, rows;
    bool pixels;
    kind kind;
    double products; /* of the size of the forward pass */
    struct {
        const char *name;
        double at_least; /* ratio wanted with two threads; 0: any */
    } peer[PEERS];
} bench_case;

static const bench_case cases[] = {
    {"mlp-gradient", "mlp:784-128-10", 784, 256, false, GRADIENT, 2.0, {{"mlp-gradient", 1.5}}},
    {"mlp-gradient-pixels",
     "mlp:784-128-10",
     784,
     256,
     true,
     GRADIENT,
     2.0,
     {{"mlp-gradient", 2.0}}},
    {"mlp-hv",
     "mlp:784-128-10",
     784,
     256,
     false,
     HV,
     3.0,
     {{"mlp-hv/twice", 2.0}, {"mlp-hv/forward", 0.0}}},
    {"mlp-hv-pixels",
     "mlp:784-128-10",
     784,
     256,
     true,
     HV,
     3.0,
     {{"mlp-hv/twice", 3.0}, {"mlp-hv/forward", 0.0}}},
    {"resnet18-gradient",
     "resnet18:16",
     3072,
     64,
     false,
     GRADIENT,
     3.0,
     {{"resnet-gradient", 0.0}}},
    {"resnet18-hv", "resnet18:16", 3072, 64, false, HV, 9.0, {{"resnet-hv/twice", 0.0}}},
};

typedef struct subject {
    blv_nn *net;
    blv_nn_work *work[2];
    blv_rows rows;
    blv_nn_pass pass;
    float *data, *params, *v, *result;
    int32_t *label;
    double *statistics;
    int threads;
} subject;

static void *memory(size_t count, size_t size) {
    void *room = calloc(count, size);
    if (!room) {
        fputs("bench_nn: out of memory\n", stderr);
        exit(1);
    }
    return room;
}

static void draw_numbers(const blv_stream *stream, size_t count, float *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = (float)(blv_random_uniform(stream, i) - 0.5);
}

/* Five strokes from point to point in the middle of the image: as many zeros, and as many next to
 * each other, as digits have. */
static void draw_strokes(const blv_stream *stream, size_t row, float *image) {
    double y = 0.0, x = 0.0;
    for (size_t i = 0; i < 6; i++) {
        const double next_y = 4.0 + 20.0 * blv_random_uniform(stream, 12 * row + 2 * i);
        const double next_x = 4.0 + 20.0 * blv_random_uniform(stream, 12 * row + 2 * i + 1);
        for (double t = 0.0; i > 0 && t <= 1.0; t += 0.02)
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    const int at_y = (int)(y + t * (next_y - y)) + dy;
                    const int at_x = (int)(x + t * (next_x - x)) + dx;
                    image[at_y * SIDE + at_x] = 0.3f + 0.35f * (float)(2 - abs(dy) - abs(dx));
                }
        y = next_y;
        x = next_x;
    }
}

static bool subject_open(subject *s, const bench_case *c) {
    blv_message why = {0};
    *s = (subject){.net = NULL};
    if (blv_nn_from_text(&s->net, c->net, c->inputs, CLASSES, &why) != BLV_OK) {
        fprintf(stderr, "bench_nn: %s\n", why.text);
        return false;
    }
    const blv_stream stream = blv_stream_make(1, "bench");
    const size_t dim = blv_nn_dim(s->net);
    s->data = memory(c->rows * c->inputs, sizeof *s->data);
    s->params = memory(dim, sizeof *s->params);
    s->v = memory(dim, sizeof *s->v);
    s->result = memory(dim, sizeof *s->result);
    s->label = memory(c->rows, sizeof *s->label);
    s->statistics = memory(blv_nn_statistics(s->net) + 1, sizeof *s->statistics);
    for (size_t i = 0; i < c->rows; i++)
        s->label[i] = (int32_t)(i % CLASSES);
    for (size_t i = 0; c->pixels && i < c->rows; i++)
        draw_strokes(&stream, i, s->data + i * c->inputs);
    if (!c->pixels)
        draw_numbers(&stream, c->rows * c->inputs, s->data);
    blv_nn_start(s->net, BLV_F32, 1, s->params);
    draw_numbers(&stream, dim, s->v);
    s->rows = (blv_rows){.rows = c->rows,
                         .columns = c->inputs,
                         .dense = s->data,
                         .stride = c->inputs,
                         .label = s->label,
                         .count = c->rows};
    s->pass = (blv_nn_pass){
        .params = s->params, .scale = 1.0 / (double)c->rows, .statistics = s->statistics};
    if (c->kind == HV) {
        s->pass.v = s->v;
        s->pass.hessian = s->result;
    } else {
        s->pass.gradient = s->result;
    }
    for (int threads = 1; threads <= 2; threads++)
        s->work[threads - 1] = blv_nn_work_create(s->net, BLV_F32, c->rows, 0, threads);
    if (s->work[0] && s->work[1])
        blv_nn_observe(s->work[0], &s->rows, s->params, s->statistics);
    return s->work[0] && s->work[1];
}

static void subject_close(subject *s) {
    blv_nn_work_destroy(s->work[0]);
    blv_nn_work_destroy(s->work[1]);
    blv_nn_destroy(s->net);
    void *all[] = {s->data, s->params, s->v, s->result, s->label, s->statistics};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* The result is added to: it is cleared as a gradient would be. */
static void call(void *context) {
    subject *s = context;
    memset(s->result, 0, blv_nn_dim(s->net) * sizeof *s->result);
    blv_nn_run(s->work[s->threads - 1], &s->rows, &s->pass);
}

/* The share of this machine's multiply-adds that a plain network on full rows makes use of: each
 * product has two operations for each parameter and row. */
static void print_peak(const bench_case *c, const subject *s, double seconds, int threads) {
    const double flops = 2.0 * c->products * (double)c->rows * (double)blv_nn_dim(s->net);
    double peak = INFINITY;
    for (int i = 0; i < 5; i++)
        peak = fmin(peak, seconds_of_flops(flops / threads, true, threads));
    if (c->inputs == (size_t)SIDE * SIDE && !c->pixels)
        printf(" %4.0f%%", 100.0 * peak / seconds);
    else
        printf("     -");
}

static void print_case(const bench_case *c, const subject *s, const timing ours[2],
                       timing (*theirs)[PEERS]) {
    for (int threads = 1; threads <= 2; threads++) {
        const timing mine = ours[threads - 1];
        printf("%-20s %2d %10.1f", c->name, threads, 1e6 * mine.median);
        print_peak(c, s, mine.median, threads);
        for (int k = 0; k < PEERS && c->peer[k].name; k++) {
            const timing other = theirs[threads - 1][k];
            const double ratio = other.median / mine.median;
            if (isnan(other.median))
                continue;
            printf("%s %-15s %10.1f %6.1fx %6.1fx",
                   k > 0 ? "\n                                       " : "", c->peer[k].name,
                   1e6 * other.median, ratio, other.lowest / mine.lowest);
            if (timing_disturbed(ours[0], mine) || timing_disturbed(theirs[0][k], other))
                printf(" disturbed");
            else if (threads == 2 && c->peer[k].at_least > 0.0)
                printf(" %6.1fx%s", c->peer[k].at_least,
                       ratio < c->peer[k].at_least ? " missed" : "");
        }
        printf("\n");
    }
    fflush(stdout);
}

static bool bench(const bench_case *c, peer *p) {
    timing ours[2] = {{NAN, NAN}, {NAN, NAN}}, theirs[2][PEERS];
    for (int k = 0; k < 2 * PEERS; k++)
        theirs[k / PEERS][k % PEERS] = (timing){NAN, NAN};
    subject s;
    const bool open = subject_open(&s, c);
    const double start = seconds_now();
    for (int turn = 0; open && turn < TURNS && (turn == 0 || seconds_now() - start < CASE_SECONDS);
         turn++)
        for (int threads = 1; threads <= 2; threads++) {
            s.threads = threads;
            timing_improve(&ours[threads - 1], timing_of(call, &s));
            for (int k = 0; k < PEERS && c->peer[k].name; k++)
                timing_improve(&theirs[threads - 1][k], peer_time(p, c->peer[k].name, threads));
        }
    if (open)
        print_case(c, &s, ours, theirs);
    subject_close(&s);
    return open;
}

int main(int argc, char **argv) {
    peer p;
    bool complete = true;
    print_load("before");
    fflush(stdout);
    peer_open(&p, BENCH_PEERS "/networks.py");
    if (p.ask)
        printf("against %s; microseconds a call\n", p.version);
    else
        puts("python3 with torch is not there (make bench-peers gets it): our side only");
    printf("%-20s %2s %10s %5s %-15s %10s %7s %7s %7s\n", "", "th", "ours", "peak", "peer", "peer",
           "ratio", "at best", "wanted");
    for (size_t i = 0; complete && i < sizeof cases / sizeof *cases; i++)
        if (argc < 2 || strstr(cases[i].name, argv[1]))
            complete = bench(&cases[i], &p);
    peer_close(&p);
    print_load("after");
    return complete ? 0 : 1;
}
