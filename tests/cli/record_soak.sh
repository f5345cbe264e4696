#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/tools/soak.sh, short: `make soak` gives it hours.
# alone: it loads the host, and says how a recorder gets on with that
H=0.002 KILLS=12 PROCESSES=1000 STALL_MS=1500 STOP=3 TURNS=1200 exec bash "$(dirname "$0")/../tools/soak.sh"
