# Completion of parley for bash. To have it now, and in every shell from now on:
#   source <(parley completion bash)
#   echo 'source <(parley completion bash)' >> ~/.bashrc
_parley() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _parley parley
