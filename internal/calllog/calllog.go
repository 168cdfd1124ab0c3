// Package calllog puts a layer around a device of a backend. The layer writes one line for each call of the driver interface: which call, on
// which device and stream, how many bytes, how it ended, and how long it took. Package hal uses it if HALYARD_DEBUG has the word "calls" when a
// device is opened. Otherwise there is no layer.
//
// The layer's objects have the methods of every optional interface. Package hal looks at the device's capabilities first, so it does not call a
// method that the object below lacks. If an interface has no capability and the object below lacks it, the layer's method does what hal does
// for an object without the interface.
package calllog

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// longest is the largest number of bytes of an error that a line has.
const longest = 300

// Log writes lines. It may be used by many goroutines.
type Log struct {
	mu   sync.Mutex
	to   io.Writer
	line []byte // the memory of the last line, reused
}

// New returns a log that makes one call of Write for each line.
func New(to io.Writer) *Log { return &Log{to: to} }

// Open opens a device of the backend, with the layer around it.
func (l *Log) Open(ctx context.Context, b driver.Backend, ordinal int) (driver.Device, error) {
	d := &device{log: l, name: fmt.Sprintf("%s:%d", b.Name(), ordinal), backend: b.Name(), ordinal: ordinal}
	err := d.did("", "Open", none, func() (err error) { d.Device, err = b.Open(ctx, ordinal); return err })
	if err != nil {
		return nil, err
	}
	return d, nil
}

// none stands for the bytes of a call that moves none.
const none = ^uint64(0)

// write writes a line: halyard: cuda:0 stream 2: CopyIn 4096 bytes: ok, 12µs.
func (l *Log) write(device, object, call string, bytes uint64, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := append(l.line[:0], "halyard: "...)
	b = append(b, device...)
	if object != "" {
		b = append(append(b, ' '), object...)
	}
	b = append(append(b, ": "...), call...)
	if bytes != none {
		b = fmt.Appendf(b, " %d bytes", bytes)
	}
	b = append(b, ": "...)
	if err == nil {
		b = append(b, "ok"...)
	} else {
		text := strings.Join(strings.Fields(err.Error()), " ") // the log of a compiler has lines
		b = append(b, text[:min(len(text), longest)]...)
	}
	b = fmt.Appendf(b, ", %v\n", took.Round(100*time.Nanosecond))
	l.line = b
	_, _ = l.to.Write(b)
}

// device is the layer around a device.
type device struct {
	driver.Device
	log           *Log
	name, backend string
	ordinal       int
	streams       atomic.Uint64 // streams made so far; the next one gets the next number
	events        atomic.Uint64 // the same for events
}

// did makes a call and writes its line.
func (d *device) did(object, call string, bytes uint64, fn func() error) error {
	start := time.Now()
	err := fn()
	d.log.write(d.name, object, call, bytes, time.Since(start), err)
	return err
}

func (d *device) lacks(call string) error {
	return &driver.Error{Op: call, Backend: d.backend, Device: d.ordinal, Kind: driver.ErrUnsupported, Detail: "the backend does not have this call"}
}

// optional calls fn with an object's optional interface, and writes the call's line.
func optional[I any](d *device, below any, object, call string, bytes uint64, fn func(I) error) error {
	i, ok := below.(I)
	if !ok {
		return d.lacks(call)
	}
	return d.did(object, call, bytes, func() error { return fn(i) })
}

func (d *device) memory(m driver.Memory, err error) (driver.Memory, error) {
	if err != nil {
		return nil, err
	}
	return &memory{m, d}, nil
}

func (d *device) stream(s driver.Stream, err error) (driver.Stream, error) {
	if err != nil {
		return nil, err
	}
	return &stream{s, d, fmt.Sprintf("stream %d", d.streams.Add(1))}, nil
}

func (d *device) MemInfo() (free, total uint64, err error) {
	err = d.did("", "MemInfo", none, func() (err error) { free, total, err = d.Device.MemInfo(); return err })
	return free, total, err
}

func (d *device) Alloc(kind driver.Kind, size, align uint64) (m driver.Memory, err error) {
	return d.memory(m, d.did("", "Alloc "+kind.String(), size, func() (err error) { m, err = d.Device.Alloc(kind, size, align); return err }))
}

func (d *device) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	var s driver.Stream
	err := d.did("", "NewStream", none, func() (err error) { s, err = d.Device.NewStream(o); return err })
	return d.stream(s, err)
}

func (d *device) NewEvent(o driver.EventOptions) (driver.Event, error) {
	var e driver.Event
	if err := d.did("", "NewEvent", none, func() (err error) { e, err = d.Device.NewEvent(o); return err }); err != nil {
		return nil, err
	}
	return &event{e, d, fmt.Sprintf("event %d", d.events.Add(1))}, nil
}

func (d *device) Close() error { return d.did("", "Close", none, d.Device.Close) }
