# SPDX-License-Identifier: Apache-2.0
# Completion for bash: the options that the tool's own --help lists, gpukey's commands, file names for the rest.
_gpurec() {
	local tool=$1 current=$2 words
	local help=("$tool" --help)

	[ "$tool" != gpukey ] || [ "$COMP_CWORD" -le 1 ] || help=(gpukey "${COMP_WORDS[1]}" --help)
	COMPREPLY=()
	case $current in
	-*)
		words=$("${help[@]}" 2>/dev/null | sed -nE 's/^ +((-[A-Za-z0-9]), )?(--[a-z][a-z-]+).*/\3/p')
		;;
	*)
		[ "$tool" = gpukey ] && [ "$COMP_CWORD" -eq 1 ] || return 0
		words=$(gpukey --help 2>/dev/null | sed -nE 's/^(usage:|      ) gpukey ([a-z]+).*/\2/p')
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _gpurec gpurec gpuverify gpureplay gpuanalyze gpukey
