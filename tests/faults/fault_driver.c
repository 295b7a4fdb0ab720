/* Fails every call in turn, in every subcommand and in every solver.
 *
 *     bilevel_faults --all [WORDS]        all calls, of the cases with these words
 *     bilevel_faults --sample SECONDS     some of them, spread over all cases
 *     bilevel_faults --one alloc:17 'runs rm 2'                 one again, with its messages
 *     BILEVEL_FAULT=alloc:17 bilevel_faults solve parabola      one, as the command
 *
 * Each run is a process of its own in a folder of its own. However it fails: the exit code is a
 * documented one, a message says why, no output is there in part, nothing is left beside the
 * outputs, and the store is whole with all that was in it before. Leaks are told by the sanitizer
 * where it is there. */
#include "fault_calls.h"

#include "bilevel/run.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int __real_main(int count, char **arguments);
int __wrap_main(int count, char **arguments);
const char *__asan_default_options(void);

enum {
    WORDS = 24,
    SOLVERS_MAX = 100,
    RUN_SECONDS = 60,
    CODE_OF_SANITIZER = 99,
    MANY_FAILURES = 40
};

__attribute__((visibility("default"), used)) const char *__asan_default_options(void) {
    return "exitcode=99";
}

/* ---- Cases ---- */

typedef struct fault_case {
    const char *arguments; /* words of the command line */
    const char *outputs;   /* names of the files that it writes */
    bool changes_runs;     /* may take runs out of the store, or go on with them */
} fault_case;

/* What is there before each case. */
static const char *const preparations[] = {
    "data split rows.csv train.csv val.csv --sizes 24,12 --seed 1",
    "data convert rows.csv rows.npz",
    "solve quadratic --problem-set dx=2 --problem-set dy=2 --solver s-tfbo,soba --iters 3 --every "
    "1 "
    "--quiet",
    "solve l2reg --problem-set train=rows.csv --iters 2 --every 1 --quiet --out start.npz",
    "tune train.csv --val val.csv -o model.npz --iters 2 --quiet",
};

static const fault_case cases[] = {
    {"version", "", false},
    {"solvers", "", false},
    {"solvers s-tfbo --json", "", false},
    {"problems", "", false},
    {"problems quadratic --problem-set dx=2 --problem-set dy=2 --out o.npz", "o.npz", false},
    {"completion bash", "", false},
    {"check quadratic --problem-set dx=2 --problem-set dy=2", "", false},
    {"solve quadratic --problem-set dx=2 --problem-set dy=2 --iters 2 --every 1 --threads 1 "
     "--out o.npz --trace o.jsonl --json --store .runs.db",
     "o.npz o.jsonl", false},
    {"solve quadratic --problem-set dx=2 --problem-set dy=2 --solver soba,exact --iters 2 "
     "--threads 1 --checkpoint 0.000001",
     "", false},
    {"solve l2reg --problem-set train=rows.csv --iters 2 --threads 1 --start start.npz --out o.npz",
     "o.npz", false},
    {"solve l2reg --problem-set train=rows.npz --iters 1 --threads 1 --no-store --quiet", "",
     false},
    {"data info rows.csv --json", "", false},
    {"data stats rows.npz", "", false},
    {"data convert rows.csv o.npz --standardize", "o.npz", false},
    {"data convert rows.npz o.svm.gz --format libsvm", "o.svm.gz", false},
    {"data split rows.csv o1.csv o2.npz --sizes 0.5,0.5 --seed 2", "o1.csv o2.npz", false},
    {"data corrupt rows.csv o.csv --share 0.2 --truth t.csv", "o.csv t.csv", false},
    {"clean train.csv --val val.csv -o o.csv --write-clean c.csv --iters 2 --threads 1",
     "o.csv c.csv", false},
    {"tune train.csv --val val.csv -o o.npz --penalties p.csv --iters 2 --threads 1", "o.npz p.csv",
     false},
    {"predict model.npz val.csv -o o.csv --all", "o.csv", false},
    {"runs", "", false},
    {"runs list --json", "", false},
    {"runs show 1 2", "", false},
    {"runs export 1 --out o", "o.csv o.json", false},
    {"runs rm 2", "", true},
    {"resume 1", "", true},
    {"plot 1 2 -o o.svg", "o.svg", false},
    {"plot 1 --term", "", false},
    {"report 1 2 --no-plots -o o.html", "o.html", false},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* ---- Files ---- */

static char root[64];        /* holds `template`, copied to `case` for each run */
static char case_folder[80]; /* the latter */

static void die(const char *what) {
    perror(what);
    exit(3);
}

enum { PATH_ROOM = 4096 };

static void join(char path[PATH_ROOM], const char *folder, const char *within, const char *name) {
    int n = snprintf(path, PATH_ROOM, "%s/%s%s%s", folder, within, within[0] ? "/" : "", name);
    if (n < 0 || n >= PATH_ROOM)
        die(name);
}

static void copy_file(const char *from, const char *to) {
    static char bytes[1 << 16];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (in < 0 || out < 0)
        die(from);
    for (ssize_t n; (n = read(in, bytes, sizeof bytes)) > 0;)
        if (write(out, bytes, (size_t)n) != n)
            die(to);
    close(in);
    close(out);
}

static size_t read_file(const char *path, char *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(bytes, 1, room, file) : 0;
    if (file)
        fclose(file);
    return n;
}

typedef void entry_fn(const char *folder, const char *name);

static void for_each_entry(const char *folder, entry_fn *visit) {
    DIR *dir = opendir(folder);
    if (!dir)
        die(folder);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            visit(folder, e->d_name);
    closedir(dir);
}

static void remove_entry(const char *folder, const char *name) {
    char path[PATH_ROOM];
    join(path, folder, "", name);
    struct stat about;
    if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        for_each_entry(path, remove_entry);
        rmdir(path);
    } else {
        unlink(path);
    }
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

static int split(const char *text, char *buffer, size_t size, char **words) {
    int n = 0;
    snprintf(buffer, size, "%s", text);
    for (char *word = strtok(buffer, " "); word && n < WORDS - 1; word = strtok(NULL, " "))
        words[n++] = word;
    words[n] = NULL;
    return n;
}

static void become_command(const char *folder, const char *arguments, fault_kind kind, long at) {
    char buffer[1024], bare[] = "bilevel", *words[WORDS] = {bare};
    int count = 1 + split(arguments, buffer, sizeof buffer, words + 1);
    if (chdir(folder) != 0 || !freopen("../out", "w", stdout) || !freopen("../err", "w", stderr))
        _exit(3);
    alarm(RUN_SECONDS);
    fault_plan(shared, kind, at);
    exit(__real_main(count, words));
}

/* The wait status. */
static int run(const char *folder, const char *arguments, fault_kind kind, long at) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0)
        become_command(folder, arguments, kind, at);
    int status = 0;
    if (waitpid(child, &status, 0) != child)
        die("waitpid");
    return status;
}

/* ---- Verdicts ---- */

static long failures;

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

static void complain(const trial *t, const char *what) {
    failures++;
    printf("FAILED: BILEVEL_FAULT=%s:%ld (%s) bilevel %s: exit code %d: %s\n", fault_words[t->kind],
           t->at, shared->call, t->what->arguments, t->code, what);
    show_messages();
    if (failures >= MANY_FAILURES) {
        printf("too many failures\n");
        exit(1);
    }
}

static bool is_word_of(const char *word, const char *list) {
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static const trial *looking; /* of the run whose folder is looked through */

/* Whatever was not there before is a whole output. */
static void look_at_entry(const char *folder, const char *name) {
    char path[PATH_ROOM], what[400];
    struct stat about;
    join(path, root, "template", name);
    if (stat(path, &about) == 0 || strncmp(name, ".runs.db-", 9) == 0)
        return; /* the store's own files are read along with it */
    join(path, folder, "", name);
    bool output = is_word_of(name, looking->what->outputs);
    if (!output) {
        snprintf(what, sizeof what, "leaves %s behind", name);
        complain(looking, what);
    } else if (stat(path, &about) == 0 && S_ISREG(about.st_mode)) {
        char whole[PATH_ROOM];
        struct stat expected;
        join(whole, root, "whole", name);
        if (looking->code != 0 && strstr(name, ".jsonl") == NULL &&
            (stat(whole, &expected) != 0 || expected.st_size != about.st_size)) {
            snprintf(what, sizeof what, "writes %s in part", name);
            complain(looking, what);
        }
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
        complain(t, "some outputs are there, others are not");
}

static int64_t ask(sqlite3 *store, const char *sql, char *text, size_t size) {
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;
    text[0] = '\0';
    if (sqlite3_prepare_v2(store, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        number = sqlite3_column_int64(statement, 0);
        const unsigned char *found = sqlite3_column_text(statement, 0);
        snprintf(text, size, "%s", found ? (const char *)found : "");
    }
    sqlite3_finalize(statement);
    return number;
}

/* Of the runs that the preparations made. */
static const char *const digest =
    "select group_concat(id || kind || status || problem || started || ended || seconds || message)"
    " || (select sum(length(row)) from trace where run <= 3)"
    " from (select * from run where id <= 3 order by id)";

static char kept_runs[1 << 16]; /* the digest before */

static void read_digest(const char *path, char *integrity, char *runs, size_t size) {
    sqlite3 *store = NULL;
    runs[0] = integrity[0] = '\0';
    if (sqlite3_open_v2(path, &store, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        ask(store, "pragma integrity_check", integrity, 100);
        ask(store, digest, runs, size);
    }
    sqlite3_close(store);
}

static void look_at_store(const trial *t) {
    static char runs[sizeof kept_runs];
    char path[128], integrity[100];
    snprintf(path, sizeof path, "%s/.runs.db", case_folder);
    read_digest(path, integrity, runs, sizeof runs);
    if (strcmp(integrity, "ok") != 0)
        complain(t, "the store is damaged");
    else if (!t->what->changes_runs && strcmp(runs, kept_runs) != 0)
        complain(t, "runs of the store were changed");
}

/* Where the command takes no notice of a fault, what it prints is what it prints without one.
 * Times and paths make the others differ. */
static void look_at_answer(const trial *t) {
    static const char *const same[] = {"version",    "solvers", "problems",
                                       "completion", "data",    "runs"};
    static char found[1 << 18], expected[1 << 18];
    bool compared = false;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        compared |= strncmp(t->what->arguments, same[i], strlen(same[i])) == 0;
    if (!compared || t->code != 0)
        return;
    char path[PATH_ROOM];
    join(path, root, "", "out");
    size_t n = read_file(path, found, sizeof found);
    join(path, root, "", "expected");
    if (read_file(path, expected, sizeof expected) != n || memcmp(found, expected, n) != 0)
        complain(t, "exit code 0, but another answer");
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
        complain(t, "ended by a signal");
    else if (t->code == CODE_OF_SANITIZER)
        complain(t, "the sanitizer complains");
    else if (t->code > 2)
        complain(t, "not a documented code");
    else if (t->code != 0 && !said_something())
        complain(t, "no message");
    looking = t;
    for_each_entry(case_folder, look_at_entry);
    look_at_outputs(t);
    look_at_answer(t);
    look_at_store(t);
}

/* ---- All of them ---- */

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct totals {
    long injected[FAULT_KINDS], survived, cases; /* survived: went on to exit code 0 */
} totals;

static void keep_whole(const char *folder, const char *name) {
    char from[PATH_ROOM], to[PATH_ROOM];
    struct stat about;
    join(from, folder, "", name);
    join(to, root, "whole", name);
    if (stat(from, &about) == 0 && S_ISREG(about.st_mode))
        copy_file(from, to);
}

/* Without a fault: it must work; its files are what a whole output is. */
static void count_calls(const fault_case *c, long calls[FAULT_KINDS]) {
    reset_case();
    int status = run(case_folder, c->arguments, FAULT_NONE, 0);
    trial t = {c, FAULT_NONE, 0, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
    if (t.code != 0)
        complain(&t, "fails without a fault");
    for_each_entry(case_folder, keep_whole);
    char out[PATH_ROOM], expected[PATH_ROOM];
    join(out, root, "", "out");
    join(expected, root, "", "expected");
    copy_file(out, expected);
    memcpy(calls, shared->calls, sizeof shared->calls);
}

/* Calls 1, 1 + stride, ... until none fails, or the time is up. */
static void fail_calls(const fault_case *c, fault_kind kind, long first, long stride,
                       double deadline, totals *sum) {
    for (long at = first; seconds_now() < deadline; at += stride) {
        trial t = {c, kind, at, 0};
        reset_case();
        int status = run(case_folder, c->arguments, kind, at);
        if (shared->fired == 0)
            return;
        judge(&t, status);
        sum->injected[kind]++;
        sum->survived += t.code == 0;
    }
}

static void put_rows(const char *path) {
    FILE *file = fopen(path, "w");
    if (!file)
        die(path);
    for (int i = 0; i < 40; i++)
        fprintf(file, "%d,%d,%s\n", i * 7 % 11, i * 5 % 13, i * 7 % 11 > 4 ? "yes" : "no");
    fclose(file);
}

static void prepare(void) {
    static const char *const folders[] = {"template", "case", "whole"};
    char path[PATH_ROOM], integrity[100];
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
    setenv("BILEVEL_STORE", ".runs.db", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    unsetenv("BILEVEL_FAULT");
    snprintf(path, sizeof path, "%s/template/rows.csv", root);
    put_rows(path);
    snprintf(path, sizeof path, "%s/template", root);
    for (size_t i = 0; i < sizeof preparations / sizeof preparations[0]; i++) {
        int status = run(path, preparations[i], FAULT_NONE, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            printf("bilevel %s:\n", preparations[i]);
            show_messages();
            exit(3);
        }
    }
    snprintf(path, sizeof path, "%s/template/.runs.db", root);
    read_digest(path, integrity, kept_runs, sizeof kept_runs);
    if (strcmp(integrity, "ok") != 0 || !kept_runs[0])
        die("the store that was made");
}

static void clean_up(void) {
    for_each_entry(root, remove_entry);
    rmdir(root);
}

static int count_subcommands(void) {
    int n = 0;
    for (size_t i = 0; i < CASES; i++) {
        size_t length = strcspn(cases[i].arguments, " ");
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again |= strcspn(cases[j].arguments, " ") == length &&
                     strncmp(cases[i].arguments, cases[j].arguments, length) == 0;
        n += !again;
    }
    return n;
}

/* Every solver as a case of `solve`. */
static size_t add_solvers(fault_case *all, char (*texts)[200]) {
    size_t n = 0;
    for (const blv_solver *s; n < SOLVERS_MAX && (s = blv_solver_at(NULL, n)) != NULL; n++) {
        snprintf(texts[n], sizeof texts[n],
                 "solve quadratic --problem-set dx=2 --problem-set dy=2 --solver %s --iters 2 "
                 "--threads 1 --no-store --quiet --out o.npz",
                 s->name);
        all[n] = (fault_case){texts[n], "o.npz", false};
    }
    return n;
}

/* One fault again, with its messages. */
static int repeat(const char *fault, const char *arguments) {
    fault_kind kind = strncmp(fault, "file:", 5) == 0 ? FAULT_FILE : FAULT_MEMORY;
    long at = strtol(strchr(fault, ':') ? strchr(fault, ':') + 1 : "1", NULL, 10);
    prepare();
    reset_case();
    int status = run(case_folder, arguments, kind, at);
    printf("exit code %d, %s\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
           shared->fired ? shared->call : "no fault");
    show_messages();
    clean_up();
    return 0;
}

/* All calls of a case, or some for as long as there is time. */
static void try_case(const fault_case *c, double seconds, totals *sum) {
    long calls[FAULT_KINDS];
    bool all = seconds <= 0;
    double start = seconds_now();
    count_calls(c, calls);
    for (fault_kind kind = FAULT_MEMORY; kind < FAULT_KINDS; kind++) {
        long n = calls[kind] > 0 ? calls[kind] : 1;
        double deadline = all ? INFINITY : start + seconds * (double)kind / (FAULT_KINDS - 1);
        fail_calls(c, kind, all ? 1 : 1 + (long)strlen(c->arguments) * 7 % n, all ? 1 : 1 + n / 12,
                   deadline, sum);
        if (all)
            printf("%s: %ld calls of %s\n", c->arguments, calls[kind], fault_words[kind]);
    }
    sum->cases++;
}

/* Only cases with these words; in an order that mixes them, so that few are a sample too. */
static int drive(double seconds, const char *only) {
    static char texts[SOLVERS_MAX][200];
    static fault_case all[CASES + SOLVERS_MAX];
    totals sum = {0};
    double start = seconds_now();
    prepare();
    memcpy(all, cases, sizeof cases);
    size_t solvers = add_solvers(all + CASES, texts), count = CASES + solvers,
           step = 17; /* a prime */
    if (count % step == 0)
        step = 19;
    for (size_t i = 0; i < count; i++) {
        const fault_case *c = &all[seconds > 0 ? i * step % count : i];
        double left = start + seconds - seconds_now();
        if (seconds > 0 && left <= 0)
            break;
        if (!only || strstr(c->arguments, only))
            try_case(c, seconds > 0 ? left / (double)(count - i) : 0, &sum);
    }
    clean_up();
    printf(
        "%ld faults of memory and %ld of files in %ld cases of %zu (%d subcommands, %zu solvers); "
        "%ld did not matter; %ld failures; %.0f s\n",
        sum.injected[FAULT_MEMORY], sum.injected[FAULT_FILE], sum.cases, count, count_subcommands(),
        solvers, sum.survived, failures, seconds_now() - start);
    return failures > 0;
}

int __wrap_main(int count, char **arguments) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        die("mmap");
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (count >= 2 && strcmp(arguments[1], "--all") == 0)
        return drive(0, count > 2 ? arguments[2] : NULL);
    if (count == 4 && strcmp(arguments[1], "--one") == 0)
        return repeat(arguments[2], arguments[3]);
    if (count == 3 && strcmp(arguments[1], "--sample") == 0)
        return drive(strtod(arguments[2], NULL), NULL);
    fault_plan_from_environment();
    return __real_main(count, arguments);
}
