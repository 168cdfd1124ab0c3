package hal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/wait"
)

// EnvDevices is the environment variable that restricts and orders the devices which
// [Devices], [OpenAll] and [Default] see. It holds names separated by commas: each
// is a device ("cuda:1", "opencl:gpu:0"), a backend ("host"), which stands for all its devices,
// or a backend and a type ("opencl:gpu"), for all its devices of that type.
const EnvDevices = "HALYARD_DEVICES"

// known maps each backend of this module to the build tag that links it; host needs none.
var known = map[string]string{"cuda": "cuda", "hip": "hip", "host": "", "opencl": "opencl", "vulkan": "vulkan"}

// Report describes one backend and the devices it found.
type Report struct {
	Backend string
	Built   bool   // linked into this program
	Devices []Info // the devices it found
	Err     error  // why it found none, of kind ErrNotBuilt, ErrUnavailable or another, or why the list is incomplete, of kind ErrNotReady
}

// List returns a report on every known backend, linked or not, sorted by name. It does not
// fail as a whole: a backend that does not answer before ctx ends is reported with an
// error. List ignores EnvDevices.
func List(ctx context.Context) []Report {
	linked := driver.Backends()
	reports := make([]Report, len(linked))
	done := make(chan int, len(linked))
	for i, b := range linked {
		reports[i] = Report{Backend: b.Name(), Built: true}
		go func() {
			reports[i].Devices, reports[i].Err = devicesOf(ctx, b)
			done <- i
		}()
	}
	for range linked {
		<-done
	}
	for name := range known {
		if !slices.ContainsFunc(linked, func(b driver.Backend) bool { return b.Name() == name }) {
			reports = append(reports, Report{Backend: name, Err: notBuilt(name)})
		}
	}
	slices.SortFunc(reports, func(a, b Report) int { return strings.Compare(a.Backend, b.Backend) })
	return reports
}

// Devices lists the devices of all linked backends, sorted by backend name, or those that EnvDevices selects, in its order. Hardware that
// several backends show is listed once ([Info.SameHardware]): for CUDA or HIP rather than OpenCL, and for these rather than Vulkan. [List],
// [Open] and EnvDevices know the others, too. A backend
// whose driver is missing or does not work adds no devices; [List] says why. Devices fails if a backend has not answered when ctx ends
// (ErrNotReady), if the settings of one are wrong (ErrInvalidArgument), or if EnvDevices names a device that does not exist. If no
// backend has a device, the error is of kind ErrUnavailable and has the reason of each.
func Devices(ctx context.Context) ([]Info, error) {
	return selected(ctx, "devices")
}

// selected is Devices for the call op.
func selected(ctx context.Context, op string) ([]Info, error) {
	if err := wait.Ended(op, ctx); err != nil {
		return nil, err
	}
	selection := os.Getenv(EnvDevices)
	if strings.TrimSpace(selection) == "" {
		return devices(op, List(ctx))
	}
	var chosen []Info
	for _, name := range strings.Split(selection, ",") {
		infos, err := named(ctx, strings.TrimSpace(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", EnvDevices, err)
		}
		for _, info := range infos {
			if !slices.ContainsFunc(chosen, func(c Info) bool { return c.Backend == info.Backend && c.Ordinal == info.Ordinal }) {
				chosen = append(chosen, info)
			}
		}
	}
	if len(chosen) == 0 {
		return nil, Errorf(op, ErrUnavailable, "%s=%s: no device found", EnvDevices, selection)
	}
	return chosen, nil
}

// devices returns the devices of all reports, or why there is none.
func devices(op string, reports []Report) ([]Info, error) {
	var all []Info
	why := "no device found"
	for _, r := range reports {
		switch {
		case r.Err == nil && len(r.Devices) == 0:
			why += "; " + r.Backend + ": the driver works, but finds no device"
		case r.Err == nil:
			all = append(all, r.Devices...)
		case errors.Is(r.Err, ErrNotReady) || errors.Is(r.Err, ErrInvalidArgument):
			return nil, r.Err
		default:
			why += "; " + r.Err.Error()
		}
	}
	if len(all) == 0 {
		return nil, Errorf(op, ErrUnavailable, "%s", why)
	}
	shown := func(i Info) bool {
		return slices.ContainsFunc(all, func(other Info) bool { return choice(other) < choice(i) && other.SameHardware(i) })
	}
	return slices.DeleteFunc(slices.Clone(all), shown), nil
}

// choice ranks backends: if several show the same hardware, the device of the one with the smallest choice is listed.
func choice(i Info) int {
	order := []string{"cuda", "hip", "", "opencl", "vulkan"} // "" are backends of others
	if at := slices.Index(order, i.Backend); at >= 0 {
		return at
	}
	return slices.Index(order, "")
}

// named returns the devices that a name in EnvDevices stands for.
func named(ctx context.Context, name string) ([]Info, error) {
	n, err := parseName(name)
	if err != nil {
		return nil, err
	}
	infos, err := devicesOf(ctx, n.backend)
	if err != nil {
		return nil, err
	}
	return n.pick(infos)
}

// Open opens a device by name, "cuda:0", or by the name of a backend alone, which means
// its first device. "opencl:gpu:1" is the second GPU in the backend's list, and "opencl:gpu" the first; the types are cpu, gpu and
// accelerator. Each call returns a new handle. All handles on one device share its memory and
// its [Usage]. A device that was lost is opened anew. The error is of kind
// ErrInvalidArgument if the backend is unknown, ErrNotBuilt if the program was built without it,
// ErrUnavailable if its driver is missing, ErrOutOfRange if there is no device with that number.
// If ctx ends before a driver has answered, it is of kind ErrNotReady and says what has not answered. EnvDevices does not restrict Open.
func Open(ctx context.Context, name string) (*Device, error) {
	if err := wait.Ended("open "+strconv.Quote(name), ctx); err != nil {
		return nil, err
	}
	n, err := parseName(name)
	if err != nil {
		return nil, err
	}
	n.ordinal = max(n.ordinal, 0)
	if n.class != 0 {
		infos, late := devicesOf(ctx, n.backend)
		one, err := n.pick(infos)
		switch {
		case err == nil:
			n.ordinal = one[0].Ordinal
		case late != nil:
			return nil, late
		default:
			return nil, err
		}
	}
	return open(ctx, n.backend, n.ordinal)
}

// OpenWith opens a device of the given backend, which need not be registered: tests use it to
// open backends of their own. Calls with equal backends share the device, as calls of Open do.
func OpenWith(ctx context.Context, b driver.Backend, ordinal int) (*Device, error) {
	if b == nil {
		return nil, Errorf("open", ErrInvalidArgument, "nil backend")
	}
	if err := wait.Ended("open "+b.Name(), ctx); err != nil {
		return nil, err
	}
	if ordinal < 0 {
		return nil, Errorf("open", ErrOutOfRange, "%s:%d: negative device number", b.Name(), ordinal)
	}
	return open(ctx, b, ordinal)
}

// OpenAll opens every device that [Devices] lists. On error no device stays open.
func OpenAll(ctx context.Context) ([]*Device, error) {
	infos, err := selected(ctx, "open all")
	if err != nil {
		return nil, err
	}
	var devs []*Device
	for _, info := range infos {
		d, err := Open(ctx, info.Name())
		if err != nil {
			for _, d := range devs {
				_ = d.Close() // nothing was made on it yet
			}
			return nil, err
		}
		devs = append(devs, d)
	}
	return devs, nil
}

// Default opens the first GPU in the list of [Devices]: one of CUDA, HIP, OpenCL or Vulkan, in this order. If there is none, it opens the
// first device that is not of the backend host: a processor that OpenCL drives, for example, which compiles kernels from source, as the
// host backend does not. If there is no other, it opens the host. It leaves out devices that refuse many kernels (Info.Compute.NoInt64).
func Default(ctx context.Context) (*Device, error) {
	infos, err := selected(ctx, "default")
	if err != nil {
		return nil, err
	}
	return Open(ctx, infos[best(infos)].Name())
}

// best returns the index of the device that Default opens.
func best(infos []Info) int {
	first := slices.IndexFunc(infos, func(i Info) bool { return i.Class == ClassGPU && !i.Compute.NoInt64 })
	if first < 0 {
		first = slices.IndexFunc(infos, func(i Info) bool { return i.Backend != "host" && !i.Compute.NoInt64 })
	}
	if first < 0 {
		first = slices.IndexFunc(infos, func(i Info) bool { return i.Backend == "host" })
	}
	return max(first, 0)
}

// deviceName is a parsed name of a device.
type deviceName struct {
	text    string
	backend driver.Backend
	class   Class // 0 if the name has none
	ordinal int   // among the devices of the class; -1 if the name has none
}

// parseName parses "cuda", "cuda:1", "opencl:gpu" or "opencl:gpu:1".
func parseName(text string) (deviceName, error) {
	n := deviceName{text: text, ordinal: -1}
	backend, rest, more := strings.Cut(text, ":")
	class, after, numbered := strings.Cut(rest, ":")
	for _, c := range [...]Class{ClassCPU, ClassGPU, ClassAccelerator} {
		if class == c.String() {
			n.class, rest, more = c, after, numbered
		}
	}
	if more {
		number, err := strconv.ParseUint(rest, 10, 31)
		if err != nil {
			return n, Errorf("open", ErrInvalidArgument, "%q: %q is not a device number", text, rest)
		}
		n.ordinal = int(number)
	}
	linked := driver.Backends()
	names := make([]string, 0, len(linked)+len(known))
	for _, b := range linked {
		if b.Name() == backend {
			n.backend = b
			return n, nil
		}
		names = append(names, b.Name())
	}
	if _, ok := known[backend]; ok {
		return n, notBuilt(backend)
	}
	for k := range known {
		if !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return n, Errorf("open", ErrInvalidArgument, "%q: unknown backend; known backends are %s", text, strings.Join(names, ", "))
}

// pick returns the devices of a backend's list that the name stands for.
func (n deviceName) pick(infos []Info) ([]Info, error) {
	what, number := "devices", n.ordinal
	if n.class != 0 {
		what, number = "devices of type "+n.class.String(), -1
		infos = slices.DeleteFunc(slices.Clone(infos), func(i Info) bool { return i.Class != n.class })
	}
	switch {
	case n.ordinal >= len(infos), n.class != 0 && len(infos) == 0:
		return nil, &Error{Op: "open", Backend: n.backend.Name(), Device: number, Kind: ErrOutOfRange,
			Detail: fmt.Sprintf("there is no %s: the number of %s is %d, and they are numbered from 0", n.text, what, len(infos))}
	case n.ordinal >= 0:
		return infos[n.ordinal : n.ordinal+1], nil
	}
	return infos, nil
}

func notBuilt(name string) error {
	detail := fmt.Sprintf("build with -tags %s, and import the package halyard or its package backends", known[name])
	if known[name] == "" {
		detail = "import the package halyard or its package backends"
	}
	return &Error{Op: "open", Backend: name, Device: -1, Kind: ErrNotBuilt, Detail: detail}
}

// answerTime is how long a backend whose context has ended may take to return, so that its error, which says what it was waiting for,
// reaches the program. Backends that watch their context return at once.
const answerTime = 500 * time.Millisecond

// devicesOf enumerates one backend and gives up when ctx ends, even if the
// backend does not.
func devicesOf(ctx context.Context, b driver.Backend) ([]Info, error) {
	return within(ctx, answerTime, "list the devices of "+b.Name(), func() ([]Info, error) { return b.Devices(ctx) }, nil)
}

// opened are the devices that are open or being opened.
var opened = openDevices{devices: map[deviceKey]*opening{}}

type openDevices struct {
	mu      sync.Mutex
	devices map[deviceKey]*opening
}

// deviceKey identifies a device.
type deviceKey struct {
	backend driver.Backend // nil if its type is not comparable: then handles do not share a device
	ordinal int
}

type opening struct {
	done  chan struct{}
	state *deviceState // set before done is closed; nil if opening failed
}

// forget removes the device, so that the next Open opens it anew.
func (o *openDevices) forget(key deviceKey, s *deviceState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if x := o.devices[key]; x != nil && x.state == s {
		delete(o.devices, key)
	}
}

// open returns a handle on the device, and opens the device if it is not open or is lost.
func open(ctx context.Context, b driver.Backend, ordinal int) (*Device, error) {
	if !reflect.ValueOf(b).Comparable() {
		return openAnew(ctx, b, deviceKey{ordinal: ordinal})
	}
	key := deviceKey{b, ordinal}
	for {
		opened.mu.Lock()
		x := opened.devices[key]
		if x == nil {
			x = &opening{done: make(chan struct{})}
			opened.devices[key] = x
			opened.mu.Unlock()
			return x.open(ctx, key)
		}
		ready := x.state != nil
		opened.mu.Unlock()
		if !ready { // x.done may belong to a bubble of package synctest
			select {
			case <-x.done:
			case <-ctx.Done():
				return nil, wait.Interrupted("open "+b.Name(), ctx)
			}
		}
		if x.state != nil {
			if d := x.state.join(); d != nil {
				return d, nil
			}
		}
		opened.mu.Lock()
		if opened.devices[key] == x {
			delete(opened.devices, key)
		}
		opened.mu.Unlock()
	}
}

// open opens the device for all calls that wait for done.
func (x *opening) open(ctx context.Context, key deviceKey) (d *Device, err error) {
	defer func() {
		opened.mu.Lock()
		defer opened.mu.Unlock()
		if d != nil {
			x.state = d.s
		} else {
			delete(opened.devices, key)
		}
		close(x.done)
	}()
	return openAnew(ctx, key.backend, key)
}

func openAnew(ctx context.Context, b driver.Backend, key deviceKey) (*Device, error) {
	abandon := func(d driver.Device) { _ = d.Close() }
	drv, err := within(ctx, answerTime, "open "+b.Name(), func() (driver.Device, error) { return b.Open(ctx, key.ordinal) }, abandon)
	if err != nil {
		return nil, err
	}
	return newDevice(b, drv, func(s *deviceState) { opened.forget(key, s) }), nil
}

// within runs fn and returns its result. If ctx has ended and fn does not return within the time of grace after that, it returns an
// error, and a result that comes later is passed to abandon.
func within[R any](ctx context.Context, grace time.Duration, op string, fn func() (R, error), abandon func(R)) (R, error) {
	var none R
	if ctx == nil {
		return none, wait.Ended(op, ctx)
	}
	if ctx.Done() == nil {
		return fn()
	}
	type result struct {
		value R
		err   error
	}
	ch := make(chan result, 1)
	go func() {
		v, err := fn()
		ch <- result{v, err}
	}()
	select {
	case r := <-ch:
		return r.value, r.err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case r := <-ch:
		return r.value, r.err
	case <-late.C:
	}
	if abandon != nil {
		go func() {
			if r := <-ch; r.err == nil {
				abandon(r.value)
			}
		}()
	}
	err := wait.Interrupted(op, ctx)
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err.(*Error).Detail = "no answer before the deadline"
	}
	return none, err
}

// CloseAll closes its arguments in reverse order. If they are in the order in which they were made, a device is closed after the
// streams, memory and buffers on it. An error does not stop CloseAll; all errors are joined. Nil values and nil pointers are skipped,
// so a variable whose object could not be made may be passed too.
func CloseAll(made ...io.Closer) error {
	var errs []error
	for _, c := range slices.Backward(made) {
		if c == nil {
			continue
		}
		if v := reflect.ValueOf(c); v.Kind() == reflect.Pointer && v.IsNil() {
			continue
		}
		if err := c.Close(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
