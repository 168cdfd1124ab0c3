package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pageOf makes the report and returns its page, which lies beside report.json.
func pageOf(t *testing.T, programs map[string]string, flags ...string) string {
	t.Helper()
	report(t, programs, flags...)
	page, err := os.ReadFile(filepath.Join(folderOf(), "output", pageFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func contains(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(page, line) {
			t.Errorf("the page has no %q:\n%s", line, page)
		}
	}
}

func TestPageOfASoundMachine(t *testing.T) {
	page := pageOf(t, with("cuda.test", `case "$*" in
*-test.bench*)
	echo 'BenchmarkHardware/4096/in-pinned/raw-2   100   1000 ns/op'
	echo 'BenchmarkHardware/4096/in-pinned/halyard-2   100   1250 ns/op'
	echo 'BenchmarkHardware/call/record-2   100   60 ns/op   60 hal-ns   50 raw-ns' ;;
*)
	echo '=== RUN   TestHardware'
	echo '=== RUN   TestHardware/Copy/Peers'
	echo '    run.go:12: there is one device | only'
	echo '=== NAME  TestHardware'
	echo '    run.go:13: all is well'
	echo '--- PASS: TestHardware (0.00s)'
	echo '    --- SKIP: TestHardware/Copy/Peers (0.00s)' ;;
esac`))
	contains(t, page,
		"parts passed, 0 failed and",
		"A GPU, 1.2, 3 MiB, 9.0",
		"| backend | passed |", "| 1 passed, 1 skipped |",
		"| backend-linked | skipped |", "cuda-linked.test was not built",
		"not available: ImportError",
		`| backend | TestHardware/Copy/Peers | there is one device \| only |`,
		"| copy/4096/in-pinned | 1250 | raw | 1000 | 1.25 |",
		"| copy/4096/in-pinned | 1250 | cupy | 2500 | 0.50 |",
		"| call/record | 60 | raw | 50 | 1.20 |")
	if strings.Contains(page, "imulated") || strings.Contains(page, "failed**") || strings.Contains(page, "all is well") {
		t.Errorf("the page says too much:\n%s", page)
	}
}

func TestPageShowsTheGroupsOfTheSuite(t *testing.T) {
	page := pageOf(t, with("halyard", `case "$1" in
check) echo '{"devices":[{"device":{"device":"cuda:0"},"results":[
{"check":"Bounds/Overflow","outcome":"passed"},
{"check":"Kernels/Launch","outcome":"passed"},
{"check":"Kernels/Grid","outcome":"passed"},
{"check":"Kernels/Big","outcome":"skipped"}]}]}' ;;
*) echo '{}' ;;
esac`))
	contains(t, page, "| 3 passed, 1 skipped |", "| cuda:0 | Bounds | 1 passed |", "| cuda:0 | Kernels | 2 passed, 1 skipped |")
}

func TestPageSaysInItsTitleThatADeviceIsSimulated(t *testing.T) {
	listed := with("halyard", `case "$1" in
devices) echo '{"backends":[{"backend":"cuda","devices":[{"device":"cuda:0","simulated":true}]}]}' ;;
*) echo '{}' ;;
esac`)
	for name, page := range map[string]string{"listed": pageOf(t, listed), "asked for": pageOf(t, sound, "-simulated")} {
		title, _, _ := strings.Cut(page, "\n")
		if !strings.HasPrefix(title, "# Halyard on ") || !strings.Contains(title, "simulated") {
			t.Errorf("%s: the title is %q", name, title)
		}
		contains(t, page, "Its times say nothing about hardware.")
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "## ") && line != "## Machine\n" && !strings.HasSuffix(line, ", simulated\n") {
				t.Errorf("%s: a title is %q", name, line)
			}
		}
	}
}

// Beside Halyard's pool stands the time of another's, or why there is none.
func TestPageShowsPools(t *testing.T) {
	programs := with("python3", `case "$2" in
rmm) echo '{"version": "1", "4096": {"alloc": {"raw": {"ns/op": 5000}, "pool": {"ns/op": 300}, "stream": {"ns/op": 700}}}, "1048576": {"error": "out of memory"}}' ;;
torch) echo '{"unavailable": "no device"}' ;;
cupy) echo "no | module" >&2; exit 1 ;;
esac`)
	programs["cuda.test"] = strings.Replace(sound["cuda.test"], "*-test.bench*)", `*-test.bench*)
	echo 'BenchmarkHardware/4096/alloc-stream/halyard-2   100   350 ns/op'
	echo 'BenchmarkHardware/4096/alloc/halyard-2   100   5000 ns/op'`, 1)
	page := pageOf(t, programs)
	contains(t, page, "\n## Pools\n", "| bytes | Halyard | RMM | PyTorch | CuPy |",
		`| 4096 | 50 | 300 | not available: no device | exit status 1: no \| module |`,
		`| 1048576 | not measured | not measured | not available: no device |`,
		"| pool/4096 | 50 | rmm | 300 | 0.17 |", "| alloc/4096 | 5000 | rmm | 5000 | 1.00 |", "| alloc-stream/4096 | 350 | rmm | 700 | 0.50 |")
	contains(t, pageOf(t, sound), "| rmm | skipped |", "| 4096 | 50 | not installed | not available: ImportError | 500 |")
	contains(t, pageOf(t, sound, "-simulated"), "\n## Pools, simulated\n")
}

func TestPageShowsSkippedRanks(t *testing.T) {
	contains(t, pageOf(t, sound), "| nccl | skipped |", "| there is no NCCL: nowhere |", "| library for ranks | none was taken along;")
}

func TestPageSaysWhatFailed(t *testing.T) {
	page := pageOf(t, with("saxpy.test", `echo "    run.go:7: wrong | sum"; echo "--- FAIL: TestSaxpyIsRight (0s)"; exit 1`))
	contains(t, page, "**Failed**: kernel. ", "| kernel | **failed** |", `wrong \| sum`)
}
