# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For tests that record tests/workload/driver: what a view counts, against what the program says that it did. Sourced.
#
#   same_counts DATABASE TRUTH            for each kind as many rows as calls were made
#   nothing_unaccounted DATABASE TRUTH    for each function recorded + lost is what was called

# sql DATABASE TRUTH QUERY: no row is success; `truth` is a table of the driver's own counts: what, name, calls
sql() {
	local rows
	rows=$(sqlite3 -readonly "$1" "
		CREATE TEMP TABLE truth AS
			SELECT 'kind' AS what, key AS name, json_extract(value, '\$.calls') AS calls
				FROM json_each(CAST(readfile('$2') AS TEXT), '\$.kinds') WHERE key <> 'other'
			UNION ALL SELECT 'function', key, json_extract(value, '\$.calls')
				FROM json_each(CAST(readfile('$2') AS TEXT), '\$.functions')
				WHERE json_extract(value, '\$.kind') <> 'other';
		SELECT count(*) || ' kinds in the truth' FROM truth WHERE what = 'kind' HAVING count(*) <> 6;
		$3") || return
	echo "$rows"
	[ -z "$rows" ]
}

# Calls that the program made itself; those that the runtime makes of the driver inside them are told as nested.
same_counts() {
	sql "$1" "$2" "SELECT t.name, t.calls, count(c.kind) FROM truth t
			LEFT JOIN kinds k ON k.name = t.name LEFT JOIN calls c ON c.kind = k.kind AND c.flags & 1 = 0
		WHERE t.what = 'kind' GROUP BY t.name HAVING t.calls <> count(c.kind)"
}

nothing_unaccounted() {
	sql "$1" "$2" "SELECT t.name, t.calls, p.recorded, p.lost FROM truth t LEFT JOIN probe_counts p USING (name)
		WHERE t.what = 'function' AND t.calls IS NOT p.recorded + p.lost"
}
