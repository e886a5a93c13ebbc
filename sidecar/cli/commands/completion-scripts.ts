/**
 * The scripts of `portcullis completion`. Each one passes the words to the hidden command `__complete`, and
 * offers the lines that it prints: a value, a tab and a description each. The last line is `:files`,
 * `:folders` or `:none`.
 */

const BASH = `# Completion of portcullis for bash. To load it: source <(portcullis completion bash)
_portcullis_complete() {
  local program=\${COMP_WORDS[0]/#\\~/$HOME} word line current before paths='' joined='' count=0
  local -a words=()
  # Bash splits words at = and : as well. They are put together again.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if [[ -n $word && $word != *[!=:]* && $count -gt 0 ]]; then
      words[count-1]+=$word
      joined=yes
    elif [[ -n $word && -n $joined ]]; then
      words[count-1]+=$word
      joined=''
    else
      words[count]=$word
      count=$((count + 1))
      joined=''
    fi
  done
  current=\${words[count-1]}
  # Bash replaces only what follows the last = or :.
  before=$current
  [[ -n $joined ]] || before=\${current%"\${COMP_WORDS[COMP_CWORD]}"}
  COMPREPLY=()
  while IFS=$'\\t' read -r line _; do
    case $line in
      :files) paths=-f ;;
      :folders) paths=-d ;;
      :none) ;;
      *) COMPREPLY+=("\${line#"$before"}") ;;
    esac
  done < <("$program" __complete -- "\${words[@]}" 2>/dev/null)
  if [[ -n $paths ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do
      COMPREPLY+=("$line")
    done < <(compgen "$paths" -- "\${current#"$before"}")
  fi
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *: ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -F _portcullis_complete portcullis
`

const ZSH = `#compdef portcullis
# Completion of portcullis for zsh. To load it, after compinit: source <(portcullis completion zsh)
_portcullis() {
  local line value text
  local -a described
  for line in "\${(@f)$("\${(Q)words[1]}" __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :files | :folders)
        [[ $PREFIX == --*=* ]] && compset -P '*='
        if [[ $line == :files ]]; then _files; else _files -/; fi
        ;;
      :none | '') ;;
      *)
        # _describe takes the first colon that is not escaped for the end of the value.
        value=\${line%%$'\\t'*}
        text=\${line#*$'\\t'}
        described+=("\${value//:/\\\\:}\${text:+:$text}")
        ;;
    esac
  done
  if (( \${#described} )); then _describe portcullis described; fi
}
if [[ \${funcstack[1]} == _portcullis ]]; then
  _portcullis "$@"
else
  compdef _portcullis portcullis
fi
`

const FISH = `# Completion of portcullis for fish. To load it: portcullis completion fish | source
function __portcullis_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
    # After --option= only the rest of the word is a path.
    set -l option (string match -r -- '^--[^=]*=' "$current")
    set -l path (string replace -r -- '^--[^=]*=' '' "$current")
    for line in $lines
        switch $line
            case :files
                printf '%s\\n' "$option"(__fish_complete_path "$path")
            case :folders
                printf '%s\\n' "$option"(__fish_complete_directories "$path")
            case :none
            case '*'
                printf '%s\\n' $line
        end
    end
end
complete -c portcullis -f -a '(__portcullis_complete)'
`

/** By the name of the shell. */
export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const
