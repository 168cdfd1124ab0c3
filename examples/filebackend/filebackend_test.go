package filebackend

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

type opener = func(context.Context) (*hal.Device, error)

func device0(b *Backend, ordinal int) opener {
	return func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, ordinal) }
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	b := New(Options{Dir: dir, Memory: 64 << 20})
	down := false
	conformance.Run(t, conformance.Harness{
		Open: device0(b, 0), Peer: device0(b, 1), Others: []opener{
			device0(New(Options{Name: "elsewhere", Dir: dir, Memory: 64 << 20}), 0),
			func(ctx context.Context) (*hal.Device, error) {
				return hal.OpenWith(ctx, host.New(host.Options{Name: "host", Discrete: 1, MemoryLimit: 64 << 20}), 1)
			},
		},
		Backend:     b,
		VendorCodes: vendorCodes,
		Contexts:    func() int { return b.drives[0].count() },
		Short:       testing.Short(),
		// Faults is nil: no call of a program reaches the file system at once. Work fails when it runs.
		FailAsync: func(on bool) {
			if on == down {
				return
			}
			down = on
			f, broke := b.drives[0].file.(*broken)
			if !broke {
				f = &broken{file: b.drives[0].file}
				b.drives[0].file = f
			}
			if on {
				f.fails.Store(uintptr(syscall.EIO))
			} else {
				f.fails.Store(0)
			}
		},
	})
	left, err := os.ReadDir(dir)
	check(t, err)
	if len(left) > 0 {
		t.Errorf("files left behind: %v", left)
	}
}

func vendorCodes() []driver.Error {
	var codes []driver.Error
	for _, s := range statuses {
		codes = append(codes, driver.Error{Kind: s.kind, Vendor: driver.Vendor{Code: int64(s.code), Name: s.name}})
	}
	return codes
}

// A capability is set if and only if the interface beside it is there.
func TestCapsAndInterfaces(t *testing.T) {
	d, err := New(Options{Dir: t.TempDir()}).Open(context.Background(), 0)
	check(t, err)
	defer func() { check(t, d.Close()) }()
	s, err := d.NewStream(driver.StreamOptions{})
	check(t, err)
	e, err := d.NewEvent(driver.EventOptions{})
	check(t, err)
	m, err := d.Alloc(driver.KindHost, 1, 0)
	check(t, err)
	defer func() { check(t, m.Free()) }()
	is := func(c driver.Caps, implemented bool) {
		t.Helper()
		if d.Info().Caps.Has(c) != implemented {
			t.Errorf("%v: the bit says %t, the type %t", c, !implemented, implemented)
		}
	}
	_, ok := e.(driver.Timer)
	is(driver.CapTiming, ok)
	_, ok = s.(driver.Gater)
	is(driver.CapGate, ok)
	_, ok = s.(driver.Notifier)
	is(driver.CapHostCallback, ok)
	_, ok = s.(driver.StreamAllocator)
	is(driver.CapStreamAlloc, ok)
	_, ok = s.(driver.Prefetcher)
	is(driver.CapPrefetch, ok)
	_, ok = s.(driver.Mapper)
	is(driver.CapMustMap, ok)
	_, ok = d.(driver.Registerer)
	is(driver.CapRegister, ok)
	_, ok = d.(driver.IPCSharer)
	is(driver.CapIPC, ok)
	_, ok = d.(driver.Adviser)
	is(driver.CapAdvise, ok)
	_, ok = d.(driver.Importer)
	is(driver.CapImport, ok)
	_, ok = d.(driver.StreamImporter)
	is(driver.CapImportStream, ok)
	_, ok = d.(driver.PointerQuerier)
	is(driver.CapPointerInfo, ok)
	_, ok = s.(driver.Copier2D)
	is(driver.CapCopy2D, ok)
	_, ok = d.(driver.Peering)
	is(driver.CapPeerCopy, ok)
	_, ok = m.(driver.NeedsMapper)
	is(driver.CapMustMap, ok)
	_, ok = d.(driver.Loader)
	is(driver.CapKernels, ok)
	_, ok = s.(driver.Launcher)
	is(driver.CapKernels, ok)
	_, ok = d.(driver.Compiler)
	is(driver.CapCompile, ok)
}

// A buffer lies in a file and comes back.
func TestBufferInAFile(t *testing.T) {
	ctx := context.Background()
	d, err := hal.OpenWith(ctx, New(Options{Dir: t.TempDir(), Memory: 1 << 20}), 0)
	check(t, err)
	s, err := d.NewStream()
	check(t, err)
	x, err := buffer.From([]uint32{1, 2, 3})
	check(t, err)
	l, err := x.TryAcquire(s, coherence.ReadWrite)
	check(t, err)
	last, err := l.Region().Sub(8, 4)
	check(t, err)
	check(t, errors.Join(s.Fill(last, hal.Pattern32(30)), l.Release()))
	check(t, x.View(ctx, func(v []uint32) error {
		if v[0] != 1 || v[1] != 2 || v[2] != 30 {
			t.Errorf("%v", v)
		}
		return nil
	}))
	check(t, errors.Join(x.Close(), s.Close(), d.Close()))
}

// broken is a file whose reads and writes fail while fails is not 0.
type broken struct {
	file
	fails atomic.Uintptr // a syscall.Errno
}

func (b *broken) WriteAt(p []byte, off int64) (int, error) {
	if e := b.fails.Load(); e != 0 {
		return 0, &os.PathError{Op: "write", Path: "memory", Err: syscall.Errno(e)}
	}
	return b.file.WriteAt(p, off)
}

func (b *broken) ReadAt(p []byte, off int64) (int, error) {
	if e := b.fails.Load(); e != 0 {
		return 0, &os.PathError{Op: "read", Path: "memory", Err: syscall.Errno(e)}
	}
	return b.file.ReadAt(p, off)
}

// A disk that fills up while a copy is under way is out of memory at Sync, with what the file system said; the
// stream goes on when there is room again.
func TestDiskFull(t *testing.T) {
	ctx := context.Background()
	b := New(Options{Dir: t.TempDir(), Memory: 1 << 20})
	d, err := hal.OpenWith(ctx, b, 0)
	check(t, err)
	f := &broken{file: b.drives[0].file}
	b.drives[0].file = f
	m, err := d.Alloc(hal.KindDevice, 4096, 0)
	check(t, err)
	s, err := d.NewStream()
	check(t, err)
	f.fails.Store(uintptr(syscall.ENOSPC))
	check(t, s.CopyIn(m.All(), make([]byte, 4096)))
	err = s.Sync(ctx)
	var e *hal.Error
	if !errors.Is(err, hal.ErrOutOfMemory) || !errors.As(err, &e) || e.Vendor.Name != "ENOSPC" || e.Vendor.API != "write" {
		t.Errorf("a full disk: %v", err)
	}
	f.fails.Store(uintptr(syscall.EIO))
	if err := d.Read(ctx, make([]byte, 4096), m.All()); !errors.Is(err, hal.ErrDriver) || !errors.Is(err, syscall.EIO) {
		t.Errorf("a bad disk: %v", err)
	}
	f.fails.Store(0)
	want := []byte("all is well")
	got := make([]byte, len(want))
	check(t, errors.Join(d.Write(ctx, m.Region(0, uint64(len(want))), want), d.Read(ctx, got, m.Region(0, uint64(len(want))))))
	if string(got) != string(want) {
		t.Errorf("afterwards: %q", got)
	}
	check(t, errors.Join(m.Close(), s.Close(), d.Close()))
}

// What a host access waits for and finds to have failed is an error, and the bytes are never those of the file.
func TestFailedCopyIsNoContents(t *testing.T) {
	ctx := context.Background()
	b := New(Options{Dir: t.TempDir(), Memory: 1 << 20})
	d, err := hal.OpenWith(ctx, b, 0)
	check(t, err)
	f := &broken{file: b.drives[0].file}
	b.drives[0].file = f
	s, err := d.NewStream()
	check(t, err)
	x, err := buffer.New[byte](4096)
	check(t, err)
	l, err := x.TryAcquire(s, coherence.Overwrite)
	check(t, err)
	check(t, errors.Join(s.Fill(l.Region(), hal.Pattern8(7)), l.Release(), s.Sync(ctx)))
	f.fails.Store(uintptr(syscall.EIO))
	if err := x.View(ctx, func([]byte) error { t.Error("the function was run"); return nil }); !errors.Is(err, syscall.EIO) {
		t.Errorf("a copy back that fails: %v", err)
	}
	f.fails.Store(0)
	check(t, x.View(ctx, func(v []byte) error {
		for i := range v {
			if v[i] != 7 {
				t.Fatalf("byte %d is %d", i, v[i])
			}
		}
		return nil
	}))
	// The copy stream still has the failure to tell.
	out, err := d.CopyStream(true)
	check(t, err)
	if err := out.Sync(ctx); err != nil && !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	check(t, errors.Join(x.Close(), s.Close(), d.Close()))
}

func TestNoFolder(t *testing.T) {
	b := New(Options{Dir: filepath.Join(t.TempDir(), "missing")})
	if _, err := b.Devices(context.Background()); err != nil {
		t.Errorf("listing touches no file: %v", err)
	}
	d, err := hal.OpenWith(context.Background(), b, 0)
	if !errors.Is(err, hal.ErrUnavailable) || d != nil {
		t.Errorf("open in a folder that is missing: %v", err)
	}
	if n := b.drives[0].count(); n != 0 {
		t.Errorf("%d handles after a failure", n)
	}
}

func TestOptionsOutOfBounds(t *testing.T) {
	for _, o := range []Options{{Devices: -1}, {Memory: 1 << 63}} {
		b := New(o)
		_, listing := b.Devices(context.Background())
		_, opening := b.Open(context.Background(), 0)
		for _, err := range []error{listing, opening} {
			if !errors.Is(err, driver.ErrInvalidArgument) {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
}

// The file is there for as long as a handle is open.
func TestFileLivesWithItsHandles(t *testing.T) {
	dir := t.TempDir()
	files := func() int {
		list, err := os.ReadDir(dir)
		check(t, err)
		return len(list)
	}
	b := New(Options{Dir: dir, Memory: 1 << 20})
	for range 2 {
		one, err := b.Open(context.Background(), 0)
		check(t, err)
		two, err := b.Open(context.Background(), 0)
		check(t, err)
		if files() != 1 {
			t.Errorf("%d files with two handles on one device", files())
		}
		check(t, one.Close())
		if files() != 1 {
			t.Error("the file went with the first of two handles")
		}
		check(t, two.Close())
		if files() != 0 {
			t.Error("the file stayed behind")
		}
	}
}

func TestSpace(t *testing.T) {
	s := newSpace(0, 1000)
	a, _ := s.take(100, 1)
	b, ok := s.take(10, 64)
	if !ok || b.off != 128 || a.off != 0 || s.left != 890 {
		t.Fatalf("%+v %+v, %d left", a, b, s.left)
	}
	c, ok := s.take(28, 1) // the gap before b
	if !ok || c.off != 100 {
		t.Fatalf("%+v", c)
	}
	if _, ok := s.take(900, 1); ok {
		t.Error("more was taken than is left")
	}
	if _, ok := s.take(1, 1024); !ok {
		if _, ok := s.take(862, 1); !ok {
			t.Error("the rest could not be taken")
		}
	} else {
		t.Error("an offset beyond the end was aligned")
	}
	for _, e := range []extent{b, {138, 862}, a, c} {
		s.give(e)
	}
	if len(s.free) != 1 || s.left != 1000 {
		t.Errorf("everything was given back, and %+v is free", s.free)
	}
}

var _ io.Closer = (*broken)(nil)
