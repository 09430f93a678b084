# Completion of parley for fish. To have it now, and in every shell from now on:
#   parley completion fish | source
#   parley completion fish > ~/.config/fish/completions/parley.fish
function __parley_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($before[1] __complete $before[2..-1] "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c parley -f -a '(__parley_complete)'
