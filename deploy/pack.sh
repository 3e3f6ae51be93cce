#!/bin/sh
# pack.sh <app> <target>: one built app, ready to run: its compiled files, those of the libraries, and its production dependencies only.
# Runs in the built repository, with STORE naming pnpm's package store; the layout stays the repository's, so that links between packages still lead somewhere.
set -eu
app=$1
target=$2

mkdir -p "$target"
# Manifests first: what pnpm installs follows from them alone.
for manifest in package.json pnpm-lock.yaml pnpm-workspace.yaml apps/*/package.json libs/*/package.json tests/*/package.json tools/package.json bench/package.json; do
  mkdir -p "$target/$(dirname "$manifest")"
  cp "$manifest" "$target/$manifest"
done
(cd "$target" && pnpm install --frozen-lockfile --prod --store-dir "${STORE:?}" --filter-prod "@tollgate/$app...")

# The root's own dependencies, which pnpm always brings: the Node the image already has, and what compiles a checkout.
rm -rf "$target"/node_modules/node-linux-* "$target"/node_modules/typescript "$target"/node_modules/@types "$target"/node_modules/@tollgate "$target"/node_modules/.bin
rm -rf "$target"/node_modules/.pnpm/node-linux-* "$target"/node_modules/.pnpm/typescript@7* "$target"/node_modules/.pnpm/@typescript+*

for folder in "apps/$app" libs/*; do
  for part in dist lua data; do
    if [ -d "$folder/$part" ]; then cp -R "$folder/$part" "$target/$folder/$part"; fi
  done
done
for folder in apps/*; do
  if [ "$folder" != "apps/$app" ]; then rm -rf "${target:?}/$folder"; fi
done
# The control plane serves the console; of it, only what was built is needed.
if [ "$app" = control-plane ]; then
  mkdir -p "$target/apps/console/dist"
  cp -R apps/console/dist/web "$target/apps/console/dist/web"
  cp libs/admin-client/openapi.json "$target/libs/admin-client/"
  mkdir -p "$target/deploy"
  cp deploy/tollgate-ops "$target/deploy/"
  cp -R deploy/postgres "$target/deploy/postgres"
  mkdir -p "$target/deploy/redis"
  cp deploy/redis/users.acl "$target/deploy/redis/"
fi
rm -rf "$target/tests" "$target/tools" "$target/bench"
mkdir -p "$target/deploy"
cp deploy/healthcheck.mjs "$target/deploy/"
find "$target/apps" "$target/libs" -type f \( -name '*.spec.js' -o -name '*.d.ts' -o -name '*.map' -o -name '.tsbuildinfo' \) -not -path '*/node_modules/*' -delete
rm -f "$target/pnpm-lock.yaml" "$target/pnpm-workspace.yaml"
