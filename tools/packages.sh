# tools/packages.sh - read by tools/quickstart, tools/test and .ci/run: which Debian packages are needed,
# and installing those that are not there. Not a program of its own.

# The library and the program. stb_image, cJSON, xxHash, OpenBLAS, utf8proc, libcurl, OpenSSL; and
# whom to trust, for 'ocelli pull'. The libraries of JPEG, GIF, WebP, TIFF, AVIF and HEIC.
BUILD_PACKAGES="gcc libc6-dev cmake ninja-build pkgconf libstb-dev libcjson-dev libxxhash-dev libopenblas-dev libutf8proc-dev libcurl4-openssl-dev libssl-dev ca-certificates libjpeg62-turbo-dev libgif-dev libwebp-dev libtiff-dev libavif-dev libheif-dev libcairo2-dev"
# The tests: Criterion, a C++ compiler for the installation's users, man page and JSON checks, the
# server that pull fetches from, a locale with a decimal comma, videos.
TEST_PACKAGES="g++ libcriterion-dev gzip binutils mandoc python3 locales ffmpeg"
# What .ci/run runs besides. The last six: a Slurm of one node, Open MPI's launcher, job files.
CI_PACKAGES="clang-14 libclang-rt-14-dev clang-tidy-14 clang-format-14 cppcheck valgrind gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user slurmctld slurmd slurm-client munge openmpi-bin python3-yaml"

say() { # one line per argument
    printf '%s\n' "$@"
}

# Prints a command, words with blanks in quotes, and runs it.
run() {
    line=+
    for word in "$@"; do
        case $word in
        *' '*) line="$line \"$word\"" ;;
        *) line="$line $word" ;;
        esac
    done
    printf '%s\n' "$line"
    "$@"
}

# need PACKAGE...: installs what is missing; asks nothing of a machine that has all of it.
need() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        say "This is not Debian; if the build stops, these packages' contents are missing: $*"
        return 0
    fi
    missing=""
    for package in "$@"; do
        case "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" in
        installed) ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ]; then
        as_root="env"
    elif command -v sudo >/dev/null 2>&1; then
        as_root="sudo"
    else
        say "These packages are missing:$missing" \
            "and only root can install them. As root, run:" \
            "" \
            "    apt-get update && apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
    say "+ apt-get install -y --no-install-recommends$missing"
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! { $as_root apt-get update -q &&
        $as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -q -y --no-install-recommends $missing; } >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        say "Installing the packages failed; the reason is above." >&2
        exit 1
    fi
    rm -f "$log"
}

# configure FOLDER [FLAG...]: cmake, quiet unless it fails. A folder that has been configured keeps
# its generator.
configure() {
    folder=$1
    shift
    [ -f "$folder/CMakeCache.txt" ] || set -- -G Ninja "$@"
    printf '+ cmake -S . -B %s %s\n' "$folder" "$*"
    mkdir -p "$folder"
    if ! cmake -S . -B "$folder" "$@" >"$folder/configure.log" 2>&1; then
        cat "$folder/configure.log" >&2
        exit 1
    fi
}

# build FOLDER: quiet unless it fails or warns.
build() {
    printf '+ cmake --build %s\n' "$1"
    if ! cmake --build "$1" --parallel "$(jobs_to_run)" >"$1/build.log" 2>&1; then
        grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)|^\[ *[0-9]+%\]' "$1/build.log" | tail -n 100 >&2
        exit 1
    fi
    grep -E 'warning:' "$1/build.log" | sort -u || true
}

jobs_to_run() {
    nproc 2>/dev/null || echo 2
}
