package hal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/calllog"
	"github.com/go-halyard/halyard/internal/debug"
)

// EnvDevices is the environment variable that restricts and orders the devices which
// [Devices], [OpenAll] and [Default] see. It holds names separated by commas: each
// is a device ("cuda:1") or a backend ("host"), which stands for all its devices.
const EnvDevices = "HALYARD_DEVICES"

// known maps each backend of this module to the build tag that links it; host needs none.
var known = map[string]string{"cuda": "cuda", "hip": "hip", "host": "", "opencl": "opencl"}

// Report describes one backend and the devices it found.
type Report struct {
	Backend string
	Built   bool   // linked into this program
	Devices []Info // the devices it found
	Err     error  // why it found none: kind ErrNotBuilt, ErrUnavailable or another
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

// Devices lists the devices of all linked backends, sorted by backend name, or
// those that EnvDevices selects, in its order. A backend that is unavailable adds
// no devices; [List] says why. If EnvDevices names a device that does not exist,
// Devices fails.
func Devices(ctx context.Context) ([]Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, interrupted("devices", ctx)
	}
	selection := os.Getenv(EnvDevices)
	if strings.TrimSpace(selection) == "" {
		var all []Info
		for _, r := range List(ctx) {
			all = append(all, r.Devices...)
		}
		return all, nil
	}
	var chosen []Info
	for _, name := range strings.Split(selection, ",") {
		name = strings.TrimSpace(name)
		b, ordinal, err := resolve(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", EnvDevices, err)
		}
		infos, err := devicesOf(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", EnvDevices, err)
		}
		if ordinal >= 0 {
			if ordinal >= len(infos) {
				return nil, fmt.Errorf("%s: %w", EnvDevices, noSuchOrdinal(b.Name(), ordinal, len(infos)))
			}
			infos = infos[ordinal : ordinal+1]
		}
		for _, info := range infos {
			if !slices.ContainsFunc(chosen, func(c Info) bool { return c.Backend == info.Backend && c.Ordinal == info.Ordinal }) {
				chosen = append(chosen, info)
			}
		}
	}
	return chosen, nil
}

// Open opens a device by name, "cuda:0", or by the name of a backend alone, which means
// its first device. Each call returns a new handle. All handles on one device share its memory and
// its [Usage]. A device that was lost is opened anew. The error is of kind
// ErrInvalidArgument if the backend is unknown, ErrNotBuilt if the program was built without it,
// ErrUnavailable if its driver is missing, ErrOutOfRange if there is no device with that number.
// EnvDevices does not restrict Open.
func Open(ctx context.Context, name string) (*Device, error) {
	if ctx.Err() != nil {
		return nil, interrupted("open "+strconv.Quote(name), ctx)
	}
	b, ordinal, err := resolve(name)
	if err != nil {
		return nil, err
	}
	return open(ctx, b, max(ordinal, 0))
}

// OpenWith opens a device of the given backend, which need not be registered: tests use it to
// open backends of their own. Calls with equal backends share the device, as calls of Open do.
func OpenWith(ctx context.Context, b driver.Backend, ordinal int) (*Device, error) {
	if b == nil {
		return nil, Errorf("open", ErrInvalidArgument, "nil backend")
	}
	if ctx.Err() != nil {
		return nil, interrupted("open "+b.Name(), ctx)
	}
	if ordinal < 0 {
		return nil, Errorf("open", ErrOutOfRange, "%s:%d: negative device number", b.Name(), ordinal)
	}
	return open(ctx, b, ordinal)
}

// OpenAll opens every device that [Devices] lists. On error no device stays open.
func OpenAll(ctx context.Context) ([]*Device, error) {
	infos, err := Devices(ctx)
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

// Default opens the first device in the list of [Devices] that is not the host's, or
// the first one if there is no other.
func Default(ctx context.Context) (*Device, error) {
	infos, err := Devices(ctx)
	if err != nil {
		return nil, err
	}
	if len(infos) == 0 {
		return nil, Errorf("open the default device", ErrUnavailable, "no device found; is package backends imported?")
	}
	i := slices.IndexFunc(infos, func(i Info) bool { return i.Backend != "host" })
	return Open(ctx, infos[max(i, 0)].Name())
}

func resolve(name string) (b driver.Backend, ordinal int, err error) {
	backend, number, numbered := strings.Cut(name, ":")
	ordinal = -1
	if numbered {
		n, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return nil, 0, Errorf("open", ErrInvalidArgument, "%q: the part after the colon is not a device number", name)
		}
		ordinal = int(n)
	}
	linked := driver.Backends()
	names := make([]string, 0, len(linked)+len(known))
	for _, b := range linked {
		if b.Name() == backend {
			return b, ordinal, nil
		}
		names = append(names, b.Name())
	}
	if _, ok := known[backend]; ok {
		return nil, 0, notBuilt(backend)
	}
	for n := range known {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return nil, 0, Errorf("open", ErrInvalidArgument, "%q: unknown backend; known backends are %s", name, strings.Join(names, ", "))
}

func notBuilt(name string) error {
	detail := fmt.Sprintf("build with -tags %s and import the package backends", known[name])
	if known[name] == "" {
		detail = "import the package backends"
	}
	return &Error{Op: "open", Backend: name, Device: -1, Kind: ErrNotBuilt, Detail: detail}
}

func noSuchOrdinal(backend string, ordinal, count int) error {
	return &Error{Op: "open", Backend: backend, Device: ordinal, Kind: ErrOutOfRange,
		Detail: fmt.Sprintf("the number of devices of the backend is %d, and they are numbered from 0", count)}
}

// devicesOf enumerates one backend and gives up when ctx ends, even if the
// backend does not.
func devicesOf(ctx context.Context, b driver.Backend) ([]Info, error) {
	return within(ctx, "list the devices of "+b.Name(), func() ([]Info, error) { return b.Devices(ctx) }, nil)
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
func (o *openDevices) forget(s *deviceState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if x := o.devices[s.key]; x != nil && x.state == s {
		delete(o.devices, s.key)
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
		opened.mu.Unlock()
		select {
		case <-x.done:
		case <-ctx.Done():
			return nil, interrupted("open "+b.Name(), ctx)
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
	infos, err := devicesOf(ctx, b)
	if err != nil {
		return nil, err
	}
	if key.ordinal >= len(infos) {
		return nil, noSuchOrdinal(b.Name(), key.ordinal, len(infos))
	}
	abandon := func(d driver.Device) { _ = d.Close() }
	drv, err := within(ctx, "open "+b.Name(), func() (driver.Device, error) { return openDriver(ctx, b, key.ordinal) }, abandon)
	if err != nil {
		return nil, err
	}
	return newDevice(b, drv, key), nil
}

// calls is the one log of the process, so that its lines do not mix.
var calls = calllog.New(os.Stderr)

// openDriver opens a device, whose calls are logged if HALYARD_DEBUG has the word "calls".
func openDriver(ctx context.Context, b driver.Backend, ordinal int) (driver.Device, error) {
	if debug.Has("calls") {
		return calls.Open(ctx, b, ordinal)
	}
	return b.Open(ctx, ordinal)
}

// within runs fn and returns its result, or an error if ctx ends first; a result
// that comes too late is passed to abandon.
func within[R any](ctx context.Context, op string, fn func() (R, error), abandon func(R)) (R, error) {
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
		if abandon != nil {
			go func() {
				if r := <-ch; r.err == nil {
					abandon(r.value)
				}
			}()
		}
		var none R
		err := interrupted(op, ctx)
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err.(*Error).Detail = "no answer before the deadline"
		}
		return none, err
	}
}
