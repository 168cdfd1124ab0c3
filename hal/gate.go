package hal

import (
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
)

// Gate enqueues a gate that is shut: work enqueued after it does not start before the gate is
// opened. It needs CapGate. On CUDA and HIP, whose frees may wait for the device, it first waits
// for the frees under way.
func (s *Stream) Gate() (*Gate, error) {
	const op = "gate"
	if err := s.state().begin(op); err != nil {
		return nil, err
	}
	defer s.end()
	drv, err := s.s.ShutGate()
	if err != nil {
		return nil, err
	}
	return newGate(s, op, drv)
}

// Gate holds a stream until [Gate.Signal] opens it, as a user event of OpenCL does. An opened gate is of no further use; a gate
// that is still shut keeps its device from closing. While the program holds a gate shut, drivers whose
// frees may wait for the device (CUDA, HIP) free no memory.
type Gate struct {
	s       *gateState
	lookout *life.Lookout
}

// gateState counts as a call on its stream until it is open, so that the stream, and with it the device, stays until the gate is done
// with both.
type gateState struct {
	life.Child
	stream *streamState
	once   sync.Once
	drv    driver.Gate
	err    error
}

// gatesShut counts the gates that are shut, of all devices.
var gatesShut atomic.Int64

// newGate makes a Gate for a call on the stream, or opens the driver's gate if the device was closed meanwhile.
func newGate(stream *Stream, op string, drv driver.Gate) (*Gate, error) {
	d := stream.dev
	s := &gateState{stream: stream.s, drv: drv}
	s.stream.Stay()
	gatesShut.Add(1)
	w, ok := d.h.Enlist(&s.Child, s)
	if !ok {
		_ = s.signal(new(*life.Lookout))
		return nil, d.s.closedError(op)
	}
	return &Gate{s: s, lookout: w}, nil
}

// Describe implements life.Thing.
func (s *gateState) Describe() string { return "gate that is shut" }

// Leaked implements life.Thing.
func (s *gateState) Leaked() {
	s.stream.dev.Report(s.Describe())
	_ = s.signal(new(*life.Lookout))
}

// String says which device the gate holds.
func (g *Gate) String() string {
	if g == nil || g.s == nil {
		return "no gate"
	}
	return "gate on " + g.s.stream.dev.Info.Name()
}

// Signal opens the gate: the stream goes on. It does not wait. Further calls do nothing and return the first call's result.
func (g *Gate) Signal() error {
	if g == nil || g.s == nil {
		return Errorf("signal a gate", ErrInvalidArgument, "nil or zero gate")
	}
	return g.s.signal(&g.lookout)
}

func (s *gateState) signal(at **life.Lookout) error {
	s.once.Do(func() {
		dev := s.stream.dev
		w := *at
		*at = nil
		dev.Retire(&s.Child, w)
		dev.Frees.GateGoes() // before Open: a free that begins now is held up only until the next line opens the gate
		s.err = dev.Check(s.drv.Open())
		gatesShut.Add(-1)
		s.stream.Leave()
	})
	return s.err
}
