#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/tools/stalls.sh, a thousand rounds, a few times shorter than those of `make stalls`.
# alone: it loads the host, and says how a recorder gets on with that
ROUNDS=1000 SEED=2 SCALE=5 exec bash "$(dirname "$0")/../tools/stalls.sh"
