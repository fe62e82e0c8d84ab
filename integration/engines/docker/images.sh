#!/bin/sh
# images.sh KAFKA_IMAGE CLICKHOUSE_IMAGE: builds both images without pulling anything, from this
# machine's Java and shell tools and from what Maven and npm bring. Each is one imported folder.
set -eu
kafka_image=$1
clickhouse_image=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# libraries ROOT FILE...: copies the shared libraries that the files need into ROOT.
libraries() {
	root=$1
	shift
	ldd "$@" 2>/dev/null | sed -n 's|^[^/]*\(/[^ ]*\) (0x.*|\1|p' | sort -u | while read -r library; do
		mkdir -p "$root$(dirname "$library")"
		cp -nL "$library" "$root$library"
	done
}

# base ROOT: a folder with a shell and the few tools that the entry points use.
base() {
	root=$1
	mkdir -p "$root/bin" "$root/tmp" "$root/etc" "$root/opt" "$root/var"
	chmod 1777 "$root/tmp"
	echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
	echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
	for tool in sh env sed grep tr tail mkdir mkfifo rm; do
		cp -L "$(command -v "$tool")" "$root/bin/$tool"
	done
	libraries "$root" "$root"/bin/*
	# glibc loads the first three by name when it resolves host names; the others are what the
	# compression libraries inside Kafka's jars ask for when they are unpacked.
	for library in libnss_files.so.2 libnss_dns.so.2 libresolv.so.2 libpthread.so.0 libdl.so.2 librt.so.1 libm.so.6 libgcc_s.so.1; do
		path=$(ldconfig -p | sed -n "s|.*$library (libc6,x86-64.*=> ||p" | head -n 1)
		[ -z "$path" ] || { mkdir -p "$root$(dirname "$path")" && cp -nL "$path" "$root$path"; }
	done
}

import() { # ROOT IMAGE PORT
	before=$(docker image inspect --format '{{.Id}}' "$2" 2>/dev/null || true)
	tar -C "$1" -c . | docker import --change 'ENTRYPOINT ["/bin/sh", "/opt/entrypoint.sh"]' \
		--change 'ENV PATH=/bin' --change "EXPOSE $3" - "$2" >/dev/null
	# The image that this one replaces would stay for ever, without a name.
	[ -z "$before" ] || docker image rm "$before" >/dev/null 2>&1 || true
	echo "images: $2: $(docker image inspect --format '{{.Size}}' "$2" | awk '{printf "%.0f MB", $1 / 1e6}')"
}

echo "images: the engines' files"
(cd "$here" && go build -o "$work/engine" ./engine)
jars=$("$work/engine" kafka-jars)
clickhouse=$("$work/engine" clickhouse)

echo "images: building $kafka_image"
root=$work/kafka
base "$root"
java_home=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
mkdir -p "$root/opt/java" "$root/opt/kafka/libs"
tar -C "$java_home" -ch --exclude=./jmods --exclude=./demo --exclude=./man --exclude=./docs \
	--exclude=./include --exclude='*.zip' --exclude='*.diz' --exclude=./legal . 2>/dev/null | tar -C "$root/opt/java" -x
libraries "$root" "$root"/opt/java/bin/java "$root"/opt/java/lib/*.so "$root"/opt/java/lib/server/*.so
cp "$jars"/*.jar "$root/opt/kafka/libs/"
cp "$here/log4j2.xml" "$root/opt/kafka/"
cp "$here/kafka-entrypoint.sh" "$root/opt/entrypoint.sh"
import "$root" "$kafka_image" 9092
rm -rf "$root"

echo "images: building $clickhouse_image"
root=$work/clickhouse
base "$root"
case $clickhouse in
*.so) cp -L "$clickhouse" "$root/opt/libchdb.so" && cp "$work/engine" "$root/opt/engine" ;;
*) cp -L "$clickhouse" "$root/opt/clickhouse" ;;
esac
libraries "$root" "$root"/opt/*
cp "$here/clickhouse-entrypoint.sh" "$root/opt/entrypoint.sh"
import "$root" "$clickhouse_image" 9000
