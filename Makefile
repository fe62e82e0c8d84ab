# `make` alone prints what there is to run.
SHELL := /bin/bash
.DEFAULT_GOAL := help

BIN      := bin/weir
RELEASE  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# golangci-lint and govulncheck are run by version through the Go toolchain: nothing to install.
LINT     := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# (govulncheck needs a network that reaches vuln.go.dev.)
VULN     := go run golang.org/x/vuln/cmd/govulncheck@v1.1.4
FUZZTIME ?= 60s

.PHONY: help
help: ## This list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/weir
	@mkdir -p bin
	go build -trimpath -ldflags "-X main.release=$(RELEASE)" -o $(BIN) ./cmd/weir

.PHONY: run
run: build ## The main job on embedded engines, with a demo project; Ctrl-C ends it
	$(BIN) serve --demo

.PHONY: test
test: build ## Every test, with the race detector, on embedded engines, Apache Kafka and ClickHouse
	$(BIN) engine
	go test -race -timeout 25m ./...
	@# Allocation ceilings once more without the race detector, under which they are wider or not checked.
	go test -run Alloc ./schemas ./eventlog ./ingest ./control ./internal/native ./projections/...

.PHONY: test-short
test-short: ## The tests of single packages only
	go test -race $$(go list ./... | grep -v /integration)

.PHONY: test-docker
test-docker: build ## The integration tests on containers; installs Docker Engine from Debian if it is missing
	integration/engines/docker/test.sh

.PHONY: soak
soak: build ## The long crash and load runs
	WEIR_SOAK=1 go test -count=1 -timeout 2h -v ./integration/...

.PHONY: bench
bench: build ## The gateway side by side with a plainly written one, the folds with ClickHouse's Kafka engine; writes docs/benchmarks.md
	$(BIN) bench table --out docs/benchmarks.md
	$(BIN) bench replay --events 600000 --projection history,errorgroups,costs --kafka-engine --runs 3 --out docs/benchmarks.md
	$(BIN) bench freshness --out docs/benchmarks.md

.PHONY: bench-code
bench-code: ## Benchmarks beside the code
	go test -run '^$$' -bench . -benchmem ./schemas ./eventlog ./ingest/... ./projections/...

.PHONY: fuzz
fuzz: ## Fuzz the batch parser against encoding/json v2, FUZZTIME (60s)
	@# A run that only ran out of time can still end with "context deadline exceeded" and exit code 1:
	@# what counts is whether an input was found that fails, or nothing could be run.
	@out=$$(mktemp); go test -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME) ./schemas 2>&1 | tee $$out; \
	if grep -q 'Failing input written to\|build failed\|panic:' $$out || ! grep -q 'fuzz: elapsed' $$out; then rm -f $$out; exit 1; fi; rm -f $$out

.PHONY: check
check: ## Formatting, vet, lint, known vulnerabilities
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo 'run gofmt -w on these'; exit 1; }
	go vet ./...
	$(LINT) run
	$(VULN) ./...

.PHONY: clean
clean: ## Remove what was built and the local data
	rm -rf bin data
