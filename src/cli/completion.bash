# Completion of bilevel for bash; written by 'bilevel completion bash'.
_bilevel() {
    local line current=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    while IFS= read -r line; do
        if [ "$line" = /files ]; then
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current")
            compopt -o filenames 2>/dev/null
        elif [[ $line == "$current"* ]]; then
            COMPREPLY+=("${line%%$'\t'*}")
        fi
    done < <("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _bilevel bilevel
