# A newcomer needs only `make demo` and `make test`. Both install missing packages.

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

PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
# systemd also reads units from /usr/local/lib.
UNITDIR    ?= $(PREFIX)/lib/systemd/system
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
FISHDIR    ?= $(PREFIX)/share/fish/vendor_completions.d
DOCDIR     ?= $(PREFIX)/share/doc/rosterd
# The pages of docs/ for users; the other pages are for developers and are not installed.
PAGES      := $(filter-out %/ARCHITECTURE.md %/RELEASING.md %/TESTING.md,$(sort $(wildcard docs/*.md)))
DOCUMENTS  := README.md $(PAGES) docs/page.png docs/page-dark.png config/grafana-dashboard.json \
              config/prometheus-rules.yml
EXAMPLES   := config/rosterd.toml $(wildcard systemd/examples/*)
# Adapts links to the installed folder, which has all pages in one place, and drops README's section for developers.
INSTALLED  := -e 's,](\(\.\./\)\?\(docs\|config\|systemd\)/,](\2/,g' -e 's,](docs/,](,g' \
              -e 's,](config/sources),](examples/sources),g' -e 's,](config/rosterd.toml),](examples/rosterd.toml),g' \
              -e 's,](config/,](,g' -e 's,](systemd/examples),](examples),g' -e 's,](\.\./README.md,](README.md,g' \
              -e '/^\#\# Developing$$/,$$d'
SOURCES    := $(wildcard config/sources/*.toml)
PROGRAMS   := rosterd rosterctl

DOCUMENTED   := RosterCore RosterDefinition RosterPostgres RosterCache RosterAuth RosterDecode RosterFetch RosterSync RosterStatus \
                RosterStatusClient RosterSystemd RosterSimulator RosterTerminal RosterDaemon RosterTestSupport
RUFF_VERSION := 0.17.6
RUFF         := .build/ruff-$(RUFF_VERSION)
SCRIPTS      := grep -rlE --exclude='*.swift' --exclude-dir=rosterd

.PHONY: bench demo build build-postgres simulator compiler install install-postgres install-documents uninstall deb test test-oauth test-readers test-postgres speed-postgres test-status test-attack test-page test-upstreams test-servers page-picture test-crash power faults footprint \
        test-systemd soak month fuzz fuzz-sample asan tsan lint lint-scripts lint-docs sbom reproduce offline-deb \
        autopkgtest apt-repository test-release packages clean

demo: build
	.build/release/rosterd demo

build: compiler packages
	swift build $(RELEASE) $(CHECKS) --product rosterd
	swift build $(RELEASE) $(CHECKS) --product rosterctl

# Apart from the others, because only this program needs libpq.
build-postgres: compiler packages
	swift build $(RELEASE) $(CHECKS) --product rosterd-postgres

# The upstream of the tests below that are not written in Swift. `make test` builds it for TESTED=debug.
simulator: compiler packages
	swift build $(RELEASE) $(CHECKS) --product roster-simulator

compiler:
	@command -v swift >/dev/null || { \
	  echo "rosterd is built by Swift 6.3, and there is no swift in PATH: install it from https://www.swift.org/install/linux" >&2; \
	  exit 1; }

# Installs the programs of `make build`. It builds nothing, so it can run as root and without the compiler.
install: install-documents
	@for p in $(PROGRAMS); do test -x .build/release/$$p || { echo "make build first" >&2; exit 1; }; done
	install -d $(addprefix $(DESTDIR),$(BASHDIR) $(ZSHDIR) $(FISHDIR) $(UNITDIR))
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin $(PROGRAMS:%=.build/release/%)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 man/rosterctl.1
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man5 man/rosterd.toml.5
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man8 man/rosterd.8
	for p in $(PROGRAMS); do program=.build/release/$$p; \
	  $$program --generate-completion-script bash | sed '1{/^#!/d}' > $(DESTDIR)$(BASHDIR)/$$p && \
	  $$program --generate-completion-script zsh > $(DESTDIR)$(ZSHDIR)/_$$p && \
	  $$program --generate-completion-script fish > $(DESTDIR)$(FISHDIR)/$$p.fish || exit 1; \
	done
	for u in systemd/*.service systemd/*.socket systemd/*.path; do \
	  sed 's|/usr/bin/ros|$(PREFIX)/bin/ros|' $$u > $(DESTDIR)$(UNITDIR)/$${u##*/} && \
	  chmod 644 $(DESTDIR)$(UNITDIR)/$${u##*/} || exit 1; \
	done
	install -D -m 644 systemd/rosterd.sysusers.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/rosterd.conf
	install -D -m 644 systemd/rosterd.tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/rosterd.conf
# The first configuration has no keys. The package's postinst makes a copy, and dpkg never touches that.
	install -D -m 644 config/stub.toml $(DESTDIR)$(PREFIX)/share/rosterd/rosterd.toml
# The configuration may contain a secret header. Without the group rosterd, only root can read it.
	install -d $(DESTDIR)$(SYSCONFDIR)/rosterd
	file=$(SYSCONFDIR)/rosterd/rosterd.toml; test -n "$(DESTDIR)" -o -e $$file || { \
	  install -m 640 config/stub.toml $$file && \
	  if getent group rosterd >/dev/null; then chgrp rosterd $$file; fi; }

# The package rosterd-postgres: what `make build-postgres` has left, its unit and its manual page.
install-postgres:
	@test -x .build/release/rosterd-postgres || { echo "make build-postgres first" >&2; exit 1; }
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/bin .build/release/rosterd-postgres
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man8 man/rosterd-postgres.8
	install -D -m 644 systemd/postgres/rosterd-postgres@.service $(DESTDIR)$(UNITDIR)/rosterd-postgres@.service
	sed -i 's|/usr/bin/ros|$(PREFIX)/bin/ros|' $(DESTDIR)$(UNITDIR)/rosterd-postgres@.service
	install -d $(addprefix $(DESTDIR),$(BASHDIR) $(ZSHDIR) $(FISHDIR))
	program=.build/release/rosterd-postgres; \
	  $$program --generate-completion-script bash | sed '1{/^#!/d}' > $(DESTDIR)$(BASHDIR)/rosterd-postgres && \
	  $$program --generate-completion-script zsh > $(DESTDIR)$(ZSHDIR)/_rosterd-postgres && \
	  $$program --generate-completion-script fish > $(DESTDIR)$(FISHDIR)/rosterd-postgres.fish

install-documents:
	install -D -m 644 -t $(DESTDIR)$(DOCDIR) $(DOCUMENTS)
	sed -i $(INSTALLED) $(addprefix $(DESTDIR)$(DOCDIR)/,$(notdir $(filter %.md,$(DOCUMENTS))))
	install -d $(DESTDIR)$(DOCDIR)/examples
	for e in $(EXAMPLES); do \
	  sed 's|/usr/bin/ros|$(PREFIX)/bin/ros|' $$e > $(DESTDIR)$(DOCDIR)/examples/$${e##*/} && \
	  chmod 644 $(DESTDIR)$(DOCDIR)/examples/$${e##*/} || exit 1; \
	done
	install -D -m 644 -t $(DESTDIR)$(DOCDIR)/examples/sources $(SOURCES)

# Removes the files of `make install`. The configuration and the cache remain.
uninstall:
	rm -f $(PROGRAMS:%=$(DESTDIR)$(PREFIX)/bin/%) $(DESTDIR)$(PREFIX)/share/man/man1/rosterctl.1 \
	  $(DESTDIR)$(PREFIX)/share/man/man5/rosterd.toml.5 $(DESTDIR)$(PREFIX)/share/man/man8/rosterd.8 \
	  $(PROGRAMS:%=$(DESTDIR)$(BASHDIR)/%) $(PROGRAMS:%=$(DESTDIR)$(ZSHDIR)/_%) \
	  $(PROGRAMS:%=$(DESTDIR)$(FISHDIR)/%.fish) $(DESTDIR)$(PREFIX)/lib/*.d/rosterd.conf \
	  $(DESTDIR)$(PREFIX)/share/rosterd/rosterd.toml \
	  $(patsubst systemd/%,$(DESTDIR)$(UNITDIR)/%,$(wildcard systemd/*.service systemd/*.socket systemd/*.path)) \
	  $(addprefix $(DESTDIR)$(DOCDIR)/,$(notdir $(DOCUMENTS)) $(addprefix examples/,$(notdir $(EXAMPLES))) \
	  $(addprefix examples/sources/,$(notdir $(SOURCES))))

# Makes a Debian package of the programs of `make build`, in .build, and one of the program of `make build-postgres` if
# that has run. It builds nothing. Needs debhelper, but no network.
deb:
	@for p in $(PROGRAMS); do test -x .build/release/$$p || { echo "make build first" >&2; exit 1; }; done
	@for p in debhelper dpkg-dev; do dpkg -s $$p >/dev/null 2>&1 || { echo "apt-get install $$p" >&2; exit 1; }; done
	rm -f .build/*.deb
	DEB_RULES_REQUIRES_ROOT=no PACKAGE_FOLDER=.build debian/rules binary
	dh_clean
	@ls .build/*.deb

# Repeats the failed tests at the end of the output, and names those that hang.
test: packages
	swift build --build-tests $(CHECKS)
	timeout $(LONGEST) swift test --skip-build $(CHECKS) $(AT_ONCE) 2>&1 | tee .build/test.log \
	  || { grep -A 1 ✘ .build/test.log; .ci/unfinished .build/test.log; exit 1; }

# Tests against django-oauth-toolkit, Authlib and nginx. Needs python3-venv and nginx.
test-oauth:
	Tests/oauth/run .build/$(TESTED)/rosterd
	Tests/oauth/assertions .build/$(TESTED)/rosterd

# The examples of README.md and docs/CACHE.md, and Datasette, Litestream and DuckDB beside a rosterd that publishes.
# Needs python3-venv and sqlite3.
test-readers:
	Tests/readers/run .build/$(TESTED)/rosterd

# rosterd-postgres against a PostgreSQL server of its own; needs postgresql.
test-postgres:
	Tests/postgres/run .build/$(TESTED)

# Compares the release build of rosterd-postgres with a script; needs postgresql. About 10 minutes.
speed-postgres:
	Tests/postgres/speed .build/release

# Tests against nginx, HAProxy, Caddy, squid, tinyproxy and Python's http.server. Needs the first five, and openssl.
test-upstreams:
	Tests/upstreams/run .build/$(TESTED)/rosterd

# Tests against Django REST framework, Kinto, Datasette and Eve, as Tests/servers/requirements.txt pins them, Prometheus
# and docker-registry. Needs python3-venv, prometheus and docker-registry.
test-servers:
	Tests/servers/run .build/$(TESTED)/rosterd

# Tests a sample of power cuts, kills and faults. Needs cc.
test-crash:
	python3 -B Tests/crash/power --states 200 .build/$(TESTED)/rosterd
	python3 -B Tests/crash/kills --kills 100 .build/$(TESTED)/rosterd
	python3 -B Tests/crash/faults --faults 60 .build/$(TESTED)/rosterd
	python3 -B Tests/crash/surroundings .build/$(TESTED)/rosterd

# Tests every disk state that a power cut at any file call of a sync may leave. Takes minutes.
power:
	python3 -B Tests/crash/power .build/release/rosterd

# Lets each call on a file or a socket fail once, and tries unusual machines. Takes minutes. Without root some parts
# are left out.
faults:
	python3 -B Tests/crash/faults .build/release/rosterd
	python3 -B Tests/crash/surroundings .build/release/rosterd

# Tests the status socket of the release: its OpenAPI document, HTTP, attacks. Needs python3-venv, nginx and curl.
test-status:
	Tests/status/run .build/release/rosterd

# Tests the page of the release in a real browser. Needs chromium, chromium-driver and nginx. The pictures are in
# .build/page.
test-page:
	Tests/page/run .build/release/rosterd

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

# Runs the long tests: all token walks, a thousand failing syncs, readers of two hundred snapshots with kills between
# them, three hundred histories with followers, ten thousand syncs of one cache, two thousand random APIs with random
# definitions, followers that are killed during 500 publishes, ten thousand kills at any moment. Takes minutes.
soak: packages
	swift build --build-tests $(CHECKS)
	ROSTER_WALKS=100000 ROSTER_SOAK=1000 ROSTER_HAMMER=200 ROSTER_FEED=300 ROSTER_SYNCS=10000 ROSTER_DEFINITIONS=2000 \
	ROSTER_MUTANTS=20000 ROSTER_HISTORIES=2000 ROSTER_REMOVALS=5000 ROSTER_ROUND_TRIPS=10000 \
	  swift test --skip-build $(CHECKS) $(AT_ONCE) \
	  --filter 'TokenWalkTests|SoakTests|HammerTests|FeedWalkTests|DefinitionTests|SinceHistoryTests|TokenHistoryTests|ChildHistoryTests|RemovalHistoryTests|RoundTripTests'
	ROSTER_FOLLOWED=500 Tests/readers/run .build/debug/rosterd followers
	python3 -B Tests/crash/kills --kills 10000 .build/debug/rosterd
	POSTGRES_KILLS=2000 Tests/postgres/run .build/debug kills

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

# Uses the same inputs each time, so that only a change can make it fail.
fuzz-sample: packages
	Fuzz/run --seed 1 20

# Runs all Swift tests and their programs under a sanitizer. A report of any process is a failure. Each sanitizer has a
# separate build, because the flag changes every file.
asan: packages
	swift build --build-tests $(ASAN) $(CHECKS)
	Tests/sanitizers/run address swift test --skip-build $(ASAN) $(CHECKS) $(AT_ONCE)

tsan: packages
	mkdir -p .build-tsan
	clang -O2 -Wall -Wextra -Werror -c Tests/sanitizers/mutex.c -o .build-tsan/mutex.o
	swift build --build-tests $(TSAN) $(CHECKS)
	Tests/sanitizers/run thread swift test --skip-build $(TSAN) $(CHECKS) $(AT_ONCE)

# Compares the CPU time of a page in each part of a sync with Benchmarks/base.json, and measures each kind of sync at
# two sizes. Takes three minutes. A change that makes a part cheaper writes a new base:
# .build/release/RosterBenchmarks Benchmarks/base.json --write
bench: packages
	swift build $(RELEASE) $(CHECKS) --product RosterBenchmarks
	.build/release/RosterBenchmarks Benchmarks/base.json
	.build/release/RosterBenchmarks growth
	.build/release/RosterBenchmarks children

lint: lint-scripts lint-docs
	@.ci/prose
	swift format lint --strict -r Sources Tests Benchmarks Fuzz Package.swift

# Finds scripts by their first line, so that new ones are included. Needs python3-venv and shellcheck.
lint-scripts: $(RUFF)/bin/ruff
	$(RUFF)/bin/ruff check . $$($(SCRIPTS) '^#!.*python3$$' .ci Fuzz Tests)
	shellcheck $$($(SCRIPTS) '^#!.*[/ ](ba)?sh$$' .ci Fuzz Tests debian)

# Checks that exported declarations have doc comments, that comments fit into 120 columns, that ARCHITECTURE.md names
# existing files, and that no link of the documents is dead, in the repository and in the installed folder.
lint-docs:
	@.ci/undocumented $(DOCUMENTED)
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

# Builds the package of the last commit like Debian's builders: from its files and vendored packages alone, without a
# network. The package is in .build/offline.
offline-deb:
	.ci/offline-deb

# Installs that package on this machine and runs debian/tests. Needs autopkgtest and root.
autopkgtest:
	rm -rf .build/autopkgtest && mkdir .build/autopkgtest && git archive HEAD debian | tar -x -C .build/autopkgtest
	autopkgtest --no-built-binaries .build/offline/rosterd_*.deb .build/autopkgtest/ -- null

# Makes the download for users in .build/apt, signed by the gpg key KEY: an apt repository with the package of
# `make offline-deb`, the SBOM and checksums. Needs apt-utils. docs/RELEASING.md has all steps of a release.
apt-repository: sbom
	.ci/apt-repository '$(KEY)' .build/apt .build/offline/*.{deb,buildinfo} .build/rosterd.cdx.json

# Does the same with a temporary key. apt must then refuse manipulated files. Needs apt-utils.
test-release: deb sbom
	Tests/release/run .build/rosterd_*.deb .build/rosterd.cdx.json

packages:
	@missing=$$(for p in $(PACKAGES); do dpkg -s $$p >/dev/null 2>&1 || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  as_root=$$([ $$(id -u) = 0 ] || echo sudo); \
	  $$as_root apt-get update -q && $$as_root env DEBIAN_FRONTEND=noninteractive \
	    apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends $$missing; \
	fi

clean:
	swift package clean
