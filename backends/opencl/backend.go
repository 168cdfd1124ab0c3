//go:build opencl

package opencl

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

const backendName = "opencl"

// enumerationLimit is how long platforms may take to list their devices, unless the context
// ends earlier.
const enumerationLimit = 5 * time.Second

// Backend is the OpenCL backend. Programs use it through package hal, and use the type itself
// only for methods that hal does not offer: [Backend.Problems], [Backend.VendorCodes].
// It is safe for concurrent use.
type Backend struct {
	bind  func() (*table, error)
	limit time.Duration

	of   *Backend // the backend without options, whose libraries it uses; for that backend itself, b
	opts Options

	mu        sync.Mutex
	libraries map[string]*library  // by the value of libraryEnv
	variants  map[Options]*Backend // backends with options, which use this one's libraries
}

// Options identify a backend for [New]: equal Options give the same backend. They are a comparable struct for that reason; the options
// of other calls in this module are functions.
type Options struct {
	// Memory is the tier of memory of every device that the backend opens: "usm", "svm", "svm-coarse" or "buffer", as in
	// HALYARD_OPENCL_MEMORY. If it is "", the variable decides; otherwise the variable is not read. With any other text Devices and
	// Open return an error of kind ErrInvalidArgument.
	Memory string

	// Parts, if it is not 0, has the backend list the parts of each device in place of the device: from 2 to 64 parts with
	// equal numbers of compute units, or numbers that differ by one. So streams of one part leave the processors of the others alone.
	// The parts divide processors and not memory: each reports all memory of the device, has no UUID, and counts only what it has allocated itself,
	// so a program that adds up the figures of the parts counts the memory several times. Parts copy to each other through
	// the host. A device that cannot be divided, as most GPUs, is not listed; [Backend.Problems] says why. With any other number
	// Devices and Open return an error of kind ErrInvalidArgument. See clCreateSubDevices, OpenCL 1.2, section 4.3.
	Parts int
}

// New returns a backend with the options. hal.OpenWith opens its devices, so one program can use devices in different tiers. A backend
// with options is not registered. For the same valid options New returns the same backend, and for empty options the registered one.
// Package hal regards a device that is open in two tiers as two devices, and a device and its parts as well.
func New(opts Options) *Backend { return registered.with(opts) }

// with returns the variant of a backend that has the options.
func (b *Backend) with(opts Options) *Backend {
	if opts == (Options{}) {
		return b
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.variants[opts]
	if v == nil {
		v = &Backend{of: b, opts: opts, limit: b.limit}
		_, err := tiersNamed(opts.Memory)
		if err == nil && opts.validParts() == nil { // so there are no more variants than names of tiers and numbers of parts
			b.variants[opts] = v
		}
	}
	return v
}

func newBackend(bind func() (*table, error)) *Backend {
	b := &Backend{bind: bind, limit: enumerationLimit, libraries: map[string]*library{}, variants: map[Options]*Backend{}}
	b.of = b
	return b
}

// Name returns "opencl".
func (b *Backend) Name() string { return backendName }

// library loads the OpenCL library that the environment selects. If that fails, the next call
// tries again.
func (b *Backend) library(op string) (*library, error) {
	key := os.Getenv(libraryEnv)
	b = b.of
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.libraries[key]; l != nil {
		return l, nil
	}
	t, err := b.bind()
	if err != nil {
		return nil, &driver.Error{Op: op, Backend: backendName, Device: -1, Kind: driver.ErrUnavailable, Err: err}
	}
	l := newLibrary(t, b.limit)
	b.libraries[key] = l
	return l, nil
}

// enumerate returns the library and, by ordinal, the devices or parts that the options ask for, and the reasons why others are missing.
func (b *Backend) enumerate(ctx context.Context, op string) (*library, []*hardware, []string, error) {
	if err := b.opts.validParts(); err != nil {
		return nil, nil, nil, err
	}
	l, err := b.library(op)
	if err != nil {
		return nil, nil, nil, err
	}
	found, problems, err := l.enumerate(ctx, op)
	if err == nil && b.opts.Parts != 0 {
		var more []string
		found, more = l.divided(found, b.opts.Parts)
		problems = append(problems, more...)
	}
	return l, found, problems, err
}

// Devices lists the devices of every platform that answers in time, platform by platform in the
// library's order. The error is of kind ErrUnavailable when there is no OpenCL library, when
// no driver is registered with it or loads, and when no platform answers; it is of kind
// ErrInvalidArgument when the environment or [Options] force a tier that does not exist.
func (b *Backend) Devices(ctx context.Context) ([]driver.Info, error) {
	const op = "list devices"
	prefer, err := b.preferredTiers()
	if err != nil {
		return nil, err
	}
	l, found, _, err := b.enumerate(ctx, op)
	if err != nil {
		return nil, err
	}
	infos := make([]driver.Info, len(found))
	for i, h := range found {
		infos[i] = h.info(l.t, i, prefer)
	}
	return infos, nil
}

// Problems returns the reasons why devices may be missing from the list, as one sentence each: a
// registered driver that does not load, a platform that has no devices or does not
// answer, a device that is too old. It returns nil if there are none.
func (b *Backend) Problems(ctx context.Context) []string {
	const op = "list devices"
	_, _, problems, err := b.enumerate(ctx, op)
	if err != nil {
		return []string{err.Error()}
	}
	return problems
}

// Open opens a device by its index in the list. The error is of kind ErrUnsupported if the
// environment or [Options] force a tier of memory that the device lacks.
func (b *Backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	const op = "open"
	prefer, err := b.preferredTiers()
	if err != nil {
		return nil, err
	}
	l, found, _, err := b.enumerate(ctx, op)
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(found) {
		return nil, refusal(op, ordinal, driver.ErrInvalidArgument, "there are %d devices", len(found))
	}
	return openDevice(l, found[ordinal], ordinal, prefer)
}
