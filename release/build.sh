#!/bin/sh
# Everything of a release that can be made on this machine (Linux, x86-64), into dist/:
#   crates/          the library crates and the program's, in the order in which they are published
#   appropo-VERSION-TARGET.tar.gz   the program, its dependencies listed inside it (cargo auditable), with completions,
#                    manual pages and licences
#   *.cdx.json       its bill of materials
#   *.tar.gz, *.whl  the Python package: the sdist with all its sources, and the wheel for manylinux
#   musllinux/*.whl  the wheel for musllinux, apart, since pip takes no wheel of another system
#   SHA256SUMS       checksums of all of it
# Hosted CI makes the wheels of other systems (.github/workflows/release.yml).
#
# Usage: release/build.sh [STEP...]   steps: crates program sbom sdist manylinux musllinux try; all by default
# Needs Rust, Python 3.11 and cargo-auditable (cargo install cargo-auditable). The wheel for musllinux also needs Rust's target
# x86_64-unknown-linux-musl, or the sources of its standard library to build it from: rustup's rust-src, or RUST_LIBRARY=FOLDER,
# the folder library/ of a distribution's sources of the same Rust.
# Exit status: 0 all is there, 1 something failed, 2 something was left out, with a line that says what it needs.
set -eu

cd "$(dirname "$0")/.."
root=$PWD dist=$PWD/dist target=${CARGO_TARGET_DIR:-$PWD/target}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
triple=$(rustc -vV | sed -n 's/^host: //p')
steps=${*:-crates program sbom sdist manylinux musllinux try}
names="appropo appropo-file appropo-run appropo-experiments appropo-cli"
status=0
mkdir -p "$dist"

tools() { # what pip has, in an environment of its own
    if ! cmp -s release/requirements.txt "$target/release-tools/requirements.txt"; then
        python3 -m venv --clear "$target/release-tools"
        "$target/release-tools/bin/pip" install --quiet --disable-pip-version-check -r release/requirements.txt
        cp release/requirements.txt "$target/release-tools/requirements.txt"
    fi
    PATH=$target/release-tools/bin:$PATH
}

crates() {
    mkdir -p "$dist/crates"
    check=$target/release-crates
    # Cargo takes what it once unpacked and built of a version for the same for ever; here it changes until it is published.
    rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/src/-*/appropo*-"$version"
    cargo clean --quiet --target-dir "$check" $(printf ' --package %s' $names)
    # Cargo packages them in the order of their needs; each is built again from what is packaged.
    cargo package --locked --workspace --exclude appropo-py --target-dir "$check" ${RELEASE_CARGO_PACKAGE-}
    for name in $names; do
        cp "$check/package/$name-$version.crate" "$dist/crates/"
    done
}

program() {
    folder=appropo-$version-$triple
    cargo auditable build --locked --release --package appropo-cli
    rm -rf "${target:?}/$folder"
    mkdir -p "$target/$folder/completions"
    cp "$target/release/appropo" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$target/$folder/"
    for shell in bash zsh fish elvish powershell; do
        "$target/release/appropo" completions $shell >"$target/$folder/completions/appropo.$shell"
    done
    "$target/release/appropo" man --out "$target/$folder/man" >/dev/null
    tar -C "$target" --sort=name --owner=0 --group=0 --numeric-owner -czf "$dist/$folder.tar.gz" "$folder"
}

sbom() {
    python3 release/sbom.py appropo-cli "$triple" >"$dist/appropo-$version.cdx.json"
}

sdist() {
    tools
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    git archive HEAD | tar -x -C "$copy"
    (
        cd "$copy"
        python3 "$root/release/vendor.py" vendor
        maturin sdist --out "$dist"
    )
}

manylinux() {
    tools
    maturin build --quiet --release --locked --out "$dist" --zig --compatibility manylinux2014
    auditwheel show "$dist"/appropo-"$version"-*manylinux*.whl
}

rust_library() { # the sources of the standard library, if they are there
    for folder in "${RUST_LIBRARY:-}" "$(rustc --print sysroot)/lib/rustlib/src/rust/library"; do
        if [ -f "$folder/Cargo.lock" ]; then
            realpath "$folder"
            return
        fi
    done
    return 1
}

rustc_with() { # the compiler, with sources of the standard library where Cargo looks for them
    sysroot=$target/release-sysroot
    mkdir -p "$sysroot/lib/rustlib/src/rust"
    ln -sfn "$(rustc --print sysroot)/lib/rustlib/$triple" "$sysroot/lib/rustlib/$triple"
    ln -sfn "$1" "$sysroot/lib/rustlib/src/rust/library"
    printf '#!/bin/sh\nexec "%s" --sysroot "%s" "$@"\n' "$(command -v rustc)" "$sysroot" >"$sysroot/rustc"
    chmod +x "$sysroot/rustc"
    echo "$sysroot/rustc"
}

musllinux() {
    tools
    musl=x86_64-unknown-linux-musl
    # The host's Python is no musl one; abi3 needs none.
    set -- --quiet --release --locked --out "$dist/musllinux" --zig --target $musl --compatibility musllinux_1_2
    if [ -n "$(find "$(rustc --print target-libdir --target $musl)" -name 'libstd-*' 2>/dev/null)" ]; then
        maturin build "$@"
    elif library=$(rust_library); then
        RUSTC=$(rustc_with "$library") RUSTC_BOOTSTRAP=1 maturin build "$@" -Z build-std=std,panic_unwind
    else
        echo "release: no wheel for musllinux: this Rust lacks the target (rustup target add $musl)," \
            "and the sources to build it from (rustup component add rust-src, or RUST_LIBRARY=FOLDER)" >&2
        status=2
        return
    fi
    # Zig's libc is called libc.so, and that of the systems the wheel is for libc.musl-x86_64.so.1. Their loader takes both names
    # for itself; auditwheel knows the second, and on this system would find another libc.so.
    made=$(echo "$dist"/musllinux/appropo-"$version"-*.whl)
    folder=$(mktemp -d)
    wheel unpack --dest "$folder" "$made" >/dev/null
    patchelf --replace-needed libc.so libc.musl-x86_64.so.1 "$folder"/*/appropo/_appropo.abi3.so
    wheel pack --dest-dir "$dist/musllinux" "$folder"/* >/dev/null
    rm -r "$folder"
    found=$(auditwheel show "$made")
    echo "$found"
    echo "$found" | grep -q '"musllinux_1_2_x86_64"'
}

try() { # as a newcomer does
    python3 release/try.py
}

for step in $steps; do
    echo "release: $step" >&2
    $step
done
(cd "$dist" && find . -type f ! -name SHA256SUMS | sort | xargs sha256sum >SHA256SUMS)
ls -lR "$dist" >&2
exit $status
