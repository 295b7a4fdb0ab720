#compdef bilevel
# Completion of bilevel for zsh; written by 'bilevel completion zsh'.
_bilevel() {
    local line files
    local -a found
    for line in ${(f)"$($words[1] completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
        if [[ $line == /files ]]; then
            files=yes
        else
            found+=("${line/$'\t'/:}")
        fi
    done
    (( ! $#found )) || _describe bilevel found
    [[ -z $files ]] || _files
}
_bilevel "$@"
