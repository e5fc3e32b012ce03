# SPDX-License-Identifier: Apache-2.0

GO ?= go

.PHONY: help build demo soak test golden bench clock conformance model tofino

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

build: bin/pauseless ## build bin/pauseless

.PHONY: bin/pauseless
bin/pauseless:
	@mkdir -p bin
	$(GO) build -trimpath -ldflags="-s -w" -o bin/pauseless ./cmd/pauseless

demo: build ## the main job: drill and rlb over drill on a lossless fabric, with a report
	bin/pauseless demo

test: build ## everything CI checks: format, vet, staticcheck, tests, race, regenerated files
	@test -z "$$(gofmt -l .)" || { echo "gofmt -w these:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test ./...
	cd bmv2tests/goclient && $(GO) vet ./... && $(GO) test ./...
	$(GO) test -race -short ./...

golden: ## rewrite the golden files; read the diff before you commit it
	UPDATE_GOLDEN=1 $(GO) test ./gen
	UPDATE_GOLDEN=1 $(GO) test ./bmv2tests/schemes -run TestCommittedP4Info
	UPDATE_GOLDEN=1 $(GO) test ./...

bench: ## the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

soak: ## a minute of concurrent writes, reads and traffic under the race detector
	SOAK=60 $(GO) test -race -count=1 -v -timeout 10m ./bmv2tests/p4rt -run TestConcurrentWritesReadsAndTraffic

# Go takes no folder for a package whose name begins with an underscore.
CLOCK = $(abspath bin/_clock)

clock: ## tests of what runs for long, with a wall clock that is set by two hours fifteen times a second
	mkdir -p $(CLOCK)
	sed 's|^\tmono -= startNano$$|&\n\tsec += (mono>>26\&1)*7200 - 3600|' "$$($(GO) env GOROOT)/src/time/time.go" >$(CLOCK)/time.go
	grep -q 'mono>>26' $(CLOCK)/time.go
	echo "{\"Replace\": {\"$$($(GO) env GOROOT)/src/time/time.go\": \"$(CLOCK)/time.go\"}}" >$(CLOCK)/overlay.json
	$(GO) test -overlay $(CLOCK)/overlay.json ./controlplane/... ./softswitch/p4rtserver ./bmv2tests/controller ./testbed/wire ./testbed/netns ./testbed/live
	@# grpc-go's server tells by this clock that a connection is dead; hosts are told by it when to begin.
	$(GO) test -overlay $(CLOCK)/overlay.json ./bmv2tests/p4rt ./cmd/pauseless -skip 'ConcurrentWritesReads|OnSwitches/softswitch/takeover|DeployScripts/capture'

conformance: ## judge the compiler and the switch by p4c's test programs: P4C=<checkout of p4lang/p4c>
	P4C=$(abspath $(P4C)) $(GO) test -count=1 -v -timeout 30m ./bmv2tests/conformance -args -reference

model: ## judge every program by the papers' algorithms, 100,000 random cases each; P4C_BM2=<p4c-bm2-ss> has p4c compile them
	MODEL=1 $(GO) test -count=1 -v -timeout 3h ./bmv2tests/model/judge

tofino: build ## compile all programs for Tofino and print what they take: P4C_TOFINO=<where p4c is built or installed>
	@if [ -n "$(P4C_TOFINO)" ] || command -v p4c-barefoot >/dev/null; then \
		rm -rf bin/tofino && bin/pauseless tofino build --compiler "$(P4C_TOFINO)" -o bin/tofino; \
		rc=$$?; bin/pauseless tofino report bin/tofino; exit $$rc; \
	else echo "SKIP: p4c-barefoot is not on PATH, and P4C_TOFINO is not set"; fi
