#compdef parley
# Completion of parley for zsh. To have it now, and in every shell from now on:
#   source <(parley completion zsh)
#   echo 'source <(parley completion zsh)' >> ~/.zshrc
_parley() {
    local -a found
    local line
    while IFS= read -r line; do
        found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#found} )); then
        _describe -t parley parley found
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _parley ]]; then
    _parley "$@"
else
    (( ${+functions[compdef]} )) || { autoload -Uz compinit && compinit }
    compdef _parley parley
fi
