#!/bin/sh
# An append-only file torn inside a script's MULTI block looks right at the first restart, and a later one executes half the script.
# Cutting the torn tail before every start keeps scripts atomic; the nodes' journals bring back what is cut.
set -eu
for manifest in /data/appendonlydir/*.manifest; do
  if [ -e "$manifest" ]; then echo y | redis-check-aof --fix "$manifest"; fi
done

# From standard input: arguments can be listed by anyone, and there is no file to protect.
exec redis-server - <<CONFIG
dir /data
requirepass $REDIS_PASSWORD
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
CONFIG
