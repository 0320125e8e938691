#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts the readers of package.json into the folder $1, by name and version, without what they depend on
# (their command lines need that, their browser parts do not). Does nothing when they are there.
# playwright-core stays at 1.58: later ones want a newer node than the 18 of Debian 12.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
cmp -s "$here/package.json" installed.json && exit 0
node -p 'Object.entries(require(process.argv[1]).dependencies).map(d => d.join("@")).join("\n")' \
	"$here/package.json" >wanted
while read -r package; do
	folder=node_modules/${package%@*}
	rm -rf "$folder"
	mkdir -p "$folder"
	archive=$(npm pack --silent --ignore-scripts --fetch-retries=1 --fetch-retry-mintimeout=1000 "$package")
	tar -xzf "$archive" -C "$folder" --strip-components=1
	rm -f "$archive"
done <wanted
cp "$here/package.json" installed.json
