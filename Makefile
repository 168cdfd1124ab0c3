# Targets for people; make help lists them. Each is a few lines that can be typed by hand.

SHELL := /bin/sh
GO ?= go
TAGS := cuda opencl hip vulkan
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
REPORT := $(GO) run ./internal/testing/testreport
# The packages of all modules: of this one, and of those that go.work names, whose paths begin with its own.
ALL := github.com/go-halyard/halyard/...
MODULES := bench examples

# What go-gl/cl and gorgonia.org/cu need to compile against current headers (docs/guide/building.md, "Linked builds").
HALYARD_CUDA_INCLUDE ?= $(firstword $(wildcard /usr/local/cuda/include $(CURDIR)/.venv/lib/python3*/site-packages/nvidia/cuda_runtime/include))
LINKED_CFLAGS := -DCL_TARGET_OPENCL_VERSION=120 -DCL_DEVICE_IMAGE_PITCH_ALIGNMENT=0x104A \
	-DCL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT=0x104B $(addprefix -I,$(abspath $(HALYARD_CUDA_INCLUDE)))
LINKED_DIR := $(CURDIR)/.cache/linked

.PHONY: help run api usage path sass test test-all race moving lint vet cross bench bench-all bench-status bench-docs bench-peers bench-apps bench-vulkan bench-kernels bench-programs bench-comm bench-ranks bench-scale timeline sim torture soak fuzz mutants linked nvidia-report generate check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## build bin/halyard without cgo, list the devices, run the suite on the host backend
	@mkdir -p bin
	@CGO_ENABLED=0 $(GO) build -o bin/halyard ./cmd/halyard
	@HALYARD_HOST_DEVICES=2 ./bin/halyard devices
	@echo
	@HALYARD_HOST_DEVICES=2 ./bin/halyard check --backend host --require host

# Without what vet finds, which lint looks for, and without DWARF tests are built in less time.
test: ## run the tests of what programs import, and of the translator, in minutes; what is skipped or left out is listed with the reason
	@$(REPORT) -without internal/testing/testreport/without.txt -short -vet=off -ldflags=-w $(ALL)

test-all: ## run all tests
	@$(REPORT) $(or $(PACKAGES),$(ALL))

# Each call failing in turn is one goroutine.
race: ## run the tests of all backends under the race detector; what is left out is listed with the reason
	@$(REPORT) -without internal/testing/testreport/race.txt -race -shuffle=on -skip '/Errors/EveryNthCallFails$$' -tags "$(TAGS)" $(ALL)

# A uintptr is not updated when a stack moves or memory is freed; such bugs show rarely.
# Here every call moves the stack, and what is free faults. It costs so much that long tests and checks are left out, and buffer, which keeps no address.
MOVING := hal buffer/dlpack backends/cuda backends/host backends/opencl internal/dl internal/cudahip internal/cudahip/rtc
moving: ## run tests with stacks that move at every call and freed memory that faults, to find addresses gone stale
	@$(REPORT) -without internal/testing/testreport/moving.txt -tags "$(TAGS)" \
		-gcflags 'github.com/go-halyard/halyard/...=-d=maymorestack=runtime.mayMoreStackMove' -exec 'env GODEBUG=efence=1' \
		-skip '/Coherence/(LegalTransitions|SeededModel)|/Errors/EveryNthCallFails|TestConformance/(Concurrency|loaded|linked)' $(addprefix ./,$(MOVING))

check: lint test-all cross ## everything that needs nothing but Go

# First without cgo, as releases are built; then with cgo the packages whose files depend on it or on tags.
lint: vet ## gofmt, go vet under every set of tags, staticcheck
	$(GO) run -exec "env CGO_ENABLED=0" $(STATICCHECK) -tags "$(TAGS)" $(ALL)
	$(GO) run -exec "env CGO_ENABLED=1" $(STATICCHECK) ./buffer/... ./cmd/... ./hal/... $(CGO) # the others have no files that depend on tags or cgo

# Where files depend on tags, by themselves, and on cgo.
TAGGED := ./backends/... ./bench/devices ./bench/torture/... ./buffer/... ./cmd/... ./comm/nccl ./hal ./internal/testing/... ./kernel ./scripts/...
CGO := ./backends/... ./examples/python/... ./internal/dl/... ./internal/testing/cgobench/... ./internal/testing/dlpacktest/...
# All packages as tests run them: with cgo and no tags, and without cgo and with all. Each set more compiles again what is above a package that differs.
vet:
	@unformatted=$$(gofmt -l backends bench buffer cmd coherence comm conformance docs examples hal internal kernel scripts); \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	@set -e; vet() { echo "CGO_ENABLED=$$1 $(GO) vet -tags '$$2' $$3"; CGO_ENABLED=$$1 $(GO) vet -tags "$$2" $$3; }; \
	vet 1 "" "$(ALL)"; vet 0 "" "$(CGO)"; vet 0 "$(TAGS)" "$(ALL)"; vet 1 "$(TAGS)" "$(CGO)"; \
	for tags in cuda opencl hip vulkan; do vet 0 $$tags "$(TAGGED)"; done
	@set -e; for module in . $(MODULES); do \
		echo "GOWORK=off $(GO) vet ./... in $$module"; (cd "$$module" && GOWORK=off CGO_ENABLED=0 $(GO) vet -tags "$(TAGS)" ./...); \
	done # each module alone

# How .ci/run goes on with each: docs/support.md. Packages are compiled; of the programs the command alone is linked. Later steps reuse what is compiled
# for Linux on amd64 and arm64. The rest only has to compile, which takes less time without optimisation.
SOONER := -gcflags=all=-N -l -dwarf=false
cross: ## compile for each system without cgo
	@set -e; export CGO_ENABLED=0; packages() { $(GO) list -tags "$(TAGS)" -f '{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}' $(ALL); }; \
	for target in linux/amd64=run linux/arm64=emulated windows/amd64=emulated "darwin/arm64=compiled only"; do \
		echo "$${target%=*} ($${target#*=})"; target=$${target%=*}; \
		export GOOS=$${target%/*} GOARCH=$${target#*/}; sooner=; [ "$$GOOS" = linux ] || sooner="$(SOONER)"; \
		echo "CGO_ENABLED=0 GOOS=$$GOOS GOARCH=$$GOARCH $(GO) build $$sooner -tags '$(TAGS)' with all packages, ./cmd/halyard"; \
		$(GO) build $${sooner:+"$$sooner"} -tags "$(TAGS)" $$(packages); $(GO) build $${sooner:+"$$sooner"} -o /dev/null -tags "$(TAGS)" ./cmd/halyard; \
	done; \
	export GOOS=linux GOARCH=386; \
	echo "CGO_ENABLED=0 GOOS=linux GOARCH=386 $(GO) build $(SOONER) -tags '$(TAGS)' with all packages"; $(GO) build "$(SOONER)" -tags "$(TAGS)" $$(packages)

BENCHTIME ?= 1s
bench: ## run the benchmarks (BENCHTIME=1s)
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -tags "$(TAGS)" $(ALL)

# Each leaves its result in the folder bench/results: what has one of the same code is not measured again.
bench-all: ## run all benchmarks that write documents, torture for an hour among them; it can be stopped, and goes on where it was (BENCHES="cg vulkan")
	@$(GO) run ./bench/all $(BENCHES)

bench-status: ## say which tables of the documents are of this code, and which are older
	@$(GO) run ./bench/all -status $(BENCHES)

bench-docs: ## measure the devices of this machine; write docs/performance.md and docs/bench.svg
	@mkdir -p bin
	@CGO_ENABLED=0 $(GO) build -tags "$(TAGS)" -o bin/devices ./bench/devices
	@HALYARD_HOST_DEVICES= ./bin/devices -plot docs/bench.svg -doc docs/performance.md

timeline: ## draw docs/timeline.svg anew
	@mkdir -p bin
	@CGO_ENABLED=0 $(GO) build -trimpath -o bin/halyard ./cmd/halyard
	@HALYARD_HOST_DEVICES=1 ./bin/halyard trace sweep --device host:1 --svg docs/timeline.svg

# All samples of these two go into the folder bench/results, which git ignores and scripts/release packs.
bench-peers: ## install other systems, measure them beside Halyard and write the table of docs/performance.md
	@mkdir -p bench/results
	./bench/peers/run -document docs/performance.md -json bench/results/peers.json

bench-apps: ## install what whole programs are compared with, measure them, and write docs/apps.md and docs/apps.svg
	@mkdir -p bench/results
	./bench/apps/run -document docs/apps.md -svg docs/apps.svg -json bench/results/apps.json

bench-vulkan: ## measure operations beside the same calls in C on Mesa's Vulkan driver, and write the table of docs/performance.md
	./bench/vulkan/run -document docs/performance.md

bench-kernels: ## measure kernels in Go beside OpenCL C and loops in Go by hand, and write the table of docs/performance.md
	./bench/kernels/run -document docs/performance.md

bench-programs: ## measure twelve published programs, with kernels in Go, beside gcc on one processor and beside OpenCL C by hand (ROUNDS=5)
	GOTOOLCHAIN=go1.27.0 GOEXPERIMENT=simd CGO_ENABLED=0 $(GO) build -tags opencl -o bin/programs ./bench/programs
	@GODEBUG=simd=256 ./bin/programs -rounds $(or $(ROUNDS),5)

bench-comm: ## install Open MPI and MPICH, measure messages beside a program in C and write the tables of docs/performance.md
	./bench/comm/run -document docs/performance.md

bench-ranks: ## measure exchanges of partitioned buffers with up to 4096 ranks in one process; write the table of docs/performance.md and docs/ranks.svg
	$(GO) run ./bench/ranks -document docs/performance.md -svg docs/ranks.svg

bench-scale: ## measure how costs grow with the number of things; write the table of docs/performance.md and docs/scale.svg
	@mkdir -p bin
	@CGO_ENABLED=0 $(GO) build -o bin/scale ./bench/scale
	@./bin/scale -svg docs/scale.svg -document docs/performance.md

TORTURE ?= 10m
TORTURE_FLAGS ?=
torture: ## drive everything with faults for a while (TORTURE=10m, TORTURE_FLAGS="-document docs/torture.md") and print what was found; simulated GPUs need a C compiler
	$(GO) run -tags "$(TAGS)" ./bench/torture -for $(TORTURE) $(TORTURE_FLAGS)

SOAK ?= 10m
SOAK_FLAGS ?=
soak: ## serve requests for a while (SOAK=10m, SOAK_FLAGS="-svg soak.svg -devices opencl:0") and fail if memory, goroutines or threads grow
	$(GO) run -tags "$(TAGS)" ./bench/soak -for $(SOAK) $(SOAK_FLAGS)

FUZZTIME ?= 20s
KERNELS ?= 10000
SEED ?= $(shell date +%s)00000
fuzz: ## fuzz every parser, and sequences of calls, each for FUZZTIME=20s; compare KERNELS=10000 random kernels of SEED, else of seeds that are new each time, on the host and OpenCL devices, as many with their footprints, and functions of package math
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z]*' . | sed 's|/[^/]*_test.go:func | |' | sort | while read -r dir name; do \
		echo "$$dir $$name"; $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) "$$dir" || exit 1; done
	$(GO) test -v -run '^(TestRandomKernels|TestPlantedMistakeIsShrunk|TestMathBounds|TestFootprintsOfRandomKernels|TestInterpreterEqualsGo)$$' -timeout 0 ./internal/translate \
		-args -seed $(SEED) -kernels $(KERNELS) -interpreted $(KERNELS) -compile 1000 -values 1000000
	$(GO) test -v -run '^TestGoItselfDoesNotPanic$$' -timeout 0 ./internal/translate/build -args -everyfile

path: ## count the functions and files that a reader of a call visits (simulated CUDA, where there is a C compiler)
	@$(GO) run ./internal/testing/path

MUTANTS_FLAGS ?= -layers
mutants: ## break backends in one way each, and see that the conformance suite finds it (MUTANTS_FLAGS="-all -made 40 -run Fill")
	@$(GO) run ./internal/testing/mutants $(MUTANTS_FLAGS)

sass: ## count instructions of kernels for sm_90 (HALYARD_NVRTC_LIBRARY names NVRTC, HALYARD_TEST_NVDISASM nvdisasm)
	@$(GO) run ./internal/testing/sass

sim: ## build the simulated CUDA and HIP drivers (Linux, C compiler) and print how to use them
	@$(GO) run ./internal/testing/simdrivers

linked: ## build and test with gorgonia.org/cu and go-gl/cl (cgo, CUDA 11.8 to 12.9 and OpenCL headers); CUDA is simulated
	@[ -n "$(HALYARD_CUDA_INCLUDE)" ] || { echo "no cuda.h found: set HALYARD_CUDA_INCLUDE to the folder that holds it"; exit 1; }
	@set -e; settings=$$($(GO) run ./internal/testing/simdrivers); eval "$$settings"; \
	lib=$(LINKED_DIR); mkdir -p "$$lib"; ln -sf "$$HALYARD_CUDA_LIBRARY" "$$lib/libcuda.so.1"; ln -sf libcuda.so.1 "$$lib/libcuda.so"; \
	export CGO_ENABLED=1 CGO_CFLAGS="-O2 -g $(LINKED_CFLAGS)" CGO_LDFLAGS="-O2 -g -L$$lib" LD_LIBRARY_PATH="$$lib$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}"; \
	mkdir -p bin; $(GO) build -tags "$(TAGS) linked" -o bin/halyard-linked ./cmd/halyard; \
	$(GO) vet -tags "$(TAGS) linked" ./backends/... ./cmd/...; \
	$(REPORT) -tags "$(TAGS) linked" ./backends/cuda ./backends/opencl ./cmd/... ./examples/saxpy

nvidia-report: ## build the folder bin/nvidia-report, to measure on a machine with NVIDIA devices and no Go (scripts/README.md)
	HALYARD_CUDA_INCLUDE="$(abspath $(HALYARD_CUDA_INCLUDE))" $(GO) run ./scripts/nvidia-report build bin/nvidia-report

api: ## list the exported API anew in api/, after a change of it that is meant
	$(GO) run ./internal/testing/apilist

usage: ## count the exported names of each package, and those that nothing but tests uses
	@$(GO) run ./internal/testing/apilist -usage

generate: ## make the generated files again
	$(GO) generate $(ALL)

clean: ## remove what was built
	rm -rf bin $(LINKED_DIR)
