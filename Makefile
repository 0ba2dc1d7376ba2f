# make help lists what there is.
GO ?= go
# The race detector needs a C compiler; without one the tests run all the same.
RACE := $(shell command -v cc >/dev/null 2>&1 && echo -race)
export GORACE = suppressions="$(CURDIR)/.ci/race.suppressions"
TOOL := $(GO) tool -modfile=.ci/tools.mod

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-15s %s\n", $$1, $$2}'

.PHONY: demo
demo: ## watch locks on embedded servers: nothing to install
	$(GO) run . demo

.PHONY: build
build: ## build the program as bin/lockscope
	$(GO) build -o bin/lockscope .

# Most tests wait for servers: more of them run at once than there are processors.
SIDE_BY_SIDE := -p 20 -parallel 8
# These are started first, so that none of them is left at the end.
SLOWEST := ./tui ./cli ./inspect/zksource ./lockops ./inspect/lies ./inspect/redissource ./inspect/finding
# And these, when real servers and long tests are on.
LONG := ./lockops/campaign ./inspect/foreign ./lockops/act ./inspect/wild ./inspect/soak
# Compiling takes longest, and half as long without what only a debugger reads and without inlining.
# These few run so often that inlining pays.
INLINED := runtime internal/runtime/... bytes strings unicode/utf8 github.com/charmbracelet/x/ansi/... github.com/clipperhouse/...
QUICK := -ldflags='-w -s' -gcflags='all=-l -dwarf=false' $(foreach package,$(INLINED),-gcflags='$(package)=-dwarf=false')
RACING := $(RACE) -ldflags='-w -s' -gcflags='all=-dwarf=false'
# Linters, and tests that compile, use what is compiled for the race detector.
AS_RACING := GOFLAGS="$$GOFLAGS $(RACE) -gcflags=all=-dwarf=false"

# Linters, compilers and tests collect garbage less often: they take up to 3 GB of memory.
lint test test-all: export GOGC := 400

.PHONY: test
test: ## the tests on servers inside the program: nothing to install
	@# Without real servers and long tests there is little to run in these three, and much to compile.
	@LOCKSCOPE_REAL= LOCKSCOPE_LONG= $(GO) test -vet=off $(QUICK) $(SIDE_BY_SIDE) $(SLOWEST) $$($(GO) list ./... | grep -vE '/(soak|campaign|foreign)$$')
	@echo 'Passed with embedded servers only. "make test-all" adds real servers, long tests and the race detector.'

.PHONY: test-all
test-all: export LOCKSCOPE_REAL := $(or $(LOCKSCOPE_REAL),installed)
test-all: export LOCKSCOPE_LONG := 1
test-all: test ## all tests: real servers (LOCKSCOPE_REAL=require: fail where they are missing), long ones, races
	$(AS_RACING) $(GO) test -vet=off $(RACING) -p 5 -parallel 4 -timeout 20m $(SLOWEST) $(LONG) ./...
	@# The race detector finds races of go-zookeeper itself in these.
	$(GO) test -vet=off $(QUICK) -run 'TestCancellationIsNotAFailure|TestReadersAndWritersExcludeEachOther' ./inspect/zksource ./lockops
	$(GO) test -vet=off $(RACING) -tags failpoints -run TestFailpoint_ ./lockops/campaign
	cd screenshots && $(GO) test -vet=off $(RACING) -timeout 5m .
	cd bench && $(GO) test -vet=off $(RACING) -timeout 5m .

.PHONY: partitions
partitions: ## every partition of a real ZooKeeper ensemble that the locks must survive (10 minutes)
	LOCKSCOPE_REAL=require LOCKSCOPE_PARTITIONS=all $(GO) test ./lockops -run InAnyPartition -timeout 30m -v

.PHONY: races
races: ## race each guarded action with the holder's own release, renewal and end, 10,000 times a kind
	LOCKSCOPE_REAL=require $(GO) test ./lockops/act -run 'InRaces' -timeout 0 -v -args -act.tries 10000

.PHONY: mutants
mutants: ## break the locks on purpose, one change at a time (internal/mutants/table): a test must notice each
	LOCKSCOPE_REAL=require LOCKSCOPE_LONG=1 $(GO) run ./internal/mutants

.PHONY: mutants-random
mutants-random: ## make N random changes in a package: do its own tests notice? make mutants-random N=24 PKG=./inspect/metrics SEED=1
	@ulimit -v 8000000; LOCKSCOPE_REAL= LOCKSCOPE_LONG= $(GO) run ./internal/mutants -random $(or $(N),24) -pkg $(PKG) -seed $(SEED)

# How long to soak, the seed of the first round, targets (zookeeper,redis,redlock,cluster,replica; empty: all), and how many schedules
# of a minute each to run in one process.
D ?= 10m
SEED ?= 1
TARGETS ?=
SEEDS ?= 200
SOAKFLAGS ?=
SOAKTESTS ?= TestCampaign|TestControl|TestSchedules
# Workers stand still where it hurts most (internal/failpoint); empty: nowhere.
TAGS ?= failpoints

.PHONY: soak
soak: ## hunt the locks with faults on real servers: make soak D=6h SEED=7 TARGETS=zookeeper
	LOCKSCOPE_REAL=require $(GO) test -tags '$(TAGS)' -count=1 -timeout 0 -v -run '$(SOAKTESTS)' ./lockops/campaign -args \
		-campaign.for $(D) -campaign.seed $(SEED) -campaign.targets '$(TARGETS)' -sim.seeds $(SEEDS) -sim.seed $(SEED) $(SOAKFLAGS)

.PHONY: soak-look
soak-look: ## watch servers on which nothing is wrong and everything happens, with faults: make soak-look D=1h SEED=7
	LOCKSCOPE_REAL=require $(GO) test $(QUICK) -count=1 -timeout 0 -v -run TestSoak ./inspect/soak -args -soak.d $(D) -soak.seed $(SEED)

.PHONY: soak-reconnects
soak-reconnects: ## break the connections to each kind of server 1,000 times: nothing may be left
	LOCKSCOPE_REAL=require $(GO) test -count=1 -timeout 0 -v -run TestReconnects ./inspect/soak -args -soak.reconnects 1000

.PHONY: fuzz
fuzz: ## change what servers say on its way to us, for as long as one likes: make fuzz D=1h SEED=7
	$(GO) test -count=1 -timeout 0 -v -run TestMutatedConversations ./inspect/lies -args -lies.for $(D) -lies.seed $(if $(filter command line,$(origin SEED)),$(SEED),0)

.PHONY: bench
bench: export LOCKSCOPE_REAL := $(or $(LOCKSCOPE_REAL),installed)
bench: ## the benchmarks; those in bench/ compare with the wire and with peers on real servers
	$(GO) test -run '^$$' -bench . -benchmem ./...
	cd bench && $(GO) test -run '^$$' -bench . -benchtime 1x -timeout 30m .

.PHONY: bench-peers
bench-peers: ## one table of our locks next to their peers, on real servers (5 minutes)
	cd bench && LOCKSCOPE_REAL=require $(GO) run ./peers

.PHONY: lint
lint: ## vet, tidy modules, formatting and staticcheck; golangci-lint where it is installed
	@# All is compiled as for the race detector, so that test-all does not compile it again.
	$(GO) vet $(RACING) ./... && $(GO) mod tidy -diff
	$(GO) vet $(RACING) -tags failpoints ./internal/failpoint ./lockops/...
	cd bench && $(GO) vet $(RACING) . && $(GO) mod tidy -diff
	cd screenshots && $(GO) vet $(RACING) . && $(GO) mod tidy -diff
	@unformatted=$$($(TOOL) gofumpt -l .); test -z "$$unformatted" || { echo "not gofumpt'ed:"; echo "$$unformatted"; exit 1; }
	$(AS_RACING) $$($(TOOL) -n staticcheck) ./...
	@if command -v golangci-lint >/dev/null; then $(AS_RACING) golangci-lint run; else echo 'golangci-lint is not installed: CI runs it'; fi

.PHONY: vuln
vuln: ## known vulnerabilities of what we depend on, where the database can be reached
	@out=$$($(TOOL) govulncheck ./... 2>&1); code=$$?; echo "$$out"; \
	if echo "$$out" | grep -q 'fetching vulnerabilities'; then echo 'not checked: the database cannot be reached'; else exit $$code; fi

GORELEASER = COMMIT=$$(git rev-parse HEAD) COMMIT_DATE=$$(git log -1 --format=%cI) COMMIT_TIME=$$(git log -1 --format=%ct) \
	DIRTY=$$(git diff --quiet HEAD && echo false || echo true) $(GO) tool -modfile=.ci/release.mod goreleaser release --clean

.PHONY: release
release: ## archives for linux, macOS and Windows, deb and rpm, and checksums, as dist/: a dry run of publish
	@git rev-parse --verify --quiet HEAD >/dev/null || { echo 'a release needs a git checkout: its packages are dated by the commit'; exit 1; }
	LOCKSCOPE_VERSION=$$($(GO) run . version | cut -d ' ' -f 2)-dev.$$(git log -1 --format=%cd --date=format:%Y%m%d%H%M%S) $(GORELEASER) --snapshot --skip=sign,sbom $(RELEASEFLAGS)

.PHONY: publish
publish: ## release the tag that is checked out (needs GITHUB_TOKEN, cosign and syft)
	LOCKSCOPE_VERSION= $(GORELEASER)

.PHONY: release-try
release-try: ## make the packages twice, compare them, install the deb into an empty root and run it (Debian; needs root)
	.ci/release-try.sh

.PHONY: shots
shots: ## the pictures in screenshots/ (needs librsvg2-bin and fonts-jetbrains-mono)
	cd screenshots && $(GO) run . && $(GO) test . -run TestPicturesAreTheSame -update

.PHONY: deps
deps: ## the real servers and client libraries that the tests use (Debian packages; needs root)
	apt-get update
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		gcc libc6-dev zookeeper redis-server python3-kazoo python3-redis tmux prometheus prometheus-alertmanager mandoc default-jdk-headless \
		libcurator-recipes-java libcurator-framework-java libcurator-client-java libzookeeper-java libguava-java libslf4j-java libservlet-api-java liblog4j1.2-java
