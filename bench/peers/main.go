// Command peers measures Halyard beside other systems that manage memory of devices, on the same machine and in the
// same run, and writes the figures as a table.
//
// Each system has a small program of its own under programs; Halyard's is this command with the argument "halyard".
// A round runs each once, in a process of its own; what is reported is the median over all rounds. The script run
// installs the systems, builds the programs and calls this command.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 3, "how many times each program runs")
	flag.StringVar(&o.python, "python", "python3", "the Python that has dpctl and pydotcompute")
	flag.StringVar(&o.programs, "programs", "bench/peers/programs", "the folder of the Python programs")
	flag.StringVar(&o.built, "built", ".cache/peers", "the folder of the programs that were compiled")
	flag.StringVar(&o.platform, "platform", "Intel", "part of the name of the OpenCL platform to use")
	flag.StringVar(&o.json, "json", "", "a file for all samples")
	document := frame.Document()
	frame.Parse(3, func() bool { return o.rounds > 0 && (flag.NArg() == 0 || flag.Arg(0) == "halyard" && flag.NArg() > 1) })
	frame.Main("peers", func(ctx context.Context) {
		if flag.NArg() > 0 {
			halyard(ctx, flag.Args()[1:], os.Stdout)
			return
		}
		o.document = *document
		o.run(ctx)
	})
}

type options struct {
	rounds                                            int
	python, programs, built, platform, document, json string
}

// program is one way to start a peer.
type program struct {
	name string // for messages, until the program has said its own
	args []string
	env  []string
}

func (o options) all() []program {
	self := frame.Self()
	// StarPU's worker shares the processors with the device's threads. It is many times as fast if it is not bound to one processor, and does not poll
	// for the end of its copies.
	starpu := []string{"STARPU_WORKERS_NOBIND=1", "STARPU_DISABLE_ASYNCHRONOUS_OPENCL_COPY=1", "STARPU_OPENCL_ON_CPUS=1", "STARPU_NCPU=0", "STARPU_NOPENCL=1", "STARPU_NCUDA=0",
		"STARPU_HOME=" + o.built, "STARPU_WORKERS_OPENCLID=0"}
	return []program{
		{"Halyard, discrete", []string{self, "halyard", "host:1"}, []string{"HALYARD_HOST_DEVICES=1"}},
		{"Halyard, unified", []string{self, "halyard", "opencl", o.platform}, nil},
		{"dpctl", []string{o.python, filepath.Join(o.programs, "peer_dpctl.py"), o.platform}, nil},
		{"PyDotCompute", []string{o.python, filepath.Join(o.programs, "peer_pydotcompute.py")}, nil},
		{"StarPU", []string{filepath.Join(o.built, "starpu")}, starpu},
		{"StarPU, sweep", []string{filepath.Join(o.built, "starpu"), "sweep"}, append(slices.Clip(starpu), "STARPU_LIMIT_OPENCL_MEM=32")},
		{"Kokkos", []string{filepath.Join(o.built, "kokkos")}, nil},
		{"OpenCL", []string{filepath.Join(o.built, "opencl"), o.platform}, nil},
	}
}

// line is one line that a program prints: who it is, or a sample.
type line struct {
	Peer    string `json:"peer,omitempty"`
	Version string `json:"version,omitempty"`
	Device  string `json:"device,omitempty"`
	Note    string `json:"note,omitempty"`
	Shared  bool   `json:"shared,omitempty"` // host and device are one memory: nothing is copied

	Case string  `json:"case,omitempty"`
	Size uint64  `json:"size,omitempty"` // bytes
	NS   float64 `json:"ns,omitempty"`   // of one operation
}

// peer is what was read of one system.
type peer struct {
	Name    string               `json:"name"`
	Version string               `json:"version"`
	Device  string               `json:"device"`
	Note    string               `json:"note,omitempty"`
	Shared  bool                 `json:"shared,omitempty"`
	Samples map[string][]float64 `json:"samples"` // by "case size", nanoseconds
	order   int
}

// results are all peers, and why some are missing.
type results struct {
	Date    string            `json:"date"`
	Machine string            `json:"machine"`
	Halyard string            `json:"halyard"` // which was measured
	Rounds  int               `json:"rounds"`
	Peers   []*peer           `json:"peers"`
	Missing map[string]string `json:"missing,omitempty"`
}

func (o options) run(ctx context.Context) {
	r := results{Date: time.Now().Format(time.DateOnly), Machine: timing.Machine(), Halyard: timing.Version(), Rounds: o.rounds, Missing: map[string]string{}}
	for round := range o.rounds {
		for i, p := range o.all() {
			if r.Missing[p.name] != "" {
				continue
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, p.name)
			if err := r.add(ctx, p, i); err != nil {
				frame.Must(ctx.Err())
				fmt.Fprintf(os.Stderr, "  without it: %v\n", err)
				r.Missing[p.name] = err.Error()
			}
		}
	}
	slices.SortFunc(r.Peers, func(a, b *peer) int { return a.order - b.order })
	frame.JSON(o.json, r)
	frame.Write(o.document, "peers", r.markdown())
	frame.Must(r.complete())
}

// complete returns an error that names the programs which could not be measured. The table is written without them.
func (r *results) complete() error {
	if len(r.Missing) == 0 {
		return nil
	}
	return fmt.Errorf("not measured: %s", strings.Join(slices.Sorted(maps.Keys(r.Missing)), "; "))
}

// add runs a program once and takes its samples.
func (r *results) add(ctx context.Context, p program, order int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	out, err := frame.Output(ctx, p.env, p.args...)
	if err != nil {
		return err
	}
	return r.read(out, order)
}

func (r *results) read(out string, order int) error {
	dec := json.NewDecoder(strings.NewReader(out))
	var current *peer
	for {
		var l line
		switch err := dec.Decode(&l); {
		case err == io.EOF:
			if current == nil {
				return fmt.Errorf("it printed nothing")
			}
			return nil
		case err != nil:
			return err
		case l.Peer != "":
			i := slices.IndexFunc(r.Peers, func(p *peer) bool { return p.Name == l.Peer })
			if i < 0 {
				i = len(r.Peers)
				r.Peers = append(r.Peers, &peer{Name: l.Peer, Version: l.Version, Device: l.Device, Note: l.Note, Shared: l.Shared,
					Samples: map[string][]float64{}, order: order})
			}
			current = r.Peers[i]
		case current == nil || l.Case == "" || l.NS < 0:
			return fmt.Errorf("not a sample: %+v", l)
		default:
			key := fmt.Sprint(l.Case, " ", l.Size)
			current.Samples[key] = append(current.Samples[key], l.NS)
		}
	}
}
