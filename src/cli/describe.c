#include "cli/describe.h"
#include "cli_commands.h"
#include "cli_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cli_descriptions *described; /* NULL: commands run */

bool cli_is_described(void) {
    return described != NULL;
}

static char *copy_of(const char *text, size_t length) {
    char *copy = cli_alloc(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

static char *copy_all(const char *text) {
    return text ? copy_of(text, strlen(text)) : NULL;
}

/* As in the help, where an option's text may be completed. */
static char *help_of(const struct argp *argp, const struct argp_option *option) {
    if (!argp->help_filter)
        return copy_all(option->doc);
    char *text = argp->help_filter(option->key, option->doc, NULL);
    char *copy = copy_all(text);
    if (text != option->doc)
        free(text);
    return copy;
}

static void add_option(cli_description *to, cli_described_option option) {
    to->options = cli_grow(to->options, to->count + 1, sizeof to->options[0]);
    to->options[to->count++] = option;
}

static void add_options(cli_description *to, const struct argp *argp) {
    for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
        if (o->name && !(o->flags & OPTION_HIDDEN))
            add_option(to,
                       (cli_described_option){.name = copy_all(o->name),
                                              .argument = copy_all(o->arg),
                                              .help = help_of(argp, o),
                                              .letter = o->key > ' ' && o->key < 127 ? o->key : 0});
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        add_options(to, child->argp);
}

static void describe(const char *name, const struct argp *argp) {
    const char *doc = argp->doc ? argp->doc : "", *rest = strchr(doc, '\v');
    described->items = cli_grow(described->items, described->count + 1, sizeof(cli_description));
    cli_description *d = &described->items[described->count++];
    *d = (cli_description){.name = copy_all(name),
                           .arguments = copy_all(argp->args_doc ? argp->args_doc : ""),
                           .before = copy_of(doc, rest ? (size_t)(rest - doc) : strlen(doc)),
                           .after = copy_all(rest ? rest + 1 : "")};
    add_options(d, argp);
    add_option(d, (cli_described_option){.name = copy_all("help"),
                                         .help = copy_all("give this help list"),
                                         .letter = '?'});
    add_option(d, (cli_described_option){.name = copy_all("usage"),
                                         .help = copy_all("give a short usage message")});
}

bool cli_parse(const struct argp *argp, int argc, char **argv, void *input) {
    static const char program[] = "bilevel ";
    if (described) {
        describe(argv[0] + strlen(program), argp);
        return false;
    }
    argp_parse(argp, argc, argv, 0, NULL, input);
    return true;
}

static void describe_list(const cli_command *list, const char *before) {
    for (const cli_command *command = list; command->name; command++) {
        char *title = cli_print("%s %s", before, command->name);
        if (command->actions)
            describe_list(command->actions, title);
        else if (command->summary)
            command->run(1, (char *[]){title, NULL});
        free(title);
    }
}

cli_descriptions cli_describe_all(void) {
    cli_descriptions all = {0};
    described = &all;
    describe_list(cli_commands, "bilevel");
    described = NULL;
    return all;
}

void cli_descriptions_free(cli_descriptions *all) {
    for (size_t i = 0; i < all->count; i++) {
        cli_description *d = &all->items[i];
        for (size_t k = 0; k < d->count; k++) {
            free(d->options[k].name);
            free(d->options[k].argument);
            free(d->options[k].help);
        }
        free(d->options);
        free(d->name);
        free(d->arguments);
        free(d->before);
        free(d->after);
    }
    free(all->items);
    *all = (cli_descriptions){0};
}
