# SPDX-License-Identifier: Apache-2.0

GO ?= go

# How releases are built, with the processor's profile that `make pgo` made. The
# first tag leaves out gRPC's tracing pages, which nothing serves. The second leaves
# out net/http's own HTTP/2, which gRPC does not use and our pages do not need.
PGO = packaging/pauseless.pgo
RELEASE = -trimpath -tags=grpcnotrace,nethttpomithttp2 -pgo=$(abspath $(PGO)) -ldflags="-s -w"

.PHONY: help build demo again soak world test golden bench semantics conformance model tofino man completions

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' Makefile

build: bin/pauseless ## build bin/pauseless

.PHONY: bin/pauseless
bin/pauseless:
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build $(RELEASE) -ldflags="-s -w $(COMMIT)" -o bin/pauseless ./cmd/pauseless

# Go notes the commit of a clone by itself, but not that of a git worktree.
COMMIT = $(shell test -f .git && git log -1 --format='-X main.commit=%H -X main.date=%cI' 2>/dev/null)

demo: build ## the main job: drill and rlb over drill on a lossless fabric, with a report
	bin/pauseless demo

# Every test runs once. Packages whose goroutines share state run with the race
# detector. The fabric, fifty times slower with it, runs without; its tests of
# many threads run again with it, in short.
RACE = ./controlplane/... ./softswitch ./softswitch/port ./softswitch/p4rtserver ./softswitch/metrics \
	./testbed/real/wire ./testbed/real/live ./testbed/real/netns ./testbed/real/local ./bmv2tests/p4rt ./bmv2tests/controller
THREADS = Threads|Cancel|Browsers

test: build ## everything CI checks: format, vet, staticcheck, tests, race, regenerated files
	@now=$$(wc -c <bin/pauseless); was=$$(cat packaging/size); test $$now -le $$((was + was / 20)) || { echo "bin/pauseless has $$now bytes, over 5 % more than the $$was of packaging/size: say why in CHANGELOG.md, and write $$now into packaging/size"; exit 1; }
	@test -z "$$(gofmt -l .)" || { echo "gofmt -w these:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test $$({ $(GO) list ./...; $(GO) list $(RACE); } | sort | uniq -u)
	$(GO) test -race $(RACE)
	$(GO) test -race -short ./bmv2tests/world
	$(GO) test -race -run 'TestOptimised/v1model/^ecmp$$' ./bmv2tests/schemes
	$(GO) test -race -short -run '$(THREADS)' ./fabric ./testbed/scenario ./testbed/virtual ./testbed/exp ./testbed/view
	cd bmv2tests/goclient && $(GO) vet ./... && $(GO) test ./...

.PHONY: reproducible sbom vuln
reproducible: ## two builds without C, in different folders and with nothing kept from before, are the same bytes
	@set -e; dir=$$(mktemp -d); trap 'chmod -R u+w $$dir; rm -rf $$dir' EXIT; \
	for i in 1 2; do mkdir -p $$dir/$$i/src; git archive HEAD | tar -x -C $$dir/$$i/src; \
		( cd $$dir/$$i/src && CGO_ENABLED=0 GOCACHE=$$dir/$$i/cache $(GO) build $(RELEASE) -buildvcs=false -o $$dir/$$i/pauseless ./cmd/pauseless ); done; \
	cmp $$dir/1/pauseless $$dir/2/pauseless && sha256sum <$$dir/1/pauseless

sbom: build ## what bin/pauseless is made of, for a release: bin/pauseless.spdx.json
	$(GO) mod verify
	$(GO) run ./internal/licence/sbom bin/pauseless bin/pauseless.spdx.json

vuln: ## known vulnerabilities in what is called; needs vuln.go.dev
	$(GO) tool govulncheck ./...

.PHONY: playground
PLAYGROUND = bin/playground
playground: ## build the playground, a static folder for any web server: bin/playground
	@mkdir -p $(PLAYGROUND)
	GOOS=js GOARCH=wasm $(GO) build -trimpath -ldflags='-s -w' -o $(PLAYGROUND)/playground.wasm ./cmd/playground
	gzip -9 -n -f $(PLAYGROUND)/playground.wasm
	cp "$$($(GO) env GOROOT)/lib/wasm/wasm_exec.js" testbed/web/dist/playground.js testbed/web/dist/worker.js testbed/web/dist/style.css $(PLAYGROUND)
	cp testbed/web/src/playground.html $(PLAYGROUND)/index.html
	@du -sh $(PLAYGROUND); echo "serve it with: python3 -m http.server -b 127.0.0.1 -d $(PLAYGROUND)"

.PHONY: playground-test
playground-test: playground ## build the playground and test it in Chromium
	PLAYGROUND=$(abspath $(PLAYGROUND)) $(GO) test -count=1 -v -run Browser ./testbed/playground

.PHONY: site
site: ## build the documents as a static web site that is searched offline: bin/site
	@rm -rf out/commands && mkdir -p out/commands
	MARKDOWNDIR=$(abspath out/commands) $(GO) test -count=1 ./cmd/pauseless -run TestManualPages
	$(GO) run ./cmd/site -commands out/commands -o bin/site

man: ## write manual pages to out/man
	@mkdir -p out/man
	MANDIR=$(abspath out/man) $(GO) test -count=1 ./cmd/pauseless -run TestManualPages

completions: build ## write shell completions to out/completions
	@mkdir -p out/completions
	bin/pauseless completion bash >out/completions/pauseless.bash
	bin/pauseless completion zsh >out/completions/_pauseless
	bin/pauseless completion fish >out/completions/pauseless.fish

.PHONY: snapshot
GORELEASER ?= goreleaser
snapshot: ## build the files of a release into dist, without publishing them: GORELEASER=<goreleaser v2>
	@if command -v $(GORELEASER) >/dev/null; then \
		$(GORELEASER) release --snapshot --clean --skip=sign && dist/pauseless_linux_amd64_v1/pauseless --version && dpkg-deb -I dist/*_amd64.deb; \
	else echo "SKIP: goreleaser is not on PATH, and GORELEASER is not set"; fi

golden: ## rewrite the golden files; read the diff before you commit it
	UPDATE_GOLDEN=1 $(GO) test ./gen
	UPDATE_GOLDEN=1 $(GO) test ./bmv2tests/schemes -run TestCommittedP4Info
	UPDATE_GOLDEN=1 $(GO) test ./...

bench: ## speed in ratios, measured in BENCH=5 rounds and written into docs/performance.md; then all benchmarks
	BENCH=$(or $(BENCH),5) BENCH_OUT=$(abspath docs/performance.md) $(GO) test -pgo=$(abspath $(PGO)) -count=1 -v -timeout 2h ./testbed/bench
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: pgo
pgo: ## profile the fabric's benchmarks, for the compiler of releases: packaging/pauseless.pgo
	@set -e; dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; \
	$(GO) test -c -trimpath -o $$dir/bench ./testbed/bench; cd testbed/bench; \
	for job in w1/ecmp w1/plain hosts288/ecmp paused/ecmp paused/pbfs paused/plb paused/rlb-drill; do for round in 1 2; do \
		BENCH_CPU=$$dir/$$(echo $$job | tr / -)-$$round.prof PAUSELESS_BENCH_JOB=$$job/dcqcn/1 $$dir/bench -test.run=TestRatios; done; done; \
	$(GO) tool pprof -proto -focus='fabric.*node..run$$' $$dir/*.prof >$(abspath $(PGO)) 2>$$dir/says || { cat $$dir/says; exit 1; }

again: build ## before a release: one run of each variant of each outcome is made again, another one with each build: SCALE=paper
	bin/pauseless exp run all --scale $(or $(SCALE),small) --earlier docs/results --budget 1ms --store out/again >/dev/null

soak: ## a minute of concurrent writes, reads and traffic under the race detector
	SOAK=60 $(GO) test -race -count=1 -v -timeout 10m ./bmv2tests/p4rt -run TestConcurrentWritesReadsAndTraffic

world: ## schedules of faults for controllers, switches and the network between them: N=10000 SEED=1
	$(GO) test -count=1 -v -timeout 24h ./bmv2tests/world -run TestSchedules -args -schedules $(or $(N),1000) -seed $(or $(SEED),1)

semantics: ## random programs against an evaluator of the language specification: N=10000 SEED=1; P4C_BM2=<p4c-bm2-ss> BMV2=<simple_switch_grpc>
	GOGC=400 $(GO) test -count=1 -v -timeout 24h ./bmv2tests/semantics -args -programs $(or $(N),10000) -seed $(or $(SEED),1)

.PHONY: hostile
hostile: ## P4Runtime updates, P4Infos and BMv2 JSON changed at random: N=1000 SEED=1
	$(GO) test -count=1 -v -timeout 24h ./bmv2tests/p4rt -run 'TestRandom' -args -batches $(or $(N),1000) -pipelines $(or $(N),1000) -seed $(or $(SEED),1)
	$(GO) test -count=1 -v -timeout 24h ./bmv2tests/stf -run TestMutatedPrograms -args -mutations $(or $(N),1000) -seed $(or $(SEED),1)

conformance: ## judge the compiler and the switch by p4c's test programs: P4C=<checkout of p4lang/p4c>; PUBLIC_P4=<checkouts of others' programs>
	P4C=$(abspath $(P4C)) PUBLIC_P4="$(PUBLIC_P4)" $(GO) test -count=1 -v -timeout 3h ./bmv2tests/conformance -args -reference
	PUBLIC_P4="$(PUBLIC_P4)" NETNS_EXERCISES=all $(GO) test -count=1 -v -timeout 1h ./bmv2tests/exercises ./internal/topo

model: ## judge every program by the papers' algorithms, 30,000 random cases each; P4C_BM2=<p4c-bm2-ss> has p4c compile them
	MODEL=1 $(GO) test -count=1 -v -timeout 3h ./bmv2tests/model/judge
	MODEL=1 $(GO) test -count=1 -timeout 1h ./testbed/scenario -run TestTofinoDecidesAlike
	MODEL=1 $(GO) test -count=1 -v -timeout 1h ./bmv2tests/ablation

.PHONY: bmv2
BMV2_EXPERIMENTS = rlb-bmv2 clb-bmv2 plb-bmv2 pcn-bmv2 pbfs-bmv2
BMV2_STORE = $(or $(OUT),out/bmv2)
bmv2: build ## all that needs real simple_switch_grpc: BMV2=<it or its directory>; as root also networks and the experiments of docs/bmv2.md: OUT=<folder>
	@if [ -z "$(BMV2)" ] && ! command -v simple_switch_grpc >/dev/null; then echo "SKIP: simple_switch_grpc is not on PATH, and BMV2 is not set"; exit 0; fi; set -e; \
	mkdir -p $(BMV2_STORE); log=$(BMV2_STORE)/tests.log; rc=0; \
	$(GO) test -count=1 -v -timeout 40m ./bmv2tests/controller ./bmv2tests/schemes ./bmv2tests/exercises ./testbed/real/netns >$$log 2>&1 || rc=$$?; \
	$(GO) test -count=1 -v -timeout 20m ./cmd/pauseless -run 'TestDeploy|TestLive|TestIncast' >>$$log 2>&1 || rc=$$?; \
	grep -E '^(ok|FAIL|--- FAIL)|SKIP' $$log | sort | uniq -c; [ $$rc = 0 ] || { echo "see $$log"; exit $$rc; }; \
	if [ "$$(id -u)" != 0 ]; then echo "SKIP: experiments on real switches need root"; exit 0; fi; \
	bin/pauseless exp run $(BMV2_EXPERIMENTS) --on netns --bmv2 "$(BMV2)" --store $(BMV2_STORE) --budget 40m; \
	if ! /usr/bin/python3 -c 'import mininet' 2>/dev/null; then echo "SKIP: Mininet is not installed for /usr/bin/python3"; exit 0; fi; \
	bin/pauseless exp run pcn-bmv2 --seeds 1 --on mininet --bmv2 "$(BMV2)" --store $(BMV2_STORE)

tofino: build ## compile all programs for Tofino and print what they take: P4C_TOFINO=<where p4c is built or installed>
	@if [ -n "$(P4C_TOFINO)" ] || command -v p4c-barefoot >/dev/null; then \
		rm -rf bin/tofino && bin/pauseless tofino build --compiler "$(P4C_TOFINO)" -o bin/tofino; \
		rc=$$?; bin/pauseless tofino report bin/tofino || rc=$$?; exit $$rc; \
	else echo "SKIP: p4c-barefoot is not on PATH, and P4C_TOFINO is not set"; fi
