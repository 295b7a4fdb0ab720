#include "peer.h"
#include "machine_peak.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SAMPLES = 400, FEWEST_SAMPLES = 5 };
static const double SAMPLE_SECONDS = 0.0005, WARM_SECONDS = 0.05, TURN_SECONDS = 0.1;

void peer_close(peer *p) {
    if (p->ask)
        fclose(p->ask);
    if (p->answer)
        fclose(p->answer);
    p->ask = p->answer = NULL;
    if (p->process > 0)
        waitpid(p->process, NULL, 0);
    p->process = 0;
}

static void become_peer(const char *script, const int ask[2], const int answer[2]) {
    dup2(ask[0], STDIN_FILENO);
    dup2(answer[1], STDOUT_FILENO);
    for (int end = 0; end < 2; end++) {
        close(ask[end]);
        close(answer[end]);
    }
    execlp("python3", "python3", script, "-", (char *)NULL);
    _exit(127);
}

void peer_open(peer *p, const char *script) {
    int ask[2], answer[2];
    *p = (peer){0};
    if (pipe(ask) != 0)
        return;
    if (pipe(answer) != 0) {
        close(ask[0]);
        close(ask[1]);
        return;
    }
    signal(SIGPIPE, SIG_IGN);
    p->process = fork();
    if (p->process == 0)
        become_peer(script, ask, answer);
    close(ask[0]);
    close(answer[1]);
    p->ask = fdopen(ask[1], "w");
    p->answer = fdopen(answer[0], "r");
    if (p->process < 0 || !p->ask || !p->answer || !fgets(p->version, sizeof p->version, p->answer))
        peer_close(p);
    p->version[strcspn(p->version, "\n")] = '\0';
}

timing peer_time(peer *p, const char *name, int threads) {
    timing t = {NAN, NAN};
    char line[256];
    if (!p->ask)
        return t;
    fprintf(p->ask, "%s %d\n", name, threads);
    if (fflush(p->ask) != 0 || !fgets(line, sizeof line, p->answer) ||
        sscanf(line, "%*s %*d %lf %lf", &t.median, &t.lowest) != 2) {
        fputs("bench: the other side has ended early\n", stderr);
        peer_close(p);
    }
    return t;
}

void timing_improve(timing *t, timing other) {
    t->median = fmin(t->median, other.median); /* NAN gives way */
    t->lowest = fmin(t->lowest, other.lowest);
}

bool timing_disturbed(timing one, timing two) {
    return two.median > 1.3 * one.median;
}

static double seconds_of_calls(void (*call)(void *context), void *context, long calls) {
    const double start = seconds_now();
    for (long i = 0; i < calls; i++)
        call(context);
    return (seconds_now() - start) / (double)calls;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

timing timing_of(void (*call)(void *context), void *context) {
    double sample[MOST_SAMPLES] = {0.0};
    size_t samples = 0;
    long calls = 1;
    double start = seconds_now();
    /* Threads that have slept may begin on one core, and it takes a while until they part. */
    while (seconds_now() - start < WARM_SECONDS)
        call(context);
    while (seconds_of_calls(call, context, calls) * (double)calls < SAMPLE_SECONDS)
        calls *= 2;
    start = seconds_now();
    while (samples < MOST_SAMPLES &&
           (samples < FEWEST_SAMPLES || seconds_now() - start < TURN_SECONDS))
        sample[samples++] = seconds_of_calls(call, context, calls);
    qsort(sample, samples, sizeof *sample, by_value);
    return (timing){sample[samples / 2], sample[0]};
}

void print_load(const char *when) {
    double load = NAN;
    FILE *file = fopen("/proc/loadavg", "r");
    if (file && fscanf(file, "%lf", &load) == 1)
        printf("load average %s: %.2f on %ld cores\n", when, load, sysconf(_SC_NPROCESSORS_ONLN));
    if (file)
        fclose(file);
}
