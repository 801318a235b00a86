.PHONY: test bench

# Everything that must hold: formatter, linter, documentation, all tests, and what others read of our files.
test:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- $(if $(CI),-D warnings)
	cargo test --workspace
	RUSTDOCFLAGS="$(if $(CI),-D warnings)" cargo doc --workspace --no-deps
	crates/appropo-py/tests/run.sh
	tests/python/run.sh
	tests/browser/run.sh

# Speed as ratios to a named alternative in the same run.
bench:
	cargo bench --package appropo --bench ratios
	bench/stable_baselines3.sh
	bench/checkpoints.sh
	bench/package.sh
