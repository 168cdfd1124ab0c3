package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Report is the whole of what is printed.
type Report struct {
	Passed  bool      `json:"passed"`
	Date    time.Time `json:"date"`
	Machine Machine   `json:"machine"`
	Parts   []*Part   `json:"parts"`
}

// Machine says where the report was made.
type Machine struct {
	Name string   `json:"name"`
	OS   string   `json:"os"`
	Arch string   `json:"arch"`
	CPUs int      `json:"cpus"`
	GPUs []string `json:"gpus"` // one line of nvidia-smi each
}

// Part is one program that was run.
type Part struct {
	Name    string  `json:"name"`
	Passed  bool    `json:"passed"`
	Skipped string  `json:"skipped,omitempty"` // why it was not run
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`

	Result     json.RawMessage   `json:"result,omitempty"` // what a program that prints JSON printed
	Tests      map[string]string `json:"tests,omitempty"`  // "pass", "fail" or "skip" by name
	Benchmarks []Benchmark       `json:"benchmarks,omitempty"`
}

// Benchmark is one line of a benchmark's output.
type Benchmark struct {
	Name   string             `json:"name"`
	Values map[string]float64 `json:"values"` // by unit: "ns/op", "MB/s", "allocs/op"
}

func (r *Report) write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// step is a part that is to be run.
type step struct {
	name  string
	args  []string // the program, relative to the folder, and its arguments
	read  func(p *Part, output []byte) error
	maybe bool // the program may be missing
}

//go:embed compare.py
var compare string

var steps = []step{
	{name: "devices", args: []string{"halyard", "devices", "--json"}, read: readJSON},
	{name: "conformance", args: []string{"halyard", "check", "--json", "--backend", "cuda"}, read: readJSON},
	{name: "backend", args: []string{"cuda.test", "-test.v", "-test.run", "^TestHardware"}, read: readTests},
	{name: "backend-linked", args: []string{"cuda-linked.test", "-test.v", "-test.run", "^TestHardware"}, read: readTests, maybe: true},
	{name: "kernel", args: []string{"ptx.test", "-test.v"}, read: readTests},
	{name: "benchmarks", args: []string{"cuda.test", "-test.run", "^$", "-test.bench", "^BenchmarkHardware", "-test.benchmem"}, read: readBenchmarks},
	{name: "benchmarks-linked", args: []string{"cuda-linked.test", "-test.run", "^$", "-test.bench", "^BenchmarkHardware", "-test.benchmem"}, read: readBenchmarks, maybe: true},
}

func run(ctx context.Context, dir string, timeout time.Duration, log io.Writer) (*Report, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	output := filepath.Join(dir, "output")
	if err := os.MkdirAll(output, 0o755); err != nil {
		return nil, err
	}
	r := &Report{Passed: true, Date: time.Now().UTC().Truncate(time.Second), Machine: machine(ctx)}
	for _, s := range append(steps, python(output)...) {
		fmt.Fprintln(log, "running", s.name)
		p := s.run(ctx, dir, output, timeout)
		r.Parts = append(r.Parts, p)
		r.Passed = r.Passed && (p.Passed || p.Skipped != "")
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return r, nil
}

func machine(ctx context.Context) Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GPUs: []string{}}
	m.Name, _ = os.Hostname()
	out, err := exec.CommandContext(ctx, "nvidia-smi",
		"--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader").Output()
	if err == nil {
		m.GPUs = strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	return m
}

func (s step) run(ctx context.Context, dir, output string, timeout time.Duration) *Part {
	p := &Part{Name: s.name}
	program := s.args[0]
	if !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	if _, err := os.Stat(program); err != nil {
		if s.maybe && errors.Is(err, os.ErrNotExist) {
			p.Skipped = s.args[0] + " was not built"
		} else {
			p.Error = err.Error()
		}
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, s.args[1:]...)
	cmd.Dir = output
	cmd.Env = append(os.Environ(), "HALYARD_REQUIRE=nvidia")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	p.Seconds = time.Since(start).Seconds()
	if ctx.Err() != nil {
		err = fmt.Errorf("stopped after %s", timeout)
	}
	for suffix, b := range map[string][]byte{".out": stdout.Bytes(), ".err": stderr.Bytes()} {
		if werr := os.WriteFile(filepath.Join(output, s.name+suffix), b, 0o644); err == nil {
			err = werr
		}
	}
	if rerr := s.read(p, stdout.Bytes()); err == nil {
		err = rerr
	}
	if err != nil {
		p.Error = err.Error()
		if why := reason(stdout.Bytes(), stderr.Bytes()); why != "" {
			p.Error += ": " + why
		}
	}
	p.Passed = err == nil
	return p
}

// reason is the line that is likely to say what was wrong: the last one of the errors, or the
// first that a test printed.
func reason(stdout, stderr []byte) string {
	if b := bytes.TrimSpace(stderr); len(b) > 0 {
		return string(b[bytes.LastIndexByte(b, '\n')+1:])
	}
	for line := range bytes.Lines(stdout) {
		if bytes.Contains(line, []byte(".go:")) {
			return string(bytes.TrimSpace(line))
		}
	}
	return ""
}

// python is the comparison with the array libraries, if there is a Python.
func python(output string) []step {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return []step{{name: "python", args: []string{"python3"}, maybe: true}}
	}
	script := filepath.Join(output, "compare.py")
	if err := os.WriteFile(script, []byte(compare), 0o644); err != nil {
		return []step{{name: "python", args: []string{script}}}
	}
	return []step{{name: "python", args: []string{interpreter, script}, read: readJSON}}
}
