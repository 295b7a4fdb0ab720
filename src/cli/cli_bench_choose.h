/* The runs of a suite with a command: a method chooses rows, and a network that is trained on them
 * is tested. `coreset`: once, of all rows. `continual`: for the memory of tasks that come one after
 * the other. Settings are chosen by rows that are held out; the test rows have no part in it. */
#ifndef CLI_BENCH_CHOOSE_H
#define CLI_BENCH_CHOOSE_H

#include "bench/bench.h"

extern const bench_chooser cli_bench_chooser;

#endif
