#include "fault_cases.h"

#include "bilevel/registry.h"
#include "bilevel/run.h"

#include <stdio.h>
#include <string.h>

const char *const fault_preparations[] = {
    "data split rows.csv train.csv val.csv --sizes 24,12 --seed 1",
    "data convert rows.csv rows.npz",
    "solve quadratic --problem-set dx=2 --problem-set dy=2 --solver s-tfbo,soba --iters 3 --every "
    "1 --quiet",
    "solve l2reg --problem-set train=rows.csv --iters 2 --every 1 --quiet --out start.npz",
    "tune train.csv --val val.csv -o model.npz --iters 2 --quiet",
    "solve quadratic --problem-set dx=2 --problem-set dy=2 --solver soba --iters 3 --checkpoint "
    "0.000001 --quiet",
    "tune mixed.csv --weight w --label class --val-share 0.5 -o mixed.npz --penalty one --quiet "
    "--no-store",
    "data convert train.csv train.svm",
    "data convert val.csv val.svm",
    "data corrupt train.csv noisy.csv --share 0.2 --truth truth.csv",
    "clean noisy.csv --val val.csv --truth truth.csv --test val.csv --folds 2 --iters 1 --ridge "
    "0.01 --model linear --threads 1 --quiet",
    "tune train.csv --val-share 0.4 --real --label 0 -o real.npz --iters 1 --no-store --quiet "
    "--penalty one",
    "tune mixed.csv --label class -o folds.npz --every 1 --quiet",
    NULL};

const char fault_suite[] =
    "{\"name\": \"small\", \"title\": \"A small suite\",\n"
    " \"reproduces\": {\"paper\": \"none\", \"figure\": \"none\", \"claim\": \"none\"},\n"
    " \"problem\": \"quadratic\", \"problem_set\": {\"dx\": 2, \"dy\": 2, \"terms\": 4},\n"
    " \"start\": \"random\", \"limit\": {\"iterations\": 2}, \"seeds\": 1, \"points\": 1,\n"
    " \"reference\": {\"iterations\": 2}, \"metric\": \"phi\",\n"
    " \"tuning\": {\"iterations\": 1, \"choose\": \"f\"},\n"
    " \"solvers\": [{\"solver\": \"s-tfbo\", \"untuned\": true},\n"
    "  {\"solver\": \"soba\", \"grid\": {\"step_x\": [0.01, 0.1]}}],\n"
    " \"claims\": [{\"text\": \"s-tfbo ends first\", \"who\": [\"s-tfbo\"], \"of\": [\"*\"], "
    "\"by\": \"end\"}]}\n";

const char fault_suite_of_data[] =
    "{\"name\": \"data\", \"title\": \"With data\",\n"
    " \"reproduces\": {\"paper\": \"one; two\", \"figure\": \"none\", \"claim\": \"none\"},\n"
    " \"problem\": \"l2reg\", \"data\": {\"train\": \"rows.csv\"}, \"data_folders\": [\".\"],\n"
    " \"variants\": [{\"name\": \"half\", \"problem_set\": {\"val_size\": 0.5}},\n"
    "  {\"name\": \"less\", \"problem_set\": {\"val_size\": 0.3}}],\n"
    " \"run_set\": {\"batch\": \"full\"}, \"limit\": {\"iterations\": 1}, \"seeds\": 1,\n"
    " \"points\": 1, \"certify\": \"end\", \"metric\": \"f\", \"show\": [\"grad_norm\"],\n"
    " \"tuning\": {\"calls\": 200, \"choose\": \"f\", \"most\": 3},\n"
    " \"solvers\": [{\"solver\": \"s-tfbo\", \"untuned\": true, \"tuned\": [\"beta0\"]},\n"
    "  {\"solver\": \"aid-cg\", \"published\": {\"step_x\": 0.01},\n"
    "   \"sweep\": {\"keys\": [\"step_x\"], \"values\": [0.001, 0.0001]}}],\n"
    " \"claims\": [{\"text\": \"it changes little\", \"who\": [\"aid-cg\"], \"by\": \"change\",\n"
    "   \"bounds\": {\"half\": 1000}, \"paper\": \"one\"},\n"
    "  {\"text\": \"nobody\", \"who\": [\"vrbo\"], \"of\": [\"*\"], \"by\": \"calls\", \"paper\": "
    "\"two\"},\n"
    "  {\"text\": \"less spread\", \"who\": [\"s-tfbo\"], \"of\": [\"aid-cg\"], \"by\": "
    "\"spread\",\n"
    "   \"paper\": \"one\"}]}\n";

const char fault_suite_of_rows[] =
    "{\"name\": \"few\", \"title\": \"Few rows\",\n"
    " \"reproduces\": {\"paper\": \"none\", \"figure\": \"none\", \"claim\": \"none\"},\n"
    " \"command\": \"coreset\", \"problem_set\": {\"size\": 3, \"steps\": 1, \"net\": "
    "\"mlp:in-2-out\"},\n"
    " \"data\": {\"train\": \"train.csv\", \"test\": \"val.csv\"}, \"precision\": \"f32\",\n"
    " \"run_set\": {\"candidates\": 10, \"iters\": 1}, \"seeds\": 1, \"metric\": "
    "\"test_accuracy\",\n"
    " \"show\": [\"weighted_accuracy\"], \"tuning\": {\"choose\": \"val_accuracy\"},\n"
    " \"solvers\": [{\"solver\": \"bcsr\", \"untuned\": true, \"grid\": {\"initial\": [1, 20]}},\n"
    "  {\"solver\": \"uniform\", \"untuned\": true}],\n"
    " \"claims\": [{\"text\": \"bcsr first\", \"who\": [\"bcsr\"], \"of\": [\"uniform\"], \"by\": "
    "\"end\"}]}\n";

const char fault_groups[] = "0\n1\n";

const char fault_mixed[] = "when,income,city,member,class,w\n"
                           "2024-01-01,8,Rome,no,v,1\n"
                           "2024-01-02,11,Bern,yes,u,2\n"
                           "2024-01-03,,Rome,yes,v,1\n"
                           "2024-01-04,95,?,no,u,2\n"
                           "2024-01-05,86,Bern,yes,v,1\n"
                           "2024-01-06,33,Rome,yes,u,2\n"
                           "2024-01-07,78,Rome,no,v,1\n"
                           "2024-01-08,,Rome,yes,u,2\n"
                           "2024-01-09,56,Bern,yes,v,1\n"
                           "2024-01-10,93,Bern,no,u,2\n"
                           "2024-01-11,70,?,yes,v,1\n"
                           "2024-01-12,57,Bern,yes,u,2\n"
                           "2024-01-13,,Rome,no,v,1\n"
                           "2024-01-14,4,Bern,yes,u,2\n"
                           "2024-01-15,60,Bern,yes,v,1\n"
                           "2024-01-16,49,Bern,no,u,2\n";

const char fault_arff[] = "@relation r\n"
                          "@attribute a numeric\n"
                          "@attribute 'b c' {x, 'y z'}\n"
                          "@attribute class {u, v}\n"
                          "@data\n"
                          "1.5,x,u\n"
                          "?,'y z',v\n"
                          "{0 2, 1 'y z'}\n"
                          "4,x,v\n";

/* Four rows of libsvm, packed by zstd. */
const unsigned char fault_zstd[] = {0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x21, 0x01, 0x00, 0x31,
                                    0x20, 0x31, 0x3a, 0x30, 0x2e, 0x35, 0x20, 0x32, 0x3a, 0x31,
                                    0x0a, 0x32, 0x20, 0x31, 0x3a, 0x31, 0x2e, 0x35, 0x0a, 0x31,
                                    0x20, 0x32, 0x3a, 0x32, 0x0a, 0x32, 0x20, 0x31, 0x3a, 0x33,
                                    0x20, 0x32, 0x3a, 0x31, 0x0a, 0x56, 0xd6, 0x9d, 0xe5};
const size_t fault_zstd_size = sizeof fault_zstd;

/* It takes its script and gives an empty picture, which is also a text. */
const char fault_gnuplot[] =
    "#!/bin/sh\n"
    "cat >/dev/null\n"
    "echo '<?xml version=\"1.0\"?><svg viewBox=\"0 0 1 1\"><g id=\"gnuplot_canvas\"></g></svg>'\n";

#define SMALL_QUADRATIC "quadratic --problem-set dx=2 --problem-set dy=2"
#define STOCHASTIC                                                                                 \
    SMALL_QUADRATIC_OF_TERMS " --batch 2 --iters 2 --threads 1 --no-store --quiet --solver "
#define SMALL_QUADRATIC_OF_TERMS "solve " SMALL_QUADRATIC " --problem-set terms=8"
#define CLEAN "--folds 2 --iters 1 --ridge 0.01 --threads 1 --no-store --quiet"
#define BENCH_OUTPUTS                                                                              \
    "o/index.html o/points.csv o/points.json o/points.jsonl o/regret.csv o/stored.jsonl "          \
    "o/verdicts.md"
#define SMALL_NET "--net mlp:in-2-out --steps 2 --iters 2 --threads 1"

const fault_case fault_cases[] = {
    {"version", "", SAME_ALL, false, false},
    {"--help", "", SAME_ALL, false, false},
    {"manual", "", SAME_ALL, false, false},
    {"solvers", "", SAME_ALL, false, false},
    {"solvers s-tfbo --json", "", SAME_ALL, false, false},
    {"problems", "", SAME_ALL, false, false},
    {"problems " SMALL_QUADRATIC " --out o.npz", "o.npz", SAME_ALL, false, false},
    {"completion bash", "", SAME_ALL, false, false},
    {"completion zsh", "", SAME_ALL, false, false},
    {"check " SMALL_QUADRATIC, "", SAME_ALL, false, false},
    {"solve --help", "", SAME_ALL, false, false},
    {"solve " SMALL_QUADRATIC " --iters 2 --every 1 --threads 1 --out o.npz --trace o.jsonl --json "
     "--store .runs.db",
     "o.npz o.jsonl", SAME_NOTHING, false, false},
    {"solve " SMALL_QUADRATIC " --solver soba,exact --iters 2 --threads 1 --checkpoint 0.000001",
     "", SAME_NOTHING, false, false},
    {"solve l2reg --problem-set train=rows.csv --iters 2 --threads 1 --start start.npz --out o.npz",
     "o.npz", SAME_NOTHING, false, false},
    {"solve l2reg --problem-set train=rows.npz --iters 1 --threads 1 --no-store --quiet", "",
     SAME_NOTHING, false, false},
    {"solve l2reg --problem-set train=rows.csv --problem-set penalty=groups --problem-set "
     "groups=groups.txt --iters 1 --threads 1 --no-store --quiet",
     "", SAME_NOTHING, false, false},
    {"data info rows.csv --json", "", SAME_ALL, false, false},
    {"data stats rows.npz", "", SAME_ALL, false, false},
    {"data convert rows.csv o.npz --standardize", "o.npz", SAME_ALL, false, false},
    {"data convert rows.npz o.svm.gz --format libsvm", "o.svm.gz", SAME_ALL, false, false},
    {"data split rows.csv o1.csv o2.npz --sizes 0.5,0.5 --seed 2", "o1.csv o2.npz", SAME_ALL, false,
     false},
    {"data corrupt rows.csv o.csv --share 0.2 --truth t.csv", "o.csv t.csv", SAME_ALL, false,
     false},
    {"data info mixed.csv --json --weight w --missing impute", "", SAME_ALL, false, false},
    {"data convert mixed.csv o.csv --missing drop --columns city:drop,income:number --dense",
     "o.csv", SAME_ALL, false, false},
    {"data split mixed.csv o1.csv o2.csv --sizes 0.5,0.5", "o1.csv o2.csv", SAME_ALL, false, false},
    {"data info rows.arff", "", SAME_ALL, false, false},
    {"data stats rows.zst", "", SAME_ALL, false, false},
    {"tune mixed.csv --weight w --label class --penalty one -o o.npz --threads 1 --no-store "
     "--no-certificate",
     "o.npz", SAME_NOTHING, false, false},
    {"predict mixed.npz mixed.csv -o o.csv", "o.csv", SAME_ALL, false, false},
    {"tune train.csv --val val.csv -o o.npz --penalties p.csv --iters 1 --threads 1", "o.npz p.csv",
     SAME_NOTHING, false, false},
    {"tune train.csv --val val.csv --penalty groups:groups.txt -o o.npz --iters 1 --threads 1 "
     "--no-store",
     "o.npz", SAME_NOTHING, false, false},
    {"predict model.npz val.csv -o o.csv --all", "o.csv", SAME_ALL, false, false},
    {"coreset --help", "", SAME_ALL, false, false},
    {"coreset train.csv --size 3 " SMALL_NET " --compare -o o.csv --write-subset s.csv",
     "o.csv s.csv", SAME_OUTPUTS, false, false},
    {"continual train.csv --tasks 2 --memory 4 --methods uniform,d-tfbo --seeds 1 " SMALL_NET
     " -o o",
     "o/results.csv o/accuracies.csv", SAME_NOTHING, false, false},
    {"bench list --suites .", "", SAME_ALL, false, false},
    {"bench ./suite.json -o o --no-plots", BENCH_OUTPUTS, SAME_NOTHING, false, false},
    {"bench ./suite.json -o o --solvers s-tfbo --no-store --markdown", BENCH_OUTPUTS, SAME_NOTHING,
     false, false},
    {"runs", "", SAME_ALL, false, false},
    {"runs list --json", "", SAME_ALL, false, false},
    {"runs show 1 2", "", SAME_ALL, false, false},
    {"runs export 1 --out o", "o.csv o.json", SAME_ALL, false, false},
    {"runs rm 2", "", SAME_ALL, true, false},
    {"runs export 5 --out o --checkpoint c.npz", "o.csv o.json c.npz", SAME_ALL, false, false},
    {"resume 1", "", SAME_NOTHING, true, false},
    {"resume 5 --iters 5", "", SAME_NOTHING, false, false},
    {"plot 1 2 -o o.svg", "o.svg", SAME_ALL, false, false},
    {"plot 1 --term", "", SAME_ALL, false, true},
    {"report 1 2 --no-plots -o o.html", "o.html", SAME_ALL, false, false},
    {"report 1 -o o.html", "o.html", SAME_ALL, false, false},
    {"clean train.svm --val val.svm --sparse -o o.csv " CLEAN, "o.csv", SAME_OUTPUTS, false, false},
    {"clean noisy.csv --val val.csv --truth truth.csv --test val.csv --relabel --write-clean c.csv "
     "--false-alarms 0.2 --model linear -o o.csv " CLEAN,
     "o.csv c.csv", SAME_OUTPUTS, false, false},
    {"clean train.csv --val val.csv --model forest --threshold 0.5 -o o.csv " CLEAN, "o.csv",
     SAME_OUTPUTS, false, false},
    {"clean mixed.csv --weight w --label class --model linear -o o.csv " CLEAN, "o.csv",
     SAME_OUTPUTS, false, false},
    {"clean train.csv --val val.csv --probabilities answers.csv -o o.csv --folds 2 --no-store "
     "--quiet",
     "o.csv", SAME_OUTPUTS, false, false},
    {"clean train.csv --val val.csv --model mlp -o o.csv " CLEAN, "o.csv", SAME_OUTPUTS, false,
     false},
    {"predict real.npz train.csv --label 0 -o o.csv", "o.csv", SAME_ALL, false, false},
    {"tune train.csv --val val.csv --refit --test val.csv --penalty per-class -o o.npz --iters 1 "
     "--threads 1 --no-store --trace o.jsonl",
     "o.npz o.jsonl", SAME_NOTHING, false, false},
    {"tune train.csv --val-share 0.4 --real --label 0 -o o.npz --iters 1 --threads 1 --no-store "
     "--penalty one",
     "o.npz", SAME_NOTHING, false, false},
    {"tune train.svm --val val.svm --sparse --penalties p.csv -o o.npz --iters 1 --threads 1 "
     "--no-store",
     "o.npz p.csv", SAME_NOTHING, false, false},
    {"coreset train.csv --size 3 --method kmeans -o o.csv " SMALL_NET, "o.csv", SAME_OUTPUTS, false,
     false},
    {"coreset train.csv --size 3 --method greedy -o o.csv " SMALL_NET, "o.csv", SAME_OUTPUTS, false,
     false},
    {"coreset train.svm --size 3 --method facility-location -o o.csv " SMALL_NET, "o.csv",
     SAME_OUTPUTS, false, false},
    {"continual train.csv --tasks 2 --memory 4 --methods uniform,bcsr --seeds 2 --imbalanced "
     "--task-known --test val.csv " SMALL_NET " -o o",
     "o/results.csv o/accuracies.csv", SAME_NOTHING, false, false},
    {"continual train.csv --tasks 2 --memory 4 --methods bcsr --seeds 1 --sensitivity " SMALL_NET
     " -o o",
     "o/results.csv o/accuracies.csv", SAME_NOTHING, false, false},
    {"bench ./data.json -o o --no-plots --data . --no-store", BENCH_OUTPUTS, SAME_NOTHING, false,
     false},
    {"bench ./few.json -o o --no-plots --data .", BENCH_OUTPUTS, SAME_NOTHING, false, false},
    {"check synthetic-logistic --problem-set rows=9 --problem-set columns=2", "", SAME_ALL, false,
     false},
    {"check hyperclean --problem-set train=train.csv --problem-set corrupt=0.2 --problem-set "
     "scaling=standard --problem-set intercept=on --problem-set unit_rows=on --problem-set "
     "test_size=4",
     "", SAME_ALL, false, false},
    {"check hyperclean --problem-set train=train.svm --problem-set layout=sparse", "", SAME_ALL,
     false, false},
    {"check l2reg --problem-set layout=sparse --problem-set train=train.svm --problem-set "
     "loss=softmax --problem-set "
     "penalty=per-class",
     "", SAME_ALL, false, false},
    {"check hyperclean-nn --problem-set train=train.csv --problem-set net=mlp:in-2-out", "",
     SAME_ALL, false, false},
    {"check decay-nn --problem-set train=train.csv --problem-set net=mlp:in-2-out", "", SAME_ALL,
     false, false},
    {"check coreset --problem-set train=train.csv --problem-set net=mlp:in-2-out", "", SAME_ALL,
     false, false},
    {STOCHASTIC "soba", "", SAME_NOTHING, false, false},
    {STOCHASTIC "saba", "", SAME_NOTHING, false, false},
    {STOCHASTIC "stable", "", SAME_NOTHING, false, false},
    {STOCHASTIC "vrbo", "", SAME_NOTHING, false, false},
    {STOCHASTIC "f2sa", "", SAME_NOTHING, false, false},
    {STOCHASTIC "mgbio", "", SAME_NOTHING, false, false},
    {STOCHASTIC "fsla", "", SAME_NOTHING, false, false},
    {STOCHASTIC "sustain", "", SAME_NOTHING, false, false},
    {SMALL_QUADRATIC_OF_TERMS "00 --batch 2 --iters 8 --threads 1 --no-store --quiet --solver auto",
     "", SAME_NOTHING, false, false},
    {"check pl-shift", "", SAME_ALL, false, false},
    {"data info images-idx3-ubyte", "", SAME_ALL, false, false},
    {"data convert images-idx3-ubyte o.csv --unit", "o.csv", SAME_ALL, false, false},
    {"data info cifar.bin", "", SAME_ALL, false, false},
    {"runs show 6", "", SAME_ALL, false, false},
    {"report 6 --no-plots -o o.html", "o.html", SAME_ALL, false, false},
    {"report 6 7 -o o.html --title Tasks", "o.html", SAME_ALL, false, false},
    {"plot 7 -o o.svg", "o.svg", SAME_ALL, false, false},
    {"plot 1 2 7 -o o.svg", "o.svg", SAME_ALL, false, false},
    {"clean train.csv --val val.csv -o o.csv --write-clean c.csv --folds 2 --iters 1 --ridge 0.01 "
     "--image 2x1 --flag-share 0.2 --threads 1",
     "o.csv c.csv", SAME_OUTPUTS, false, false},
    {NULL, NULL, SAME_NOTHING, false, false}};

_Static_assert(sizeof fault_cases / sizeof fault_cases[0] <= FAULT_CASES_MAX, "too many cases");

static bool same_subcommand(const char *one, const char *other) {
    size_t length = strcspn(one, " ");
    return strcspn(other, " ") == length && strncmp(one, other, length) == 0;
}

int fault_subcommand_count(void) {
    int n = 0;
    for (const fault_case *c = fault_cases; c->arguments; c++) {
        bool counted = c->arguments[0] == '-';
        for (const fault_case *before = fault_cases; before < c; before++)
            counted |= same_subcommand(before->arguments, c->arguments);
        n += !counted;
    }
    return n;
}

size_t fault_solver_cases(fault_case cases[FAULT_SOLVERS_MAX]) {
    static char texts[FAULT_SOLVERS_MAX][200];
    size_t n = 0;
    for (const blv_solver *s; n < FAULT_SOLVERS_MAX && (s = blv_solver_at(NULL, n)); n++) {
        snprintf(texts[n], sizeof texts[n],
                 "solve " SMALL_QUADRATIC " --solver %s --iters 2 --threads 1 --no-store --quiet "
                 "--out o.npz",
                 s->name);
        cases[n] = (fault_case){texts[n], "o.npz", SAME_NOTHING, false, false};
    }
    return n;
}
