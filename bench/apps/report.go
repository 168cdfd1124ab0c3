package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/go-halyard/halyard/bench/internal/timing"
)

// medians returns the median of each round.
func (f *figure) medians(name string) (list []float64) {
	for _, r := range f.Rounds {
		list = append(list, timing.Summarize(r[name]).Median)
	}
	return list
}

func (f *figure) measured() bool { return f.Failed == "" && f.Missing == "" }

// ratio divides a program's time by that of the row's base in the same round, and returns the median over the rounds. If one of them has no time, it
// is NaN.
func (r *results) ratio(row *row, v *variant, name string) float64 {
	ours, theirs := r.figure(row.name(), v.Name), r.figure(row.name(), row.base().Name)
	if ours == nil || theirs == nil || !ours.measured() || !theirs.measured() {
		return math.NaN()
	}
	a, b := ours.medians(name), theirs.medians(name)
	for i := range a {
		a[i] /= b[i]
	}
	return timing.Summarize(a).Median
}

func (r *results) cell(row *row, v *variant, name string) string {
	f := r.figure(row.name(), v.Name)
	switch {
	case f == nil:
		return "–"
	case f.Failed != "":
		return "failed"
	case f.Missing != "":
		return "not installed"
	}
	text := timing.Duration(timing.Summarize(f.medians(name)).Median)
	if ratio := r.ratio(row, v, name); v != row.base() && !math.IsNaN(ratio) {
		text += fmt.Sprintf(" (×%.2f)", ratio)
	}
	return text
}

// label names a row of the table and of the picture.
func (r *row) label(name string) string {
	text := r.App.Title
	if len(r.App.Cases) > 1 {
		text += ", " + name
	}
	var devices []string
	for _, d := range r.Devices {
		devices = append(devices, map[string]string{"Intel": "Intel", "Portable": "PoCL", lavapipe: "Vulkan (lavapipe)", "host": "Go on the host", nvidia: "NVIDIA"}[d])
	}
	text += " | " + strings.Join(devices, " + ")
	if r.Ranks > 1 {
		text += fmt.Sprintf(", %d ranks", r.Ranks)
	}
	return text
}

const about = `# Whole programs

` + "`make bench-apps`" + ` writes this page. It installs the systems for the comparison, and measures whole programs that do the same work: written by hand in
OpenCL C, with Halyard, and with other systems.

- **Slowest** beside OpenCL C by hand are programs of many short steps (conjugate gradient, heat), above all on two devices and with 4 ranks, and
  k-means on PoCL. On Vulkan k-means and n-body are slower than gogpu/wgpu's. The programs in OpenCL C and WGSL keep a point or a body in vectors of eight or four floats.
  On the host, kernels without vectors take several times as long as numba's: the column "numba" has the ratio.
- **Checked.** Every run's result is compared with that of plain Go: the Mandelbrot set to the bit, the others to a tolerance. Exceptions are
  named below.
- **In turns.** The programs of a row run in turns, each in a process of its own. Each process takes the median of its runs; a figure is the median of
  these over the rounds. In parentheses is the ratio to OpenCL C by hand in the same round, as the median over the rounds: ×0.9 is faster, ×1.1
  slower. So it need not be the quotient of the two figures, above all where rounds differ much. In rows that have no program by hand, on Vulkan and on the host, the ratio is to Halyard's kernels in Go, without vectors.
- **From host to host.** Except for BabelStream, a run begins with the input in the host's memory and ends with the result there. The first run, in
  which kernels are compiled, does not count. BabelStream waits for each of its kernels, as its description requires.
- **By hand** is OpenCL 1.2 with buffers, reads and writes, without Halyard; with several ranks it calls MPI. **PyOpenCL** launches the same kernels
  from Python.
- **Kernels in Go** are launched by package halyard, in programs as a user would write them, and the lines of code are those of these programs. With ranks these
  programs use packages hal and buffer, as those with kernels in C do.
- **k-means and the path tracer** use the kernels in Go of Halyard's examples, and the lines of these kernels are counted. In C, in WGSL and for numba
  they are written by hand; there are none for PyOpenCL and StarPU. A few points of the path tracer's picture may differ: where a compiler rounds otherwise, a ray
  goes elsewhere.
- **Recorded** is the same program with the launches of two steps recorded once and repeated, by Queue.Record. In the table of lines this column
  counts the recorded program without its kernels. Only programs of many short steps have it.
- **On two devices** each device has a part of the rows, of the arrays, or of the bodies. The programs with kernels in Go are the same as on one
  device, with a queue that is opened on both: it measures what a part takes on each, and may decide to use only one. The host adds up the sums of
  BabelStream's dot. In the n-body program each device needs, before each step, the positions that the other has written. The programs of PyOpenCL use
  one device: on two they would make the calls of OpenCL C by hand. Streams of two platforms cannot wait for each other's events, so Halyard holds the
  later stream until a goroutine sees that the event is done. Where each step is short, these goroutines compete with the devices for the same
  processors.
- **On Vulkan** the programs with kernels in Go run on lavapipe, Mesa's driver for processors, which computes on the same processors as the others.
  **gogpu/wgpu** is WebGPU in Go without cgo. Its programs are written beside Halyard's with kernels in WGSL, and all launches of a run are in one
  submission. It uses staging buffers of its own for what the host writes or reads, checks each launch, and puts a barrier after each. WGSL has
  numbers of 32 bits only, so there is no BabelStream of it, and it leaves the rounding of operations to the driver: the Mandelbrot set may differ in
  1 of 100 points, and the path tracer's picture is compared by the means of squares of 16×16 points. It does not divide work among devices or ranks.
- **Kernels for Halyard** compare their index with the number of elements, because the last block of a launch may reach beyond it. Those by hand do
  not, because they are launched on exactly as many threads.
- **With 4 ranks**, all of them on one device, MPI carries what they exchange. Only programs whose ranks exchange something in each of many steps have
  such rows. No row has two devices in each of 4 ranks, because all devices are the same processors.
- **StarPU** runs the same kernels in tasks, in C. From the data that a task accesses, StarPU decides what the task waits for and what is copied
  between devices. On two devices, tasks copy the halos, as in StarPU's own stencils. StarPU has a thread for each OpenCL device, which by default
  polls, on the same processors as the device. Two devices then take many times as long, so here the threads wait in OpenCL and are not bound to
  processors. There are StarPU programs of conjugate gradient and heat. In the others, a step needs nothing that another device has written, or all of
  it, and StarPU has no choice of what to copy.
- **On the host** Go kernels run as Go, and are compared with numba's parallel loops, on all processors. numba's compiler makes vector instructions.
  Go's compiler makes them from the vector functions that "halyard kernels" writes, in builds with GOEXPERIMENT=simd: these are measured as vectors.

`

// about is what the page begins with.
func (r *results) about() string {
	if len(r.rows) > 0 && r.rows[0].Devices[0] == nvidia {
		return aboutNVIDIA
	}
	return about
}

// where is the machine, and which Halyard was measured.
func (r *results) where() string {
	if r.Halyard == "" {
		return r.Machine
	}
	return r.Machine + ", Halyard at " + r.Halyard
}

// markdown is the page.
func (r *results) markdown(picture string) string {
	var b strings.Builder
	b.WriteString(r.about())
	fmt.Fprintf(&b, "Measured %s on %s; %d rounds. The load average was %s when it began.\n\n", r.Date, r.where(), r.Rounds, r.Load)
	if picture != "" {
		fmt.Fprintf(&b, "![Time by that of OpenCL C by hand, and lines of code](%s)\n\n", filepath.Base(picture))
	}
	t := table.NewWriter()
	head := table.Row{"program", "on"}
	for i := range variants {
		head = append(head, variants[i].Name)
	}
	t.AppendHeader(head)
	for _, row := range r.rows {
		for _, name := range row.App.Cases {
			what, on, _ := strings.Cut(row.label(name), " | ")
			cells := table.Row{what, on}
			for i := range variants {
				cells = append(cells, r.cell(row, &variants[i], name))
			}
			t.AppendRow(cells)
		}
	}
	b.WriteString(t.RenderMarkdown())
	b.WriteString("\n\n## Lines of code\n\nLines that are neither empty nor only a comment. The count includes what a user writes: opening a device, kernels, launches, copies. It leaves out the code\n" +
		"that the programs of one language share for the measurement (arguments, the clock, files), and the file that `halyard kernels` generates.\n\n")
	b.WriteString(r.linesTable())
	b.WriteString("\n\n## What was measured\n\n")
	for _, a := range r.apps() {
		fmt.Fprintf(&b, "- %s: %s.\n", a.Title, a.What)
	}
	b.WriteString("\n")
	for _, v := range r.Versions {
		fmt.Fprintf(&b, "- %s\n", v)
	}
	var devices []string
	for _, f := range r.Figures {
		for _, d := range f.Devices {
			if !slices.Contains(devices, d) {
				devices = append(devices, d)
			}
		}
		if !f.measured() {
			fmt.Fprintf(&b, "- %s, %s: no figure: %s.\n", f.Row, f.Variant, f.Failed+f.Missing)
		}
	}
	slices.Sort(devices)
	for _, d := range devices {
		fmt.Fprintf(&b, "- device: %s\n", d)
	}
	return b.String()
}

// linesTable is the table of lines of code.
func (r *results) linesTable() string {
	t := table.NewWriter()
	head := table.Row{"program"}
	for i := range variants {
		head = append(head, variants[i].Name)
	}
	t.AppendHeader(head)
	for _, a := range r.apps() {
		cells := table.Row{a.Title}
		for i := range variants {
			if n := r.Lines[a.Title][variants[i].Name]; n > 0 {
				cells = append(cells, n)
			} else {
				cells = append(cells, "–")
			}
		}
		t.AppendRow(cells)
	}
	return t.RenderMarkdown()
}

// count counts the lines of code of the programs that were measured.
func (r *results) count(programs string) (lineCount, error) {
	all := lineCount{}
	for _, a := range r.apps() {
		all[a.Title] = map[string]int{}
		for i := range variants {
			n, err := lines(programs, variants[i].files(a.Name))
			if err != nil {
				return nil, err
			}
			if n > 0 {
				all[a.Title][variants[i].Name] = n
			}
		}
	}
	return all, nil
}

// apps returns the programs that were measured.
func (r *results) apps() (list []*app) {
	for _, row := range r.rows {
		if !slices.Contains(list, row.App) {
			list = append(list, row.App)
		}
	}
	return list
}

// lines counts the lines of code of the files that exist. A file may be missing: with kernels in Go, only some programs have one for the launches.
func lines(dir string, files []string) (n int, err error) {
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		n += count(string(text), filepath.Ext(file))
	}
	return n, nil
}

// count counts the lines that are not empty and not only a comment. A comment that begins with //halyard: is code.
func count(text, ext string) (n int) {
	mark := "//"
	if ext == ".py" {
		mark = "#"
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && (!strings.HasPrefix(line, mark) || strings.HasPrefix(line, "//halyard:")) {
			n++
		}
	}
	return n
}
