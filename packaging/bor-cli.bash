# Completion of bor-cli: commands and their options come from the program itself.
_bor_cli() {
  local current=${COMP_WORDS[COMP_CWORD]} words=() word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || words+=("$word")
  done
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$(bor-cli "${words[@]}" --help 2> /dev/null | grep -o -- '--[a-z0-9-]*' | sort -u)" -- "$current"))
    return
  fi
  local prefix=""
  [ ${#words[@]} -gt 0 ] && prefix="${words[*]} "
  COMPREPLY=($(compgen -W "$(bor-cli --help 2> /dev/null | sed -n "s/^  ${prefix}\([a-z_-]*\).*/\1/p" | sort -u)" -- "$current"))
  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _bor_cli bor-cli
