#!/bin/sh
# An append-only file torn inside a script's MULTI block looks right at the first restart, and a later one executes half the script.
# Cutting the torn tail before every start keeps scripts atomic; the nodes' journals bring back what is cut.
set -eu
# Only the file that was written last can be cut. With damage in an older one Redis would not start: all of them are set aside, in the place of those
# that were set aside before, and the control plane fills the empty Redis from PostgreSQL (alert redis_data_lost).
data=${DATA_FOLDER:-/data}
for manifest in "$data"/appendonlydir/*.manifest; do
  if [ ! -e "$manifest" ]; then continue; fi
  status=0
  echo y | redis-check-aof --fix "$manifest" || status=$?
  case $status in
    0) ;;
    1)
      rm -rf "$data/appendonlydir.set-aside"
      mv "$data/appendonlydir" "$data/appendonlydir.set-aside"
      echo "The append-only files are damaged and were set aside as $data/appendonlydir.set-aside; Redis starts empty and is filled from PostgreSQL." >&2
      ;;
    *) exit "$status" ;;
  esac
done

# A password with a space or a line break would begin another setting.
for name in REDIS_PASSWORD REDIS_CONTROL_PLANE_PASSWORD REDIS_NODE_PASSWORD REDIS_QUEUE_PASSWORD; do
  case $(printenv "$name") in
    '' | *[!A-Za-z0-9_-]*)
      echo "$name must be letters, digits, dashes and underscores" >&2
      exit 1
      ;;
  esac
done

# Rights of each process, from the same file as without containers.
users() {
  sed \
    -e "s/\${REDIS_CONTROL_PLANE_PASSWORD}/$REDIS_CONTROL_PLANE_PASSWORD/" \
    -e "s/\${REDIS_NODE_PASSWORD}/$REDIS_NODE_PASSWORD/" \
    -e "s/\${REDIS_QUEUE_PASSWORD}/$REDIS_QUEUE_PASSWORD/" \
    "${USERS_FILE:-/users.acl}"
}

# From standard input: arguments can be listed by anyone, and there is no file to protect.
exec redis-server - <<CONFIG
dir $data
requirepass $REDIS_PASSWORD
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
$(users)
CONFIG
