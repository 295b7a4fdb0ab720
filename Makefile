# The front door: every target is a short call of CMake or of a script. `make help` lists them.
PREFIX ?= /usr/local
DESTDIR ?=
# Installs missing Debian packages; `make PACKAGES=:` installs nothing.
PACKAGES ?= scripts/install-packages
# Which tests `make test-arm` runs, a regular expression; empty: all. An emulator takes its time.
TESTS ?=
# How long `make fuzz` tries each target.
SECONDS ?= 60
WITH_PEERS = $(CURDIR)/.venv/bin:$(PATH)

.PHONY: release run run-fashion test test-cuda test-arm fuzz faults bench bench-peers results install deb format lint \
	tsan valgrind coverage soak large clean help packages wheel test-python-full
.NOTPARALLEL:

release: build/release/build.ninja
	@cmake --build --preset release

run: release
	@scripts/demo build/release/bilevel

run-fashion: release
	@$(PACKAGES) fashion
	@scripts/demo build/release/bilevel fashion

test:
	@$(PACKAGES) test
	@scripts/run-tests

test-arm:
	@$(PACKAGES) arm
	@scripts/test-arm $(TESTS)

# On a machine with a GPU.
test-cuda:
	@cmake --preset release -DBLV_TESTS=ON -DBLV_CUDA=ON >/dev/null
	@cmake --build --preset release
	@scripts/test-cuda

fuzz:
	@$(PACKAGES) test
	@scripts/run-fuzz $(SECONDS)

faults:
	@$(PACKAGES) test
	@scripts/run-faults

# Other libraries are timed as well where python3 has them; .venv/ comes first, if it is there.
bench: build/release/build.ninja
	@PATH="$(WITH_PEERS)" cmake --build --preset release --target bench

# Oracles, then whole algorithms, then other tools. Data are taken from BILEVEL_DATA; what is found
# goes to bench/results, from where scripts/results takes it.
bench-peers: release .venv/ready
	@PATH="$(WITH_PEERS)" build/release/bench/bench_peers
	@.venv/bin/python3 bench/peers/compare.py build/release/bilevel --markdown bench/results/algorithms.md
	@.venv/bin/python3 bench/peers/tools.py build/release/bilevel --markdown bench/results/tools.md

results: release
	@scripts/results

PEERS = torch numpy scipy scikit-learn jax numba optuna cleanlab
.venv/ready: Makefile
	@$(PACKAGES) peers
	@python3 -m venv .venv
	@.venv/bin/python3 -m pip install --quiet $(PEERS)
	@touch $@

# One file for CPython 3.10 and later.
wheel:
	@$(PACKAGES) test
	@scripts/build-wheel build/wheel

# With PyTorch, JAX and the notebooks: a download of some hundred megabytes.
test-python-full: release
	@$(PACKAGES) test
	@scripts/test-python full

install: release
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

deb:
	@$(PACKAGES) deb
	@scripts/make-deb

format:
	@$(PACKAGES) test
	@scripts/format

lint:
	@$(PACKAGES) lint
	@scripts/lint

tsan:
	@$(PACKAGES) test
	@scripts/run-tsan

valgrind:
	@$(PACKAGES) valgrind
	@scripts/run-valgrind

coverage:
	@$(PACKAGES) coverage
	@scripts/coverage

# For an hour; SOAK_SECONDS=60 for a minute.
soak: release
	@cmake --preset release -DBLV_TESTS=ON >/dev/null
	@cmake --build --preset release --target bilevel_command compare_results
	@scripts/soak

# A share of the full sizes: LARGE=0.1 needs a tenth of the memory and disk.
large: release
	@cmake --preset release -DBLV_TESTS=ON >/dev/null
	@cmake --build --preset release --target measure_memory
	@scripts/large

clean:
	rm -rf build

help:
	@echo "make            build the library and the command: build/release/bilevel"
	@echo "make run        build, find the wrong labels among 1,000 images, write a page about it"
	@echo "make run-fashion  the same with 20,000 images of Fashion-MNIST"
	@echo "make test       run all tests: release, sanitizers, clang, include rule, format"
	@echo "make test-arm   cross-compile for 64-bit ARM and run the tests under qemu (TESTS=regex)"
	@echo "make test-cuda  the tests that need a GPU, and compute-sanitizer on them"
	@echo "make fuzz       feed made-up files and texts to all that reads them, SECONDS=60 for each"
	@echo "make faults     fail every request for memory, file call and oracle call in turn"
	@echo "make bench      build and run the benchmarks"
	@echo "make bench-peers  compare with PyTorch, JAX and others, installed into .venv/ (large)"
	@echo "make results    write docs/results.md and its pages from the points in bench/results"
	@echo "make wheel      build the Python package into build/wheel"
	@echo "make test-python-full  test it with PyTorch and JAX too, installed into build/ (large)"
	@echo "make install    install to PREFIX ($(PREFIX)), below DESTDIR when it is set"
	@echo "make deb        make Debian packages: build/deb/*.deb; scripts/test-deb tries them in a bare root"
	@echo "make format     format all C files in place"
	@echo "make lint       clang-tidy, cppcheck, gcc -fanalyzer, include rule, format"
	@echo "make tsan       the threaded tests under ThreadSanitizer"
	@echo "make valgrind   small tests under valgrind's memcheck"
	@echo "make coverage   lines and branches of the library that the tests reach"
	@echo "make soak       kill and resume solves for an hour (SOAK_SECONDS=n), compare bits"
	@echo "make large      10 million rows, 10 million variables: memory as announced (LARGE=share)"
	@echo "make clean      remove build/"
	@echo
	@echo "Missing Debian packages are installed by name; make PACKAGES=: installs nothing."

packages:
	@$(PACKAGES) build

# A first build leaves the tests out, so that it needs no test packages. `make test` turns them on,
# and on they stay. Ninja sees changes of CMakeLists.txt by itself, those of presets it does not.
build/release/build.ninja: CMakePresets.json | packages
	@cmake --preset release $(if $(wildcard $@),,-DBLV_TESTS=OFF)
	@touch $@
