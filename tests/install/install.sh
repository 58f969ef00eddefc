#!/bin/sh
# tests/install/install.sh - an installation is whole, can be moved, and can be built against.
# Usage: install.sh SOURCE BUILD CMAKE CC CXX KIND     KIND: shared or static, what BUILD is
# Installs BUILD to a scratch prefix, moves it, and builds C and C++ programs against it through
# find_package and through pkg-config. The programs must answer about a picture.
set -u
source=${1:?usage: install.sh SOURCE BUILD CMAKE CC CXX KIND}
build=$2 cmake=$3 cc=$4 cxx=$5 kind=$6
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "install ($kind): $*"
    exit 1
}
quietly() { # runs a command, shows its output only if it fails
    "$@" > "$scratch/log" 2>&1 || { cat "$scratch/log"; fail "failed: $*"; }
}

quietly "$cmake" --install "$build" --prefix "$scratch/first"
mv "$scratch/first" "$scratch/prefix"
prefix=$scratch/prefix
libdir=$(dirname "$(find "$prefix" -name 'libocelli.*' | head -n 1)")
pc=$(find "$prefix" -name ocelli.pc)

[ "$(cd "$prefix/include" && find . -type f)" = ./ocelli.h ] || fail "include holds more or less than ocelli.h"
[ -f "$pc" ] || fail "no ocelli.pc"
[ "$kind" = static ] || [ -e "$libdir/libocelli.so" ] || fail "no libocelli.so"
[ "$kind" = shared ] || [ -e "$libdir/libocelli.a" ] || fail "no libocelli.a"
find "$prefix" -name LICENSE | grep -q . || fail "no licence"
if grep -rlIF -e "$scratch/first" -e "$build" "$prefix" | grep .; then
    fail "these files name where they were made"
fi

model=$source/samples/model
if [ -e "$prefix/bin/ocelli" ]; then
    model=$prefix/share/ocelli/model
    [ -f "$model/model.safetensors" ] || fail "no sample model in share/ocelli/model"
    [ -f "$prefix/share/man/man1/ocelli.1" ] || fail "no manual page"
    (cd / && "$prefix/bin/ocelli" --version) | grep -q '^ocelli 0\.' || fail "the moved program does not run"
fi
picture=$source/samples/pictures/picture01.png
question="Describe it."
# The first example of samples/pictures/expected.json; q8 may word it a little differently.
check() { # check PROGRAM WHAT
    out=$(LD_LIBRARY_PATH=$libdir "$1" "$model" "$picture" "$question" 2>&1) || fail "$2: $out"
    printf '%s\n' "$out" | grep -qi 'pineapple' || fail "$2: answered: $out"
    printf '%s\n' "$out" | tail -n 1 | grep -qE '^0\.[0-9]+\.[0-9]+ stop$' || fail "$2: ended: $out"
}

# find_package; the version rule refuses another minor version.
quietly "$cmake" -S "$here/consumer" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx"
quietly "$cmake" --build "$scratch/consumer"
check "$scratch/consumer/consumer_c" "find_package, C"
check "$scratch/consumer/consumer_cc" "find_package, C++"
mkdir "$scratch/wrong"
cp "$here"/consumer/consumer.* "$scratch/wrong"
sed 's/ocelli 0\.1/ocelli 0.9/' "$here/consumer/CMakeLists.txt" > "$scratch/wrong/CMakeLists.txt"
if "$cmake" -S "$scratch/wrong" -B "$scratch/wrong/build" -DCMAKE_PREFIX_PATH="$prefix" > "$scratch/log" 2>&1; then
    fail "find_package accepts a version that is not there"
fi

# pkg-config.
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
if [ "$kind" = shared ]; then
    flags=$(pkg-config --cflags --libs ocelli) || fail "pkg-config does not find ocelli"
    case "$(pkg-config --libs-only-l ocelli)" in
    "-locelli" | "-locelli ") ;;
    *) fail "pkg-config asks users of the shared library for more: $flags" ;;
    esac
else
    flags=$(pkg-config --static --cflags --libs ocelli) || fail "pkg-config does not find ocelli"
fi
# Words of flags: no path of ours has a blank in it.
# shellcheck disable=SC2086
quietly "$cc" -std=c99 -Wall -Wextra -Wpedantic -Werror "$here/consumer/consumer.c" -o "$scratch/c" $flags
check "$scratch/c" "pkg-config, C"
# shellcheck disable=SC2086
quietly "$cxx" -std=c++14 -Wall -Wextra -Wpedantic -Werror "$here/consumer/consumer.cc" -o "$scratch/cc" $flags
check "$scratch/cc" "pkg-config, C++"

# DESTDIR is obeyed and nothing lands outside.
DESTDIR=$scratch/stage quietly "$cmake" --install "$build" --prefix /opt/ocelli-test
[ -e "$scratch/stage/opt/ocelli-test/include/ocelli.h" ] || fail "DESTDIR is not obeyed"
[ ! -e /opt/ocelli-test ] || fail "something was written outside DESTDIR"
echo "install ($kind): ok"
