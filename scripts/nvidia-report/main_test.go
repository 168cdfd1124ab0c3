package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
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
devices) echo '[{"backend":"cuda"}]' ;;
check) [ "$2 $3 $4" = "--json --backend cuda" ] && echo '{"passed":99}' ;;
esac`,
	"cuda.test": `case "$*" in
*-test.bench*) echo 'BenchmarkHardware/4096/in-pinned/raw-2   100   1234 ns/op   3319 MB/s   0 B/op   0 allocs/op' ;;
*) echo '--- PASS: TestHardware (0.00s)'; echo '    --- SKIP: TestHardware/Copy/Peers (0.00s)' ;;
esac`,
	"ptx.test":   `echo "--- PASS: TestSaxpyIsRight (0.1s)"; [ "$HALYARD_REQUIRE" = nvidia ]`,
	"nvidia-smi": `echo "A GPU, 1.2, 3 MiB, 9.0"`,
	"python3":    `echo '{"cupy": {"unavailable": "none"}}'`,
}

// with is the sound folder with one program replaced.
func with(name, body string) map[string]string {
	programs := map[string]string{}
	for n, b := range sound {
		programs[n] = b
	}
	programs[name] = body
	return programs
}

func report(t *testing.T, programs map[string]string) (status int, r Report, stderr string) {
	t.Helper()
	dir := folder(t, programs)
	var out, log bytes.Buffer
	status = command(context.Background(), []string{"run", "-dir", dir, "-timeout", "20s"}, &out, &log)
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v in %q; %s", err, out.String(), log.String())
	}
	return status, r, log.String()
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
	if len(b) != 1 || b[0].Values["ns/op"] != 1234 || b[0].Values["MB/s"] != 3319 || b[0].Values["allocs/op"] != 0 {
		t.Errorf("benchmarks %+v", b)
	}
	if p := part(t, r, "backend-linked"); p.Skipped == "" {
		t.Errorf("a program that was not built is not skipped: %+v", p)
	}
}

func TestReportOfAnUnsoundMachine(t *testing.T) {
	for _, c := range []struct {
		name, program, body string
		part, want          string
	}{
		{"failing test", "cuda.test", `echo "    run.go:7: no device"; echo "--- FAIL: TestHardware (0s)"; exit 1`, "backend", "no device"},
		{"no test", "ptx.test", `true`, "kernel", "no test"},
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
	for _, args := range [][]string{nil, {"walk"}, {"build"}, {"run", "x"}, {"build", "-nonsense", "x"}} {
		var out, log bytes.Buffer
		if got := command(context.Background(), args, &out, &log); got != exitUsage || out.Len() > 0 || log.Len() == 0 {
			t.Errorf("%q: status %d, printed %q and %q", args, got, out.String(), log.String())
		}
	}
}

func TestProductsAreInTheModule(t *testing.T) {
	for _, p := range products {
		if files, err := filepath.Glob(filepath.Join("..", "..", p.path, "*.go")); err != nil || len(files) == 0 {
			t.Errorf("%s is built from %s, which has no Go files: %v", p.name, p.path, err)
		}
	}
}
