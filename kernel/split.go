package kernel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// Split divides launches among several devices:
//
//	split, err := kernel.NewSplit(streams...)
//	err = k.Launch(ctx, split, hal.Over(n), args...)
//
// The grid is cut into a part for each device. Each device gets the elements that its threads use, if they are stale there. The threads
// have the same indexes as in a launch on one device, so the result is the same. That needs the [gridgen.Footprint] of a kernel that the command
// "halyard kernels" translated. These launches run on the first device alone: kernels without a footprint or with a Footprint.Why, small
// grids, launches that write to overlapping arguments, and all launches with HALYARD_CHECK=kernels (see [EnvCheck]).
//
// In the first launches all parts have the same size, except that devices which are the host's processors have one part together. Later some
// launches are timed, rarely, and devices that were faster get larger parts; see also [Split.SetShares].
//
// Devices of two backends, or of two OpenCL platforms, cannot wait for each other's work without the host. If each of several launches of a
// kernel in a row copies elements between such devices, the next launch first waits until the devices are idle: that costs less than having
// the host pass each completion on. If their kernels are so short that even this wait costs more than the division gains, the first device
// runs all launches except those that are timed.
//
// If a device is lost, the launch that finds it out fails, with an error that names the device, and so do accesses of elements that only
// that device had. Later launches run on the others. If a part of a launch cannot be enqueued after others have been, the elements that it
// should have written are lost, as if its kernel had failed.
//
// Several goroutines may use a Split at once.
type Split struct {
	team atomic.Pointer[team] // replaced, never changed

	mu     sync.Mutex
	fixed  bool      // by SetShares
	count  int       // launches since the last trial
	wait   int       // launches between two trials
	trial  *trial    // not evaluated yet
	costs  []float64 // of the team: seconds that each device would need for recent launches alone, 0 if not known
	closed bool

	unable sync.Map    // of ability to error: why a device cannot run a kernel
	some   atomic.Bool // unable has one
}

// ability is a kernel on a device.
type ability struct {
	p    *Program
	name string
	dev  *hal.Device
}

// noTeam is the team of a nil or zero Split.
var noTeam = team{gone: hal.Errorf("split", hal.ErrInvalidArgument, "nil or zero split; make it with NewSplit")}

func (s *Split) now() *team {
	if s != nil {
		if t := s.team.Load(); t != nil {
			return t
		}
	}
	return &noTeam
}

// near reports whether the devices can wait for each other's events. If they cannot, a thread of the host has to notice that one is done,
// and to tell the other.
func near(streams []*hal.Stream) bool {
	first := streams[0].Device()
	return !slices.ContainsFunc(streams[1:], func(s *hal.Stream) bool { return !first.CanAccessPeer(s.Device()) })
}

const (
	firstWait = 2    // the first launches compile, and hand out the elements
	mostWait  = 1024 // launches
	gain      = 0.9  // shares change if the predicted time is below this part of today's, because moving elements costs time

	// Devices that are not near each other must save at least this many seconds over the last launches, which count as up to four. Otherwise
	// they would wait for each other for longer than that. Two OpenCL runtimes take 0.05 to 0.1 ms until one knows that the other is done.
	crossing float64 = 250e-6
)

// NewSplit returns a Split over the devices of the streams, which stay the program's. It is an error if two are of the same device.
func NewSplit(streams ...*hal.Stream) (*Split, error) {
	const op = "split"
	if len(streams) == 0 {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "no streams")
	}
	t := &team{}
	for _, stream := range streams {
		if stream == nil {
			return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil stream")
		}
		for _, other := range t.streams {
			if other.Device().Same(stream.Device()) {
				return nil, hal.Errorf(op, hal.ErrInvalidArgument, "two streams of %s", stream.Device().Name())
			}
		}
		t.streams = append(t.streams, stream)
	}
	t.shares = firstShares(t.streams)
	s := &Split{wait: firstWait, costs: make([]float64, len(streams))}
	s.team.Store(t)
	return s, nil
}

// firstShares returns shares for devices that are equally fast. Those that are the processors of the host, as two OpenCL drivers and the host
// show them, have one share together.
func firstShares(streams []*hal.Stream) (shares []float64) {
	processors := func(s *hal.Stream) bool {
		info := s.Device().Info()
		return info.Class == hal.ClassCPU && !info.Simulated
	}
	for _, s := range streams {
		same := 1.0
		for _, other := range streams {
			if other != s && processors(s) && processors(other) {
				same++
			}
		}
		shares = append(shares, 1/same)
	}
	return shares
}

// Device returns the device of the first of Streams, nil if no device works.
func (s *Split) Device() *hal.Device {
	if t := s.now(); len(t.streams) > 0 {
		return t.streams[0].Device()
	}
	return nil
}

// Streams returns the streams of the devices that work, in the order of NewSplit.
func (s *Split) Streams() []*hal.Stream { return append([]*hal.Stream(nil), s.now().streams...) }

// Shares returns how large the parts of the devices that work are, in the order of Streams. Their sum is 1.
func (s *Split) Shares() []float64 {
	t := s.now()
	sum := 0.0
	for _, share := range t.shares {
		sum += share
	}
	list := make([]float64, 0, len(t.shares))
	for _, share := range t.shares {
		list = append(list, share/sum)
	}
	return list
}

// SetShares sets how large the parts of the devices are, a positive number for each of Streams, and ends the measurements.
func (s *Split) SetShares(shares ...float64) error {
	const op = "set shares"
	if t := s.now(); t.gone != nil {
		return t.gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := *s.team.Load()
	if len(shares) == 0 || len(shares) != len(t.streams) {
		return hal.Errorf(op, hal.ErrInvalidArgument, "%d shares for %d devices", len(shares), len(t.streams))
	}
	for _, share := range shares {
		if !(share > 0) || math.IsInf(share, 0) {
			return hal.Errorf(op, hal.ErrInvalidArgument, "a share of %v; it must be positive", share)
		}
	}
	largest := slices.Max(shares)
	t.shares = nil
	for _, share := range shares { // the sum of what the program gives may be infinite
		t.shares = append(t.shares, max(share/largest, math.SmallestNonzeroFloat64))
	}
	s.fixed = true
	s.team.Store(&t)
	return nil
}

// crossings is how many launches in a row have to copy elements before await waits for the devices.
const crossings = 4

// await waits until the devices of the team have done what they were given, if they cannot wait for each other and each of the last
// launches of the kernel copied elements. The caller then makes these copies at once. Otherwise a stream waits for a gate, which another
// goroutine opens after it has found out that the other device is done: these wake-ups come late when all processors are busy.
func (l *launch) await(ctx context.Context) {
	if len(l.team) < 2 || l.crossed().Load() < crossings || near(l.team) {
		return
	}
	for _, stream := range l.team {
		if !layer.EndsByItself(stream) {
			return
		}
	}
	for _, stream := range l.team {
		_ = layer.Drain(stream, ctx) // the launch itself finds out if ctx has ended
	}
}

// crossed returns where the launches in a row that copied elements are counted.
func (l *launch) crossed() *atomic.Int32 {
	if step := l.parts[0].step; step != nil {
		return &step.crossed
	}
	return &l.parts[0].on.crossed
}

// count counts the launches in a row that copied elements, once the leases are taken.
func (l *launch) count() {
	if len(l.team) < 2 {
		return
	}
	n := l.crossed()
	if !slices.ContainsFunc(l.parts, func(p part) bool { return parts.Copied(p.leases) }) {
		n.Store(0)
	} else if n.Load() < crossings {
		n.Add(1)
	}
}

// able returns the team without the devices that cannot run the kernel, because they lack something that it needs, or their compiler is
// missing or refuses it. If none can, it returns all, and the launch fails with the reason of the first.
func (s *Split) able(ctx context.Context, t *team, k *Kernel) *team {
	if len(t.streams) < 2 || k == nil || k.p == nil {
		return t
	}
	of, most := k, 1 // a kernel that cannot be divided runs on the first device that can
	if f := k.p.src.Kernels[k.name].Footprint; f.Of != nil && f.Cut != [3]bool{} {
		of, most = k.parts(), len(t.streams)
	}
	cannot := func(stream *hal.Stream) bool { return !s.can(ctx, of, stream.Device()) }
	n := slices.IndexFunc(t.streams[:most], cannot)
	if n < 0 {
		return t
	}
	left := &team{streams: slices.Clone(t.streams[:n]), shares: slices.Clone(t.shares[:n])}
	for i := n + 1; i < len(t.streams) && len(left.streams) < most; i++ {
		if !cannot(t.streams[i]) {
			left.streams, left.shares = append(left.streams, t.streams[i]), append(left.shares, t.shares[i])
		}
	}
	if len(left.streams) == 0 {
		return t
	}
	return left
}

// can reports whether a device can run a kernel, or may be able to.
func (s *Split) can(ctx context.Context, k *Kernel, dev *hal.Device) bool {
	a := ability{k.p, k.name, layer.Common(dev)}
	if s.some.Load() {
		if _, known := s.unable.Load(a); known {
			return false
		}
	}
	_, err := k.device(ctx, dev)
	if errors.Is(err, hal.ErrUnsupported) || errors.Is(err, hal.ErrUnavailable) || errors.Is(err, hal.ErrBuild) {
		if _, known := s.unable.LoadOrStore(a, err); !known {
			s.leftOut(a, dev, err)
		}
		s.some.Store(true)
		return false
	}
	return true
}

// leftOut tells the user that a device cannot run a kernel, and once if it can run none because its compiler is missing.
func (s *Split) leftOut(a ability, dev *hal.Device, err error) {
	what := "launches of kernel " + a.name
	if errors.Is(err, hal.ErrUnavailable) {
		what = "launches"
		if _, known := s.unable.LoadOrStore(ability{dev: a.dev}, err); known {
			return
		}
	}
	if to := listener(); to != nil {
		fmt.Fprintf(to, "halyard: %s takes no part in %s: %v\n", dev.Name(), what, err)
	}
}

// listener returns where messages for the user are written. Tests replace it.
var listener = debug.Listener

// present returns the devices that work. It is an error if one was lost since the last call.
func (s *Split) present() (*team, error) {
	for {
		t := s.now()
		lost := func(stream *hal.Stream) bool { return layer.Err(stream) != nil }
		if !slices.ContainsFunc(t.streams, lost) {
			return t, t.gone
		}
		if err := s.dismiss(); err != nil { // otherwise another call has found out, and reported it
			return nil, err
		}
	}
}

// dismiss leaves out the devices that do not work, and returns why they do not.
func (s *Split) dismiss() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	old, t := s.team.Load(), &team{}
	var costs []float64
	for i, stream := range old.streams {
		if err := layer.Err(stream); err != nil {
			errs = append(errs, err)
			continue
		}
		t.streams, t.shares, costs = append(t.streams, stream), append(t.shares, old.shares[i]), append(costs, s.costs[i])
	}
	err := errors.Join(errs...)
	switch len(errs) {
	case 0:
		return nil
	case 1:
		err = errs[0]
	}
	if len(t.streams) == 0 {
		t.gone = err
	}
	s.costs = costs
	s.team.Store(t)
	return err
}
