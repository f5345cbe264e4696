#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/soak.sh, short: `make soak` gives it hours.
H=0.004 KILLS=12 PROCESSES=1000 WRITES=6 STALL_MS=1500 STOP=3 exec bash "$(dirname "$0")/../soak.sh"
