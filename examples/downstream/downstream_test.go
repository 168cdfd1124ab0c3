package main

// Whole runs of the program: results, traffic between devices, and everything that can go wrong.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// devices gives the test so many discrete devices of the host backend, whatever else the machine has.
func devices(t *testing.T, n int) {
	t.Helper()
	t.Setenv("HALYARD_HOST_DEVICES", fmt.Sprint(n))
	t.Setenv("HALYARD_DEVICES", "host")
}

// write makes a file of random pixels and returns its path.
func write(t *testing.T, m image) string {
	t.Helper()
	pixels := make([]byte, m.bytes())
	r := rand.NewChaCha8([32]byte{byte(m.width), byte(m.height)})
	_, _ = r.Read(pixels)
	path := filepath.Join(t.TempDir(), "in")
	check(t, os.WriteFile(path, append([]byte(m.header()), pixels...), 0o600))
	return path
}

// leftNothing fails if the folder has other files than those named.
func leftNothing(t *testing.T, dir string, but ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range list {
		if !strings.Contains(strings.Join(but, " "), e.Name()) {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestTransposes(t *testing.T) {
	for _, row := range []struct {
		width, height, channels, limit int
		devices                        int
		budget, memory                 uint64
	}{
		{1, 1, 1, 255, 0, 0, 1 << 20},
		{1, 1, 1, 255, 1, 3, 1}, // two bands of a byte and a panel of one
		{7, 5, 3, 255, 1, 0, 1 << 20},
		{7, 5, 3, 65535, 2, 120, 60},
		{500, 1, 1, 255, 1, 1001, 1},
		{1, 500, 1, 255, 3, 502, 500},
		{300, 200, 1, 255, 0, 0, 1 << 20},
		{300, 200, 1, 255, 1, 4 << 10, 1 << 20},
		{301, 199, 3, 255, 2, 10 << 10, 50 << 10},
		{128, 77, 1, 1000, 3, 8 << 10, 16 << 10},
	} {
		t.Run(fmt.Sprintf("%dx%dx%d on %d with %d", row.width, row.height, row.channels, row.devices, row.budget), func(t *testing.T) {
			devices(t, row.devices)
			in := write(t, image{width: row.width, height: row.height, channels: row.channels, limit: row.limit})
			out := filepath.Join(t.TempDir(), "out")
			check(t, convert(context.Background(), in, out, options{budget: row.budget, memory: row.memory, verify: true, out: io.Discard}))
			leftNothing(t, filepath.Dir(out), "out")
			// And back again: the same file.
			again := filepath.Join(t.TempDir(), "again")
			check(t, convert(context.Background(), out, again, options{memory: 1 << 20, out: io.Discard}))
			a, err := os.ReadFile(in)
			check(t, err)
			b, err := os.ReadFile(again)
			check(t, err)
			if !bytes.Equal(a, b) {
				t.Error("transposed twice it is another image")
			}
		})
	}
}

// Discrete devices with an eighth of the image: each byte goes there once in each pass and comes back once, and the budget
// is kept at every moment.
func TestMovesNoMoreThanItMust(t *testing.T) {
	devices(t, 2)
	m := image{width: 512, height: 256, channels: 1, limit: 255}
	in := write(t, m)
	for _, passes := range []uint64{1, 2} {
		held := map[string]int64{}
		stop := buffer.Observe(func(e buffer.Activity) {
			switch {
			case e.To == "host":
			case e.Kind == buffer.ActivityAlloc:
				held[e.To] += int64(e.Hi - e.Lo)
			case e.Kind == buffer.ActivityFree:
				held[e.To] -= int64(e.Hi - e.Lo)
			}
			if held[e.To] > 16<<10 {
				t.Errorf("%d bytes on %s", held[e.To], e.To)
			}
		})
		before := buffer.Totals()
		var out strings.Builder
		check(t, convert(context.Background(), in, filepath.Join(t.TempDir(), "out"),
			options{budget: 16 << 10, memory: uint64(m.bytes()) / passes, verify: true, out: &out}))
		stop()
		moved := buffer.Totals().Sub(before)
		if moved.BytesFilled != 0 {
			t.Errorf("%d bytes were cleared that are overwritten anyway", moved.BytesFilled)
		}
		if want := (passes + 1) * uint64(m.bytes()); moved.BytesCopied != want {
			t.Errorf("%d bytes copied, want %d\n%s", moved.BytesCopied, want, &out)
		}
		if !strings.Contains(out.String(), fmt.Sprintf("in %d passes", passes)) || strings.Contains(out.String(), " 0 evictions") {
			t.Error(out.String())
		}
	}
}

func TestErrors(t *testing.T) {
	devices(t, 1)
	good := write(t, image{width: 64, height: 48, channels: 3, limit: 255})
	whole, err := os.ReadFile(good)
	check(t, err)
	file := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "file")
		check(t, os.WriteFile(path, b, 0o600))
		return path
	}
	text := func(s string) string { return file([]byte(s)) }
	for _, row := range []struct {
		name string
		in   string
		o    options
		kind error
		says string
	}{
		{"missing", filepath.Join(t.TempDir(), "missing"), options{}, fs.ErrNotExist, "missing"},
		{"empty", text(""), options{}, errFormat, ""},
		{"other magic", text("P3\n1 1\n255\n0 0 0\n"), options{}, errFormat, ""},
		{"header cut", text("P5\n12 "), options{}, io.ErrUnexpectedEOF, "header"},
		{"comment without end", text("P5\n# so it goes"), options{}, io.ErrUnexpectedEOF, "header"},
		{"no number", text("P5\n12 x 255\n"), options{}, errFormat, "byte 7"},
		{"no pixels", text("P5\n0 5\n255\n"), options{}, errFormat, "0 by 5"},
		{"too deep", text("P5\n1 1\n65536\n  "), options{}, errFormat, "65536"},
		{"enormous", text("P6\n999999999 999999999\n65535\n"), options{}, io.ErrUnexpectedEOF, "29 bytes of 5999999988000000035"},
		{"digits without end", text("P5\n" + strings.Repeat("9", 1000)), options{}, errFormat, "number"},
		{"truncated by a byte", file(whole[:len(whole)-1]), options{}, io.ErrUnexpectedEOF, "9228 bytes of 9229"},
		{"a device with too little memory", good, options{budget: 100}, hal.ErrOutOfMemory, "528 bytes on a device, and this one may use 100"},
		{"a host with too little memory", good, options{memory: 10}, hal.ErrOutOfMemory, "host memory"},
		{"no folder", good, options{}, fs.ErrNotExist, "nowhere"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			if row.name == "no folder" {
				out = filepath.Join(dir, "nowhere", "out")
			}
			row.o.out = io.Discard
			if row.o.memory == 0 {
				row.o.memory = 1 << 20
			}
			err := convert(context.Background(), row.in, out, row.o)
			if !errors.Is(err, row.kind) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v, want %v with %q", err, row.kind, row.says)
			}
			leftNothing(t, dir)
		})
	}
}

// One device that is too small is left out, by name, and the others do the work.
func TestSmallDeviceIsLeftOut(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	img := image{width: 10, height: 10, channels: 1, limit: 255}
	d, err := hal.Open(context.Background(), "host:1")
	check(t, err)
	defer func() { check(t, d.Close()) }()
	if err := fits(d, img, options{budget: 30}); err != nil {
		t.Errorf("30 bytes are enough: %v", err)
	}
	err = fits(d, img, options{budget: 29})
	if !errors.Is(err, hal.ErrOutOfMemory) || !strings.Contains(err.Error(), "host:1") {
		t.Errorf("29 bytes: %v", err)
	}
}

// shrinking is a file that ends earlier than when it was opened.
type shrinking struct {
	io.ReaderAt
	end int64
}

func (s shrinking) ReadAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) > s.end {
		return 0, io.ErrUnexpectedEOF
	}
	return s.ReaderAt.ReadAt(b, off)
}

// full is a disk on which nothing more can be written behind the header.
type full struct{ io.WriterAt }

var errFull = errors.New("no space left")

func (f full) WriteAt(b []byte, off int64) (int, error) {
	if off > 20 {
		return 0, errFull
	}
	return len(b), nil
}

// Files that fail in the middle of the work give their error, and nothing stays open.
func TestFilesThatFailHalfWay(t *testing.T) {
	devices(t, 2)
	ctx := context.Background()
	img := image{width: 100, height: 100, channels: 1, limit: 255, data: 15}
	pixels := bytes.NewReader(make([]byte, 20_000))
	for _, row := range []struct {
		in   io.ReaderAt
		out  io.WriterAt
		want error
	}{
		{shrinking{pixels, 5000}, full{}, io.ErrUnexpectedEOF},
		{pixels, full{}, errFull},
	} {
		devs, err := devicesFor(ctx, img, options{budget: 4000, out: io.Discard})
		check(t, err)
		p, err := newPlan(img, devs, options{budget: 4000, memory: 1 << 20})
		check(t, err)
		if err := p.run(ctx, row.in, row.out); !errors.Is(err, row.want) {
			t.Errorf("got %v, want %v", err, row.want)
		}
		for _, d := range devs {
			if err := d.Close(); err != nil {
				t.Errorf("after a failure: %v", err)
			}
		}
	}
}

func TestInterrupted(t *testing.T) {
	devices(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	err := convert(ctx, write(t, image{width: 9, height: 9, channels: 1, limit: 255}), filepath.Join(dir, "out"), options{memory: 1 << 20, out: io.Discard})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	leftNothing(t, dir)
}

func TestCommand(t *testing.T) {
	devices(t, 1)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pgm"), filepath.Join(dir, "out.pgm")
	var text, messages strings.Builder
	call := func(args ...string) error {
		text.Reset()
		messages.Reset()
		return run(context.Background(), args, &text, &messages)
	}
	check(t, call("-sample", "200x100", in))
	check(t, call("-verify", "-budget", "2K", "-memory", "1M", in, out))
	if !strings.Contains(text.String(), "the same") {
		t.Error(text.String())
	}
	check(t, call())
	for _, args := range [][]string{{in}, {in, out, in}, {"-budget", "lots", in, out}, {"-budget", "9999999999G", in, out}, {"-no-such-flag"}} {
		if err := call(args...); !errors.Is(err, errUsage) || messages.Len() == 0 {
			t.Errorf("%q: %v, %q", args, err, &messages)
		}
	}
	for _, bad := range []string{"x", "3x", "0x5", "-1x5", "3x4x5"} {
		if err := call("-sample", bad, in); err == nil {
			t.Errorf("-sample %q was taken", bad)
		}
	}
}

// The package leaves no goroutine behind.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	status := m.Run()
	// Goroutines that are about to end need a turn. The limit is for those that never do.
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); runtime.Gosched() {
		if runtime.NumGoroutine() <= before {
			os.Exit(status)
		}
	}
	fmt.Fprintf(os.Stderr, "%d goroutines left, %d before\n", runtime.NumGoroutine(), before)
	buf := make([]byte, 1<<20)
	_, _ = os.Stderr.Write(buf[:runtime.Stack(buf, true)])
	os.Exit(1)
}
