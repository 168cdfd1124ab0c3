package hal

import (
	"slices"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/layer/slot"
)

// sequence is launches whose arguments were checked once: see layer.Prepare.
type sequence struct {
	life.Object
	life.Uses
	st      *streamState
	drv     driver.Sequence // nil if the stream's driver prepares none
	lookout *life.Lookout

	list     []driver.Launch
	kernels  []*kernelState // of each launch
	modules  []*moduleState // each once
	memories []*memoryState // each once
}

// prepare is layer.Prepare.
func (s *Stream) prepare(kernels []*Kernel, grids []Grid, how slot.How, args [][]Arg) (run func() (n int, err error), end func() error, err error) {
	const op = "launch"
	st := s.state()
	if err := st.begin(op); err != nil {
		return nil, nil, err
	}
	defer s.end()
	q := &sequence{st: st}
	for i, k := range kernels {
		if err := q.add(op, k.s, &grids[i], how, args[i]); err != nil {
			return nil, nil, err
		}
	}
	if drv, ok := st.Drv.(driver.Repeater); ok {
		err = q.repeat(op, drv)
	}
	switch {
	case err != nil && !isKind(err, ErrUnsupported):
		return nil, nil, st.dev.Check(err)
	case q.drv == nil && !st.dev.KeepsFailures:
		return nil, nil, nil
	case q.drv == nil:
		return q.run, nil, nil
	}
	w, ok := s.dev.h.Admit(&q.Object, q)
	if !ok {
		return nil, nil, st.dev.closedError(op)
	}
	q.lookout = w
	return q.run, func() error { return q.Close(&q.lookout) }, nil
}

// repeat has the driver prepare the launches.
func (q *sequence) repeat(op string, drv driver.Repeater) (err error) {
	if err := q.enter(op); err != nil {
		return err
	}
	defer q.leave(len(q.modules), len(q.memories))
	list := make([]driver.Kernel, 0, len(q.kernels))
	for _, k := range q.kernels {
		list = append(list, k.drv)
	}
	q.drv, err = drv.Prepare(list, q.list)
	return err
}

// add checks a launch as Launch does, and adds it.
func (q *sequence) add(op string, k *kernelState, g *Grid, how slot.How, args []Arg) error {
	if !k.of.Enter() {
		return k.failure(op, ErrClosed, "its module is closed")
	}
	defer k.of.Leave()
	l := launches.Get().(*launch)
	defer l.give()
	l.Key, l.Failed = how.Key, how.Failed
	used, empty, err := q.st.check(op, l, k, g, args)
	if err == nil && !empty {
		one := l.Launch
		one.Args = slices.Clone(l.Args)
		q.list, q.kernels = append(q.list, one), append(q.kernels, k)
		if !slices.Contains(q.modules, k.of) {
			q.modules = append(q.modules, k.of)
		}
	}
	for i := range args[:used] {
		if a := &args[i]; a.kind == driver.ParamPointer {
			m := (*Memory)(a.ptr).s
			if err == nil && !slices.Contains(q.memories, m) {
				q.memories = append(q.memories, m)
			}
			m.Leave()
		}
	}
	return err
}

// enter keeps the modules and memories open. leave has to follow.
func (q *sequence) enter(op string) error {
	for i, m := range q.modules {
		if !m.Enter() {
			q.leave(i, 0)
			return q.st.dev.Failure(op, ErrClosed, "a module of the launches is closed")
		}
	}
	for i, m := range q.memories {
		if !m.Enter() {
			q.leave(len(q.modules), i)
			return q.st.dev.Failure(op, ErrClosed, "memory of the launches is closed")
		}
	}
	return nil
}

func (q *sequence) leave(modules, memories int) {
	for _, m := range q.modules[:modules] {
		m.Leave()
	}
	for _, m := range q.memories[:memories] {
		m.Leave()
	}
}

// run enqueues the launches. n is how many were enqueued.
func (q *sequence) run() (n int, err error) {
	const op = "launch"
	st := q.st
	if err := st.begin(op); err != nil {
		return 0, err
	}
	defer st.Leave()
	if err := q.enter(op); err != nil {
		return 0, err
	}
	for _, m := range q.modules {
		m.Note(&st.User)
	}
	for _, m := range q.memories {
		m.Note(&st.User)
	}
	if q.drv == nil {
		drv := st.Drv.(driver.Launcher)
		var caller callsite.Site
		if st.teller != nil {
			callsite.Here(&caller)
		}
		for n < len(q.list) && err == nil {
			q.list[n].Caller = caller
			if err = drv.Launch(q.kernels[n].drv, &q.list[n]); err == nil {
				n++
			}
		}
	} else if q.Enter() {
		q.Note(&st.User)
		n, err = q.drv.Enqueue()
		q.Leave()
	} else {
		err = st.dev.Failure(op, ErrClosed, "the launches are closed")
	}
	for _, k := range q.kernels[:n] {
		st.launched.add(&k.info.Name)
	}
	q.leave(len(q.modules), len(q.memories))
	return n, st.dev.Check(err)
}

// Describe implements life.Thing.
func (q *sequence) Describe() string { return "recorded step" }

// Pending implements life.Vendored.
func (q *sequence) Pending() func() bool { return q.Over() }

// GiveBack implements life.Vendored.
func (q *sequence) GiveBack() error { return q.st.dev.Check(q.drv.Close()) }
