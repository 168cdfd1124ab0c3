package kernel_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// compiling is a backend with a compiler, whose binaries are the name of a Go function.
type compiling struct {
	driver.Backend
	id       string
	compiled atomic.Int32
	last     driver.Source
	refuses  string // a binary that Load refuses
	gate     chan struct{}
	language driver.Language // OpenCL C if it is not set
}

type compilingDevice struct {
	driver.Device
	b *compiling
}

func (b *compiling) Devices(ctx context.Context) ([]driver.Info, error) {
	infos, err := b.Backend.Devices(ctx)
	for i := range infos {
		infos[i].Caps |= driver.CapCompile
		infos[i].Compute.Language = cmp.Or(b.language, driver.LanguageOpenCLC)
	}
	return infos, err
}

func (b *compiling) Open(ctx context.Context, n int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, n)
	return &compilingDevice{d, b}, err
}

func (d *compilingDevice) Info() driver.Info {
	i := d.Device.Info()
	i.Caps |= driver.CapCompile
	i.Compute.Language = cmp.Or(d.b.language, driver.LanguageOpenCLC)
	return i
}

func (d *compilingDevice) Formats() []driver.Format {
	return []driver.Format{driver.FormatOpenCLBinary, driver.FormatSPIRV}
}

func (d *compilingDevice) CompilerID(string) (string, error) { return d.b.id, nil }

func (d *compilingDevice) Compile(_ string, src *driver.Source) (*driver.Image, error) {
	if d.b.gate != nil {
		<-d.b.gate
	}
	d.b.compiled.Add(1)
	d.b.last = *src
	if strings.Contains(src.Text, "broken") {
		return nil, &driver.Error{Op: "compile", Kind: driver.ErrBuild, Err: &driver.BuildError{Source: src.Name, Log: "1:1: broken"}}
	}
	return &driver.Image{Format: driver.FormatOpenCLBinary, Data: []byte("add")}, nil
}

func (d *compilingDevice) Load(img *driver.Image) (driver.Module, error) {
	if d.b.refuses == string(img.Data) {
		d.b.refuses = ""
		return nil, &driver.Error{Op: "load", Kind: driver.ErrInvalidArgument, Detail: "not from this driver"}
	}
	if img.Format == driver.FormatSPIRV {
		return nil, &driver.Error{Op: "load", Kind: driver.ErrUnsupported, Detail: "too new"}
	}
	return d.Device.(driver.Loader).Load(&driver.Image{Format: driver.FormatGo, Functions: map[string]driver.Function{string(img.Data): functions["add"]}})
}

// PeerAccess implements driver.Peering.
func (d *compilingDevice) PeerAccess(driver.Device) driver.PeerAccess { return 0 }

func openCompiling(t *testing.T) (*compiling, *hal.Device, *hal.Stream) {
	t.Setenv("HALYARD_KERNEL_CACHE", t.TempDir())
	b := &compiling{Backend: host.New(host.Options{Name: "compiling", Discrete: 1}), id: "compiler 1"}
	d, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, hal.CloseAll(d, s)) })
	return b, d, s
}

func TestSecondRunDoesNotCompile(t *testing.T) {
	b, dev, s := openCompiling(t)
	run := func(src kernel.Source) {
		p := kernel.New(src)
		x, y := made[uint32](t, 1), made[uint32](t, 0)
		require.NoError(t, p.Kernel("add").Launch(ctx, s, hal.Over(1), kernel.In(x), kernel.Out(y)))
		require.Equal(t, []uint32{2}, contents(t, y))
		require.NoError(t, p.Close())
	}
	src := kernel.Source{OpenCL: "text", Headers: map[string]string{"a.h": "x", "b.h": "y"}, Options: map[hal.Language][]string{hal.LanguageOpenCLC: {"-a", "-b"}}}
	want := func(n int32, what string) {
		t.Helper()
		assert.Equal(t, n, b.compiled.Load(), what)
	}
	run(src)
	run(src)
	want(1, "the same again")
	other := src
	other.OpenCL = "text "
	run(other)
	want(2, "another text")
	other = src
	other.Headers = map[string]string{"a.h": "y", "b.h": "x"}
	run(other)
	want(3, "other headers")
	other = src
	other.Options = map[hal.Language][]string{hal.LanguageOpenCLC: {"-b", "-a"}}
	run(other)
	want(4, "options in another order")
	b.id = "compiler 2"
	run(src)
	want(5, "another compiler")
	run(kernel.Source{Portable: "text"})
	want(6, "portable text")
	assert.True(t, strings.HasPrefix(b.last.Text, kernel.Prelude(hal.LanguageOpenCLC)) && strings.HasSuffix(b.last.Text, "text"))

	// What the driver no longer takes is compiled anew, once.
	b.refuses = "add"
	run(src)
	want(7, "a driver that refuses what was stored")
	run(src)
	want(7, "after that")

	// So is a damaged entry.
	require.NoError(t, filepath.Walk(os.Getenv("HALYARD_KERNEL_CACHE"), func(path string, f os.FileInfo, err error) error {
		if err == nil && !f.IsDir() {
			return os.WriteFile(path, []byte("nonsense"), 0o600)
		}
		return err
	}))
	run(src)
	want(8, "a damaged entry")

	t.Setenv("POCL_WORK_GROUP_METHOD", "cbs")
	run(src)
	run(src)
	want(9, "a setting of a driver")
	t.Setenv("POCL_WORK_GROUP_METHOD", "loopvec")
	t.Setenv("HALYARD_TEST_OTHER", "1")
	run(src)
	want(10, "another value")
	t.Setenv("HALYARD_TEST_OTHER", "2")
	t.Setenv("POCL_WORK_GROUP_METHOD", "cbs")
	run(src)
	want(10, "the first value again")

	t.Setenv("HALYARD_KERNEL_CACHE", "off")
	run(src)
	run(src)
	want(12, "without a cache")
	assert.Empty(t, dev.Usage().Pending)
}

func TestBuildErrorsAreNotKept(t *testing.T) {
	b, dev, s := openCompiling(t)
	p := kernel.New(kernel.Source{Name: "wrong.cl", OpenCL: "broken"})
	defer p.Close()
	for range 2 {
		err := p.Kernel("add").Launch(ctx, s, hal.Over(1))
		require.ErrorIs(t, err, hal.ErrBuild)
		var be *hal.BuildError
		require.ErrorAs(t, err, &be)
		assert.Equal(t, "1:1: broken", be.Log)
		assert.Equal(t, "wrong.cl", be.Source)
	}
	assert.EqualValues(t, 2, b.compiled.Load())
	// Images come before text, and one that is not for the device is passed over.
	images := kernel.New(kernel.Source{OpenCL: "broken", Images: []hal.Image{{Format: hal.FormatPTX, Data: []byte("x")}, {Format: hal.FormatSPIRV, Data: []byte("x")}, {Format: hal.FormatOpenCLBinary, Data: []byte("add")}}})
	defer images.Close()
	require.NoError(t, images.Load(ctx, dev))
	alone := kernel.New(kernel.Source{Images: []hal.Image{{Format: hal.FormatSPIRV, Data: []byte("x")}}})
	require.ErrorIs(t, alone.Load(ctx, dev), hal.ErrUnsupported)
	assert.ErrorContains(t, alone.Load(ctx, dev), "too new")
}

// A translated text leaves out the kernels that need float64 on a device that lacks it. They are refused by name; the others run.
func TestKernelThatNeedsFloat64(t *testing.T) {
	_, _, s := openCompiling(t)
	p := kernel.New(kernel.Source{Source: gridgen.Source{Indexes: []string{}}, Portable: "KERNEL void add() {}\n#ifdef HALYARD_FLOAT64\nKERNEL void wide() {}\n#endif\n"})
	defer p.Close()
	err := p.Kernel("wide").Launch(ctx, s, hal.Over(1))
	require.ErrorIs(t, err, hal.ErrUnsupported)
	assert.ErrorContains(t, err, "compiling:1: launch: not supported: kernel wide computes with float64, which the device does not have")
	assert.ErrorIs(t, p.Kernel("absent").Launch(ctx, s, hal.Over(1)), hal.ErrNotFound)
	assert.NotErrorIs(t, p.Kernel("add").Launch(ctx, s, hal.Over(1)), hal.ErrUnsupported)
}

// The same for atomic operations of 64 bits.
func TestKernelThatNeedsWhatTheDeviceLacks(t *testing.T) {
	_, _, s := openCompiling(t)
	p := kernel.New(kernel.Source{Source: gridgen.Source{Indexes: []string{}, Kernels: map[string]gridgen.Written{"count": {Code: "k_count", Needs: "atomic operations of 64 bits (count.go:12)"}}}, Portable: "KERNEL void add() {}\n#ifdef GO_ATOMIC64\nKERNEL void k_count() {}\n#endif\n"})
	defer p.Close()
	err := p.Kernel("count").Launch(ctx, s, hal.Over(1))
	require.ErrorIs(t, err, hal.ErrUnsupported)
	assert.ErrorContains(t, err, "compiling:1: launch: not supported: kernel count needs atomic operations of 64 bits (count.go:12), and the device does not have that")
}

// Many launches that need the program at once compile it once, and each gives up with its own context.
func TestOneCompilationForAll(t *testing.T) {
	b, dev, _ := openCompiling(t)
	b.gate = make(chan struct{})
	p := kernel.New(kernel.Source{OpenCL: "text"})
	impatient, cancel := context.WithCancel(ctx)
	gaveUp := make(chan error, 1)
	go func() { gaveUp <- p.Load(impatient, dev) }()
	var wg sync.WaitGroup
	var failed atomic.Int32
	for range 8 {
		wg.Go(func() {
			if p.Load(ctx, dev) != nil {
				failed.Add(1)
			}
		})
	}
	cancel()
	assert.ErrorIs(t, <-gaveUp, context.Canceled)
	close(b.gate)
	wg.Wait()
	assert.Zero(t, failed.Load())
	assert.EqualValues(t, 1, b.compiled.Load())
	require.NoError(t, p.Close())
}

// A program that is closed while it is being compiled leaves nothing loaded.
func TestCloseWhileCompiling(t *testing.T) {
	b, dev, _ := openCompiling(t)
	b.gate = make(chan struct{})
	p := kernel.New(kernel.Source{OpenCL: "text"})
	loaded := make(chan error, 1)
	started, cancel := context.WithCancel(ctx)
	cancel()
	_ = p.Load(started, dev) // refused before anything begins
	go func() { loaded <- p.Load(ctx, dev) }()
	for { // until it is being compiled
		short, stop := context.WithCancel(ctx)
		stop()
		if err := p.Load(short, dev); errors.Is(err, context.Canceled) && kernel.Loading(p) {
			break
		}
	}
	require.NoError(t, p.Close())
	close(b.gate)
	assert.ErrorIs(t, <-loaded, hal.ErrClosed)
	require.NoError(t, p.Load(ctx, dev))
	require.NoError(t, p.Close())
}

// A generic kernel is compiled with those for the same types, when it is launched. Load compiles all.
func TestGenericKernelsAreCompiledApart(t *testing.T) {
	b, dev, s := openCompiling(t)
	p := kernel.New(kernel.Source{Portable: "add", Source: gridgen.Source{Kernels: map[string]gridgen.Written{
		"add": {Code: "add"}, "add[float32]": {Code: "add", Types: 1}, "add[int32]": {Code: "add", Types: 2}, "sub[int32]": {Code: "sub", Types: 2},
	}}})
	for i, name := range []string{"add[int32]", "add[float32]", "add"} {
		x, y := made[uint32](t, 1), made[uint32](t, 0)
		for range 2 {
			require.NoError(t, p.Kernel(name).Launch(ctx, s, hal.Over(1), kernel.In(x), kernel.Out(y)))
		}
		assert.EqualValues(t, i+1, b.compiled.Load())
		text, _, _ := strings.Cut(b.last.Text, "\n")
		assert.Equal(t, fmt.Sprintf("#define GO_TYPES %d", 2-i), text)
	}
	require.NoError(t, p.Close())
	t.Setenv("HALYARD_KERNEL_CACHE", "off")
	require.NoError(t, p.Load(ctx, dev))
	assert.EqualValues(t, 6, b.compiled.Load(), "Close unloads all, and Load loads all")
	require.NoError(t, p.Close())
}
