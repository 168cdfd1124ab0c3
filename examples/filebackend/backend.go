package filebackend

import (
	"context"
	"fmt"
	"math"

	"github.com/go-halyard/halyard/hal/driver"
)

func init() { driver.Register(New(Options{})) }

// Options describe a backend. The zero value is the backend that is registered.
type Options struct {
	// Name is the backend's name; "" means "file".
	Name string

	// Dir is the folder for the files; "" means the system's folder for temporary files.
	Dir string

	// Devices is the number of devices; 0 means 2.
	Devices int

	// Memory is the size of each device in bytes; 0 means 1 GiB.
	Memory uint64
}

// Backend is a family of devices on files. It implements driver.Backend.
type Backend struct {
	opts   Options
	drives []*drive
}

// New returns a backend, which is not registered. If the options make no sense, Devices and Open return ErrInvalidArgument.
func New(opts Options) *Backend {
	if opts.Name == "" {
		opts.Name = "file"
	}
	if opts.Devices == 0 {
		opts.Devices = 2
	}
	if opts.Memory == 0 {
		opts.Memory = 1 << 30
	}
	b := &Backend{opts: opts}
	for range opts.Devices {
		b.drives = append(b.drives, &drive{dir: opts.Dir, total: opts.Memory})
	}
	return b
}

// Name implements driver.Backend.
func (b *Backend) Name() string { return b.opts.Name }

// Devices implements driver.Backend. It makes no file.
func (b *Backend) Devices(ctx context.Context) ([]driver.Info, error) {
	if err := b.ready(ctx, "devices"); err != nil {
		return nil, err
	}
	infos := make([]driver.Info, len(b.drives))
	for i := range infos {
		infos[i] = b.describe(i)
	}
	return infos, nil
}

// Open implements driver.Backend. The first handle on a device makes its file. If the folder is missing or does not allow
// that, the error is ErrUnavailable.
func (b *Backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	if err := b.ready(ctx, "open"); err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(b.drives) {
		return nil, &driver.Error{Op: "open", Backend: b.opts.Name, Device: ordinal, Kind: driver.ErrOutOfRange,
			Detail: fmt.Sprintf("%d devices, numbered from 0", len(b.drives))}
	}
	d := &device{drive: b.drives[ordinal], info: b.describe(ordinal)}
	if err := d.check("open", "open", d.drive.open()); err != nil {
		return nil, err
	}
	return d, nil
}

func (b *Backend) ready(ctx context.Context, op string) error {
	if ctx.Err() != nil {
		return &driver.Error{Op: op, Backend: b.opts.Name, Device: -1, Kind: driver.ErrNotReady, Err: context.Cause(ctx)}
	}
	if b.opts.Devices < 0 || b.opts.Memory > math.MaxInt64-origin {
		return &driver.Error{Op: op, Backend: b.opts.Name, Device: -1, Kind: driver.ErrInvalidArgument,
			Detail: fmt.Sprintf("%d devices of %d bytes", b.opts.Devices, b.opts.Memory)}
	}
	return nil
}
