package host

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/span"
)

// envDevices is the environment variable with the number of discrete devices of
// the registered backend. It is read by each call of Devices and Open.
const envDevices = "HALYARD_HOST_DEVICES"

// maxDiscrete is the largest number of discrete devices: with the host and the unified
// device that makes 64 places, as many as a buffer can have.
const maxDiscrete = 62

func init() { driver.Register(New(Options{variable: envDevices})) }

// Options describe a backend. The zero value is a backend "host" with one unified device.
//
// Options of calls are functions whose names begin with With. These options are a struct, because they describe the machine that a
// backend simulates: a program can keep such a description, compare it, or make several backends of it.
type Options struct {
	// Name is the backend's name; "" means "host".
	Name string

	// Discrete is the number of discrete devices beside the unified one, at most 62.
	Discrete int

	// variable, if not "", names an environment variable that replaces Discrete if it is set and not empty.
	variable string

	// MemoryLimit limits the memory of KindDevice and KindShared on each discrete device, in bytes, for all its handles together; 0 means
	// the machine's memory.
	MemoryLimit uint64
}

// backend is a family of devices on host memory.
type backend struct {
	opts Options

	mu    sync.Mutex
	parts map[int]*hardware // by ordinal
}

// New returns a backend, which is not registered. If options are out of bounds, Devices and Open fail with kind ErrInvalidArgument.
func New(opts Options) driver.Backend {
	if opts.Name == "" {
		opts.Name = "host"
	}
	return &backend{opts: opts, parts: map[int]*hardware{}}
}

// Name implements driver.Backend.
func (b *backend) Name() string { return b.opts.Name }

// Devices implements driver.Backend.
func (b *backend) Devices(ctx context.Context) ([]driver.Info, error) {
	if ctx.Err() != nil {
		return nil, b.interrupted("devices", ctx)
	}
	n, err := b.discrete("devices")
	if err != nil {
		return nil, err
	}
	infos := make([]driver.Info, n+1)
	for i := range infos {
		infos[i] = b.info(i)
	}
	return infos, nil
}

// Open implements driver.Backend. The error is of kind ErrOutOfRange if there is no device of that ordinal.
func (b *backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	if ctx.Err() != nil {
		return nil, b.interrupted("open", ctx)
	}
	n, err := b.discrete("open")
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal > n {
		return nil, b.failure("open", driver.ErrOutOfRange, "there is no device %d; devices are numbered 0 to %d", ordinal, n)
	}
	return &device{backend: b, info: b.info(ordinal), hardware: b.part(ordinal)}, nil
}

// discrete returns the current number of discrete devices.
func (b *backend) discrete(op string) (int, error) {
	n, source := b.opts.Discrete, "Options.Discrete"
	if b.opts.variable != "" {
		if v := strings.TrimSpace(os.Getenv(b.opts.variable)); v != "" {
			var err error
			if n, err = strconv.Atoi(v); err != nil {
				return 0, b.failure(op, driver.ErrInvalidArgument, "%s=%q is not a number", b.opts.variable, v)
			}
			source = b.opts.variable
		}
	}
	if n < 0 || n > maxDiscrete {
		return 0, b.failure(op, driver.ErrInvalidArgument, "%s is %d; it must be 0 to %d", source, n, maxDiscrete)
	}
	return n, nil
}

// part returns the hardware that the handles on one device share.
func (b *backend) part(ordinal int) *hardware {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.parts[ordinal]
	if h == nil {
		h = &hardware{}
		if ordinal > 0 {
			h.limit = b.info(ordinal).TotalMemory
		}
		b.parts[ordinal] = h
	}
	return h
}

// owner returns the ordinal of the discrete device in whose memory some of the addresses lie, and whether all do. It returns -1 if none
// lies in such memory.
func (b *backend) owner(s span.Range) (ordinal int, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ordinal, h := range b.parts {
		if some, all := h.blocks.has(s); some {
			return ordinal, all
		}
	}
	return -1, false
}

func (b *backend) failure(op string, kind error, format string, args ...any) error {
	return &driver.Error{Op: op, Backend: b.opts.Name, Device: -1, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// interrupted reports that ctx had ended before op began.
func (b *backend) interrupted(op string, ctx context.Context) error {
	return &driver.Error{Op: op, Backend: b.opts.Name, Device: -1, Kind: driver.ErrNotReady, Err: context.Cause(ctx)}
}
