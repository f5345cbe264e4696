# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For tests that record, and ask what they recorded for its rows. Sourced behind lib.sh.
cap=$TMP/run.cap

# record OPTION... -- COMMAND: into $cap, and its view into $TMP/run.db
record() {
	"$BUILD/gpurec" --force -o "$cap" "$@" >"$TMP/said" 2>"$TMP/err" || { cat "$TMP/err"; return 1; }
	"$BUILD/gpureplay" -q --force "$cap" -o "$TMP/run.db"
}

sql() { sqlite3 -readonly "$TMP/run.db" "$1"; }

is() { # WANTED SQL
	local got
	got=$(sql "$2")
	[ "$got" = "$1" ] || { printf 'wanted %s, got %s\n' "$1" "$got"; return 1; }
}
