# Thin entry points; CMakePresets.json and the scripts named here do the work. `make help` lists them.
.POSIX:
FUZZ_SECONDS = 10
FUZZ_LONG = $(FUZZ_SECONDS)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 24

setup: ## install what build and tests need (apt or dnf; as root)
	packaging/setup.sh

build: ## build/xprobe
	cmake --preset dev >/dev/null
	cmake --build build

setup-build:
	packaging/setup.sh build

demo: setup-build build ## installs what the build needs, builds, and profiles bundled slow programs, step by step
	demo/run.sh

test: setup build ## every test: unit, contract, live (root), gpu; ends with one line that counts
	tests/run.py build

test-gpu: build ## the tests that need an NVIDIA GPU (skipped with the reason elsewhere)
	tests/run.py build gpu

lint: ## layers, budgets, format, second compiler, one-file extension
	tests/lint/run.sh

asan: ## unit and contract tests under address and undefined-behaviour sanitizers
	cmake --preset asan >/dev/null
	cmake --build build-asan
	tests/run.py build-asan unit contract

fuzz: ## every fuzzer for FUZZ_SECONDS each
	tests/fuzz/run.sh $(FUZZ_SECONDS) $(FUZZ_LONG)

bench: build ## every claim of bench/, side by side with its peers (root)
	bench/run.sh

dist: ## release archive, Debian package and Python wheel in dist/
	packaging/dist.sh

release-check: ## every step that a release must pass, on a clean clone (root)
	packaging/release-check.sh

generate: build ## schemas, reference pages, completions and manual page out of the tables
	tests/generate.py

format: ## let clang-format lay out every C file
	tests/lint/format.sh fix

clean: ## remove every build folder
	rm -rf build build-asan build-fuzz build-release dist

.PHONY: help setup setup-build build demo test test-gpu lint asan fuzz bench dist release-check generate format clean
