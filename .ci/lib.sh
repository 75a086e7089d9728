# What .ci/run, .ci/long and .ci/check-bugs share: steps with a name, a time and a time limit. Sourced, not run.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Where /dev/null is a plain file, what was thrown away there would be compiled.
[ -c /dev/null ] || export RUSTC_WRAPPER=$PWD/.ci/rustc

export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-always} RUST_BACKTRACE=1
# Nothing is built twice here, and nobody debugs: panics say where they are, and lines would take a fifth of the time to compile.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_RELEASE_DEBUG=0
target=${CARGO_TARGET_DIR:-$PWD/target}
host=$(rustc -vV | sed -n 's/^host: //p')
skipped=()
# The tests that LENO_STRESS scales without limit (scripts it makes longer); and those of large values, which mean less in a debug
# build.
stress=(--lib --test stress --test memory)

# step NAME COMMAND…: runs the command for at most $limit seconds; the first failure ends the script.
limit=2400
step() {
    local name=$1 start=$SECONDS status=0
    shift
    printf '\n=== %s\n' "$name"
    "$@" || status=$?
    if [ "$status" -ne 0 ]; then
        printf '=== %s: FAILED after %d s (status %d)\n' "$name" $((SECONDS - start)) "$status"
        exit 1
    fi
    printf '=== %s: passed in %d s\n' "$name" $((SECONDS - start))
}

# skip NAME REASON: a step that cannot run here; named again at the end.
skip() {
    printf '\n=== %s: SKIPPED, %s\n' "$1" "$2"
    skipped+=("$1: $2")
}

# limited COMMAND…: ends a command that hangs, with everything that it started.
limited() {
    timeout --kill-after=10 "$limit" "$@"
}

# epochs OPTION…: the tests of loom-tests that need real epochs, in a target folder of their own.
epochs() {
    RUSTFLAGS="--cfg leno_epoch --cfg crossbeam_loom" CARGO_TARGET_DIR="$target/epoch" \
        limited cargo test -p loom-tests --test epoch "$@"
}

# patched ARGUMENT…: cargo, on a loom with .ci/loom.patch. In a copy of the sources, as that changes Cargo.lock; not in cargo's
# target folder, or messages of the compiler would not be those that tests of them expect.
patched() {
    local copy=$PWD/.ci/target loom
    if [ ! "$copy/loom/Cargo.toml" -nt .ci/loom.patch ]; then
        loom=$(cargo metadata --format-version 1 | grep -o '"manifest_path":"[^"]*/loom-[0-9.]*/Cargo.toml"' | cut -d'"' -f4)
        rm -rf "$copy/loom" && mkdir -p "$copy" && cp -R "$(dirname "$loom")" "$copy/loom"
        (cd "$copy/loom" && git apply "$OLDPWD/.ci/loom.patch" && touch Cargo.toml)
    fi
    rm -rf "$copy/leno" && mkdir "$copy/leno"
    git ls-files -z | tar --null --ignore-failed-read -cf - -T - | tar -xf - -C "$copy/leno"
    (
        cd "$copy/leno"
        CARGO_TARGET_DIR="$target" LENO_LOOM=patched limited cargo --config "patch.crates-io.loom.path=\"$copy/loom\"" "$@"
    )
}

finish() {
    printf '\n'
    [ ${#skipped[@]} -eq 0 ] || printf 'skipped: %s\n' "${skipped[@]}"
    printf 'all steps passed in %d s\n' "$SECONDS"
}

# sanitized NAME RUSTFLAGS OPTION…: leno's tests with nightly and those flags, in a target folder of its own. Tests of forgotten
# futures leak on purpose; those of what must not compile have nothing to sanitize.
sanitized() {
    local name=$1 flags=$2
    shift 2
    LSAN_OPTIONS="suppressions=$PWD/.ci/leaks:print_suppressions=0" \
        RUSTFLAGS="$flags ${RUSTFLAGS:-}" CARGO_TARGET_DIR="$target/$name" RUSTUP_TOOLCHAIN=nightly limited \
        cargo test -p leno --lib --tests --target "$host" -- --skip forg --skip refusals "$@"
}

has_nightly() {
    RUSTUP_TOOLCHAIN=nightly rustc --version 2>/dev/null | grep -q nightly
}
