/* Fails every call in turn, in every subcommand and in every solver.
 *
 *     bilevel_faults --all [WORDS]        all calls, of the cases with these words; one process
 *                                         for each processor shares in them
 *     bilevel_faults --places [WORDS]     of all these calls a few from every place of the program
 *     bilevel_faults --list               the cases with their numbers of calls
 *     bilevel_faults --sample SECONDS     some of them, spread over all cases
 *     bilevel_faults --one alloc:17 'runs rm 2'                 one again, with its messages
 *     BILEVEL_FAULT=alloc:17 bilevel_faults solve parabola      one, as the command
 *
 * Each run is a process of its own in a folder of its own. However it fails: the exit code is a
 * documented one, a message says why, no output is there in part, nothing is left beside the
 * outputs, and the store is whole with all that was in it before. A run that ends with exit code 0
 * has written and printed what it does without a fault. Leaks are told by the sanitizer where it is
 * there. */
#include "coverage_counts.h"
#include "fault_calls.h"
#include "fault_cases.h"
#include "fault_files.h"
#include "fault_places.h"

#include "bilevel/run.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int __real_main(int count, char **arguments);
int __wrap_main(int count, char **arguments);
const char *__asan_default_options(void);

enum { RUN_SECONDS = 60, CODE_OF_SANITIZER = 99, MANY_FAILURES = 200 };

/* What the driver itself has freed is not to be held back for long: every run is a copy of it. */
__attribute__((visibility("default"), used)) const char *__asan_default_options(void) {
    return "exitcode=99:quarantine_size_mb=4";
}

/* ---- Files ---- */

static char root[64];        /* holds `template`, copied to `case` for each run */
static char case_folder[80]; /* the latter */

static void clean_up(void) {
    for_each_entry(root, remove_entry);
    rmdir(root);
}

static void copy_entry(const char *folder, const char *name) {
    char from[PATH_ROOM], to[PATH_ROOM];
    join(from, folder, "", name);
    join(to, case_folder, "", name);
    copy_file(from, to);
}

static void reset_case(void) {
    char template[128];
    snprintf(template, sizeof template, "%s/template", root);
    for_each_entry(case_folder, remove_entry);
    for_each_entry(template, copy_entry);
}

/* ---- One run ---- */

static fault_counts *shared;
static fault_places *places; /* NULL: all calls */
static bool choosing;        /* in the runs that begin now */

static void use_stand_in(void) {
    char path[PATH_ROOM];
    const char *usual = getenv("PATH");
    snprintf(path, sizeof path, "%s/bin:%s", root, usual ? usual : "/usr/bin:/bin");
    setenv("PATH", path, 1);
}

static void become_command(const char *folder, const fault_case *c, fault_kind kind, long at) {
    char buffer[1024], bare[] = "bilevel", *words[WORDS] = {bare};
    int count = 1 + split(c->arguments, buffer, sizeof buffer, words + 1);
    if (!c->real_gnuplot)
        use_stand_in();
    if (chdir(folder) != 0 || !freopen("../out", "w", stdout) || !freopen("../err", "w", stderr))
        _exit(3);
    alarm(RUN_SECONDS);
    fault_plan(shared, kind, at);
    fault_plan_choice(choosing ? places : NULL);
    exit(__real_main(count, words));
}

/* The wait status. */
static int run(const char *folder, const fault_case *c, fault_kind kind, long at) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0)
        become_command(folder, c, kind, at);
    int status = 0;
    if (waitpid(child, &status, 0) != child)
        die("waitpid");
    return status;
}

/* ---- Verdicts ---- */

typedef enum verdict { CRASHES, SANITIZER, CODES, OUTPUTS, ANSWERS, STORES, VERDICTS } verdict;

static const char *const verdict_words[VERDICTS] = {
    [CRASHES] = "crashes or hangs",
    [SANITIZER] = "leaks or other findings of the sanitizer",
    [CODES] = "wrong exit codes or no message",
    [OUTPUTS] = "outputs in part, lost or left behind",
    [ANSWERS] = "lost answers",
    [STORES] = "damaged stores",
};

/* Of one of the processes that share in the work; seen by all. */
typedef struct totals {
    long injected[FAULT_KINDS], survived, cases; /* survived: went on to exit code 0 */
    long failures[VERDICTS];
} totals;

static totals *sum;

static long count_failures(const totals *t) {
    long n = 0;
    for (verdict v = CRASHES; v < VERDICTS; v++)
        n += t->failures[v];
    return n;
}

typedef struct trial {
    const fault_case *what;
    fault_kind kind;
    long at;
    int code;
} trial;

static void show_messages(void) {
    char path[128], line[400];
    snprintf(path, sizeof path, "%s/err", root);
    FILE *file = fopen(path, "r");
    for (int i = 0; file && i < 30 && fgets(line, sizeof line, file); i++)
        printf("    %s", line);
    if (file)
        fclose(file);
}

static void complain(const trial *t, verdict v, const char *what) {
    sum->failures[v]++;
    printf("FAILED: BILEVEL_FAULT=%s:%ld (%s) bilevel %s: exit code %d: %s\n", fault_words[t->kind],
           t->at, shared->call, t->what->arguments, t->code, what);
    show_messages();
    if (count_failures(sum) >= MANY_FAILURES) {
        printf("too many failures\n");
        clean_up();
        exit(1);
    }
}

static const trial *looking; /* of the run whose folder is looked through */

/* A path in the folder of the case, seen from there. */
static const char *within_case(const char *path) {
    return path + strlen(case_folder) + 1;
}

/* Where an output is kept as it is without a fault. */
static void path_of_whole(char path[PATH_ROOM], const char *output) {
    join(path, root, "whole", output);
    for (char *c = path + strlen(path) - strlen(output); *c; c++)
        if (*c == '/')
            *c = '%';
}

enum { FILE_ROOM = 1 << 20 };
static char *file_a, *file_b; /* room for what is compared, where no sanitizer looks for pointers */

static bool same_bytes(const char *one, const char *other) {
    size_t n = read_file(one, file_a, FILE_ROOM);
    return read_file(other, file_b, FILE_ROOM) == n && memcmp(file_a, file_b, n) == 0;
}

static bool is_folder_of_output(const char *name, const char *outputs) {
    char start[PATH_ROOM];
    snprintf(start, sizeof start, "%s/", name);
    return strstr(outputs, start) != NULL;
}

/* As many lines, or where there are none, bytes; times in between may differ. */
static bool same_shape(const char *one, const char *other) {
    const char *const paths[] = {one, other};
    size_t size[2], lines[2] = {0};
    bool binary = strstr(one, ".npz") != NULL;
    for (int i = 0; i < 2; i++) {
        size[i] = read_file(paths[i], file_a, FILE_ROOM);
        for (size_t k = 0; k < size[i]; k++)
            lines[i] += file_a[k] == '\n';
    }
    return binary ? size[0] == size[1] : size[0] > 0 && lines[0] == lines[1];
}

static void compare_output(const char *path, const char *name) {
    char whole[PATH_ROOM], what[400];
    path_of_whole(whole, name);
    bool exact = looking->what->same >= SAME_OUTPUTS;
    if (exact ? same_bytes(path, whole) : same_shape(path, whole))
        return;
    snprintf(what, sizeof what, "writes %s in part", name);
    complain(looking, OUTPUTS, what);
}

/* Whatever was not there before is a whole output. */
static void look_at_entry(const char *folder, const char *entry) {
    char path[PATH_ROOM], before[PATH_ROOM], what[400];
    struct stat about;
    join(path, folder, "", entry);
    const char *name = within_case(path);
    join(before, root, "template", name);
    if (stat(before, &about) == 0 || strncmp(name, ".runs.db-", 9) == 0)
        return; /* the store's own files are read along with it */
    bool is_folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    if (is_folder && is_folder_of_output(name, looking->what->outputs)) {
        for_each_entry(path, look_at_entry);
    } else if (!is_word_of(name, looking->what->outputs)) {
        snprintf(what, sizeof what, "leaves %.300s behind", name);
        complain(looking, OUTPUTS, what);
    } else if (!strstr(name, ".jsonl")) {
        compare_output(path, name);
    }
}

/* Several outputs are there together or not at all; a trace is written as the run goes. */
static void look_at_outputs(const trial *t) {
    char buffer[1024], *words[WORDS], path[PATH_ROOM];
    int expected = 0, found = 0, count = split(t->what->outputs, buffer, sizeof buffer, words);
    for (int i = 0; i < count; i++) {
        struct stat about;
        if (strstr(words[i], ".jsonl"))
            continue;
        join(path, case_folder, "", words[i]);
        expected++;
        found += stat(path, &about) == 0;
    }
    if (t->code == 0 ? found != expected : found > 0 && found < expected)
        complain(t, OUTPUTS, "some outputs are there, others are not");
}

static char kept_runs[1 << 16]; /* the digest before */

/* Byte for byte, with nothing waiting to be taken over. */
static bool is_untouched(const char *store) {
    char before[PATH_ROOM], waiting[PATH_ROOM];
    join(before, root, "template", ".runs.db");
    snprintf(waiting, sizeof waiting, "%s-wal", store);
    return access(waiting, F_OK) != 0 && same_bytes(store, before);
}

static void look_at_store(const trial *t) {
    static char runs[sizeof kept_runs];
    char path[128], integrity[100];
    snprintf(path, sizeof path, "%s/.runs.db", case_folder);
    if (is_untouched(path))
        return;
    read_digest(path, integrity, runs, sizeof runs);
    if (strcmp(integrity, "ok") != 0)
        complain(t, STORES, "the store is damaged");
    else if (!t->what->changes_runs && strcmp(runs, kept_runs) != 0)
        complain(t, STORES, "runs of the store were changed");
}

/* Where the command takes no notice of a fault, what it prints is what it prints without one. */
static void look_at_answer(const trial *t) {
    char out[PATH_ROOM], expected[PATH_ROOM];
    join(out, root, "", "out");
    join(expected, root, "", "expected");
    if (t->code == 0 && t->what->same == SAME_ALL && !same_bytes(out, expected))
        complain(t, ANSWERS, "exit code 0, but another answer");
}

static bool said_something(void) {
    char path[128];
    struct stat about;
    snprintf(path, sizeof path, "%s/err", root);
    return stat(path, &about) == 0 && about.st_size > 0;
}

static void judge(trial *t, int status) {
    t->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (WIFSIGNALED(status))
        complain(t, CRASHES, "ended by a signal");
    else if (t->code == CODE_OF_SANITIZER)
        complain(t, SANITIZER, "the sanitizer complains");
    else if (t->code > 2)
        complain(t, CODES, "not a documented code");
    else if (t->code != 0 && !said_something())
        complain(t, CODES, "no message");
    looking = t;
    if (t->kind != FAULT_JSON) { /* jansson goes on without some of what it had no memory for */
        for_each_entry(case_folder, look_at_entry);
        look_at_outputs(t);
        look_at_answer(t);
    }
    look_at_store(t);
}

/* ---- All of them ---- */

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void keep_whole(const char *folder, const char *entry) {
    char from[PATH_ROOM], to[PATH_ROOM];
    struct stat about;
    join(from, folder, "", entry);
    path_of_whole(to, within_case(from));
    if (stat(from, &about) == 0 && S_ISDIR(about.st_mode))
        for_each_entry(from, keep_whole);
    else
        copy_file(from, to);
}

/* Without a fault: it must work; its files are what a whole output is. */
static void count_calls(const fault_case *c, long calls[FAULT_KINDS]) {
    reset_case();
    choosing = true;
    int status = run(case_folder, c, FAULT_NONE, 0);
    choosing = false;
    trial t = {c, FAULT_NONE, 0, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
    if (t.code != 0)
        complain(&t, CODES, "fails without a fault");
    for_each_entry(case_folder, keep_whole);
    char out[PATH_ROOM], expected[PATH_ROOM];
    join(out, root, "", "out");
    join(expected, root, "", "expected");
    copy_file(out, expected);
    memcpy(calls, shared->calls, sizeof shared->calls);
}

/* Whether there is such a call. */
static bool fail_call(const fault_case *c, fault_kind kind, long at) {
    trial t = {c, kind, at, 0};
    reset_case();
    int status = run(case_folder, c, kind, at);
    if (shared->fired == 0)
        return false;
    judge(&t, status);
    sum->injected[kind]++;
    sum->survived += t.code == 0;
    return true;
}

/* Calls 1, 1 + stride, ... until none fails, or the time is up. */
static void fail_calls(const fault_case *c, fault_kind kind, long first, long stride,
                       double deadline) {
    for (long at = first; seconds_now() < deadline && fail_call(c, kind, at);)
        at += stride;
}

static void fail_chosen_calls(const fault_case *c, fault_kind kind, long first, long stride) {
    for (long i = first; i < places->count[kind]; i += stride)
        fail_call(c, kind, places->chosen[kind][i]);
}

/* Of 24 rows, by a model that does not know. */
static void put_probabilities(void) {
    FILE *file = open_for_writing(root, "template", "answers.csv");
    for (int i = 0; i < 24; i++)
        fprintf(file, "0.%d,0.%d\n", 4 + i % 3, 6 - i % 3);
    fclose(file);
}

static void put_rows(void) {
    FILE *file = open_for_writing(root, "template", "rows.csv");
    for (int i = 0; i < 40; i++)
        fprintf(file, "%d,%d,%s\n", i * 7 % 11, i * 5 % 13, i * 7 % 11 > 4 ? "yes" : "no");
    fclose(file);
}

/* Rows of images: their bytes, and labels in a file beside them or in front. */
static void put_images(void) {
    enum { ROWS = 10, SIDE = 2, RECORD = 3073, RECORDS = 2 };
    const unsigned char header[16] = {0, 0, 8, 3, 0, 0, 0, ROWS, 0, 0, 0, SIDE, 0, 0, 0, SIDE};
    const unsigned char labels[8] = {0, 0, 8, 1, 0, 0, 0, ROWS};
    FILE *rows = open_for_writing(root, "template", "images-idx3-ubyte");
    FILE *beside = open_for_writing(root, "template", "images-idx1-ubyte");
    FILE *records = open_for_writing(root, "template", "cifar.bin");
    fwrite(header, 1, sizeof header, rows);
    fwrite(labels, 1, sizeof labels, beside);
    for (int i = 0; i < ROWS * SIDE * SIDE; i++)
        fputc(i * i % 256, rows);
    for (int i = 0; i < ROWS; i++)
        fputc(i % 2, beside);
    for (int i = 0; i < RECORDS * RECORD; i++)
        fputc(i % RECORD == 0 ? i / RECORD : i % 256, records);
    fclose(rows);
    fclose(beside);
    fclose(records);
}

static void make_root(void) {
    static const char *const folders[] = {"template", "case", "whole", "bin"};
    char path[PATH_ROOM];
    snprintf(root, sizeof root, "/dev/shm/bilevel-faults-XXXXXX"); /* no disk to wait for */
    if (!mkdtemp(root)) {
        snprintf(root, sizeof root, "/tmp/bilevel-faults-XXXXXX");
        if (!mkdtemp(root))
            die(root);
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        join(path, root, "", folders[i]);
        mkdir(path, 0777);
    }
    snprintf(case_folder, sizeof case_folder, "%s/case", root);
}

static void run_preparations(void) {
    char path[PATH_ROOM];
    join(path, root, "", "template");
    for (const char *const *line = fault_preparations; *line; line++) {
        int status = run(path, &(fault_case){.arguments = *line}, FAULT_NONE, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            printf("bilevel %s:\n", *line);
            show_messages();
            exit(3);
        }
    }
}

static void prepare(void) {
    char path[PATH_ROOM], integrity[100];
    coverage_share();
    make_root();
    setenv("BILEVEL_STORE", ".runs.db", 1);
    unsetenv("BILEVEL_FAULT");
    put_rows();
    put_images();
    put_probabilities();
    put_text(root, "template", "suite.json", fault_suite);
    put_text(root, "template", "data.json", fault_suite_of_data);
    put_text(root, "template", "few.json", fault_suite_of_rows);
    put_text(root, "template", "groups.txt", fault_groups);
    put_text(root, "template", "mixed.csv", fault_mixed);
    put_text(root, "template", "rows.arff", fault_arff);
    FILE *packed = open_for_writing(root, "template", "rows.zst");
    fwrite(fault_zstd, 1, fault_zstd_size, packed);
    fclose(packed);
    put_text(root, "bin", "gnuplot", fault_gnuplot);
    run_preparations();
    join(path, root, "template", ".runs.db");
    read_digest(path, integrity, kept_runs, sizeof kept_runs);
    if (strcmp(integrity, "ok") != 0 || !kept_runs[0])
        die("the store that was made");
}

/* One fault again, with its messages. */
static int repeat(const char *fault, const char *arguments) {
    fault_kind kind = FAULT_MEMORY;
    if (strncmp(fault, "alloc:", 6) != 0)
        kind = strncmp(fault, "file:", 5) == 0 ? FAULT_FILE : FAULT_JSON;
    long at = strtol(strchr(fault, ':') ? strchr(fault, ':') + 1 : "1", NULL, 10);
    prepare();
    reset_case();
    int status = run(case_folder, &(fault_case){.arguments = arguments}, kind, at);
    printf("exit code %d, %s\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
           shared->fired ? shared->call : "no fault");
    show_messages();
    clean_up();
    return 0;
}

/* What is tried, and by whom. */
typedef struct task {
    fault_case cases[FAULT_CASES_MAX + FAULT_SOLVERS_MAX];
    size_t count, solvers;
    double seconds;   /* 0: all calls */
    const char *only; /* words of the cases, or NULL */
    bool places;      /* some calls of each place */
    long workers;     /* each takes every workers-th call */
} task;

static bool gnuplot_is_there(void) {
    return system("command -v gnuplot >/dev/null 2>&1") == 0;
}

static void list_cases(task *t) {
    for (const fault_case *c = fault_cases; c->arguments; c++) {
        if (!c->real_gnuplot || gnuplot_is_there())
            t->cases[t->count++] = *c;
        else
            printf("%s: left out, gnuplot is not there\n", c->arguments);
    }
    t->solvers = fault_solver_cases(t->cases + t->count);
    t->count += t->solvers;
}

static void try_all_calls(const fault_case *c, const task *t, long rank) {
    long calls[FAULT_KINDS];
    double start = seconds_now();
    if (places)
        memset(places->count, 0, sizeof places->count);
    count_calls(c, calls);
    const fault_kind end = places ? FAULT_KINDS : FAULT_JSON;
    for (fault_kind kind = FAULT_MEMORY; kind < end; kind++)
        if (places)
            fail_chosen_calls(c, kind, rank, t->workers);
        else
            fail_calls(c, kind, 1 + rank, t->workers, INFINITY);
    if (rank == 0)
        printf("%s: %ld calls for memory, %ld on files, %.0f s\n", c->arguments,
               calls[FAULT_MEMORY], calls[FAULT_FILE], seconds_now() - start);
}

static void try_some_calls(const fault_case *c, double seconds) {
    long calls[FAULT_KINDS];
    double start = seconds_now();
    count_calls(c, calls);
    for (fault_kind kind = FAULT_MEMORY; kind < FAULT_JSON; kind++) {
        long n = calls[kind] > 0 ? calls[kind] : 1;
        fail_calls(c, kind, 1 + (long)strlen(c->arguments) * 7 % n, 1 + n / 12,
                   start + seconds * (double)kind / (FAULT_JSON - 1));
    }
}

/* With a time, in an order that mixes the cases, so that few are a sample too. */
static void work(const task *t, long rank) {
    double start = seconds_now();
    size_t step = t->count % 17 != 0 ? 17 : 19; /* primes */
    prepare();
    for (size_t i = 0; i < t->count; i++) {
        const fault_case *c = &t->cases[t->seconds > 0 ? i * step % t->count : i];
        double left = start + t->seconds - seconds_now();
        if (t->seconds > 0 && left <= 0)
            break;
        if (t->only && !strstr(c->arguments, t->only))
            continue;
        if (t->seconds > 0)
            try_some_calls(c, left / (double)(t->count - i));
        else
            try_all_calls(c, t, rank);
        sum->cases += rank == 0;
    }
    clean_up();
}

static void *shared_room(size_t size) {
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        die("mmap");
    return room;
}

/* Whether all of them came to their end. */
static bool work_together(const task *t, totals *sums) {
    bool ended = true;
    fflush(NULL);
    for (long rank = 0; rank < t->workers; rank++) {
        pid_t child = fork();
        if (child < 0)
            die("fork");
        if (child == 0) {
            shared = shared_room(sizeof *shared);
            file_a = shared_room(FILE_ROOM);
            file_b = shared_room(FILE_ROOM);
            sum = &sums[rank];
            places = t->places ? shared_room(sizeof *places) : NULL;
            work(t, rank);
            coverage_write();
            _exit(0);
        }
    }
    for (long rank = 0; rank < t->workers; rank++) {
        int status = 0;
        ended &= wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return ended;
}

static void add_up(totals *whole, const totals *sums, long workers) {
    for (long rank = 0; rank < workers; rank++) {
        const totals *part = &sums[rank];
        for (fault_kind kind = FAULT_NONE; kind < FAULT_KINDS; kind++)
            whole->injected[kind] += part->injected[kind];
        for (verdict v = CRASHES; v < VERDICTS; v++)
            whole->failures[v] += part->failures[v];
        whole->survived += part->survived;
        whole->cases += part->cases;
    }
}

static double seconds_of(const struct timeval *time) {
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

static void tell(const task *t, const totals *whole, double seconds) {
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    if (t->places)
        printf("%ld faults of memory for JSON, ", whole->injected[FAULT_JSON]);
    printf("%ld faults of memory and %ld of files in %ld cases of %zu (%d subcommands, %zu "
           "solvers), %ld of which did not matter:\n",
           whole->injected[FAULT_MEMORY], whole->injected[FAULT_FILE], whole->cases, t->count,
           fault_subcommand_count(), t->solvers, whole->survived);
    for (verdict v = CRASHES; v < VERDICTS; v++)
        printf("%s%ld %s", v ? ", " : "  ", whole->failures[v], verdict_words[v]);
    printf("; %.0f s, %.0f s of processors\n", seconds,
           seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime));
}

static int drive(double seconds, bool some_of_each_place, const char *only) {
    static task t;
    totals whole = {0};
    double start = seconds_now();
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    t.seconds = seconds;
    t.places = some_of_each_place;
    t.only = only;
    t.workers = seconds > 0 || processors < 1 ? 1 : processors;
    totals *sums = shared_room((size_t)t.workers * sizeof *sums);
    list_cases(&t);
    bool ended = work_together(&t, sums);
    add_up(&whole, sums, t.workers);
    tell(&t, &whole, seconds_now() - start);
    if (!ended)
        printf("not all of them were tried\n");
    return !ended || count_failures(&whole) > 0;
}

static int print_list(void) {
    static task t;
    list_cases(&t);
    prepare();
    for (size_t i = 0; i < t.count; i++) {
        long calls[FAULT_KINDS];
        double start = seconds_now();
        count_calls(&t.cases[i], calls);
        printf("%6ld for memory, %4ld on files, %6.1f ms: %s\n", calls[FAULT_MEMORY],
               calls[FAULT_FILE], 1e3 * (seconds_now() - start), t.cases[i].arguments);
    }
    clean_up();
    return count_failures(sum) > 0;
}

int __wrap_main(int count, char **arguments) {
    shared = shared_room(sizeof *shared);
    sum = shared_room(sizeof *sum);
    file_a = shared_room(FILE_ROOM);
    file_b = shared_room(FILE_ROOM);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count >= 2 && strcmp(arguments[1], "--all") == 0)
        return drive(0, false, count > 2 ? arguments[2] : NULL);
    if (count >= 2 && strcmp(arguments[1], "--places") == 0)
        return drive(0, true, count > 2 ? arguments[2] : NULL);
    if (count == 2 && strcmp(arguments[1], "--list") == 0)
        return print_list();
    if (count == 4 && strcmp(arguments[1], "--one") == 0)
        return repeat(arguments[2], arguments[3]);
    if (count == 3 && strcmp(arguments[1], "--sample") == 0)
        return drive(strtod(arguments[2], NULL), false, NULL);
    fault_plan_from_environment();
    return __real_main(count, arguments);
}
