# The two commands that matter: `make run` and `make test`. `make help` lists the others.
.DEFAULT_GOAL := help
.PHONY: help run test drills model bundle lint toolchain services browser

WASM := wasm32-unknown-unknown
# Where `make run` listens. Loopback only: there are no accounts.
LISTEN ?= 127.0.0.1:8080

help: ## Say what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

run: bundle ## Build everything and start the demonstration site (LISTEN=127.0.0.1:8080)
	cargo build --locked -p server --bin hoistway
	exec target/debug/hoistway demo --listen $(LISTEN)

# Most tests wait for other processes, so more run at once than there are cores.
test: toolchain services ## Run every test: unit, integration with real services, browser
	@cargo fetch --locked --quiet
	cargo test --locked --workspace -- --test-threads=4
	$(MAKE) browser

drills: toolchain services ## Run the long drills on real processes (KILLS=15, ORDERS=70 a minute), and print what they count
	cargo test --locked -p server --test it -- --ignored --nocapture drill_

model: toolchain ## Try everything that can happen to one lift within the stated bounds, for minutes
	cargo test --locked -p kernel --test model -- --ignored --nocapture

bundle: toolchain ## Build what the browser loads into target/site
	@.ci/node-tools
	cargo build --locked -p app --lib --target $(WASM) --no-default-features --features hydrate --profile wasm-release
	cargo run --locked --quiet -p bundle

browser: bundle ## Run the browser test against a demonstration site of its own
	cargo build --locked -p server --bin hoistway
	.ci/browser

lint: toolchain ## Check format, lints, and documentation
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked -p app --lib --target $(WASM) --no-default-features --features hydrate -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --document-private-items

toolchain:
	@.ci/toolchain

services:
	@.ci/services
