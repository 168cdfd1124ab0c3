//go:build opencl

package opencl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

func init() { driver.Register(newBackend(bindTable)) }

// backend is the OpenCL backend. It is safe for concurrent use. The command "halyard" calls Problems for its list of devices, and
// VendorCodes and VendorError for its check.
type backend struct {
	bind func() (*table, error)

	mu        sync.Mutex
	libraries map[string]*library // by the value of libraryEnv
}

func newBackend(bind func() (*table, error)) *backend {
	return &backend{bind: bind, libraries: map[string]*library{}}
}

// Name returns "opencl".
func (b *backend) Name() string { return backendName }

// library loads the OpenCL library that the environment selects. If that fails, the next call tries again.
func (b *backend) library(op string) (*library, error) {
	key := os.Getenv(libraryEnv)
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.libraries[key]; l != nil {
		return l, nil
	}
	t, err := b.bind()
	if err != nil {
		return nil, &driver.Error{Op: op, Backend: backendName, Device: -1, Kind: driver.ErrUnavailable, Err: err}
	}
	l := newLibrary(t)
	b.libraries[key] = l
	return l, nil
}

// enumerate returns the library and, by ordinal, its devices, and the reasons why others are missing. It asks one platform after the other,
// in the library's order, until it has found the device last or all platforms have answered. So an ordinal does not depend on how long a
// platform takes, and two platforms never list their devices at the same time. If ctx ends first, what was found is returned beside the
// error.
func (b *backend) enumerate(ctx context.Context, op string, last int) (l *library, found []*hardware, problems []string, err error) {
	if l, err = b.library(op); err != nil {
		return nil, nil, nil, err
	}
	first, err := l.platforms(ctx, op)
	if err != nil {
		return nil, nil, nil, err
	}
	problems = slices.Clip(first.problems)
	for _, p := range first.platforms {
		if len(found) > last {
			break
		}
		devices, err := p.hardware(ctx, op)
		if errors.Is(err, driver.ErrNotReady) {
			return l, found, problems, err
		}
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if devices[0].problem != "" {
			problems = append(problems, devices[0].problem)
		}
		found = append(found, devices...)
	}
	if len(found) == 0 {
		return nil, nil, nil, refusal(op, -1, driver.ErrUnavailable, "no platform has a device: %s", strings.Join(problems, "; "))
	}
	return l, found, problems, nil
}

// Devices lists the devices of every platform, platform by platform in the library's order. It waits for each platform until ctx ends. Then
// the error is of kind ErrNotReady and names the platform that has not answered, and the list beside it has the devices of the platforms
// before that one. The error is of kind ErrUnavailable when there is no OpenCL library, when no driver is registered with it or loads, and
// when no platform has a device, with the reasons; it is of kind ErrInvalidArgument when the environment forces a tier that does not exist.
func (b *backend) Devices(ctx context.Context) ([]driver.Info, error) {
	const op = "list devices"
	prefer, err := preferredTiers()
	if err != nil {
		return nil, err
	}
	l, found, _, err := b.enumerate(ctx, op, math.MaxInt)
	infos := make([]driver.Info, len(found))
	for i, h := range found {
		infos[i] = h.info(l.t, i, prefer)
	}
	return infos, err
}

// Problems returns the reasons why devices may be missing from the list, as one sentence each: a registered driver that does not load, a
// platform that has no devices or does not answer, a device that is too old. It returns nil if there are none.
func (b *backend) Problems(ctx context.Context) []string {
	_, _, problems, err := b.enumerate(ctx, "list devices", math.MaxInt)
	if err != nil {
		problems = append(problems, err.Error())
	}
	return problems
}

// Open opens a device by its index in the list. It waits for the platforms up to the one of the device, until ctx ends. The error is of
// kind ErrOutOfRange if there is no such device, and has the reasons why others are missing; if there is none at all, it is that of
// Devices. It is of kind ErrUnsupported if the environment forces a tier of memory that the device lacks.
func (b *backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	const op = "open"
	prefer, err := preferredTiers()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 {
		return nil, refusal(op, -1, driver.ErrOutOfRange, "%d: negative device number", ordinal)
	}
	l, found, problems, err := b.enumerate(ctx, op, ordinal)
	if ordinal < len(found) {
		return openDevice(l, found[ordinal], ordinal, prefer)
	}
	if err != nil {
		return nil, err
	}
	return nil, refusal(op, ordinal, driver.ErrOutOfRange, "%s", strings.Join(
		append([]string{fmt.Sprintf("the number of devices is %d, and they are numbered from 0", len(found))}, problems...), "; "))
}

// VendorCodes lists every error status for which the backend has a name, in descending order.
func (b *backend) VendorCodes() []int64 {
	codes := make([]int64, len(statuses))
	for i, k := range statuses {
		codes[i] = int64(k.code)
	}
	slices.SortFunc(codes, func(a, b int64) int { return int(b - a) })
	return codes
}

// VendorError returns the error with which the backend reports a status. An unknown status is of kind ErrDriver.
func (b *backend) VendorError(api string, code int64) error {
	return failure("vendor call", -1, api, status(code))
}
