// Command apps measures whole programs on Halyard beside the same programs by hand in OpenCL C and on other systems, on the same machine and in the
// same run.
//
// The programs of a row do the same work on the same device, each in a process of its own. They take turns, and each result is compared with that of
// plain Go. The script run installs what it needs, builds the programs and calls this command. To draw the page of samples that are there anew:
//
//	go run ./bench/apps -redraw bench/results/apps.json -document docs/apps.md -svg docs/apps.svg
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
)

type options struct {
	rounds                            int
	only, with                        string
	python, mpi, programs, built      string
	vulkan                            string
	document, picture, json, versions string
	redraw                            string
	nvidia                            bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "how many times each program runs")
	flag.StringVar(&o.only, "only", "", "a regular expression: measure rows whose name it matches")
	flag.StringVar(&o.with, "with", "", "a regular expression: measure only OpenCL C by hand and the variants whose name it matches")
	flag.StringVar(&o.python, "python", "python3", "the Python that has numba and PyOpenCL")
	flag.StringVar(&o.mpi, "mpi", "", "the folder of an Open MPI, with bin and lib")
	flag.StringVar(&o.vulkan, "vulkan", "", "a file with the variables with which Halyard finds lavapipe; without it no row has lavapipe")
	flag.BoolVar(&o.nvidia, "nvidia", false, "measure on an NVIDIA GPU, by CUDA, OpenCL and Vulkan, and nothing else")
	flag.StringVar(&o.programs, "programs", "bench/apps", "the folder of the programs' source")
	flag.StringVar(&o.built, "built", ".cache/apps", "the folder of the programs that were compiled")
	flag.StringVar(&o.document, "document", "", "the Markdown file to write; standard output if empty")
	flag.StringVar(&o.picture, "svg", "", "the picture to write")
	flag.StringVar(&o.json, "json", "", "a file for all samples")
	flag.StringVar(&o.versions, "versions", "", "a file with the versions of what is measured, a line for each")
	flag.StringVar(&o.redraw, "redraw", "", "a file that -json has written: measure nothing, and write the table and the picture of its samples")
	frame.Parse(0, func() bool { return o.rounds > 0 })
	if o.nvidia {
		toNVIDIA()
	}
	frame.Main("apps", o.run)
}

// variant is a way to write a program.
type variant struct {
	Name, Short string
	command     func(o *options, r *row) (args, env []string)
	files       func(app string) []string // its source, for the lines of code
	has         func(r *row) bool
	// missing says why a system that the script run installs is not there, or "". It is nil if the script ends without the system.
	missing func(o *options, app string) string
	on      string // the device, if it is another than the row's
	rounded bool   // its language leaves rounding to the driver
}

var variants = []variant{
	{"OpenCL C by hand", "by hand", built("%s"), func(app string) []string {
		return []string{"c/device.h", "c/" + app + ".c", "c/" + app + "_kernels.h"}
	}, (*row).opencl, nil, "", false},
	{"Halyard, kernels in C", "C", built("halyard", "%s", "c"), func(app string) []string { return append(inHalyard(app), "halyard/"+app+"_c.go") },
		func(r *row) bool { return r.opencl() && ofExample[r.App.Name] == "" }, nil, "", false},
	{"Halyard, kernels in Go", "Go", func(o *options, r *row) ([]string, []string) {
		if r.Ranks > 1 {
			return built("halyard", "%s", "go")(o, r)
		}
		return built("frontdoor", "%s")(o, r)
	}, inFrontdoor, func(*row) bool { return true }, nil, "", false},
	{"Halyard, kernels in Go, recorded", "recorded", built("frontdoor", "%s-recorded"), recordedFiles,
		func(r *row) bool { return r.App.Ranks && len(r.Devices) == 1 && r.Ranks == 1 }, nil, "", false},
	{"PyOpenCL", "PyOpenCL", inPython("pyopencl"), func(app string) []string {
		if ofExample[app] != "" {
			return nil
		}
		return []string{"pyopencl/cl.py", "pyopencl/" + app + ".py"}
	}, func(r *row) bool {
		return len(r.Devices) == 1 && r.Ranks == 1 && r.opencl() && ofExample[r.App.Name] == ""
	}, module("pyopencl"), "", false},
	{"StarPU", "StarPU", func(o *options, r *row) ([]string, []string) {
		home := filepath.Join(o.built, "starpu-"+strings.Join(r.Devices, "-")) // where it keeps what it has measured of the devices
		// StarPU's threads share the processors with the devices' threads. It is faster if they are not bound, and do not poll for the end of copies.
		return []string{filepath.Join(o.built, "starpu-"+r.App.Name)}, []string{"STARPU_HOME=" + home, "STARPU_OPENCL_ON_CPUS=1", "STARPU_SILENT=1",
			"STARPU_WORKERS_NOBIND=1", "STARPU_DISABLE_ASYNCHRONOUS_OPENCL_COPY=1"}
	}, func(app string) []string {
		if !inStarPU(app) {
			return nil
		}
		return []string{"starpu/device.h", "starpu/" + app + ".c", "c/" + app + "_kernels.h"}
	}, func(r *row) bool { return inStarPU(r.App.Name) && r.Ranks == 1 && r.opencl() }, notBuilt("starpu-%s"), "", false},
	{"numba", "numba", inPython("numba"), func(app string) []string { return []string{"numba/" + app + ".py"} },
		func(r *row) bool { return r.Devices[0] == "host" }, module("numba"), "", false},
	{"Halyard, kernels in Go as vectors", "vectors", func(o *options, r *row) ([]string, []string) {
		// Go 1.27 compiles some operations on vectors of 512 bits wrongly, and Halyard uses none.
		return []string{filepath.Join(o.built, "frontdoor-simd"), r.App.Name}, []string{"GODEBUG=simd=256"}
	}, inFrontdoor, func(r *row) bool { return r.Devices[0] == "host" }, notBuilt("frontdoor-simd"), "", false},
	// Another way from Go to Vulkan without cgo.
	{"gogpu/wgpu, kernels in WGSL", "wgpu", built("wgpu", "%s"), func(app string) []string {
		if !inWGSL(app) {
			return nil
		}
		return []string{"wgpu/device.go", "wgpu/" + app + ".go"}
	},
		func(r *row) bool { return r.Devices[0] == lavapipe && inWGSL(r.App.Name) }, notBuilt("wgpu"), "", true},
}

// recordedFiles is the source of a recorded program without its kernels.
func recordedFiles(app string) []string { return []string{"frontdoor/" + app + "_recorded.go"} }

// built returns the command of a program that was compiled. %s stands for the app.
func built(program string, args ...string) func(o *options, r *row) (command, env []string) {
	return func(o *options, r *row) (command, env []string) {
		for _, arg := range append([]string{filepath.Join(o.built, program)}, args...) {
			command = append(command, strings.ReplaceAll(arg, "%s", r.App.Name))
		}
		return command, nil
	}
}

// notBuilt returns a function that says why a program was not compiled.
func notBuilt(program string) func(o *options, app string) string {
	return func(o *options, app string) string {
		_, err := os.Stat(filepath.Join(o.built, strings.ReplaceAll(program, "%s", app)))
		return because(err)
	}
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// module returns a function that says why a module of Python is not installed. A module that is installed, and cannot be imported, is not missing: its
// programs fail.
func module(name string) func(o *options, app string) string {
	return func(o *options, _ string) string {
		text, err := exec.Command(o.python, "-c", "import importlib.util, sys\nif not importlib.util.find_spec('"+name+"'): sys.exit('no module "+name+"')").CombinedOutput()
		if err != nil && len(text) > 0 {
			return frame.Last(string(text))
		}
		return because(err)
	}
}

// base is the variant to which the ratios of a row are: OpenCL C by hand, or Halyard with kernels in Go where there is no such program.
func (r *row) base() *variant {
	if variants[0].has(r) {
		return &variants[0]
	}
	return &variants[2]
}

// measured reports whether a variant is to be measured in a row. OpenCL C by hand is measured in every row that has it.
func (v *variant) measured(r *row, with *regexp.Regexp) bool {
	return v.has(r) && (v == &variants[0] || with.MatchString(v.Name))
}

// inHalyard returns the source of a program of Halyard without its kernels.
func inHalyard(app string) []string {
	files := []string{"halyard/" + app + ".go"}
	if app == "cg" || app == "heat" {
		files = append(files, "halyard/halo.go") // which only these two use
	}
	return files
}

// ofExample says where the kernels of programs are that launch those of an example.
var ofExample = map[string]string{"kmeans": "../../examples/kmeans/lloyd/lloyd.go", "pathtracer": "../../examples/pathtracer/spheres/spheres.go"}

// inFrontdoor returns the source of a program of package halyard, with its kernels.
func inFrontdoor(app string) []string {
	files := []string{"frontdoor/" + app + ".go"}
	if kernels, ok := ofExample[app]; ok {
		files = append(files, kernels)
	}
	return files
}

// inStarPU reports whether there is a program with StarPU. There is one where a step needs a part of what another device has written.
func inStarPU(app string) bool { return app == "cg" || app == "heat" }

// inWGSL reports whether there is a program in WGSL, which has no numbers of 64 bits.
func inWGSL(app string) bool { return app != "stream" }

// inPython returns the command of a program in Python.
func inPython(folder string) func(o *options, r *row) (args, env []string) {
	return func(o *options, r *row) ([]string, []string) {
		path := filepath.Join(o.programs, "python")
		if more := os.Getenv("PYTHONPATH"); more != "" { // where a machine has numba, for example
			path += string(filepath.ListSeparator) + more
		}
		return []string{o.python, filepath.Join(o.programs, folder, r.App.Name+".py")}, []string{"PYTHONPATH=" + path}
	}
}

// row is one piece of work on given devices, which several programs do.
type row struct {
	App     *app
	Devices []string // parts of names of OpenCL platforms, "host", which is Halyard's, or lavapipe
	Ranks   int
}

// lavapipe is Mesa's Vulkan driver for processors, as its devices call it.
const lavapipe = "llvmpipe"

// opencl reports whether the row is of OpenCL's devices.
func (r *row) opencl() bool { return r.Devices[0] != "host" && r.Devices[0] != lavapipe }

func (r *row) name() string {
	name := r.App.Title + " on " + strings.Join(r.Devices, " and ")
	if r.Ranks > 1 {
		name += fmt.Sprintf(", %d ranks", r.Ranks)
	}
	return name
}

// places are the devices of rows.
var places = [][]string{{"Intel"}, {"Portable"}, {"Intel", "Portable"}, {lavapipe}, {"host"}}

// rows returns all rows.
func rows() (all []*row) {
	for i := range apps {
		for _, devices := range places {
			r := &row{&apps[i], devices, 1}
			all = append(all, r)
			if apps[i].Ranks && len(devices) == 1 && r.opencl() && devices[0] != nvidia {
				all = append(all, &row{&apps[i], devices, 4})
			}
		}
	}
	return all
}

// figure is what was measured of one program in one row.
type figure struct {
	Row     string                 `json:"row"`
	Variant string                 `json:"variant"`
	Devices []string               `json:"devices"`
	Rounds  []map[string][]float64 `json:"rounds"`            // nanoseconds by case
	Off     float64                `json:"off"`               // the most that a result was off
	Failed  string                 `json:"failed,omitempty"`  // why it was not measured any more
	Missing string                 `json:"missing,omitempty"` // why it could not be measured: its system is not installed
}

type results struct {
	Date     string    `json:"date"`
	Machine  string    `json:"machine"`
	Halyard  string    `json:"halyard,omitempty"` // which was measured; "" in older files, whose versions have it
	Load     string    `json:"load"`
	Rounds   int       `json:"rounds"`
	Versions []string  `json:"versions"`
	Lines    lineCount `json:"lines"`
	Figures  []*figure `json:"figures"`
	rows     []*row
}

// lineCount is the lines of code by the title of an app and the name of a variant.
type lineCount map[string]map[string]int

func (r *results) figure(row, variant string) *figure {
	i := slices.IndexFunc(r.Figures, func(f *figure) bool { return f.Row == row && f.Variant == variant })
	if i < 0 {
		return nil
	}
	return r.Figures[i]
}

func (o *options) run(ctx context.Context) {
	var r results
	if o.redraw != "" {
		frame.Must(r.load(o.redraw))
	} else {
		o.measureAll(ctx, &r)
	}
	if r.Lines == nil {
		r.Lines = frame.Get(r.count(o.programs))
	}
	frame.JSON(o.json, r)
	if o.picture != "" {
		frame.Must(r.draw(o.picture))
	}
	text := r.markdown(o.picture)
	if o.document == "" {
		fmt.Print(text)
	} else {
		frame.Must(os.WriteFile(o.document, []byte(text), 0o644))
	}
	frame.Must(r.failures())
}

// load reads what an earlier run measured. Rows that it did not measure are left out.
func (r *results) load(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	known := map[string]bool{}
	for _, row := range rows() {
		if slices.ContainsFunc(r.Figures, func(f *figure) bool { return f.Row == row.name() }) {
			r.rows, known[row.name()] = append(r.rows, row), true
		}
	}
	for _, f := range r.Figures {
		if !known[f.Row] {
			return fmt.Errorf("%s: there is no row %q", file, f.Row)
		}
	}
	return nil
}

// measureAll measures the chosen rows.
func (o *options) measureAll(ctx context.Context, r *results) {
	only, with := frame.Get(regexp.Compile(o.only)), frame.Get(regexp.Compile(o.with))
	*r = results{Date: time.Now().UTC().Format(time.RFC3339), Machine: timing.Machine(), Halyard: timing.Version(), Load: frame.Load(), Rounds: o.rounds}
	if o.versions != "" {
		r.Versions = strings.Split(strings.TrimSpace(string(frame.Get(os.ReadFile(o.versions)))), "\n")
	}
	dir := frame.Get(os.MkdirTemp("", "halyard-apps-"))
	defer os.RemoveAll(dir)
	for _, row := range rows() {
		if !only.MatchString(row.name()) || row.Devices[0] == lavapipe && o.vulkan == "" {
			continue
		}
		r.rows = append(r.rows, row)
		err := o.measure(ctx, r, row, with, dir)
		frame.JSON(o.json, r) // kept even if it is interrupted
		frame.Must(err)
	}
}

// failures returns an error that names each program that failed or computed something wrong, and says why. What is not installed did not fail.
func (r *results) failures() (err error) {
	for _, f := range r.Figures {
		if f.Failed != "" {
			err = errors.Join(err, fmt.Errorf("%s, %s: %s", f.Row, f.Variant, f.Failed))
		}
	}
	return err
}

// measure runs all programs of a row in turns.
func (o *options) measure(ctx context.Context, r *results, row *row, with *regexp.Regexp, dir string) error {
	in := filepath.Join(dir, "in")
	if err := os.WriteFile(in, row.App.input(row.App.N), 0o600); err != nil {
		return err
	}
	check := row.App.reference(row.App)
	rounded := check
	if row.App.rounded != nil && slices.ContainsFunc(variants, func(v variant) bool { return v.rounded && v.measured(row, with) }) {
		rounded = row.App.rounded(row.App)
	}
	for round := range o.rounds {
		for i := range variants {
			// Each round begins with another variant, so that none is always the first.
			v := &variants[(i+round)%len(variants)]
			if !v.measured(row, with) {
				continue
			}
			f := r.figure(row.name(), v.Name)
			if f == nil {
				f = &figure{Row: row.name(), Variant: v.Name}
				if v.missing != nil {
					f.Missing = v.missing(o, row.App.Name)
				}
				r.Figures = append(r.Figures, f)
			}
			if f.Failed != "" || f.Missing != "" {
				continue
			}
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s\n", row.name(), round+1, o.rounds, v.Name)
			compare := check
			if v.rounded {
				compare = rounded
			}
			if err := o.once(ctx, f, row, v, dir, compare); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				fmt.Fprintf(os.Stderr, "  without it: %v\n", err)
				f.Failed = err.Error()
			}
		}
	}
	return nil
}

// line is what a program prints: what it runs on, or a sample.
type line struct {
	Device string
	Case   string
	NS     float64
}

// once runs a program and compares its result.
func (o *options) once(ctx context.Context, f *figure, row *row, v *variant, dir string, check func([]byte) (float64, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	out := filepath.Join(dir, "out")
	if err := os.WriteFile(out, nil, 0o600); err != nil { // so that the result of an earlier program is not taken for this one's
		return err
	}
	args, env := v.command(o, row)
	a := row.App
	args = append(args, strconv.Itoa(a.N), strconv.Itoa(a.Steps), strconv.Itoa(a.Repeats), filepath.Join(dir, "in"), out)
	if v.on != "" {
		args = append(args, v.on)
	} else {
		args = append(args, row.Devices...)
	}
	if row.Ranks > 1 {
		args = append([]string{filepath.Join(o.mpi, "bin", "mpiexec"), "-n", strconv.Itoa(row.Ranks)}, args...)
	}
	if row.Devices[0] == lavapipe {
		text, err := os.ReadFile(o.vulkan)
		if err != nil {
			return err
		}
		env = append(env, strings.Fields(string(text))...)
	}
	if a.Ranks && row.opencl() {
		env = append(env, "HALYARD_BENCH_MPI=1", "HALYARD_MPI_LIBRARY="+filepath.Join(o.mpi, "lib", "libmpi.so.40"), "OMPI_ALLOW_RUN_AS_ROOT=1",
			"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
	}
	text, err := frame.Output(ctx, env, args...)
	if err != nil {
		return err
	}
	samples, devices, err := read(text)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	off, err := check(got)
	if err != nil {
		return err
	}
	f.Off, f.Devices = max(f.Off, off), devices
	f.Rounds = append(f.Rounds, samples)
	return nil
}

func read(text string) (samples map[string][]float64, devices []string, err error) {
	samples = map[string][]float64{}
	dec := json.NewDecoder(strings.NewReader(text))
	for {
		var l line
		switch err := dec.Decode(&l); {
		case err == io.EOF && len(samples) == 0:
			return nil, nil, fmt.Errorf("it printed no sample")
		case err == io.EOF:
			return samples, devices, nil
		case err != nil:
			return nil, nil, err
		case l.Device != "":
			if !slices.Contains(devices, l.Device) {
				devices = append(devices, l.Device)
			}
		case l.Case == "" || l.NS <= 0:
			return nil, nil, fmt.Errorf("not a sample: %+v", l)
		default:
			samples[l.Case] = append(samples[l.Case], l.NS)
		}
	}
}
