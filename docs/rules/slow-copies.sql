-- SPDX-License-Identifier: Apache-2.0
-- A rule for `gpuanalyze --rules docs/rules`: see docs/REPORTS.md.
-- name: slow-copies
-- severity: info
-- summary: pageable copies that moved less than 1 GB a second
-- message: {count} copies of process {pid} ({direction}) moved {bytes:bytes} in {cost_ns:ns}
-- advice: Copy from pinned memory (cudaMallocHost), in fewer and larger pieces
SELECT pid, direction, count(*) AS count, sum(bytes) AS bytes, sum(dur_ns) AS cost_ns,
       min(start_ns) AS begin_ns, max(at_ns) AS end_ns
  FROM copies
 WHERE bytes >= 65536 AND bytes * 1.0 < dur_ns
 GROUP BY pid, direction
 ORDER BY cost_ns DESC;
