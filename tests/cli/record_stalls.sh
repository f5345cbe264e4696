#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/tools/stalls.sh, fifty short rounds without those that load the whole host, which record_days.sh has.
# records: each checks only what it started itself
ROUNDS=50 SEED=1 SCALE=5 DAYS='stall full flood stopped killed ended' exec bash "$(dirname "$0")/../tools/stalls.sh"
