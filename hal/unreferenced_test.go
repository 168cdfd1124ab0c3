package hal_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/unreferenced"
)

// A call keeps open what it is called on and what it is given, although the program has no other reference to it.
func TestCallsKeepTheirObjects(t *testing.T) {
	run := func(*hal.Block) {}
	callsOnGarbage(t, host.New(host.Options{Name: "unreferenced", Discrete: 1}), 1,
		hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"f": {Run: run, Params: []hal.Param{{Kind: hal.ParamPointer, Size: 8}}}}}, "f")
}

func callsOnGarbage(t *testing.T, b driver.Backend, ordinal int, image hal.Image, name string, rest ...hal.Arg) {
	layered := unreferenced.Backend(b)
	device := func() *hal.Device { return must(hal.OpenWith(ctx, layered, ordinal))(t) }
	stream := func() *hal.Stream { return must(device().NewStream())(t) }
	memory := func(d *hal.Device) *hal.Memory { return must(d.Alloc(hal.KindDevice, 64, 0))(t) }
	// These stay open: what is made of them alone has no other reference.
	lasting := stream()
	bytes := memory(lasting.Device())
	defer func() { // of the device too, which would else close while another test runs
		require.NoError(t, hal.CloseAll(lasting.Device(), lasting, bytes))
	}()
	event := func() *hal.Event { return must(lasting.Record(hal.WithTiming()))(t) }
	module := func(d *hal.Device) *hal.Module { return must(d.Load(image))(t) }
	kernel := func(m *hal.Module) *hal.Kernel { return must(m.Kernel(name))(t) }
	data := make([]byte, 64)

	unreferenced.Methods(t, device, map[string]func(*hal.Device) error{
		"Alloc":         func(d *hal.Device) error { return second(d.Alloc(hal.KindHost, 64, 0)) },
		"CanAccessPeer": func(d *hal.Device) error { d.CanAccessPeer(lasting.Device()); return nil },
		"Caps":          func(d *hal.Device) error { d.Caps(); return nil },
		"Close":         func(d *hal.Device) error { return d.Close() },
		"Compile": func(d *hal.Device) error {
			return second(d.Compile(hal.Source{Text: "extern \"C\" __global__ void f() {}"}))
		},
		"CopyStream": func(d *hal.Device) error { return second(d.CopyStream(true)) },
		"Formats":    func(d *hal.Device) error { d.Formats(); return nil },
		"Handles":    func(d *hal.Device) error { d.Handles(); return nil },
		"Import": func(d *hal.Device) error {
			return second(d.Import(hal.ExternalMemory{Kind: hal.KindDevice, Handle: bytes.Handle(), Size: 64}))
		},
		"ImportStream": func(d *hal.Device) error { return second(d.ImportStream(lasting.Handle(), nil)) },
		"Info":         func(d *hal.Device) error { d.Info(); return nil },
		"Load":         func(d *hal.Device) error { return second(d.Load(image)) },
		"MemInfo":      func(d *hal.Device) error { _, _, err := d.MemInfo(); return err },
		"Name":         func(d *hal.Device) error { _ = d.Name(); return nil },
		"NewStream":    func(d *hal.Device) error { return second(d.NewStream()) },
		"OpenIPC":      func(d *hal.Device) error { _, _ = d.OpenIPC(hal.IPCHandle{}); return nil },
		"PointerInfo":  func(d *hal.Device) error { return second(d.PointerInfo(bytes.Handle())) },
		"Read":         func(d *hal.Device) error { return d.Read(ctx, data, memory(d).All()) },
		"Reclaim":      func(d *hal.Device) error { return d.Reclaim(ctx) },
		"Register":     func(d *hal.Device) error { return second(d.Register(make([]byte, 64))) },
		"Same":         func(d *hal.Device) error { d.Same(lasting.Device()); return nil },
		"String":       func(d *hal.Device) error { _ = d.String(); return nil },
		"Usage":        func(d *hal.Device) error { d.Usage(); return nil },
		"Write":        func(d *hal.Device) error { return d.Write(ctx, memory(d).All(), data) },
	})
	unreferenced.Methods(t, stream, map[string]func(*hal.Stream) error{
		"AllocAsync": func(s *hal.Stream) error { return second(s.AllocAsync(64, 0)) },
		"Close":      func(s *hal.Stream) error { return s.Close() },
		"Copy":       func(s *hal.Stream) error { return s.Copy(memory(s.Device()).All(), memory(s.Device()).All()) },
		"Copy2D": func(s *hal.Stream) error {
			return s.Copy2D(memory(s.Device()).Pitched(0, 8), memory(s.Device()).Pitched(0, 8), 4, 8)
		},
		"CopyIn":    func(s *hal.Stream) error { return s.CopyIn(memory(s.Device()).All(), data) },
		"CopyIn2D":  func(s *hal.Stream) error { return s.CopyIn2D(memory(s.Device()).Pitched(0, 8), data, 8, 4, 8) },
		"CopyOut":   func(s *hal.Stream) error { return s.CopyOut(data, memory(s.Device()).All()) },
		"CopyOut2D": func(s *hal.Stream) error { return s.CopyOut2D(data, 8, memory(s.Device()).Pitched(0, 8), 4, 8) },
		"Device":    func(s *hal.Stream) error { s.Device(); return nil },
		"Done":      func(s *hal.Stream) error { return second(s.Done()) },
		"Fill":      func(s *hal.Stream) error { return s.Fill(memory(s.Device()).All(), hal.Zero) },
		"Gate":      func(s *hal.Stream) error { return second(s.Gate()) },
		"Handle":    func(s *hal.Stream) error { s.Handle(); return nil },
		"Launch": func(s *hal.Stream) error {
			return s.Launch(kernel(module(s.Device())), hal.Blocks(1).Of(1), append([]hal.Arg{hal.At(memory(s.Device()).All())}, rest...)...)
		},
		"OnDone":     func(s *hal.Stream) error { return s.OnDone(func() {}) },
		"Prefetch":   func(s *hal.Stream) error { return s.Prefetch(memory(s.Device()).All(), true) },
		"Record":     func(s *hal.Stream) error { return second(s.Record()) },
		"RecordUse":  func(s *hal.Stream) error { return s.RecordUse(memory(s.Device())) },
		"String":     func(s *hal.Stream) error { _ = s.String(); return nil },
		"Sync":       func(s *hal.Stream) error { return s.Sync(ctx) },
		"WaitEvent":  func(s *hal.Stream) error { return s.WaitEvent(event()) },
		"WaitStream": func(s *hal.Stream) error { return s.WaitStream(stream()) },
	})
	unreferenced.Methods(t, func() *hal.Memory { return memory(device()) }, map[string]func(*hal.Memory) error{
		"All":         func(m *hal.Memory) error { m.All(); return nil },
		"Bytes":       func(m *hal.Memory) error { return second(m.Bytes()) },
		"Close":       func(m *hal.Memory) error { return m.Close() },
		"Device":      func(m *hal.Memory) error { m.Device(); return nil },
		"Handle":      func(m *hal.Memory) error { m.Handle(); return nil },
		"HostPointer": func(m *hal.Memory) error { m.HostPointer(); return nil },
		"IPCHandle":   func(m *hal.Memory) error { return second(m.IPCHandle()) },
		"Kind":        func(m *hal.Memory) error { m.Kind(); return nil },
		"Pitched":     func(m *hal.Memory) error { m.Pitched(0, 8); return nil },
		"Region":      func(m *hal.Memory) error { m.Region(0, 8); return nil },
		"Size":        func(m *hal.Memory) error { m.Size(); return nil },
		"String":      func(m *hal.Memory) error { _ = m.String(); return nil },
	})
	unreferenced.Methods(t, func() *hal.Event { return event() }, map[string]func(*hal.Event) error{
		"Close":   func(e *hal.Event) error { return e.Close() },
		"Done":    func(e *hal.Event) error { return second(e.Done()) },
		"Elapsed": func(e *hal.Event) error { _, err := e.Elapsed(event()); return ignoring(err, hal.ErrNotReady) },
		"OnDone":  func(e *hal.Event) error { return errors.Join(e.Sync(ctx), e.OnDone(func(error) {})) }, // no driver call is left for after the call
		"String":  func(e *hal.Event) error { _ = e.String(); return nil },
		"Sync":    func(e *hal.Event) error { return e.Sync(ctx) },
	})
	unreferenced.Methods(t, func() *hal.Gate { return must(lasting.Gate())(t) }, map[string]func(*hal.Gate) error{
		"Signal": func(g *hal.Gate) error { return g.Signal() },
		"String": func(g *hal.Gate) error { _ = g.String(); return nil },
	})
	unreferenced.Methods(t, func() *hal.Module { return module(device()) }, map[string]func(*hal.Module) error{
		"Close":  func(m *hal.Module) error { return m.Close() },
		"Kernel": func(m *hal.Module) error { return second(m.Kernel(name)) },
		"Names":  func(m *hal.Module) error { m.Names(); return nil },
		"String": func(m *hal.Module) error { _ = m.String(); return nil },
	})
	unreferenced.Methods(t, func() *hal.Kernel { return kernel(module(device())) }, map[string]func(*hal.Kernel) error{
		"Info":   func(k *hal.Kernel) error { k.Info(); return nil },
		"Module": func(k *hal.Kernel) error { k.Module(); return nil },
		"String": func(k *hal.Kernel) error { _ = k.String(); return nil },
	})
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		require.NoError(t, err)
		return v
	}
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

func ignoring(err error, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}
