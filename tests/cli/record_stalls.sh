#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/tools/stalls.sh, five rounds: `make stalls` has a thousand.
# alone: it loads the host, and says how a recorder gets on with that
ROUNDS=5 SEED=1 exec bash "$(dirname "$0")/../tools/stalls.sh"
