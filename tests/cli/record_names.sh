#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The names of kernels: by registration, by look-up, by symbol; with the toolkit's compiler, where there is one.
. "$(dirname "$0")/lib.sh"
gpurec=$BUILD/gpurec
cap=$TMP/run.cap
names=$BUILD/workload/every/names

needs_recording "the names of kernels"

# kernels: `function name` of each launch of the capture, by the last `kernel` row before it, or by the first behind it,
# where the answer came in a later epoch
kernels() {
	"$BUILD/gpureplay" -q --json "$cap" | json_awk '
		{ key = value("pid") " " value("function") }
		/"kind":"kernel"/ { name[key] = value("name"); if (!(key in first)) first[key] = name[key] }
		/"kind":"launch"/ { launch[++n] = key; known[n] = key in name; before[n] = known[n] ? name[key] : "" }
		END { for (i = 1; i <= n; i++) { split(launch[i], of, " "); print of[2], known[i] ? before[i] : first[launch[i]] } }'
}

if [ -x "$names" ]; then
	check "a program that launches kernels in all manners is recorded" \
		sh -c '"$0" -q -o "$1" -- "$2" >"$3"' "$gpurec" "$cap" "$names" "$TMP/made"
	kernels >"$TMP/told"
	check "every launch is told with the name of its kernel" cmp "$TMP/made" "$TMP/told"
	check "they were ten, with names of up to 3000 letters" \
		awk 'length($2) > longest { longest = length($2) } END { print NR, longest; exit !(NR == 10 && longest == 3000) }' "$TMP/told"
	has_file() { # the stub of a kernel stands in a file, a handle of the driver does not
		"$BUILD/gpureplay" -q --json "$cap" | grep '"kind":"kernel"' | grep '_Z6legacyPf' | grep -vq '"module":0,' &&
			"$BUILD/gpureplay" -q --json "$cap" | grep '"kind":"kernel"' | grep driver_kernel | grep -q '"module":0,'
	}
	check "with the file of its stub, and the place in it" has_file
	# Of a second process, while the helpers that read mappings and files do not answer until recording ends.
	# shellcheck disable=SC2016 # of that shell
	unread='"$0" >"$1"; keeper=$(pgrep -P $PPID gpurec-inspect); kill -STOP $keeper $(pgrep -P $keeper); exec "$0" >>"$1"'
	check "a program is recorded whose mappings cannot be read before recording ends" \
		"$gpurec" -q --force -o "$cap" -- sh -c "$unread" "$names" "$TMP/made"
	kernels >"$TMP/told"
	registered() { # by a call that has the name: what only a symbol says is not known of the second
		grep -v unregistered "$TMP/made" | cmp - <(grep -vE 'unregistered| $' "$TMP/told")
	}
	check "every launch has the name that was registered for it" registered
	late() {
		local pid recorder status=0
		rm -f "$cap"
		mkfifo "$TMP/go"
		"$names" wait <"$TMP/go" >"$TMP/late" &
		pid=$!
		exec 9>"$TMP/go"
		until_true grep -q registered "$TMP/late"
		"$gpurec" -q -o "$cap" -p "$pid" 2>"$TMP/said" &
		recorder=$!
		until_recording "$recorder"
		echo go >&9
		exec 9>&-
		wait "$recorder" || status=1
		kernels >"$TMP/told"
		sed 1d "$TMP/late" | cmp - "$TMP/told" && [ "$status" = 0 ] && [ "$(wc -l <"$TMP/told")" = 2 ]
	}
	check "a recorder that comes after they were registered finds them by the symbols of their stubs" late
else
	skip "the names of kernels that the test double launches" "it is not built here"
fi

# User stacks, by frame pointers ---------------------------------------------------------------------------------------
frames=$BUILD/workload/every/frames
if [ -x "$frames" ]; then
	rm -f "$cap"
	check "a program with known stacks is recorded" "$gpurec" -q -o "$cap" -- "$frames"
	"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events"
	# NUMBER: the functions on the stack of the allocation of that number, from the inside
	stack_of() {
		json_awk '
			/"kind":"frame"/ { name = value("symbol"); sub(/[+].*/, "", name); frame[value("stack")] = frame[value("stack")] " " name }
			/"kind":"alloc"/ && ++n == want { stack = value("stack") }
			END { print frame[stack] }' want="$1" "$TMP/events"
	}
	known() { stack_of 1 | grep -qE '^ innermost middle outermost main( |$)'; }
	check "the stack of functions with frame pointers, from the inside" known
	deepest() { [ "$(stack_of 2)" = " innermost$(printf ' deep%.0s' {1..23})" ]; }
	check "a deep one, as far as there is room" deepest
	for i in 3 4 5 6 7; do
		check "where the register holds no frame pointer ($((i - 2)) of 5): who called, and nothing made up" \
			[ "$(stack_of $i)" = " with_fp_on" ]
	done
	# NUMBER: the address that the allocation of that number returned
	address_of() { grep '"kind":"alloc"' "$TMP/events" | sed -n "$1"'s/.*"addr":"\([^"]*\)".*/\1/p'; }
	counted_unread() {
		[ "$(address_of 8)" = 0x0 ] && "$BUILD/gpuanalyze" "$cap" --report |
			grep -qE 'an argument, or what it points to, could not be read: .*1 of cudaMalloc'
	}
	check "a result in memory that cannot be read is none, and is counted" counted_unread
	without_stack() {
		[ "$(grep '"kind":"launch"' "$TMP/events" | grep -c '"stream":"0x0".*"shared":0,')" = 1 ] &&
			"$BUILD/gpureplay" -q "$cap" | grep -E 'cudaLaunchKernel.*what it points to, could not be read'
	}
	check "so is a launch whose arguments on the stack cannot be read" without_stack
else
	skip "the user stacks and results of a program that was made for it" "it is not built here"
fi

# The toolkit's own compiler and runtime: without a GPU all calls fail, and are recorded as failed calls --------------
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc)
if [ -z "$nvcc" ]; then
	skip "kernels compiled by nvcc, the runtime shared and linked in" "there is no nvcc here"
	finish
fi
cat >"$TMP/kernels.cu" <<'CU'
#include <cstdio>
__global__ void saxpy(float *x, float a) { x[threadIdx.x] += a; }
template <class T> __global__ void fill(T *x) { *x = T(1); }
namespace { __global__ void hidden(int *p) { *p = 2; } }
int main()
{
	for (int i = 0; i < 5; i++) {
		saxpy<<<2, 32>>>(nullptr, 1.f);
		fill<double><<<dim3(1, 2, 3), dim3(4, 5, 6)>>>(nullptr);
		hidden<<<1, 1>>>(nullptr);
	}
	void *p = nullptr;
	cudaMalloc(&p, 100);
	return 0;
}
CU
library=$(dirname "$(dirname "$nvcc")")/lib64
# built SENTENCE FLAGS...: launches, the failed allocation with its stack, and names
built() {
	local what=$1 n
	shift
	if ! "$nvcc" "$@" -o "$TMP/kernels" "$TMP/kernels.cu" >"$TMP/nvcc" 2>&1; then
		skip "$what" "nvcc does not compile here: $(head -n 1 "$TMP/nvcc")"
		return
	fi
	rm -f "$cap"
	check "$what is recorded" env LD_LIBRARY_PATH="$library" "$gpurec" -q -o "$cap" -- "$TMP/kernels"
	outer_launches() {
		"$BUILD/gpureplay" -q --json "$cap" >"$TMP/events"
		n=$(grep '"kind":"launch"' "$TMP/events" | grep -c '"flags":0,')
		echo "$n launches"
		[ "$n" = 15 ]
	}
	check "$what: its 15 launches, once each" outer_launches
	five_each() {
		kernels | awk '{ n[$2]++ } END { for (k in n) print k, n[k]; for (k in n) bad += n[k] % 5; exit bad != 0 }' >"$TMP/told"
		cat "$TMP/told"
		grep -q '^_Z5saxpyPff ' "$TMP/told" && grep -q '^_Z4fillIdEvPT_ ' "$TMP/told" && grep -q 'hidden' "$TMP/told" &&
			[ "$(wc -l <"$TMP/told")" = 3 ]
	}
	check "$what: all with the names of their kernels" five_each
	failed_has_stack() { # where there is a GPU it succeeds, and has one too
		grep '"probe":"cudaMalloc"' "$TMP/events" | grep -v '"stack":0[,}]' | grep -q . &&
			grep '"kind":"frame"' "$TMP/events" | grep -q '"main+0x'
	}
	check "$what: the allocation has a stack with the program's functions" failed_has_stack
}
built "a program with the runtime shared" -cudart shared
built "a program with the runtime linked in" -cudart static
finish
