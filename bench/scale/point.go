package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/bench/internal/frame"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// sample is one line that the process of a point prints: a figure or a note. Each point has a process of its own.
type sample struct {
	Series string  `json:"series,omitempty"`
	NS     float64 `json:"ns,omitempty"`
	Note   string  `json:"note,omitempty"`
}

// A point is measured at most mostRep times, until enough time has passed. The fastest counts, because other work of the
// machine only makes a measurement slower.
const (
	enough  = 100 * time.Millisecond
	mostRep = 25
)

// point is one curve at one N, while it is measured.
type point struct {
	ctx    context.Context
	n      int
	dev    *hal.Device
	stream *hal.Stream
	put    func(sample)
	undo   []func() error // called last first
}

// measure is what the process of a point does: args are the name of the curve and N.
func measure(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("point needs a curve and a number")
	}
	n, err := strconv.Atoi(args[1])
	i := slices.IndexFunc(curves, func(c curve) bool { return c.name == args[0] })
	if i < 0 || err != nil {
		return errors.Join(err, fmt.Errorf("there is no curve %q", args[0]))
	}
	enc := json.NewEncoder(out)
	start := time.Now()
	for rep := 0; rep == 0 || rep < mostRep && time.Since(start) < enough; rep++ {
		// A sample that cannot be printed has no reader, so the error does not matter.
		if err := curves[i].once(ctx, n, func(s sample) { _ = enc.Encode(s) }); err != nil {
			return fmt.Errorf("%s at %d: %w", args[0], n, err)
		}
	}
	return nil
}

// once measures a point on a device of its own and closes what it made. Errors of closing are returned too.
func (c curve) once(ctx context.Context, n int, put func(sample)) (err error) {
	p := &point{ctx: ctx, n: n, put: put}
	defer func() {
		for _, undo := range slices.Backward(p.undo) {
			err = errors.Join(err, undo())
		}
	}()
	return frame.Do(func() {
		p.dev = frame.Get(hal.OpenWith(ctx, host.New(host.Options{Discrete: 1}), 1))
		p.later(p.dev.Close)
		p.stream = p.newStream()
		c.run(p)
	})
}

// later makes fn run when the point has been measured.
func (p *point) later(fn func() error) { p.undo = append(p.undo, fn) }

// newStream, buffer and pool make what is closed with the point. The elements of a buffer are 1.
func (p *point) newStream() *hal.Stream {
	s := frame.Get(p.dev.NewStream())
	p.later(s.Close)
	return s
}

func (p *point) buffer(n int) *buffer.Buffer[uint32] {
	b := frame.Get(buffer.From(slices.Repeat([]uint32{1}, n)))
	p.later(b.Close)
	return b
}

func (p *point) pool() *pool.Pool {
	got := frame.Get(pool.New(p.dev, pool.WithChunk(1<<20)))
	p.later(got.Close)
	return got
}

// time runs fn, which does the given number of operations, and puts the time of one.
func (p *point) time(series string, operations int, fn func() error) {
	start := time.Now()
	if err := fn(); err != nil {
		frame.Must(fmt.Errorf("%s: %w", series, err))
	}
	p.took(series, time.Since(start), operations)
}

// all is time of fn with each number below N.
func (p *point) all(series string, fn func(i int) error) { p.time(series, p.n, each(p.n, fn)) }

func (p *point) took(series string, d time.Duration, operations int) {
	// If the clock has not moved, the time was shorter than its tick, but not 0.
	p.put(sample{Series: series, NS: float64(max(d, 1)) / float64(operations)})
}

// each returns a function that calls fn with 0, 1, ..., n-1.
func each(n int, fn func(i int) error) func() error {
	return func() error {
		for i := range n {
			if err := fn(i); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	}
}

// curve measures the points of a curve, from the smallest N on, until one takes too long.
func (o options) curve(ctx context.Context, self string, c curve) (measured, error) {
	got := measured{Name: c.name, What: c.what}
	for _, s := range c.series {
		got.Series = append(got.Series, series{Name: s.name, Most: s.most})
	}
	for _, n := range sizes(c.from, min(c.to, o.most)) {
		over, err := got.add(ctx, n, o.limit, self, "point", c.name, strconv.Itoa(n))
		if err != nil {
			return got, err
		}
		if over {
			got.Over = n
			break
		}
	}
	return got, nil
}

// add runs the process of a point and takes its samples. It reports whether the process was
// stopped because it ran longer than limit.
func (m *measured) add(ctx context.Context, n int, limit time.Duration, name string, args ...string) (over bool, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, name, args...)
	cmd.Env = append(os.Environ(), "HALYARD_DEBUG=", "HALYARD_TRACE=")
	var out, why strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &why
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case limited.Err() != nil:
		over = true
	case err != nil:
		first, _, _ := strings.Cut(why.String(), "\n")
		return false, fmt.Errorf("%w: %s", err, first)
	}
	samples := map[string][]float64{}
	notes := map[string]bool{}
	for dec := json.NewDecoder(strings.NewReader(out.String())); ; {
		var s sample
		if err := dec.Decode(&s); err == io.EOF || over && errors.Is(err, io.ErrUnexpectedEOF) {
			break
		} else if err != nil {
			return false, err
		}
		if s.Note == "" {
			samples[s.Series] = append(samples[s.Series], s.NS)
		} else if !notes[s.Note] {
			notes[s.Note] = true
			m.Notes = append(m.Notes, fmt.Sprintf("N = %d: %s", n, s.Note))
		}
	}
	for i := range m.Series {
		if s := samples[m.Series[i].Name]; len(s) > 0 {
			m.Series[i].N = append(m.Series[i].N, n)
			m.Series[i].NS = append(m.Series[i].NS, timing.Summarize(s).Min)
		} else if !over {
			return false, fmt.Errorf("%s at %d has no figure for %q", m.Name, n, m.Series[i].Name)
		}
	}
	return over, nil
}

// sizes returns the numbers between from and to, both included, that are 1 or 3 times a power of ten.
func sizes(from, to int) []int {
	var list []int
	for decade := 1; decade <= to; decade *= 10 {
		for _, n := range []int{decade, 3 * decade} {
			if n >= from && n <= to {
				list = append(list, n)
			}
		}
	}
	return list
}
