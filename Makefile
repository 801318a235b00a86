.PHONY: test bench

# Everything that must hold: formatter, linter, documentation, all tests, and what others read of our files.
test:
	@tests/set_up.sh
	@python3 tests/run.py

# Speed as ratios to a named alternative in the same run, the worked examples of CONTRIBUTING.md, and what verify accepts and
# refuses.
bench:
	cargo bench --package appropo --bench ratios
	cargo run --release --package appropo --example coverage
	cargo test --release --package appropo --test tests -- --ignored 2000_evaluations
	bench/stable_baselines3.sh
	bench/checkpoints.sh
	bench/package.sh
	python3 bench/worked_examples.py
	cargo build --release --package appropo-cli
	APPROPO_PROGRAM=$${CARGO_TARGET_DIR:-target}/release/appropo python3 bench/verify.py
	APPROPO_PROGRAM=$${CARGO_TARGET_DIR:-target}/release/appropo python3 bench/watch.py
	APPROPO_PROGRAM=$${CARGO_TARGET_DIR:-target}/release/appropo python3 bench/scale.py 100 300 1000
