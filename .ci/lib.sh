# What .ci/run and .ci/long share: steps with a name, a time and a time limit. Sourced, not run.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-always} RUST_BACKTRACE=1
target=${CARGO_TARGET_DIR:-$PWD/target}
host=$(rustc -vV | sed -n 's/^host: //p')
skipped=()

# step NAME COMMAND…: runs the command for at most $limit seconds; the first failure ends the script.
limit=1200
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

finish() {
    printf '\n'
    [ ${#skipped[@]} -eq 0 ] || printf 'skipped: %s\n' "${skipped[@]}"
    printf 'all steps passed in %d s\n' "$SECONDS"
}

# sanitized NAME RUSTFLAGS COMMAND…: the command with nightly and those flags, in a target folder of its own.
sanitized() {
    local name=$1 flags=$2
    shift 2
    RUSTFLAGS="$flags ${RUSTFLAGS:-}" CARGO_TARGET_DIR="$target/$name" RUSTUP_TOOLCHAIN=nightly limited "$@"
}

has_nightly() {
    RUSTUP_TOOLCHAIN=nightly cargo --version >/dev/null 2>&1
}

# planted_bugs: each line of .ci/bugs is a bug that its tests must catch.
#
# The cfg goes to the workspace's own packages only, through a compiler wrapper per bug: so the dependencies are
# compiled once for all of them. A bug that does not compile, or whose filter selects no test, is a failure too.
planted_bugs() {
    local bugs="$target/bugs" name package filter wrapper log total=0
    mkdir -p "$bugs"
    while read -r name package filter <&3 || [ -n "$name" ]; do
        case $name in '' | '#'*) continue ;; esac
        total=$((total + 1))
        wrapper="$bugs/with-$name" log="$bugs/$name.log"
        printf '#!/bin/sh\nexec "$@" --cfg '\''leno_bug="%s"'\''\n' "$name" >"$wrapper"
        chmod +x "$wrapper"
        local run=(env CARGO_TARGET_DIR="$bugs" RUSTC_WORKSPACE_WRAPPER="$wrapper" cargo test --quiet -p "$package")
        if ! limited "${run[@]}" --no-run >"$log" 2>&1; then
            cat "$log"
            echo "$name: does not compile"
            return 1
        fi
        if limited "${run[@]}" --tests -- "$filter" >>"$log" 2>&1; then
            tail -n 20 "$log"
            echo "$name: NOT CAUGHT by $package, tests \"$filter\""
            return 1
        fi
        # A plain compiler error or a wrong option would also "fail": insist on a test that failed or crashed.
        if ! grep -Eq 'FAILED|signal|panicked' "$log"; then
            cat "$log"
            echo "$name: ended without a failing test"
            return 1
        fi
        echo "$name: caught by $package"
    done 3<.ci/bugs
    [ "$total" -gt 0 ] || { echo ".ci/bugs is empty: nothing shows that the models can fail"; return 1; }
    echo "$total planted bugs, all caught"
}
