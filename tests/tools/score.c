/* SPDX-License-Identifier: Apache-2.0 */
/*
 * score: what a report says against what was planted.
 *
 *	score TRUTH.json REPORT.json
 *
 * TRUTH is what tests/workload/driver wrote, REPORT what `gpuanalyze --report=REPORT.json` made of the recording of
 * that run. Prints a line for each planted fault ("found" or "MISSED" with what is wrong), then one for each thing
 * reported that was not planted ("UNPLANTED"; what the driver itself wrote down as an accident or a failed attempt is
 * "excused", and so is what a thread waited for a CPU where the kernel's account of it has as much), and a last line
 * with the sums. Exit status: 0 all found and nothing else reported; 1 not so; 3 could not be done.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The two documents as tables. An occurrence belongs to a finding, and is what it says of one moment. */
static const char prepare[] =
	"CREATE TABLE fault AS SELECT key AS number, value ->> '$.fault' AS fault, value ->> '$.function' AS function,"
	"  value ->> '$.begin_ns' AS begin_ns, value ->> '$.end_ns' AS end_ns,"
	"  coalesce(value ->> '$.waiter.tid', value ->> '$.tid') AS tid, value ->> '$.futex' AS futex,"
	"  value ->> '$.waker.tid' AS waker, value ->> '$.kept_by.tid' AS keeper, value ->> '$.site' AS site,"
	"  value ->> '$.bytes' AS bytes, value ->> '$.count' AS count"
	"  FROM json_each((SELECT truth FROM input), '$.faults');"
	"CREATE TABLE excuse AS SELECT value ->> '$.begin_ns' AS begin_ns, value ->> '$.end_ns' AS end_ns"
	"  FROM json_each((SELECT truth FROM input), '$.accidents')"
	"  UNION ALL SELECT value ->> '$.begin_ns', value ->> '$.end_ns'"
	"  FROM json_each((SELECT truth FROM input), '$.failed_attempts');"
	"CREATE TABLE thread AS SELECT value ->> '$.tid' AS tid, value ->> '$.cpu_wait_ns' AS cpu_wait_ns"
	"  FROM json_each((SELECT truth FROM input), '$.threads');"
	"CREATE TABLE finding AS SELECT r.key * 100000 + f.key AS number, f.value ->> '$.rule' AS rule,"
	"  f.value ->> '$.class' AS class, f.value ->> '$.severity' AS severity,"
	"  f.value ->> '$.facts.function' AS function, f.value ->> '$.facts.futex' AS futex,"
	"  f.value ->> '$.facts.site' AS site, f.value ->> '$.facts.bytes' AS bytes,"
	"  f.value ->> '$.facts.allocations' AS count, f.value ->> '$.count' AS times,"
	"  f.value ->> '$.process.pid' AS pid, f.value ->> '$.headline' AS headline, f.value AS value"
	"  FROM json_each((SELECT report FROM input), '$.reports') AS r, json_each(r.value, '$.findings') AS f;"
	"CREATE TABLE occurrence AS SELECT finding.number AS finding, o.key AS number, o.value ->> '$.begin_ns' AS "
	"begin_ns,"
	"  o.value ->> '$.end_ns' AS end_ns, o.value ->> '$.tid' AS tid, o.value ->> '$.waker_tid' AS waker,"
	"  o.value ->> '$.keeper_tid' AS keeper FROM finding, json_each(finding.value, '$.first') AS o;"
	/* A planted fault's own occurrences: the same thread, at the same time. */
	"CREATE TABLE hit AS SELECT fault.number AS fault, occurrence.finding, occurrence.number, rule, class,"
	"  finding.function, finding.futex, occurrence.waker, occurrence.keeper"
	"  FROM fault, occurrence, finding WHERE finding.number = occurrence.finding AND occurrence.tid = fault.tid"
	"  AND occurrence.begin_ns < fault.end_ns AND occurrence.end_ns > fault.begin_ns"
	"  AND ((fault.fault = 'stall' AND class IN ('futex', 'waker-without-cpu'))"
	"    OR (fault.fault = 'spike' AND class = 'on-cpu'));";

/* Each gives rows (good, sentence). */
static const char *const questions[] = {
	/* A stall has to be found by both rules, each with the right futex, waker and keeper. */
	"SELECT coalesce(min(right_one), 0) AND count(DISTINCT rule) = 2, CASE"
	"  WHEN count(DISTINCT rule) < 2 THEN 'MISSED stall by ' || CASE max(rule) WHEN 'futex-stall' THEN "
	"'launch-latency'"
	"    WHEN 'launch-latency' THEN 'futex-stall' ELSE 'both rules' END"
	"  WHEN min(right_one) THEN 'found stall' ELSE 'MISSED stall: wrong futex, waker or keeper (' ||"
	"    group_concat(printf('%s: futex %s waker %s keeper %s', rule, hitfutex, hitwaker, hitkeeper), '; ') || ')' "
	"END"
	"  || ' of thread ' || tid || ' in futex ' || futex || ' by waker ' || waker || ' kept by ' || keeper ||"
	"  printf(' (%.1f ms)', (end_ns - begin_ns) / 1e6)"
	"  FROM (SELECT fault.*, hit.rule AS rule, hit.futex AS hitfutex, hit.waker AS hitwaker, hit.keeper AS "
	"hitkeeper,"
	"    hit.futex IS fault.futex AND hit.waker IS fault.waker AND hit.keeper IS fault.keeper"
	"      AND (hit.rule <> 'launch-latency' OR hit.function IS fault.function) AS right_one"
	"    FROM fault LEFT JOIN hit ON hit.fault = fault.number WHERE fault.fault = 'stall')"
	"  GROUP BY number ORDER BY number",
	"SELECT found, iif(found, 'found', 'MISSED') || ' spike of thread ' || tid || ' in ' || function ||"
	"  printf(' (%.1f ms)', (end_ns - begin_ns) / 1e6)"
	"  FROM (SELECT fault.*, EXISTS (SELECT 1 FROM hit WHERE hit.fault = fault.number AND rule = 'launch-latency'"
	"    AND hit.function = fault.function) AS found FROM fault WHERE fault = 'spike') ORDER BY number",
	"SELECT found, iif(found, 'found', 'MISSED') || ' leak at ' || site || ': ' || count || ' allocations, ' || "
	"bytes ||"
	"  ' bytes' || iif(found, '', coalesce(' (reported: ' || (SELECT group_concat(count || ', ' || bytes, '; ')"
	"    FROM finding WHERE rule = 'alloc-leak' AND finding.site = leak.site) || ')', ' (not reported)'))"
	"  FROM (SELECT fault.*, EXISTS (SELECT 1 FROM finding WHERE rule = 'alloc-leak' AND finding.site = fault.site"
	"    AND finding.bytes = fault.bytes AND finding.count = fault.count) AS found FROM fault WHERE fault = "
	"'leak') AS leak",
	/* What else was reported: occurrences that are nobody's, leaks at other sites, and all that has no occurrence.
	 */
	"SELECT excused, iif(excused, 'excused ', 'UNPLANTED ') || rule || ' ' || class || ' of thread ' || tid ||"
	"  printf(' at %lld ns (%.1f ms): ', begin_ns, (end_ns - begin_ns) / 1e6) || headline"
	"  FROM (SELECT finding.*, occurrence.*, EXISTS (SELECT 1 FROM excuse WHERE"
	"      excuse.begin_ns <= occurrence.end_ns AND excuse.end_ns >= occurrence.begin_ns)"
	"    OR (rule = 'runqueue' AND (SELECT sum(end_ns - begin_ns) FROM occurrence AS other"
	"      WHERE other.finding = occurrence.finding AND other.tid = occurrence.tid)"
	"      <= (SELECT cpu_wait_ns FROM thread WHERE thread.tid = occurrence.tid)) AS excused"
	"    FROM occurrence, finding WHERE finding.number = occurrence.finding AND NOT EXISTS (SELECT 1 FROM hit"
	"      WHERE hit.finding = occurrence.finding AND hit.number = occurrence.number))",
	"SELECT 0, 'UNPLANTED ' || rule || ' ' || class || ': ' || headline FROM finding"
	"  WHERE NOT EXISTS (SELECT 1 FROM occurrence WHERE occurrence.finding = finding.number)"
	"  AND NOT (rule = 'alloc-leak' AND EXISTS (SELECT 1 FROM fault WHERE fault.fault = 'leak'"
	"    AND fault.site = finding.site))",
};

static char *read_whole(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *bytes = NULL;
	long n = -1;

	if (f && fseek(f, 0, SEEK_END) == 0)
		n = ftell(f);
	if (n >= 0 && fseek(f, 0, SEEK_SET) == 0)
		bytes = calloc(1, (size_t)n + 1);
	if (bytes && fread(bytes, 1, (size_t)n, f) != (size_t)n) {
		free(bytes);
		bytes = NULL;
	}
	if (f)
		fclose(f);
	if (!bytes)
		fprintf(stderr, "score: cannot read %s\n", path);
	return bytes;
}

static int complain(sqlite3 *db, const char *what)
{
	fprintf(stderr, "score: %s: %s\n", what, sqlite3_errmsg(db));
	return -1;
}

static int load(sqlite3 *db, const char *truth, const char *report)
{
	sqlite3_stmt *insert = NULL;
	int r = -1;

	if (sqlite3_exec(db, "CREATE TABLE input(truth TEXT, report TEXT)", NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(db, "INSERT INTO input VALUES (?, ?)", -1, &insert, NULL) ||
	    sqlite3_bind_text(insert, 1, truth, -1, SQLITE_STATIC) ||
	    sqlite3_bind_text(insert, 2, report, -1, SQLITE_STATIC) || sqlite3_step(insert) != SQLITE_DONE)
		complain(db, "loading");
	else if (sqlite3_exec(db, prepare, NULL, NULL, NULL))
		complain(db, "reading the truth and the report");
	else
		r = 0;
	sqlite3_finalize(insert);
	return r;
}

/* Prints the answers; counts good and bad ones. */
static int ask(sqlite3 *db, const char *question, unsigned *good, unsigned *bad)
{
	sqlite3_stmt *rows = NULL;
	int r;

	if (sqlite3_prepare_v2(db, question, -1, &rows, NULL))
		return complain(db, "asking");
	while ((r = sqlite3_step(rows)) == SQLITE_ROW) {
		const unsigned char *sentence = sqlite3_column_text(rows, 1);

		printf("%s\n", sentence ? (const char *)sentence : "(null)");
		*(sqlite3_column_int(rows, 0) ? good : bad) += 1;
	}
	sqlite3_finalize(rows);
	return r == SQLITE_DONE ? 0 : complain(db, "asking");
}

int main(int argc, char **argv)
{
	char *truth = NULL, *report = NULL;
	unsigned good = 0, bad = 0;
	sqlite3 *db = NULL;
	int status = 3;

	if (argc != 3) {
		fprintf(stderr, "usage: score TRUTH.json REPORT.json\n");
		return 3;
	}
	truth = read_whole(argv[1]);
	report = read_whole(argv[2]);
	if (!truth || !report || sqlite3_open(":memory:", &db) || load(db, truth, report))
		goto out;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		if (ask(db, questions[i], &good, &bad))
			goto out;
	printf("%u as it should be, %u not\n", good, bad);
	status = bad ? 1 : 0;
out:
	sqlite3_close(db);
	free(truth);
	free(report);
	return status;
}
