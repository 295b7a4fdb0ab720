#include "cli/arguments.h"
#include "bilevel/run.h"
#include "cli/outputs.h"
#include "cli/store_options.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

const cli_argument cli_run_option_table[] = {
#define RUN_OPTION(name_, value_)                                                                  \
    { .name = name_, .kind = CLI_ARG_RUN_OPTION, .size = sizeof(cli_settings), .value = value_ }
    CLI_HEADING(STOP),
    RUN_OPTION("iters", "N"),
    RUN_OPTION("seconds", "S"),
    RUN_OPTION("budget", "N"),
    RUN_OPTION("tol", "E"),
    RUN_OPTION("target", "V"),
    CLI_HEADING(RANDOMNESS),
    RUN_OPTION("seed", "N"),
    RUN_OPTION("batch", "N"),
    RUN_OPTION("sampler", "NAME"),
    CLI_HEADING(OUTPUT),
    RUN_OPTION("every", "N"),
#undef RUN_OPTION
    CLI_END};

static const char *const section_titles[] = {
    [CLI_SECTION_OWN] = NULL,
    [CLI_SECTION_PROBLEM] = "The problem:",
    [CLI_SECTION_DATA] = "The data:",
    [CLI_SECTION_SOLVER] = "The solver:",
    [CLI_SECTION_METHOD] = "The method:",
    [CLI_SECTION_STOP] = "When to stop:",
    [CLI_SECTION_RANDOMNESS] = "Randomness:",
    [CLI_SECTION_OUTPUT] = "What is shown and written:",
    [CLI_SECTION_STORE] = "The run store:",
    [CLI_SECTION_READING] = "Reading:",
};
enum { SECTIONS = sizeof section_titles / sizeof section_titles[0], FIRST_KEY = 1000 };

typedef struct parsing {
    const cli_command *command;
    void *request;
    size_t count;
    cli_placed_argument *items;
    struct argp_option *options;
} parsing;

/* ---- From the table to what argp wants ---- */

static void place_all(parsing *p, const cli_argument *table, size_t offset, cli_section section) {
    for (const cli_argument *a = table; a && a->kind != CLI_ARG_END; a++) {
        const size_t at = offset + a->offset;
        if (a->kind == CLI_ARG_HEADING) {
            section = a->section;
        } else if (a->kind == CLI_ARG_INCLUDE) {
            place_all(p, a->table, at, section);
        } else {
            p->items = cli_grow(p->items, p->count + 1, sizeof p->items[0]);
            p->items[p->count++] =
                (cli_placed_argument){a, p->request ? (char *)p->request + at : NULL, section};
        }
    }
}

cli_placed_argument *cli_arguments_list(const cli_argument *table, void *request, size_t *count) {
    parsing p = {.request = request};
    place_all(&p, table, 0, CLI_SECTION_OWN);
    *count = p.count;
    return p.items;
}

static const blv_param *run_option(const cli_argument *a) {
    return a->kind == CLI_ARG_RUN_OPTION ? blv_params_find(blv_run_options(), a->name) : NULL;
}

const char *cli_argument_help(const cli_argument *a) {
    const blv_param *param = a->help ? NULL : run_option(a);
    return param ? cli_print("%s (default %s)", param->help, param->value) : a->help ? a->help : "";
}

static int key_of(const parsing *p, size_t i) {
    return p->items[i].argument->letter ? p->items[i].argument->letter : FIRST_KEY + (int)i;
}

/* Entries without a group stay in that of the entry before: those of CLI_SECTION_OWN come first. */
static void make_options(parsing *p) {
    struct argp_option *next = cli_alloc(SECTIONS + p->count + 1, sizeof *next);
    p->options = next;
    for (int section = 0; section < SECTIONS; section++) {
        const char *title = section_titles[section];
        for (size_t i = 0; i < p->count; i++) {
            const cli_argument *a = p->items[i].argument;
            if (!a->name || (int)p->items[i].section != section)
                continue;
            if (title)
                *next++ = (struct argp_option){.doc = title, .group = section};
            title = NULL;
            *next++ = (struct argp_option){.name = a->name,
                                           .key = key_of(p, i),
                                           .arg = a->value,
                                           .doc = cli_argument_help(a),
                                           .group = section};
        }
    }
}

const char *cli_arguments_positions(const cli_argument *table) {
    const char *text = "";
    size_t count;
    cli_placed_argument *items = cli_arguments_list(table, NULL, &count);
    for (size_t i = 0; i < count; i++)
        if (!items[i].argument->name)
            text = cli_print("%s%s%s", text, *text ? " " : "", items[i].argument->value);
    free(items);
    return text;
}

static void take_or_reject(const cli_placed_argument *to, const char *text,
                           const struct argp_state *state) {
    blv_message why = {0};
    const char *name = to->argument->name;
    if (cli_value_take(to, text, &why) == BLV_OK)
        return;
    if (!text)
        argp_error(state, "%s", why.text);
    else
        argp_error(state, "%s%s%s'%s': %s", name ? "--" : "", name ? name : "", name ? " " : "",
                   text, why.text);
}

/* ---- Names ---- */

/* The option of that name, or that begins so; NULL when there is none. */
static const cli_argument *find_name(const parsing *p, const char *name, size_t length) {
    const cli_argument *begun = NULL;
    for (size_t i = 0; i < p->count; i++) {
        const cli_argument *a = p->items[i].argument;
        if (!a->name || strncmp(a->name, name, length) != 0)
            continue;
        if (!a->name[length])
            return a;
        begun = begun ? begun : a;
    }
    return begun;
}

/* Whether the last of several letters takes the next word as its value. */
static bool takes_next_word(const parsing *p, const char *letters) {
    for (; *letters; letters++)
        for (size_t i = 0; i < p->count; i++)
            if (p->items[i].argument->letter == *letters && p->items[i].argument->value)
                return !letters[1];
    return false;
}

/* Ends the command where the name is near that of an option; else argp does. */
static void reject_name(const parsing *p, const char *name, int length) {
    char *word = cli_print("%.*s", length, name);
    blv_nearest nearest = {.name = word};
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].argument->name)
            blv_nearest_try(&nearest, p->items[i].argument->name);
    const char *guess = blv_nearest_guess(&nearest);
    if (guess)
        cli_die("unrecognized option '--%s'; did you mean '--%s'?", word, guess);
}

static void check_names(const parsing *p, int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = argv[i];
        if (word[0] != '-' || word[1] != '-') {
            i += word[0] == '-' && takes_next_word(p, word + 1);
            continue;
        }
        const char *name = word + 2;
        const size_t length = strcspn(name, "=");
        const cli_argument *option = find_name(p, name, length);
        if (option)
            i += option->value && !name[length];
        else if (strncmp("help", name, length) != 0 && strncmp("usage", name, length) != 0)
            reject_name(p, name, (int)length);
    }
}

/* ---- Parsing ---- */

static const cli_placed_argument *position_at(const parsing *p, unsigned number) {
    for (size_t i = 0; i < p->count; i++) {
        const cli_argument *a = p->items[i].argument;
        bool repeated =
            a->kind == CLI_ARG_TEXTS || a->kind == CLI_ARG_WRITE_ALL || a->kind == CLI_ARG_RUNS;
        if (!a->name && (repeated || number-- == 0))
            return &p->items[i];
    }
    return NULL;
}

static void check_whole(const parsing *p, const struct argp_state *state) {
    const cli_placed_argument *missing = position_at(p, state->arg_num);
    bool seen = missing && state->arg_num > 0 && missing == position_at(p, state->arg_num - 1);
    if (missing && !seen && missing->argument->help)
        argp_error(state, "%s", missing->argument->help);
    blv_message why = {0};
    if (p->command->check && p->command->check(p->request, &why) != BLV_OK)
        argp_error(state, "%s", why.text);
}

static error_t parse(int key, char *text, struct argp_state *state) {
    const parsing *p = state->input;
    const cli_placed_argument *to = key == ARGP_KEY_ARG ? position_at(p, state->arg_num) : NULL;
    for (size_t i = 0; i < p->count && !to; i++)
        if (p->items[i].argument->name && key_of(p, i) == key)
            to = &p->items[i];
    if (to)
        take_or_reject(to, text, state);
    else if (key == ARGP_KEY_ARG)
        argp_error(state, "'%s' is one argument too many", text);
    else if (key == ARGP_KEY_END)
        check_whole(p, state);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

/* Also files that are named by default. */
static void note_files(const parsing *p) {
    cli_store_note();
    for (size_t i = 0; i < p->count; i++) {
        const cli_argument_kind kind = p->items[i].argument->kind;
        const void *field = p->items[i].field;
        const cli_texts *all = field;
        if (kind == CLI_ARG_READS)
            cli_file_reads(*(const char *const *)field);
        else if (kind == CLI_ARG_WRITES)
            cli_file_writes(*(const char *const *)field);
        for (size_t k = 0; kind == CLI_ARG_WRITE_ALL && k < all->count; k++)
            cli_file_writes(all->items[k]);
    }
}

/* ---- Help ---- */

static bool has_run_options(const parsing *p, const char *name) {
    for (size_t i = 0; i < p->count; i++)
        if (run_option(p->items[i].argument) && !p->items[i].argument->help &&
            (!name || strcmp(p->items[i].argument->name, name) == 0))
            return true;
    return false;
}

/* The options of the run that have no name of their own. */
static void put_settings(const parsing *p, FILE *out) {
    const char *title = "Options of the run that are set with --set KEY=VALUE:\n";
    for (const blv_param *param = blv_run_options(); param && param->key; param++) {
        if (has_run_options(p, param->key))
            continue;
        char range[256] = "";
        blv_params_range(param, range, sizeof range);
        fprintf(out, "%s  %s: %s; %s (default %s)\n", title, param->key, param->help, range,
                param->value);
        title = "";
    }
}

static char *more_help(int key, const char *text, void *input) {
    const parsing *p = input;
    if (key == ARGP_KEY_HELP_EXTRA && p && (has_run_options(p, NULL) || p->command->more_help)) {
        cli_text extra;
        FILE *out = cli_text_begin(&extra);
        if (has_run_options(p, NULL))
            put_settings(p, out);
        if (p->command->more_help)
            p->command->more_help(out);
        return cli_text_end(&extra);
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr): handed back as it came, in the type argp wants
    return (char *)(uintptr_t)text;
}

void cli_read_arguments(const cli_command *command, int argc, char **argv, void *request) {
    static parsing p; /* argp may end the command: all of it lives until then */
    p = (parsing){.command = command, .request = request};
    place_all(&p, command->table, 0, CLI_SECTION_OWN);
    make_options(&p);
    const char *positions = cli_arguments_positions(command->table);
    bool has_options =
        p.options[0].name || p.options[0].doc; /* argp leaks memory of an empty list */
    const struct argp argp = {.options = has_options ? p.options : NULL,
                              .parser = parse,
                              .args_doc = *positions ? positions : NULL,
                              .doc = command->doc,
                              .help_filter = more_help};
    check_names(&p, argc, argv);
    argp_parse(&argp, argc, argv, 0, NULL, &p);
    note_files(&p);
}
