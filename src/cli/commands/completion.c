/* bilevel completion bash|zsh, and bilevel manual: what packages install. The scripts ask 'bilevel
 * completion words -- WORD...' what the last of the words may become. */
#include "base/message.h"
#include "cli/commands.h"
#include "cli/completion_words.h"

#include <stdlib.h>

enum { BASH, ZSH, WORDS };

typedef struct request {
    int shell;
    cli_texts words;
} request;

static const char bash_script[] =
    "# Completion of bilevel for bash; written by 'bilevel completion bash'.\n"
    "_bilevel() {\n"
    "    local line current=${COMP_WORDS[COMP_CWORD]}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        if [ \"$line\" = /files ]; then\n"
    "            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$current\")\n"
    "            compopt -o filenames 2>/dev/null\n"
    "        elif [[ $line == \"$current\"* ]]; then\n"
    "            COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
    "        fi\n"
    "    done < <(\"${COMP_WORDS[0]}\" completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
    "2>/dev/null)\n"
    "}\n"
    "complete -F _bilevel bilevel\n";

static const char zsh_script[] =
    "#compdef bilevel\n"
    "# Completion of bilevel for zsh; written by 'bilevel completion zsh'.\n"
    "_bilevel() {\n"
    "    local line files\n"
    "    local -a found\n"
    "    for line in ${(f)\"$($words[1] completion words -- \"${(@)words[2,CURRENT]}\" "
    "2>/dev/null)\"}; do\n"
    "        if [[ $line == /files ]]; then\n"
    "            files=yes\n"
    "        else\n"
    "            found+=(\"${line/$'\\t'/:}\")\n"
    "        fi\n"
    "    done\n"
    "    (( ! $#found )) || _describe bilevel found\n"
    "    [[ -z $files ]] || _files\n"
    "}\n"
    "_bilevel \"$@\"\n";

static blv_error check(void *of, blv_message *why) {
    const request *asked = of;
    if (asked->shell != WORDS && asked->words.count > 0)
        return blv_explain(why, BLV_E_ARGUMENT, "'%s' is one argument too many",
                           asked->words.items[0]);
    return BLV_OK;
}

static void put_words(const cli_texts *words) {
    cli_descriptions all = cli_describe_all();
    cli_completion_put(stdout, &all, words);
    cli_descriptions_free(&all);
}

int cmd_completion(int argc, char **argv) {
    static const cli_argument table[] = {
        CLI_POSITION(CHOICE, request, shell, "bash|zsh|words", "no shell is named: bash or zsh",
                     .expected = "bash or zsh"),
        CLI_POSITION(TEXTS, request, words, "[WORD...]", NULL), CLI_END};
    static const cli_arguments arguments = {
        .table = table,
        .doc = "Print the completion of commands and options for a shell.",
        .check = check};
    request asked = {0};
    if (!cli_read_arguments(&arguments, argc, argv, &asked))
        return CLI_DONE;
    if (asked.shell == WORDS)
        put_words(&asked.words);
    else
        fputs(asked.shell == BASH ? bash_script : zsh_script, stdout);
    free(asked.words.items);
    return CLI_DONE;
}

int cmd_manual(int argc, char **argv) {
    static const cli_argument table[] = {CLI_END};
    static const cli_arguments arguments = {.table = table,
                                            .doc = "Print the manual as a page for man(1)."};
    if (!cli_read_arguments(&arguments, argc, argv, NULL))
        return CLI_DONE;
    cli_descriptions all = cli_describe_all();
    cli_manual_put(stdout, &all);
    cli_descriptions_free(&all);
    return CLI_DONE;
}
