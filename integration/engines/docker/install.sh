#!/bin/sh
# Installs Docker Engine from Debian's own packages where there is no dockerd. Needs root.
set -eu
if command -v dockerd >/dev/null; then
	echo "install: dockerd is there: $(command -v dockerd)"
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "install: this machine has no dockerd and no apt-get; install Docker Engine and start again" >&2
	exit 1
fi
echo "install: Docker Engine from Debian's package docker.io"
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io iptables >/dev/null
