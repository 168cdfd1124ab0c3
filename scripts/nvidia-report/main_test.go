package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-halyard/halyard/internal/cudahip/rtc"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// folder fills a folder with programs that only print.
func folder(t *testing.T, programs map[string]string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the report is made on Linux")
	}
	dir := t.TempDir()
	for name, body := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	return dir
}

var sound = map[string]string{
	"halyard": `case "$1" in
devices) echo '{"backends":[{"backend":"cuda","devices":[{"device":"cuda:0"}]}]}' ;;
check) case "$2 $3 $4" in "--json --backend cuda"|"--json --backend opencl") echo '{"passed":99}' ;; *) exit 1 ;; esac ;;
esac`,
	"apps":  `[ "$1" = -nvidia ] && echo '' && echo '| program | on |'`,
	"bench": `[ "$1 $2 $3" = "-json -backend cuda" ] && echo '{"results":[]}'`,
	"cuda.test": `case "$*" in
*-test.bench*)
	echo 'BenchmarkHardware/4096/in-pinned/raw-2   100   1000 ns/op   4096 MB/s   0 B/op   0 allocs/op'
	echo 'BenchmarkHardware/4096/in-pinned/halyard-2   100   1250 ns/op   3319 MB/s   0 B/op   0 allocs/op'
	echo 'BenchmarkHardware/4096/fill/halyard-2   100   900 ns/op'
	echo 'BenchmarkHardware/call/record-2   100   60 ns/op   60 hal-ns   50 raw-ns'
	echo 'BenchmarkHardwarePool/4096/alloc/pool-2   100   50 ns/op' ;;
*) echo '--- PASS: TestHardware (0.00s)'; echo '    --- SKIP: TestHardware/Copy/Peers (0.00s)' ;;
esac`,
	// On the simulated driver it must not ask for a device of NVIDIA's.
	"saxpy.test":  goKernel + `; if [ -n "$HALYARD_CUDA_LIBRARY" ]; then [ "$HALYARD_REQUIRE" = simulated ]; else [ "$HALYARD_REQUIRE" = nvidia ]; fi`,
	"matmul.test": goKernel, "nbody.test": goKernel, "radix.test": goKernel, "cg.test": goKernel,
	"parts.test": `case "$*" in
*TestFormats*) echo "--- PASS: TestFormats (0.1s)"; echo "    --- PASS: TestFormats/cuda:0/ptx (0.1s)" ;;
*) echo "=== RUN   TestTwoRanksOnOneDevice"; echo "    ranks_test.go:7: there is no NCCL: nowhere"; echo "--- SKIP: TestTwoRanksOnOneDevice (0.0s)" ;;
esac`,
	"vulkan.test": `echo "--- PASS: TestConformance (0.1s)"`,
	"nccl.test":   `echo "--- PASS: TestOnHardware (0.1s)"`,
	"nvidia-smi":  `echo "A GPU, 1.2, 3 MiB, 9.0"`,
	"python3": `case "$2" in
cupy) echo '{"4096": {"alloc": {"pool": {"ns/op": 500}}, "copy": {"in-pinned": {"ns/op": 2500}}}}' ;;
torch) echo '{"unavailable": "ImportError"}' ;;
rmm) echo '{"unavailable": "not installed"}' ;;
esac`,
}

const goKernel = `echo "--- PASS: TestSort (0.1s)"; echo "    --- PASS: TestSort/cuda:0 (0.1s)"`

// with is the sound folder with one program replaced.
func with(name, body string) map[string]string {
	programs := map[string]string{}
	for n, b := range sound {
		programs[n] = b
	}
	programs[name] = body
	return programs
}

func report(t *testing.T, programs map[string]string, flags ...string) (status int, r Report, stderr string) {
	t.Helper()
	dir := folder(t, programs)
	t.Setenv("HALYARD_PYTHON", "")
	var out, log bytes.Buffer
	status = command(context.Background(), append([]string{"run", "-dir", dir}, flags...), &out, &log)
	d := json.NewDecoder(bytes.NewReader(out.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%v in %q; %s", err, out.String(), log.String())
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "output", "report.json")); err != nil || !bytes.Equal(kept, out.Bytes()) {
		t.Errorf("the report in the folder is another: %v, %s", err, kept)
	}
	return status, r, log.String()
}

// folderOf is where folder put the programs.
func folderOf() string {
	dir, _, _ := strings.Cut(os.Getenv("PATH"), ":")
	return dir
}

func part(t *testing.T, r Report, name string) *Part {
	t.Helper()
	for _, p := range r.Parts {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no part %q", name)
	return nil
}

func TestReportOfASoundMachine(t *testing.T) {
	status, r, log := report(t, sound)
	if status != exitPassed || !r.Passed {
		t.Errorf("status %d, passed %t: %s", status, r.Passed, log)
	}
	if len(r.Machine.GPUs) != 1 || r.Machine.GPUs[0] != "A GPU, 1.2, 3 MiB, 9.0" || r.Machine.Name == "" || r.Date.IsZero() {
		t.Errorf("machine %+v at %s", r.Machine, r.Date)
	}
	if got := string(part(t, r, "conformance").Result); !strings.Contains(got, "99") {
		t.Errorf("conformance %s", got)
	}
	tests := part(t, r, "backend").Tests
	if tests["TestHardware"] != "pass" || tests["TestHardware/Copy/Peers"] != "skip" || len(tests) != 2 {
		t.Errorf("tests %v", tests)
	}
	b := part(t, r, "benchmarks").Benchmarks
	if len(b) != 5 || b[1].Name != "BenchmarkHardware/4096/in-pinned/halyard" || b[1].Values["ns/op"] != 1250 ||
		b[1].Values["MB/s"] != 3319 || b[1].Values["allocs/op"] != 0 {
		t.Errorf("benchmarks %+v", b)
	}
	if p := part(t, r, "backend-linked"); p.Skipped != "cuda-linked.test was not built" {
		t.Errorf("a program that was not built is not skipped: %+v", p)
	}
	if r.Simulated || r.Error != "" || r.Build.Go == "" || len(r.Parts) != len(steps) {
		t.Errorf("simulated %t, error %q, build %+v, %d parts", r.Simulated, r.Error, r.Build, len(r.Parts))
	}
}

// Programs that read the report count on these names.
func TestShapeOfTheReport(t *testing.T) {
	_, r, _ := report(t, with("saxpy.test", `exit 3`))
	var b bytes.Buffer
	if err := r.write(&b); err != nil {
		t.Fatal(err)
	}
	var shape struct {
		top                        map[string]json.RawMessage
		Parts, Comparisons         []map[string]any
		Machine, Build             map[string]any
		Passed, Simulated, Nothing *bool
	}
	if err := json.Unmarshal(b.Bytes(), &shape); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &shape.top); err != nil {
		t.Fatal(err)
	}
	keys := func(m map[string]any) string { return strings.Join(slices.Sorted(maps.Keys(m)), " ") }
	if got := strings.Join(slices.Sorted(maps.Keys(shape.top)), " "); got != "build comparisons date machine nccl nvrtc parts passed seconds simulated" {
		t.Errorf("the report has %s", got)
	}
	if got := keys(shape.Machine); got != "arch cpus gpus name os" {
		t.Errorf("machine has %s", got)
	}
	if got := keys(shape.Comparisons[0]); got != "name ns ratios" {
		t.Errorf("a comparison has %s", got)
	}
	if shape.Passed == nil || *shape.Passed || shape.Simulated == nil || *shape.Simulated || shape.Nothing != nil {
		t.Errorf("passed %v, simulated %v", shape.Passed, shape.Simulated)
	}
	want := map[string]string{
		"devices":        "name passed result seconds",
		"backend":        "name passed seconds tests",
		"kernel":         "error name passed seconds",
		"benchmarks":     "benchmarks name passed seconds",
		"backend-linked": "name passed seconds skipped",
	}
	var names []string
	for _, p := range shape.Parts {
		name := p["name"].(string)
		names = append(names, name)
		if w, ok := want[name]; ok && keys(p) != w {
			t.Errorf("%s has %s, want %s", name, keys(p), w)
		}
	}
	const parts = "devices conformance backend kernel kernel-formats gokernels-radix gokernels-matmul gokernels-nbody gokernels-cg benchmarks " +
		"cupy torch rmm nccl nccl-devices vulkan opencl backend-linked benchmarks-linked bench apps"
	if got := strings.Join(names, " "); got != parts {
		t.Errorf("the parts are %s", got)
	}
}

func TestComparisons(t *testing.T) {
	_, r, _ := report(t, sound)
	want := []Comparison{
		{Name: "copy/4096/in-pinned", NS: map[string]float64{"raw": 1000, "halyard": 1250, "cupy": 2500}, Ratios: map[string]float64{"raw": 1.25, "cupy": 0.5}},
		{Name: "call/record", NS: map[string]float64{"raw": 50, "halyard": 60}, Ratios: map[string]float64{"raw": 1.2}},
		{Name: "pool/4096", NS: map[string]float64{"cupy": 500, "halyard": 50}, Ratios: map[string]float64{"cupy": 0.1}},
	}
	if !reflect.DeepEqual(r.Comparisons, want) {
		t.Errorf("comparisons %+v\nwant %+v", r.Comparisons, want)
	}
}

func TestLaunchesAreCompared(t *testing.T) {
	programs := with("bench", `echo '{"results":[{"device":"cuda:0","name":"launch/hal","ours_ns":{"median":3000},"raw_ns":{"median":2000}},
{"device":"cuda:1","name":"launch/hal","ours_ns":{"median":1},"raw_ns":{"median":1}}]}'`)
	programs["python3"] = `case "$2" in cupy|torch) echo '{"launch": {"hal": {"ns/op": 6000}}}' ;; *) echo '{"unavailable": "not installed"}' ;; esac`
	_, r, _ := report(t, programs)
	want := Comparison{Name: "launch/hal", NS: map[string]float64{"halyard": 3000, "raw": 2000, "cupy": 6000, "torch": 6000},
		Ratios: map[string]float64{"raw": 1.5, "cupy": 0.5, "torch": 0.5}}
	if !slices.ContainsFunc(r.Comparisons, func(c Comparison) bool { return reflect.DeepEqual(c, want) }) {
		t.Errorf("comparisons %+v\nhave no %+v", r.Comparisons, want)
	}
	broken := with("bench", programs["bench"])
	broken["python3"] = `echo '{"launch": {"error": "no compiler"}, "4096": {"copy": {"in-pinned": {"ns/op": 2500}}}}'`
	if _, r, _ := report(t, broken); !slices.ContainsFunc(r.Comparisons, func(c Comparison) bool { return c.NS["cupy"] == 2500 }) {
		t.Errorf("what a launch failed with keeps copies out: %+v", r.Comparisons)
	}
}

func TestLinkedTimesAreComparedWithLinkedOnes(t *testing.T) {
	_, r, _ := report(t, with(linkedTest, `case "$*" in
*-test.bench*) echo 'BenchmarkHardware/call/record-2   100   40 ns/op   40 hal-ns   20 raw-ns' ;;
*) echo '--- PASS: TestHardware (0.00s)' ;;
esac`))
	for _, c := range r.Comparisons {
		if c.Name == "call/record" {
			if c.Ratios["raw"] != 1.2 || c.Ratios["raw-linked"] != 2 || len(c.Ratios) != 2 {
				t.Errorf("%+v", c)
			}
			return
		}
	}
	t.Errorf("no comparison in %+v", r.Comparisons)
}

func TestSimulatedDevicesAreSaidToBe(t *testing.T) {
	_, r, _ := report(t, with("halyard", `case "$1" in
devices) echo '{"backends":[{"backend":"cuda","devices":[{"device":"cuda:0","simulated":true}]}]}' ;;
*) echo '{}' ;;
esac`), "-simulated")
	if !r.Simulated {
		t.Error("the report does not say that the device is simulated")
	}
	if p := part(t, r, "nccl-devices"); p.Skipped == "" || p.Error != "" {
		t.Errorf("ranks on hardware, on the simulated driver: %+v", p)
	}
}

// Whoever finds one part, one comparison or one file alone still sees that the driver was simulated.
func TestEverythingSaysThatItIsSimulated(t *testing.T) {
	for _, simulated := range []bool{false, true} {
		var flags []string
		if simulated {
			flags = []string{"-simulated"}
		}
		_, r, log := report(t, sound, flags...)
		if r.Simulated != simulated || len(r.Comparisons) == 0 || strings.Contains(log, "running devices-simulated\n") != simulated {
			t.Errorf("simulated %t in the report, where it is %t, %d comparisons, and the log is\n%s", r.Simulated, simulated, len(r.Comparisons), log)
		}
		for _, p := range r.Parts {
			if p.Simulated != simulated {
				t.Errorf("part %s says simulated %t, where it is %t", p.Name, p.Simulated, simulated)
			}
		}
		for _, c := range r.Comparisons {
			if c.Simulated != simulated {
				t.Errorf("comparison %s says simulated %t, where it is %t", c.Name, c.Simulated, simulated)
			}
		}
		names, err := filepath.Glob(filepath.Join(folderOf(), "output", "*.out"))
		if err != nil || len(names) == 0 {
			t.Fatalf("output %q, %v", names, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "-simulated.out") != simulated {
				t.Errorf("simulated %t, and a file is %s", simulated, name)
			}
		}
	}
}

// A part that needs a device of NVIDIA's does not ask for one there, and Python's libraries are looked for and not loaded.
func TestPartsOnTheSimulatedDriver(t *testing.T) {
	programs := with("python3", `case "$2" in cupy|torch|rmm) echo "{\"unavailable\": \"asked for $2 $3\"}" ;; esac`)
	for _, simulated := range []bool{false, true} {
		flags, want := []string(nil), "not available: asked for rmm "
		if simulated {
			flags, want = []string{"-simulated"}, "not available: asked for rmm simulated"
		}
		_, r, _ := report(t, programs, flags...)
		for _, name := range []string{"kernel", "kernel-formats", "gokernels-matmul"} {
			if p := part(t, r, name); !p.Passed {
				t.Errorf("simulated %t: %+v", simulated, p)
			}
		}
		if got := part(t, r, "rmm").Skipped; got != want {
			t.Errorf("simulated %t: RMM is skipped for %q, want %q", simulated, got, want)
		}
	}
}

// Tests that find nothing to run on skip their part; with one that failed or none at all, the part fails.
func TestPartOfSkippedTestsIsSkipped(t *testing.T) {
	for _, c := range []struct {
		name, body, skipped, err string
	}{
		{"skipped", `echo "=== RUN   TestTwo"; echo "    a.go:1: there is no NCCL"; echo "--- SKIP: TestTwo (0s)"`, "there is no NCCL", ""},
		{"passed", `echo "--- PASS: TestTwo (0s)"`, "", ""},
		{"skipped and failed", `echo "=== RUN   TestTwo"; echo "    a.go:1: no"; echo "--- SKIP: TestTwo (0s)"; echo "--- FAIL: TestThree (0s)"`, "", "no test passed"},
		{"skipped, and a crash at the end", `echo "=== RUN   TestTwo"; echo "    a.go:1: no"; echo "--- SKIP: TestTwo (0s)"; exit 3`, "", "exit status 3"},
		{"no test", `true`, "", "no test passed"},
		{"skipped without a reason", `echo "--- SKIP: TestTwo (0s)"`, "", "no test passed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r, _ := report(t, with("nccl.test", c.body))
			p := part(t, r, "nccl-devices")
			if p.Skipped != c.skipped || !strings.Contains(p.Error, c.err) || (p.Error == "") != (c.err == "") || p.Passed != (c.skipped == "" && c.err == "") {
				t.Errorf("%+v", p)
			}
			if r.Passed != (c.err == "") {
				t.Errorf("the report passed: %t", r.Passed)
			}
		})
	}
}

func TestSimulatedDriverIsWhatThePartsLoad(t *testing.T) {
	_, r, _ := report(t, with("halyard", `echo "{\"library\":\"$HALYARD_CUDA_LIBRARY\",\"require\":\"$HALYARD_REQUIRE\"}"`), "-simulated")
	got := string(part(t, r, "devices").Result)
	if !strings.Contains(got, simulatedLibrary) || !strings.Contains(got, "nvidia,simulated") {
		t.Errorf("environment %s", got)
	}
}

func TestUnbuiltProgramSaysWhy(t *testing.T) {
	_, r, _ := report(t, with(linkedTest+unbuilt, `no compiler`))
	if p := part(t, r, "backend-linked"); !strings.Contains(p.Skipped, "no compiler") {
		t.Errorf("skipped %q", p.Skipped)
	}
}

func TestWithoutPython(t *testing.T) {
	programs := with("", "")
	delete(programs, "")
	delete(programs, "python3")
	dir := folder(t, programs)
	t.Setenv("PATH", dir)
	w := &work{dir: dir}
	t.Setenv("HALYARD_PYTHON", "")
	path, skip, err := w.program(step{args: []string{"python3"}, maybe: true})
	if path != "" || !strings.Contains(skip, "no Python") || err != nil {
		t.Errorf("program %q, skipped %q, %v", path, skip, err)
	}
}

// A part that hangs takes neither the report nor what was found before with it.
func TestReportEndsInTime(t *testing.T) {
	start := time.Now()
	status, r, _ := report(t, with("saxpy.test", `exec sleep 600`), "-limit", "2s")
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	if status != exitFailed || r.Passed || !strings.Contains(r.Error, "2s") {
		t.Errorf("status %d, passed %t, error %q", status, r.Passed, r.Error)
	}
	if p := part(t, r, "backend"); !p.Passed || len(p.Tests) != 2 {
		t.Errorf("what ran before is lost: %+v", p)
	}
	if p := part(t, r, "kernel"); p.Passed || !strings.Contains(p.Error, "stopped") {
		t.Errorf("what hung: %+v", p)
	}
	if p := part(t, r, "benchmarks"); p.Passed || !strings.Contains(p.Error, "not run") {
		t.Errorf("what came after: %+v", p)
	}
}

func TestInterruptedReportIsPrinted(t *testing.T) {
	dir := folder(t, sound)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, log bytes.Buffer
	status := command(ctx, []string{"run", "-dir", dir}, &out, &log)
	var r Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || status != exitFailed || r.Error != "interrupted" {
		t.Errorf("status %d, error %q, %v in %q", status, r.Error, err, out.String())
	}
}

func TestReportOfAnUnsoundMachine(t *testing.T) {
	for _, c := range []struct {
		name, program, body string
		part, want          string
	}{
		{"failing test", "cuda.test", `echo "    run.go:7: no device"; echo "--- FAIL: TestHardware (0s)"; exit 1`, "backend", "no device"},
		{"failing test among skipped ones", "cuda.test", `echo "    a.go:1: skipped"; echo "--- SKIP: TestHardwareA (0s)"
echo "--- FAIL: TestHardwareB (0s)"; echo "    b.go:2: after it"; exit 1`, "backend", "b.go:2"},
		{"hanging test", "cuda.test", `printf 'panic: test timed out after 1m0s\n\trunning tests:\n\t\tTestHardware/Slow (1m0s)\n\ngoroutine 1:\n\tx.go:1\n' >&2; exit 2`,
			"backend", "timed out after 1m0s, in TestHardware/Slow (1m0s)"},
		{"panic", "cuda.test", `printf 'panic: nil pointer\n\ngoroutine 1:\n\tx.go:1\n' >&2; exit 2`, "backend", "exit status 2: panic: nil pointer"},
		{"no test", "saxpy.test", `true`, "kernel", "no test"},
		{"all skipped", "saxpy.test", `echo "--- SKIP: TestSaxpyIsRight (0s)"`, "kernel", "no test"},
		{"kernel in Go on the host alone", "radix.test", `echo "=== RUN   TestSort/cuda:0"; echo "    a.go:1: no compiler"; echo "--- PASS: TestSort (0s)"
echo "    --- PASS: TestSort/host:0 (0s)"; echo "    --- SKIP: TestSort/cuda:0 (0s)"`, "gokernels-radix", "no compiler"},
		{"crash", "halyard", `[ "$1" = devices ] && echo '{}' || kill -SEGV $$`, "conformance", "signal"},
		{"broken Python", "python3", `echo "no module" >&2; exit 1`, "cupy", "no module"},
		{"failing check", "halyard", `echo '{}'; echo broken >&2; [ "$1" = devices ]`, "conformance", "broken"},
		{"no JSON", "halyard", `echo '{'`, "devices", "not JSON"},
		{"no benchmark", "cuda.test", `echo "--- PASS: TestHardware (0s)"`, "benchmarks", "no benchmark"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, r, _ := report(t, with(c.program, c.body))
			p := part(t, r, c.part)
			if status != exitFailed || r.Passed || p.Passed || !strings.Contains(p.Error, c.want) {
				t.Errorf("status %d, passed %t, part %+v", status, r.Passed, p)
			}
		})
	}
}

func TestWrongUsageIsRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"walk"}, {"build"}, {"run", "x"}, {"build", "-nonsense", "x"}, {"run", "-limit", "0s"}} {
		var out, log bytes.Buffer
		if got := command(context.Background(), args, &out, &log); got != exitUsage || out.Len() > 0 || log.Len() == 0 {
			t.Errorf("%q: status %d, printed %q and %q", args, got, out.String(), log.String())
		}
	}
}

// The benchmarks of both languages are of the same sizes, in bytes.
func TestSizesAgree(t *testing.T) {
	if want := "SIZES = [4 << 10, 1 << 20, 64 << 20]"; !strings.Contains(compare, want) || !slices.Equal(pythonSizes, cudahiptest.Sizes) ||
		!slices.Equal(pythonSizes, []int{4 << 10, 1 << 20, 64 << 20}) {
		t.Errorf("Go measures %v, and the report reads %v; is that %s?", cudahiptest.Sizes, pythonSizes, want)
	}
}

func TestProductsAreInTheModule(t *testing.T) {
	for _, p := range products {
		if files, err := filepath.Glob(filepath.Join("..", "..", p.path, "*.go")); err != nil || len(files) == 0 {
			t.Errorf("%s is built from %s, which has no Go files: %v", p.name, p.path, err)
		}
		if p.args[0] == "build" && !slices.Contains(p.args, "-buildvcs=auto") {
			t.Errorf("%s does not know its commit where GOFLAGS has -buildvcs=false", p.name)
		}
	}
}

// What compare.py says of a library that Python lacks, has and cannot use.
func TestPythonLibrariesThatAreNotThere(t *testing.T) {
	python, err := exec.LookPath(python())
	if err != nil {
		t.Skip(err)
	}
	script := write(t, compare, t.TempDir(), compareFile)
	for _, c := range []struct {
		module, simulated, want string // module is the text of an rmm that is installed
	}{
		{"", "", "not installed"},
		{"", "simulated", "not installed"},
		{`raise ImportError("no device")`, "", "not available: ImportError: no device"},
		{`raise ImportError("no device")`, "simulated", "not available: installed, but not run on a simulated driver"},
	} {
		cmd := exec.Command(python, append([]string{"-S", script, "rmm"}, strings.Fields(c.simulated)...)...) // -S: nothing that was installed is found
		site := t.TempDir()
		if c.module != "" {
			write(t, c.module, site, "rmm", "__init__.py")
		}
		cmd.Env = append(os.Environ(), "PYTHONPATH="+site)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := readLibrary(&Part{}, out); !errors.Is(got, skipped(c.want)) {
			t.Errorf("rmm is %q and its argument %q: %v, want %q", c.module, c.simulated, got, c.want)
		}
	}
	if err := exec.Command(python, script, "numpy").Run(); err == nil {
		t.Error("compare.py measures any library")
	}
}

// RMM's allocators are timed and named as the report reads them.
func TestPythonTimesRMM(t *testing.T) {
	python, err := exec.LookPath(python())
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	script := write(t, strings.Replace(compare, "seconds=0.3", "seconds=0.001", 1), dir, compareFile)
	write(t, `from . import mr
__version__ = "1.2"
`, dir, "rmm", "__init__.py")
	write(t, `class CudaMemoryResource:
    def allocate(self, size): return size
    def deallocate(self, at, size): assert at == size
class PoolMemoryResource(CudaMemoryResource):
    def __init__(self, upstream, initial_pool_size): assert initial_pool_size >= 64 << 20
class CudaAsyncMemoryResource:
    def __init__(self): raise RuntimeError("too old")
`, dir, "rmm", "mr.py")
	write(t, `class DEFAULT_STREAM:
    synchronize = staticmethod(lambda: None)
`, dir, "rmm", "pylibrmm", "stream.py")
	out, err := exec.Command(python, script, "rmm").Output()
	if err != nil {
		t.Fatal(err)
	}
	var p Part
	if err := readLibrary(&p, out); err != nil || p.resultSummary() != "1.2" {
		t.Errorf("%v, version %q in %s", err, p.resultSummary(), out)
	}
	p.Name = "rmm"
	times := make(map[string]float64)
	for _, c := range (&Report{Parts: []*Part{&p}}).measured() {
		times[c.Name] = c.NS["rmm"]
	}
	for _, size := range pythonSizes {
		if times[fmt.Sprint("alloc/", size)] <= 0 || times[fmt.Sprint("pool/", size)] <= 0 {
			t.Errorf("%d bytes: %v in %s", size, times, out)
		}
	}
	if len(times) != 2*len(pythonSizes) {
		t.Errorf("an allocator that failed has a time: %v", times)
	}
}

// The parts that are of the folder alone, on the simulated driver and NCCL of a folder.
func TestPartsRunOnTheSimulatedLibraries(t *testing.T) {
	cudahiptest.Libraries(t, "cuda") // skips the test where they cannot be built
	if os.Getenv(rtc.EnvNVRTC) == "" && !cudahiptest.Required("nvrtc") {
		if _, err := rtc.Load(rtc.NVRTC); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	if err := simulate(dir); err != nil {
		t.Fatal(err)
	}
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(products, func(p product) bool { return p.name == "parts.test" })
	if err := products[i].build(t.Context(), root, filepath.Join(dir, "parts.test"), io.Discard); err != nil {
		t.Fatal(err)
	}
	r, err := run(t.Context(), runOptions{parts: regexp.MustCompile(""), dir: dir, limit: 2 * time.Minute, simulated: true}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if p := r.part("nccl"); !p.Passed || p.Tests["TestTwoRanksOnOneDevice"] != "pass" {
		t.Errorf("%+v", p)
	}
	p := r.part("kernel-formats")
	if !p.Passed || p.Tests["TestFormats/cuda:0/PTX"] != "pass" || !strings.Contains(p.Reasons["TestFormats/cuda:0/cubin"], "takes PTX alone") {
		t.Errorf("%+v", p)
	}
}
