# make demo and make test are all that a newcomer needs; both install what is missing.

PACKAGES := libsqlite3-dev libsystemd-dev
# Changing a -Xswiftc flag rebuilds everything, so each kind of build has one set.
CHECKS   := --explicit-target-dependency-import-check error
RELEASE  := -c release --static-swift-stdlib -Xlinker -s -Xlinker --no-export-dynamic

.PHONY: demo build test test-oauth test-readers soak tsan lint packages clean

demo: build
	.build/release/rosterd demo

build: packages
	swift build $(RELEASE) $(CHECKS) --product rosterd
	swift build $(RELEASE) $(CHECKS) --product rosterctl

test: packages
	swift build --build-tests $(CHECKS)
	swift test --skip-build $(CHECKS)

# Against django-oauth-toolkit and nginx, which need python3-venv and nginx. Takes the programs that `make test` has built.
test-oauth:
	Tests/oauth/run .build/debug/rosterd

# What README.md says about reading, and Datasette and Litestream beside a rosterd that publishes; needs python3-venv and sqlite3.
test-readers:
	Tests/readers/run .build/debug/rosterd

# What takes minutes: all token walks, a thousand syncs that end badly, readers over two hundred snapshots and the kills between.
soak: packages
	swift build --build-tests $(CHECKS)
	ROSTER_WALKS=100000 ROSTER_SOAK=1000 ROSTER_HAMMER=200 swift test --skip-build $(CHECKS) \
	  --filter 'TokenWalkTests|SoakTests|HammerTests'

# A build of its own, because the flag changes every file.
tsan: packages
	swift test --sanitize=thread --scratch-path .build-tsan $(CHECKS) \
	  --filter 'RosterAuthTests|RosterFetchTests|RosterSyncTests'

lint:
	swift format lint --strict -r Sources Tests Package.swift

packages:
	@missing=$$(for p in $(PACKAGES); do dpkg -s $$p >/dev/null 2>&1 || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  as_root=$$([ $$(id -u) = 0 ] || echo sudo); \
	  $$as_root apt-get update -q && $$as_root env DEBIAN_FRONTEND=noninteractive \
	    apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends $$missing; \
	fi

clean:
	swift package clean
