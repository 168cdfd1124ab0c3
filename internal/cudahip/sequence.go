package cudahip

import (
	"errors"

	"github.com/go-halyard/halyard/hal/driver"
)

// sequence is an executable graph of launches.
type sequence struct {
	s    *Stream
	n    int // launches
	exec uintptr
}

// Prepare implements driver.Repeater. The launches are captured on a stream of their own, so that other work of s goes on meanwhile.
func (s *Stream) Prepare(kernels []driver.Kernel, launches []driver.Launch) (driver.Sequence, error) {
	const op = "launch"
	for c := CallCaptureBegin; c <= CallGraphDestroy; c++ {
		if !s.api.Has(c) {
			return nil, s.dev.refuse(op, driver.ErrUnsupported, "the driver has no %s", s.api.Name(c))
		}
	}
	made, err := s.dev.NewStream(driver.StreamOptions{})
	if err != nil {
		return nil, err
	}
	own := made.(*Stream)
	graph, err := own.capture(op, kernels, launches)
	q := &sequence{s: s, n: len(launches)}
	if err == nil {
		var code Code
		q.exec, code = s.api.GraphInstantiate(s.ctx, graph)
		err = s.dev.check(op, CallGraphInstantiate, code)
	}
	if graph != 0 {
		err = errors.Join(err, s.dev.release(CallGraphDestroy, API.GraphDestroy, graph))
	}
	if e := own.Close(); err == nil {
		err = e
	}
	if err != nil && q.exec != 0 {
		err = errors.Join(err, q.Close())
	}
	if err != nil {
		return nil, err
	}
	return q, nil
}

// capture captures the launches, and returns their graph, or 0 if the driver made none.
func (s *Stream) capture(op string, kernels []driver.Kernel, launches []driver.Launch) (graph uintptr, err error) {
	if code := s.api.CaptureBegin(s.ctx, s.handle); code != Success {
		return 0, s.dev.fail(op, CallCaptureBegin, code)
	}
	for i := range launches {
		if err = s.Launch(kernels[i], &launches[i]); err != nil {
			break
		}
	}
	graph, code := s.api.CaptureEnd(s.ctx, s.handle) // also after an error, so that the stream can be destroyed
	if err == nil {
		err = s.dev.check(op, CallCaptureEnd, code)
	}
	return graph, err
}

func (q *sequence) Enqueue() (n int, err error) {
	if code := q.s.api.GraphLaunch(q.s.ctx, q.exec, q.s.handle); code != Success {
		return 0, q.s.dev.fail("launch", CallGraphLaunch, code)
	}
	return q.n, nil
}

func (q *sequence) Close() error {
	return q.s.dev.release(CallGraphExecDestroy, API.GraphExecDestroy, q.exec)
}
