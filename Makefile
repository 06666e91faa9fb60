# `make demo` and `make test` are enough for a newcomer, and install missing packages. `make help` lists all targets.

PACKAGES := libsqlite3-dev libssl-dev libsystemd-dev zlib1g-dev libpq-dev
# A changed -Xswiftc flag rebuilds everything, so each kind of build has one set of flags.
CHECKS   := --explicit-target-dependency-import-check error
# The time limits of the tests assume that only this many run at the same time.
AT_ONCE  := --experimental-maximum-parallelization-width 8
# Time limit of all tests together, which take 10 to 20 minutes on two cores.
LONGEST  := 45m
ASAN     := --sanitize=address --scratch-path .build-asan
TSAN     := --sanitize=thread --scratch-path .build-tsan -Xlinker $(CURDIR)/.build-tsan/mutex.o
# C is compiled for size, because BoringSSL's arithmetic is assembler and the rest is not critical. Two builds in
# different folders must be identical. Therefore messages contain no build path, and the compiler stores no digests of
# its options, which it would use to decide whether to compile a file again.
#
# Each function has a section of its own, so that the linker leaves out those that the program does not call. The
# program rosterd is 7 % smaller, and 0.7 MB less of its code is in memory.
#
# ld.bfd, unlike gold, packs relative relocations: 1.3 MB less of the program, and 1.5 MB less of its memory. It warns
# about mktemp in Foundation.
#
# Only debug builds, which run all tests, check at run time that no access to a variable overlaps with another one.
# Metadata by mangled name would search all conformances of the program for each type at its first use.
RELEASE  := -c release --static-swift-stdlib -debug-info-format none \
            -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen -Xswiftc -enforce-exclusivity=unchecked \
            -Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors \
            -Xswiftc -Xfrontend -Xswiftc -function-sections -Xcc -ffunction-sections -Xcc -fdata-sections \
            -Xcc -Os -Xcc '-ffile-prefix-map=$(CURDIR)/=' \
            -Xswiftc -use-ld=bfd -Xlinker -z -Xlinker pack-relative-relocs \
            -Xlinker -T -Xlinker $(CURDIR)/Sources/sections.ld \
            -Xlinker -s -Xlinker --no-export-dynamic -Xlinker -O2

# The build that `make test-oauth` and the like test: debug, which `make test` makes, or release, which needs half the
# time.
TESTED ?= debug

SHELL       := /bin/bash
.SHELLFLAGS := -o pipefail -c

RUFF_VERSION := 0.17.6
RUFF         := .build/ruff-$(RUFF_VERSION)
SCRIPTS      := grep -rlE --exclude='*.swift' --exclude-dir=rosterd

# No target is a file but ruff.
.PHONY: $(shell sed -nE 's/^([a-z][a-z -]*):.*/\1/p' Makefile installation.mk 2>/dev/null)

# Shows a sync against an embedded upstream.
demo: build
	.build/release/rosterd demo

# Prints each target with the first sentence of the comment above it.
help:
	@awk '/^# / { text = text substr($$0, 2); next } \
	  /^[a-z][a-z -]*:/ && text { split($$0, names, ":"); sub(/\. .*/, ".", text); \
	    printf((length(names[1]) > 17 ? "%s\n%18s" : "%-18s%s"), names[1], ""); print text } \
	  { text = "" }' $(MAKEFILE_LIST)

# Builds the programs rosterd and rosterctl, static and stripped, in .build/release.
build: compiler packages
	swift build $(RELEASE) $(CHECKS) --product rosterd
	swift build $(RELEASE) $(CHECKS) --product rosterctl

# Builds rosterd-postgres, apart from the others, because only this program needs libpq.
build-postgres: compiler packages
	swift build $(RELEASE) $(CHECKS) --product rosterd-postgres

# Builds the upstream of the tests that are not written in Swift. `make test` builds it for TESTED=debug.
simulator: compiler packages
	swift build $(RELEASE) $(CHECKS) --product roster-simulator

compiler:
	@command -v swift >/dev/null || { \
	  echo "rosterd is built by Swift 6.3, and there is no swift in PATH: install it from https://www.swift.org/install/linux" >&2; \
	  exit 1; }

include installation.mk

# Makes Debian packages of the built programs, in .build. rosterd-postgres gets one if `make build-postgres` has run.
# It builds nothing. Needs debhelper, but no network.
deb:
	@for p in $(PROGRAMS); do test -x .build/release/$$p || { echo "make build first" >&2; exit 1; }; done
	@for p in debhelper dpkg-dev; do dpkg -s $$p >/dev/null 2>&1 || { echo "apt-get install $$p" >&2; exit 1; }; done
	rm -f .build/*.deb
	DEB_RULES_REQUIRES_ROOT=no PACKAGE_FOLDER=.build debian/rules binary
	dh_clean
	@ls .build/*.deb

# Builds and runs all Swift tests, or with T=RosterAuthTests those of a target, or of any other `--filter`.
test: packages
	$(call tests,$(if $(T),--filter '$(T)'))

# Checks a change quickly: `lint`, and the tests that start no program and pull no lists. Below 90 s after a build.
check: lint packages
	$(call tests,--skip 'EndToEndTests|Roster(Cache|Daemon|Fetch|Simulator|Sync)Tests')

# Repeats the failed tests at the end of the output, and names those that hang.
define tests
	swift build --build-tests $(CHECKS)
	timeout $(LONGEST) swift test --skip-build $(CHECKS) $(AT_ONCE) $(1) 2>&1 | tee .build/test.log \
	  || { grep -A 1 ✘ .build/test.log; .ci/unfinished .build/test.log; exit 1; }
endef

# Tests the programs with servers, readers and machines of others. The first lines of Tests/*/run say with which ones,
# and what each needs. Answer times, and the cost of the page, are those of the release.
test-crash test-oauth test-page test-postgres test-readers test-servers test-status test-upstreams: test-%:
	Tests/$*/run .build/$(TESTED)/rosterd

test-page test-status: override TESTED = release

# Compares the release build of rosterd-postgres with a script; needs postgresql. About 10 minutes.
speed-postgres:
	Tests/postgres/speed .build/release

# Tests every disk state that a power cut at any file call of a sync may leave. Takes minutes.
power:
	python3 -B Tests/crash/power .build/release/rosterd

# Lets each call on a file or a socket fail once, and tries unusual machines. Takes minutes. Without root some parts
# are left out.
faults:
	python3 -B Tests/crash/faults .build/release/rosterd
	python3 -B Tests/crash/surroundings .build/release/rosterd

# Draws the pictures of the page in docs/STATUS.md.
page-picture:
	Tests/page/run --only=looks --picture .build/release/rosterd

# Runs all attacks, and measures the answer times meanwhile. Takes minutes.
test-attack:
	Tests/status/run --long --only=latency --only=attack .build/release/rosterd

# Measures the cost of the idle release and its start time. Takes two minutes and needs an otherwise idle machine.
footprint:
	Tests/status/run --long --only=footprint .build/release/rosterd

# Tests the packages under a real systemd, in a temporary Debian. Needs root, and the program of `make simulator`.
test-systemd: deb
	Tests/systemd/run .build/rosterd_*.deb
	Tests/postgres/service .build/rosterd_*.deb .build/rosterd-postgres_*.deb

# Runs the long tests, which take minutes. They are all token walks, a thousand failing syncs, readers of two hundred
# snapshots with kills between them, three hundred histories with followers, ten thousand syncs of one cache, two
# thousand random APIs with random definitions, followers that are killed during 500 publishes, ten thousand kills at
# any moment.
soak: packages
	swift build --build-tests $(CHECKS)
	ROSTER_WALKS=100000 ROSTER_SOAK=1000 ROSTER_HAMMER=200 ROSTER_FEED=300 ROSTER_SYNCS=10000 ROSTER_DEFINITIONS=2000 \
	ROSTER_MUTANTS=20000 ROSTER_HISTORIES=2000 ROSTER_REMOVALS=5000 ROSTER_ROUND_TRIPS=10000 \
	  swift test --skip-build $(CHECKS) $(AT_ONCE) \
	  --filter 'TokenWalkTests|SoakTests|HammerTests|FeedWalkTests|DefinitionTests|SinceHistoryTests|TokenHistoryTests|ChildHistoryTests|RemovalHistoryTests|RoundTripTests'
	ROSTER_FOLLOWED=500 Tests/readers/run .build/debug/rosterd followers
	python3 -B Tests/crash/kills --kills 10000 .build/debug/rosterd
	POSTGRES_KILLS=2000 Tests/postgres/run .build/debug/rosterd kills

# Simulates a month of rosterd with a realistic upstream in a few minutes: 2,880 syncs with an accelerated clock.
# The figures are in .build/month.txt.
month: packages
	swift build --build-tests $(CHECKS)
	ROSTER_MONTH=2880 ROSTER_MONTH_REPORT=.build/month.txt swift test --skip-build $(CHECKS) --filter MonthTests
	@cat .build/month.txt

# Fuzzes each reader of foreign input for T seconds, with libFuzzer and the address sanitizer. Fuzz/run has more
# options. The first build takes minutes.
fuzz: packages
	Fuzz/run $(or $(T),60)

# Fuzzes each of them with 15,000 inputs, which are the same each time, so that only a change can make it fail.
fuzz-sample: packages
	Fuzz/run --seed 1 15000

# Runs all Swift tests and their programs under the address sanitizer. A report of any process is a failure. Each
# sanitizer has a separate build, because the flag changes every file.
asan: packages
	swift build --build-tests $(ASAN) $(CHECKS)
	Tests/sanitizers/run address swift test --skip-build $(ASAN) $(CHECKS) $(AT_ONCE)

# Does the same under the thread sanitizer.
tsan: packages
	mkdir -p .build-tsan
	clang -O2 -Wall -Wextra -Werror -c Tests/sanitizers/mutex.c -o .build-tsan/mutex.o
	swift build --build-tests $(TSAN) $(CHECKS)
	Tests/sanitizers/run thread swift test --skip-build $(TSAN) $(CHECKS) $(AT_ONCE)

# Compares the CPU time of a page in each part of a sync with Benchmarks/base.json. Measures each kind of sync at two
# sizes. Takes three minutes. A change that makes a part cheaper writes a new base:
# .build/release/RosterBenchmarks Benchmarks/base.json --write
bench: packages
	swift build $(RELEASE) $(CHECKS) --product RosterBenchmarks
	.build/release/RosterBenchmarks Benchmarks/base.json
	.build/release/RosterBenchmarks growth
	.build/release/RosterBenchmarks children

# Checks the form of the code, and the wording and links of the documents.
lint: lint-scripts lint-docs
	@.ci/prose
	swift format lint --strict -r Sources Tests Benchmarks Fuzz Package.swift

# Checks the scripts with ruff and shellcheck. Finds them by their first line, so that new ones are included. Needs
# python3-venv and shellcheck.
lint-scripts: $(RUFF)/bin/ruff
	$(RUFF)/bin/ruff check . $$($(SCRIPTS) '^#!.*python3$$' .ci Fuzz Tests)
	shellcheck $$($(SCRIPTS) '^#!.*[/ ](ba)?sh$$' .ci Fuzz Tests debian)

# Checks comments and documents. Exported declarations have doc comments, comments fit into 120 columns,
# ARCHITECTURE.md names existing files, and no link is dead, in the repository and in the installed folder.
lint-docs:
	@.ci/undocumented
	@.ci/long-comments
	@.ci/architecture
	@rm -rf .build/documents && $(MAKE) -s install-documents DESTDIR=.build/documents PREFIX=/usr
	@.ci/dead-links . .build/documents

# Lives beside the build. Each version has its own folder.
$(RUFF)/bin/ruff:
	python3 -m venv --clear $(RUFF)
	$(RUFF)/bin/pip install -q ruff==$(RUFF_VERSION)

# Writes the bill of materials as CycloneDX, for the packages that `make build` has resolved.
sbom:
	.ci/sbom > .build/rosterd.cdx.json
	@ls .build/rosterd.cdx.json

# Checks that two builds of a commit are identical. Takes two full builds.
reproduce:
	.ci/reproduce

# Builds the package of the last commit like Debian's builders. It uses the commit's files and vendored packages alone,
# without a network. The package is in .build/offline.
offline-deb:
	.ci/offline-deb

# Installs the package of `make offline-deb` on this machine and runs debian/tests. Needs autopkgtest and root.
autopkgtest:
	rm -rf .build/autopkgtest && mkdir .build/autopkgtest && git archive HEAD debian | tar -x -C .build/autopkgtest
	autopkgtest --no-built-binaries .build/offline/rosterd_*.deb .build/autopkgtest/ -- null

# Makes the download for users in .build/apt, signed by the gpg key KEY. It is an apt repository with the package of
# `make offline-deb`, the SBOM and checksums. Needs apt-utils. docs/RELEASING.md has all steps of a release.
apt-repository: sbom
	.ci/apt-repository '$(KEY)' .build/apt .build/offline/*.{deb,buildinfo} .build/rosterd.cdx.json

# Makes that download with a temporary key, and lets apt refuse manipulated files. Needs apt-utils.
test-release: deb sbom
	Tests/release/run .build/rosterd_*.deb .build/rosterd.cdx.json

# Installs the missing Debian packages of a build.
packages:
	@missing=$$(for p in $(PACKAGES); do dpkg -s $$p >/dev/null 2>&1 || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  as_root=$$([ $$(id -u) = 0 ] || echo sudo); \
	  $$as_root apt-get update -q && $$as_root env DEBIAN_FRONTEND=noninteractive \
	    apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends $$missing; \
	fi

# Removes the builds.
clean:
	swift package clean
