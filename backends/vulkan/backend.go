//go:build vulkan

package vulkan

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// memoryEnv forces the memory model of devices opened without options.
const memoryEnv = "HALYARD_VULKAN_MEMORY"

// withoutEnv names features of Vulkan, separated by commas. They are not used even if a device has them, so that a program can be tried
// on a device that lacks them.
const withoutEnv = "HALYARD_VULKAN_WITHOUT"

func init() { driver.Register(newBackend(loadTable)) }

// backend is the Vulkan backend, which programs use through package hal. It is safe for concurrent use.
type backend struct {
	bind func() (*table, error)

	opts options

	mu        sync.Mutex
	instances map[string]*instance // by the value of libraryEnv
}

func newBackend(bind func() (*table, error)) *backend {
	return &backend{bind: bind, instances: map[string]*instance{}}
}

// options returns the options with what the environment adds.
func (b *backend) options() (options, error) {
	o, from := b.opts, "options.Memory"
	if o.Memory == "" {
		o.Memory, from = os.Getenv(memoryEnv), memoryEnv
	}
	if !o.valid() {
		return o, refusal("open", -1, driver.ErrInvalidArgument, "%s=%q; it must be %q or %q", from, o.Memory, modelUnified, modelDiscrete)
	}
	o.without = os.Getenv(withoutEnv)
	for name := range strings.SplitSeq(o.without, ",") {
		if f := featureNamed(name); o.without != "" && (f == nil || f.required) {
			return o, refusal("open", -1, driver.ErrInvalidArgument, "%s=%q; %q is no feature that can be done without", withoutEnv,
				o.without, name)
		}
	}
	return o, nil
}

// Name returns "vulkan".
func (b *backend) Name() string { return backendName }

// instance returns the instance of the library that the environment selects. If it cannot be made, the next call tries again.
func (b *backend) instance(op string) (*instance, error) {
	key := os.Getenv(libraryEnv)
	b.mu.Lock()
	defer b.mu.Unlock()
	if in := b.instances[key]; in != nil {
		return in, nil
	}
	t, err := b.bind()
	if err != nil {
		return nil, &driver.Error{Op: op, Backend: backendName, Device: -1, Kind: driver.ErrUnavailable, Err: err}
	}
	in, err := newInstance(op, t)
	if err != nil {
		return nil, err
	}
	b.instances[key] = in
	return in, nil
}

// usable is a device that can be used.
type usable struct {
	in     *instance
	handle uintptr
	plan   *plan
}

// enumerate returns the devices that can be used, by ordinal, and why others cannot.
func (b *backend) enumerate(ctx context.Context, op string) (list []usable, problems []string, err error) {
	if ctx.Err() != nil {
		return nil, nil, &driver.Error{Op: op, Backend: backendName, Device: -1, Kind: driver.ErrNotReady, Err: context.Cause(ctx)}
	}
	opts, err := b.options()
	if err != nil {
		return nil, nil, err
	}
	in, err := b.instance(op)
	if err != nil {
		return nil, nil, err
	}
	all, err := in.devices(op)
	if err != nil {
		return nil, nil, err
	}
	seen := map[driver.UUID]bool{{}: true}
	for _, p := range all {
		pl, problem := planFor(p.facts, len(list), opts)
		if problem != "" {
			problems = append(problems, problem)
			continue
		}
		if seen[pl.info.UUID] { // two drivers for one piece of hardware
			pl.info.UUID = driver.UUID{}
		}
		seen[pl.info.UUID] = true
		list = append(list, usable{in, p.handle, pl})
	}
	if len(list) == 0 && len(problems) > 0 {
		return nil, nil, refusal(op, -1, driver.ErrUnavailable, "no device can be used: %s", strings.Join(problems, "; "))
	}
	return list, problems, nil
}

// Devices lists the devices of all drivers in the loader's order. The error is of kind ErrUnavailable if there is no Vulkan loader, if
// no driver is installed, and if no device can be used, with the reasons; it is of kind ErrInvalidArgument if the environment or
// [options] name a memory model that does not exist.
func (b *backend) Devices(ctx context.Context) ([]driver.Info, error) {
	list, _, err := b.enumerate(ctx, "list devices")
	infos := make([]driver.Info, len(list))
	for i, f := range list {
		infos[i] = f.plan.info
	}
	return infos, err
}

// Problems returns the reasons why devices are missing from the list, as one sentence each: one that is too old or lacks a feature, or
// that no driver is there. It returns nil if there are none.
func (b *backend) Problems(ctx context.Context) []string {
	_, problems, err := b.enumerate(ctx, "list devices")
	if err != nil {
		return []string{err.Error()}
	}
	return problems
}

// Open opens a device by its index in the list. The error is of kind ErrOutOfRange if there is no such device, and has the reasons why
// others are missing; if there is none at all, it is that of Devices.
func (b *backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	const op = "open"
	if ordinal < 0 {
		return nil, refusal(op, -1, driver.ErrOutOfRange, "%d: negative device number", ordinal)
	}
	list, problems, err := b.enumerate(ctx, op)
	if err != nil {
		return nil, err
	}
	if ordinal >= len(list) {
		return nil, refusal(op, ordinal, driver.ErrOutOfRange, "%s", strings.Join(
			append([]string{fmt.Sprintf("the number of devices is %d, and they are numbered from 0", len(list))}, problems...), "; "))
	}
	f := list[ordinal]
	d, err := openDevice(f.in, f.handle, f.plan)
	if err != nil {
		return nil, err
	}
	return d, nil
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
