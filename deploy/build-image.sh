#!/bin/sh
# build-image.sh <app> <packed folder> <Node binary> <oci folder>: an image without a container daemon, where the registries of images cannot be reached.
# The packed folder is of deploy/pack.sh. The base is the few Debian packages that Node needs: no shell, no package manager. Needs root, buildah and apt.
set -eu
app=$1
packed=$2
node=$3
target=$4
version=$(sed -n 's/^  "version": "\(.*\)".*/\1/p' "$packed/package.json" | head -n 1)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() {
  verb=$1
  shift
  buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$verb" "$@"
}
printf '{"default":[{"type":"insecureAcceptAnything"}]}' > "$work/policy.json"

container=$(run from --signature-policy "$work/policy.json" scratch)
root=$(run mount "$container")

mkdir "$work/packages"
(cd "$work/packages" && apt-get download base-files ca-certificates libatomic1 libc6 libgcc-s1 libstdc++6 netbase tzdata)
for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$root"; done

mkdir -p "$root/app" "$root/data" "$root/tmp" "$root/usr/local/bin" "$root/etc/ssl/certs"
cp -a "$packed/." "$root/app/"
install -m 0755 "$node" "$root/usr/local/bin/node"
# The package's own script would do this.
find "$root/usr/share/ca-certificates" -name '*.crt' -exec cat {} + > "$root/etc/ssl/certs/ca-certificates.crt"
echo 'node:x:1000:1000::/nonexistent:/usr/sbin/nologin' > "$root/etc/passwd"
echo 'node:x:1000:' > "$root/etc/group"
chown 1000:1000 "$root/data"
chmod 1777 "$root/tmp"

run config --user node --workingdir /app --port 8080 --volume /data \
  --env NODE_ENV=production --env HOST=0.0.0.0 --env PORT=8080 --env DATA_DIR=/data \
  --label "org.opencontainers.image.version=$version" \
  --cmd "[\"node\", \"apps/$app/dist/main.js\"]" "$container"
# It starts in its own root, as its own user, before it is kept.
run run --isolation chroot "$container" -- /usr/local/bin/node -e 'process.exit(process.getuid() === 1000 ? 0 : 1)'
run commit --quiet --format oci "$container" "oci:$target:$app-$version"
echo "$target: $app-$version"
