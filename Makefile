# The front door: every target is a short call of CMake or of a script. `make help` lists them.
PREFIX ?= /usr/local
DESTDIR ?=
# Installs missing Debian packages; `make PACKAGES=:` leaves the system alone.
PACKAGES ?= scripts/install-packages
# How long `make fuzz` tries each target.
SECONDS ?= 60
WITH_PEERS = $(CURDIR)/.venv/bin:$(PATH)

.PHONY: release run test fuzz faults bench bench-peers install format lint clean help packages
.NOTPARALLEL:

release: build/release/build.ninja
	@cmake --build --preset release

run: release
	@scripts/demo build/release/bilevel

test:
	@$(PACKAGES) test
	@scripts/run-tests

fuzz:
	@$(PACKAGES) test
	@scripts/run-fuzz $(SECONDS)

faults:
	@$(PACKAGES) test
	@scripts/run-faults

# Other libraries are timed as well where python3 has them; .venv/ comes first, if it is there.
bench: build/release/build.ninja
	@PATH="$(WITH_PEERS)" cmake --build --preset release --target bench

bench-peers: release .venv/ready
	@PATH="$(WITH_PEERS)" build/release/bench/bench_peers

.venv/ready:
	@$(PACKAGES) peers
	@python3 -m venv .venv
	@.venv/bin/python3 -m pip install --quiet torch numpy scipy scikit-learn
	@touch $@

install: release
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

format:
	@$(PACKAGES) test
	@scripts/format

lint:
	@$(PACKAGES) lint
	@scripts/lint

clean:
	rm -rf build

help:
	@echo "make            build the library and the command: build/release/bilevel"
	@echo "make run        build, solve two problems with both tuning-free solvers and compare"
	@echo "make test       run all tests: release, sanitizers, clang, include rule, format"
	@echo "make fuzz       feed made-up files and texts to all that reads them, SECONDS=60 for each"
	@echo "make faults     fail every request for memory, file call and oracle call in turn"
	@echo "make bench      build and run the benchmarks"
	@echo "make bench-peers  compare with PyTorch, which is installed into .venv/ (a large download)"
	@echo "make install    install to PREFIX ($(PREFIX)), below DESTDIR when it is set"
	@echo "make format     format all C files in place"
	@echo "make lint       clang-tidy, cppcheck, include rule, format"
	@echo "make clean      remove build/"
	@echo
	@echo "Missing Debian packages are installed by name; make PACKAGES=: leaves the system alone."

packages:
	@$(PACKAGES) build

# A first build leaves the tests out, so that it needs no test packages. `make test` turns them on,
# and on they stay. Ninja sees changes of CMakeLists.txt by itself, those of presets it does not.
build/release/build.ninja: CMakePresets.json | packages
	@cmake --preset release $(if $(wildcard $@),,-DBLV_TESTS=OFF)
	@touch $@
