-- SPDX-License-Identifier: Apache-2.0
-- A rule for `gpuanalyze --rules docs/rules`: see docs/REPORTS.md.
-- name: tiny-kernels
-- severity: info
-- summary: kernels launched again and again with less than a warp of threads
-- message: Process {pid} launched {count} kernels of less than 32 threads, which took the host {cost_ns:ns}
-- advice: Do more in each launch: batch them, fuse them, or record them into a CUDA graph
SELECT pid, count(*) AS count, sum(dur_ns) AS cost_ns, min(start_ns) AS begin_ns, max(at_ns) AS end_ns
  FROM launches
 WHERE grid_x * grid_y * grid_z * block_x * block_y * block_z BETWEEN 1 AND 31
 GROUP BY pid
HAVING count(*) >= 100
 ORDER BY cost_ns DESC;
