package template

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// name is the backend's name, by which programs open devices: "template:0". It is short, in lower case, and the name of the
// folder. REPLACE it.
const name = "template"

// Importing the package makes the backend known to package hal. Registering does not call the vendor's library: a
// program that never uses the backend pays nothing for it, and starts even if the vendor's library is missing.
func init() { driver.Register(New()) }

// Backend implements driver.Backend.
type Backend struct {
	// load finds the vendor's library, once, when the first device is asked for.
	load func() (*library, error)
}

// New returns a backend that is not registered, as tests use it.
func New() *Backend { return &Backend{load: sync.OnceValues(load)} }

// Name implements driver.Backend.
func (b *Backend) Name() string { return name }

// Devices implements driver.Backend. It guarantees:
//
//   - the same devices in the same order at each call, so that "template:1" is always the same device;
//   - no context, no device memory: listing takes nothing from other programs on the machine;
//   - a missing library is ErrUnavailable, with what was tried; a library that sees no device is not an error;
//   - programs wait for it only until ctx ends. Package hal takes care of that: it returns then, and this method runs on
//     until the vendor's call, which cannot be stopped, has returned.
func (b *Backend) Devices(ctx context.Context) ([]driver.Info, error) {
	lib, err := b.ready(ctx, "devices")
	if err != nil {
		return nil, err
	}
	infos := make([]driver.Info, len(lib.cards))
	for i, c := range lib.cards {
		infos[i] = describe(i, c)
	}
	return infos, nil
}

// Open implements driver.Backend. It guarantees:
//
//   - a handle of its own at each call: closing one leaves others on the same device working;
//   - an ordinal that Devices does not list is ErrOutOfRange;
//   - a call that fails leaves nothing open.
func (b *Backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	lib, err := b.ready(ctx, "open")
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(lib.cards) {
		return nil, &driver.Error{Op: "open", Backend: name, Device: ordinal, Kind: driver.ErrOutOfRange,
			Detail: fmt.Sprintf("%d devices, numbered from 0", len(lib.cards))}
	}
	d := &device{card: lib.cards[ordinal], info: describe(ordinal, lib.cards[ordinal])}
	if err := d.check("open", "cardOpen", d.card.open()); err != nil {
		return nil, err
	}
	return d, nil
}

// ready returns the library, or why there is none.
func (b *Backend) ready(ctx context.Context, op string) (*library, error) {
	if ctx.Err() != nil {
		return nil, &driver.Error{Op: op, Backend: name, Device: -1, Kind: driver.ErrNotReady, Err: context.Cause(ctx)}
	}
	lib, err := b.load()
	if err != nil {
		return nil, &driver.Error{Op: op, Backend: name, Device: -1, Kind: driver.ErrUnavailable, Err: err}
	}
	return lib, nil
}
