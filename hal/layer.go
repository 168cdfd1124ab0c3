package hal

import (
	"context"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/wait"
	"github.com/go-halyard/halyard/internal/layer/slot"
)

// The functions that package internal/layer calls are documented there. Those that belong to no other file of hal stand below.
func init() {
	slot.Hal = map[string]any{
		"RecordShared":     (*Stream).recordShared,
		"RecordAgain":      (*Stream).recordAgain,
		"Retain":           (*Event).retain,
		"RecordedOn":       (*Event).recordedOn,
		"DoneAlone":        (*Event).doneAlone,
		"CanDefer":         (*Stream).canDefer,
		"Dimensions":       Grid.dimensions,
		"Empty":            Grid.empty,
		"Shape":            Grid.given,
		"Launch":           (*Stream).launch,
		"Position":         (*Stream).position,
		"FailureOf":        (*Stream).failureOf,
		"Resolve":          (*Kernel).resolved,
		"IsShared":         Arg.isShared,
		"Integer":          Arg.integer,
		"Keep":             Arg.kept,
		"Prepare":          (*Stream).prepare,
		"Describe":         (*Kernel).describe,
		"KeepsFailures":    (*Stream).keepsFailures,
		"FailsForGood":     (*Stream).failsForGood,
		"Idle":             (*Stream).idle,
		"Drain":            (*Stream).drain,
		"EndsByItself":     (*Stream).endsByItself,
		"Err":              (*Stream).err,
		"Lost":             (*Device).lost,
		"Common":           (*Device).common,
		"CompilerID":       (*Device).compilerID,
		"Value":            (*Device).value,
		"SharesHostMemory": (*Device).sharesHostMemory,
		"KeepUntil":        (*Memory).keepUntil,
		"CloseThen":        (*Memory).closeThen,
		"ReportLeak":       reportLeak,
		"Interrupted":      wait.Interrupted,
		"Ended":            wait.Ended,
	}
}

func (d *Device) value(key any, init func() any) any {
	if d.state() == nil {
		return init()
	}
	if v, ok := d.s.values.Load(key); ok {
		return v
	}
	v, _ := d.s.values.LoadOrStore(key, init())
	return v
}

// sharesHostMemory reports whether the device uses host memory in place, without copies.
func (d *Device) sharesHostMemory() bool {
	s := d.state()
	return s != nil && s.Info.SharesHostMemory
}

func (s *Stream) keepsFailures() bool {
	st := s.state()
	return st != nil && st.dev.KeepsFailures
}

func (s *Stream) canDefer(e *Event) bool {
	st := s.state()
	if st == nil {
		return false
	}
	es, err := e.begin("wait")
	if err != nil {
		return false
	}
	defer e.end()
	return es.Stream() == &st.Stream || es.Known() || st.Gates() || st.dev.Links(&es.dev.Device, driver.PeerWait)
}

func (e *Event) recordedOn(s *Stream) bool {
	es, err := e.begin("query")
	if err != nil {
		return false
	}
	st := s.state()
	on := st != nil && es.Stream() == &st.Stream
	e.end()
	return on
}

func (s *Stream) recordAgain(e *Event) bool {
	if e == nil || e.s == nil || s.state() == nil {
		return false
	}
	es, shared := e.s, e == &e.s.shared
	if !es.Sole() || es.dev != s.s.dev || shared && es.Timing() || !shared && e.calls.Closed() || s.s.begin("record") != nil {
		return false
	}
	err := s.s.Record(es.Event)
	s.end()
	return err == nil
}

func (e *Event) retain() *Event {
	es, err := e.begin("retain")
	if err != nil {
		return nil
	}
	es.Retain()
	e.end()
	return &es.shared
}

func (e *Event) doneAlone() (bool, error) { return e.s.DoneAlone() }

func (s *Stream) idle() (bool, error) {
	st := s.state()
	if err := st.begin("query"); err != nil {
		if !isKind(err, ErrClosed) {
			return true, err // the device is lost
		}
		if !st.Gone.Load() {
			return false, nil
		}
		return true, st.Failed()
	}
	defer s.end()
	return st.Peek()
}

func (s *Stream) endsByItself() bool {
	st := s.state()
	return st != nil && !st.imported && gatesShut.Load() == 0
}

func (s *Stream) drain(ctx context.Context) error {
	const op = "drain"
	st := s.state()
	if err := st.begin(op); err == nil {
		err := st.Drain(ctx, op)
		s.end()
		return err // of any kind: the stream is open
	} else if !isKind(err, ErrClosed) {
		return err
	}
	if err := wait.Ended(op, ctx); err != nil {
		return err
	}
	select {
	case <-st.drained.Opened():
		return st.Failed()
	case <-ctx.Done():
		return wait.Interrupted(op, ctx)
	}
}

func (g Grid) empty() bool { return g.n[0] == 0 || g.n[1] == 0 || g.n[2] == 0 }

func (s *Stream) position() uint64 {
	if st := s.state(); st != nil && st.teller != nil {
		return st.teller.Position()
	}
	return 0
}

func (s *Stream) failureOf(first, last, key uint64, err error) error {
	st := s.state()
	if st == nil || st.teller == nil || err != nil && !isKind(err, ErrKernel) {
		return err
	}
	return st.teller.FailureOf(first, last, key)
}

func (k *Kernel) resolved(g Grid) (blocks, block [3]uint32, err error) {
	blocks, block, _, err = k.s.resolve("launch", &g)
	return blocks, block, err
}

func (a Arg) integer(signed bool) int64 {
	p := unsafe.Pointer(&a.bits)
	switch {
	case a.size == 1 && signed:
		return int64(*(*int8)(p))
	case a.size == 1:
		return int64(*(*uint8)(p))
	case a.size == 2 && signed:
		return int64(*(*int16)(p))
	case a.size == 2:
		return int64(*(*uint16)(p))
	case a.size == 4 && signed:
		return int64(*(*int32)(p))
	case a.size == 4:
		return int64(*(*uint32)(p))
	}
	return *(*int64)(p)
}

func (a Arg) isShared() bool { return a.kind == driver.ParamShared }

func (a Arg) kept() Arg {
	if a.kind == driver.ParamValue && !a.bad && a.ptr != nil {
		b := make([]uint64, (a.size+7)/8)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&b[0])), a.size), unsafe.Slice((*byte)(a.ptr), a.size))
		a.ptr = unsafe.Pointer(&b[0])
	}
	return a
}

// keepUntil tells the library that the event's work, on any device, uses the memory: after Close the memory is not freed
// before that work has finished. The caller keeps its reference to the event.
func (m *Memory) keepUntil(e *Event) error {
	const op = "keep"
	s, err := m.enter(op)
	if err != nil {
		return err
	}
	defer m.leave()
	es, err := e.begin(op)
	if err != nil {
		return err
	}
	defer e.end()
	if done, _ := es.Done(); done {
		return nil // the event's owner looks at the error
	}
	s.pending.Add(1)
	es.OnDone(func(error) { s.pending.Add(-1) })
	return nil
}
