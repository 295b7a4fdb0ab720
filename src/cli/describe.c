#include "cli/describe.h"
#include "cli/commands.h"
#include "cli/text.h"

#include <stdlib.h>
#include <string.h>

static cli_descriptions *described; /* NULL: commands run */

/* Every command has these two. */
static const cli_argument common_options[] = {
    {.name = "help", .kind = CLI_ARG_FLAG, .help = "give this help list", .letter = '?'},
    {.name = "usage", .kind = CLI_ARG_FLAG, .help = "give a short usage message"},
    CLI_END};

static void add_options(cli_description *to, const cli_argument *table) {
    size_t count;
    cli_placed_argument *all = cli_arguments_list(table, NULL, &count);
    to->options = cli_grow(to->options, to->count + count + 1, sizeof to->options[0]);
    for (size_t i = 0; i < count; i++)
        if (all[i].argument->name)
            to->options[to->count++] = all[i];
    free(all);
}

bool cli_is_described(const cli_arguments *arguments, const char *title) {
    if (!described)
        return false;
    described->items = cli_grow(described->items, described->count + 1, sizeof(cli_description));
    cli_description *d = &described->items[described->count++];
    *d = (cli_description){.name = cli_print("%s", title + strlen("bilevel ")),
                           .arguments = arguments,
                           .positions = cli_arguments_positions(arguments->table)};
    add_options(d, arguments->table);
    add_options(d, common_options);
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
        free(all->items[i].name);
        free(all->items[i].positions);
        free(all->items[i].options);
    }
    free(all->items);
    *all = (cli_descriptions){0};
}
