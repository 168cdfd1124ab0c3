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
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Report is the report that is printed.
type Report struct {
	Passed bool `json:"passed"`
	// Simulated says that a device was simulated. Its times say nothing about hardware.
	Simulated   bool         `json:"simulated"`
	Error       string       `json:"error,omitempty"` // why the report ends early
	Date        time.Time    `json:"date"`
	Seconds     float64      `json:"seconds"`
	Build       Build        `json:"build"`
	NVRTC       string       `json:"nvrtc"` // which compiler of kernels the parts used
	NCCL        string       `json:"nccl"`  // which library ranks communicated with
	Machine     Machine      `json:"machine"`
	Parts       []*Part      `json:"parts"`
	Comparisons []Comparison `json:"comparisons"`
}

// Build says what was measured.
type Build struct {
	Go       string `json:"go"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
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
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	// Simulated says that the driver was simulated, whether the part ran or not.
	Simulated bool `json:"simulated,omitempty"`

	Skipped string  `json:"skipped,omitempty"` // why it was not run
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`

	Result     json.RawMessage   `json:"result,omitempty"`  // what a program that prints JSON printed
	Tests      map[string]string `json:"tests,omitempty"`   // "pass", "fail" or "skip" by name
	Reasons    map[string]string `json:"reasons,omitempty"` // why tests were skipped, by name
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
	name     string
	args     []string // the program, relative to the folder, and its arguments
	read     func(p *Part, output []byte) error
	limit    time.Duration
	maybe    bool // the program may be missing
	hardware bool // the part makes no sense on the simulated driver

	// On the simulated driver, extra are further arguments, and require is the value of HALYARD_REQUIRE in place of "nvidia,simulated".
	extra   []string
	require string
}

// skipped is the error of a part that ran and had nothing to do: it says why.
type skipped string

func (s skipped) Error() string { return string(s) }

//go:embed compare.py
var compare string

// tests and benchmarks return the command line of a test binary. Tests that hang print their stacks five seconds before
// the limit of their part.
func tests(program, pattern string, limit time.Duration) []string {
	return []string{program, "-test.v", "-test.run", pattern, "-test.timeout", (limit - 5*time.Second).String()}
}

func benchmarks(program string) []string {
	return []string{program, "-test.run", "^$", "-test.bench", "^BenchmarkHardware", "-test.benchmem", "-test.benchtime", "200ms"}
}

// steps are the parts, the most important first, because the time may not suffice for all.
var steps = []step{
	{name: "devices", args: []string{"halyard", "devices", "--json"}, read: readJSON, limit: 30 * time.Second},
	{name: "conformance", args: []string{"halyard", "check", "--json", "--backend", "cuda", "--require", "cuda", "--timeout", "30s"}, read: readJSON, limit: 2 * time.Minute},
	{name: "backend", args: tests("cuda.test", "^TestHardware(Model|QueueDepth)?$", 2*time.Minute), read: readTests, limit: 2 * time.Minute},
	{name: "kernel", args: tests("saxpy.test", ".", 30*time.Second), read: readDeviceTests, limit: 30 * time.Second, require: "simulated"},
	{name: "kernel-formats", args: tests("parts.test", "^TestFormats$", 30*time.Second), read: readDeviceTests, limit: 30 * time.Second},
	{name: "gokernels-radix", args: tests("radix.test", ".", time.Minute), read: readDeviceTests, limit: time.Minute},
	{name: "gokernels-matmul", args: tests("matmul.test", ".", 30*time.Second), read: readDeviceTests, limit: 30 * time.Second},
	{name: "gokernels-nbody", args: tests("nbody.test", ".", 30*time.Second), read: readDeviceTests, limit: 30 * time.Second},
	{name: "gokernels-cg", args: tests("cg.test", ".", 30*time.Second), read: readDeviceTests, limit: 30 * time.Second},
	{name: "benchmarks", args: benchmarks("cuda.test"), read: readBenchmarks, limit: 90 * time.Second},
	{name: "cupy", args: []string{"python3", compareFile, "cupy"}, read: readLibrary, limit: 60 * time.Second, maybe: true, extra: onlyLook},
	{name: "torch", args: []string{"python3", compareFile, "torch"}, read: readLibrary, limit: 90 * time.Second, maybe: true, extra: onlyLook},
	{name: "rmm", args: []string{"python3", compareFile, "rmm"}, read: readLibrary, limit: 60 * time.Second, maybe: true, extra: onlyLook},
	{name: "nccl", args: tests("parts.test", "^TestTwoRanksOnOneDevice$", time.Minute), read: readTestsOrSkip, limit: time.Minute},
	{name: "nccl-devices", args: tests("nccl.test", "^TestOnHardware$", time.Minute), read: readTestsOrSkip, limit: time.Minute, hardware: true},
	{name: "vulkan", args: tests("vulkan.test", "^TestConformance$", 2*time.Minute), read: readTestsOrSkip, limit: 2 * time.Minute, hardware: true},
	{name: "opencl", args: []string{"halyard", "check", "--json", "--backend", "opencl", "--require", "opencl", "--timeout", "30s"}, read: readJSON, limit: 2 * time.Minute,
		hardware: true},
	{name: "backend-linked", args: tests(linkedTest, "^TestHardware(Model|QueueDepth)?$", time.Minute), read: readTests, limit: time.Minute, maybe: true},
	{name: "benchmarks-linked", args: benchmarks(linkedTest), read: readBenchmarks, limit: 90 * time.Second, maybe: true},
	{name: "bench", args: []string{"bench", "-json", "-backend", "cuda", "-time", "20ms"}, read: readJSON, limit: 90 * time.Second},
	{name: "apps", args: []string{"apps", "-nvidia", "-rounds", "2", "-built", "..", "-programs", "../" + appsFolder, "-json", "apps.json"},
		read: readTable, limit: 4 * time.Minute, hardware: true},
}

const compareFile = "compare.py"

// onlyLook makes compare.py report whether a library is installed without loading it, because the libraries do not work on the
// simulated driver.
var onlyLook = []string{"simulated"}

// runOptions are the flags of run.
type runOptions struct {
	dir       string
	limit     time.Duration
	parts     *regexp.Regexp // the names of those that are run
	simulated bool
}

// run makes the report. It returns an error only if it cannot write to the folder; all other errors are in the report.
func run(ctx context.Context, o runOptions, log io.Writer) (*Report, error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return nil, err
	}
	output := filepath.Join(dir, "output")
	if err := os.MkdirAll(output, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(output, compareFile), []byte(compare), 0o644); err != nil {
		return nil, err
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	w := &work{dir: dir, output: output, env: append(os.Environ(), "HALYARD_REQUIRE=nvidia"), simulated: o.simulated}
	if o.simulated {
		library := filepath.Join(dir, simulatedLibrary)
		w.env = append(os.Environ(), "HALYARD_REQUIRE=nvidia,simulated", "HALYARD_CUDA_LIBRARY="+library,
			"LD_LIBRARY_PATH="+filepath.Dir(library))
	}
	nvrtc, settings := compiler(dir)
	nccl, ranks := ncclOf(ctx, dir, o.simulated)
	w.env = slices.Concat(w.env, settings, ranks)
	r := &Report{Passed: true, NVRTC: nvrtc, NCCL: nccl, Date: start.UTC().Truncate(time.Second), Build: buildInfo(), Machine: machine(ctx)}
	for _, s := range steps {
		if !o.parts.MatchString(s.name) {
			continue
		}
		p := &Part{Name: s.name}
		if ctx.Err() == nil {
			fmt.Fprintln(log, "running", w.title(s))
			w.do(ctx, s, p)
		} else {
			p.Error = "not run: " + ended(ctx, o.limit)
		}
		r.Parts = append(r.Parts, p)
		r.Passed = r.Passed && (p.Passed || p.Skipped != "")
		r.Seconds = time.Since(start).Seconds()
		r.Simulated = o.simulated || simulatedDevices(r.part("devices"))
		p.Simulated = r.Simulated
		if err := r.keep(output); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		r.Error = ended(ctx, o.limit)
	}
	r.Comparisons = comparisons(r)
	return r, r.keep(output)
}

func ended(ctx context.Context, limit time.Duration) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("the time for the whole report, %s, was over", limit)
	}
	return "interrupted"
}

// keep writes the report as far as it has come, in case the machine fails before the end.
func (r *Report) keep(output string) error {
	var b bytes.Buffer
	if err := r.write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(output, "report.json"), b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(output, pageFile), r.page(), 0o644)
}

func (r *Report) part(name string) *Part {
	for _, p := range r.Parts {
		if p.Name == name {
			return p
		}
	}
	return &Part{}
}

func buildInfo() Build {
	b := Build{Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

func machine(ctx context.Context) Machine {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GPUs: []string{}}
	m.Name, _ = os.Hostname()
	cmd := exec.CommandContext(ctx, "nvidia-smi",
		"--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader")
	cmd.WaitDelay = grace
	if out, err := cmd.Output(); err == nil {
		m.GPUs = strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	return m
}

// work runs the parts.
type work struct {
	dir, output string
	env         []string
	simulated   bool
}

// title returns the name of a part, which ends in "-simulated" if the driver is simulated.
func (w *work) title(s step) string {
	if w.simulated {
		return s.name + "-simulated"
	}
	return s.name
}

// program finds the program of a part. skip says why the part is skipped.
func (w *work) program(s step) (path, skip string, err error) {
	name := s.args[0]
	if s.hardware && w.simulated {
		return "", "it makes no sense on the simulated driver", nil
	}
	if name == "python3" {
		path, err = exec.LookPath(python())
		if err != nil {
			return "", "there is no Python: " + err.Error(), nil
		}
		return path, "", nil
	}
	path = filepath.Join(w.dir, name)
	if _, err := os.Stat(path); err != nil {
		if !s.maybe || !errors.Is(err, os.ErrNotExist) {
			return "", "", err
		}
		if why, err := os.ReadFile(path + unbuilt); err == nil {
			return "", "not built: " + strings.TrimSpace(string(why)), nil
		}
		return "", name + " was not built", nil
	}
	return path, "", nil
}

// grace is how long a program that was told to stop may take to do so.
const grace = 10 * time.Second

// do runs a part.
func (w *work) do(ctx context.Context, s step, p *Part) {
	program, skip, err := w.program(s)
	if err != nil || skip != "" {
		p.Skipped = skip
		if err != nil {
			p.Error = err.Error()
		}
		return
	}
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	cmd := exec.CommandContext(limited, program, s.args[1:]...)
	cmd.Dir, cmd.Env = w.output, w.env
	if w.simulated {
		cmd.Args = append(cmd.Args, s.extra...)
		if s.require != "" {
			cmd.Env = append(slices.Clip(cmd.Env), "HALYARD_REQUIRE="+s.require)
		}
	}
	// An interrupted program may still print something. Processes that it started may keep its output open, so the wait is limited.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	stdout, err := os.Create(filepath.Join(w.output, w.title(s)+".out"))
	if err != nil {
		p.Error = err.Error()
		return
	}
	defer stdout.Close()
	stderr, err := os.Create(filepath.Join(w.output, w.title(s)+".err"))
	if err != nil {
		p.Error = err.Error()
		return
	}
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	start := time.Now()
	err = finish(limited, cmd)
	p.Seconds = time.Since(start).Seconds()
	switch {
	case ctx.Err() != nil:
		err = errors.New("stopped, because the whole report ends here")
	case limited.Err() != nil:
		err = fmt.Errorf("stopped after %s", s.limit)
	}
	out, outErr := os.ReadFile(stdout.Name())
	said, _ := os.ReadFile(stderr.Name())
	if outErr == nil {
		outErr = s.read(p, out)
	}
	if err == nil {
		err = outErr
	}
	var why skipped
	if errors.As(err, &why) {
		p.Skipped = string(why)
		return
	}
	if err != nil {
		p.Error = err.Error()
		if why := reason(out, said); why != "" {
			p.Error += ": " + why
		}
	}
	p.Passed = err == nil
}

// finish runs a program. One that hangs in the kernel, where nothing can end it, is left behind.
func finish(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(2 * grace):
		return errors.New("it cannot be stopped")
	}
}

// reason returns the line that is likely to say what was wrong: a panic and the test it was in, else the line nearest to
// the first test that failed, else the last line of the standard error.
func reason(stdout, stderr []byte) string {
	if m := panicked.FindSubmatch(stderr); m != nil {
		return strings.TrimSuffix(fmt.Sprintf("%s, in %s", m[1], m[2]), ", in ")
	}
	said, failed := "", false
	for line := range bytes.Lines(stdout) {
		line = bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("--- FAIL: ")):
			failed = true
		case bytes.HasPrefix(line, []byte("--- ")) && !failed:
			said = "" // it is about a test that passed or was skipped
		case bytes.Contains(line, []byte(".go:")) && (!failed || said == ""):
			said = string(line)
		}
	}
	if failed && said != "" {
		return said
	}
	return lastLine(stderr)
}

// panicked finds a panic, and if a test ran too long, the test.
var panicked = regexp.MustCompile(`(?m)^(panic: .*)\n(?:\s*running tests:\n\s*(.*)\n)?`)

func lastLine(b []byte) string {
	b = bytes.TrimSpace(b)
	return string(b[bytes.LastIndexByte(b, '\n')+1:])
}
