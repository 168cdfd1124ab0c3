package host

import "github.com/go-halyard/halyard/hal/driver"

// faults are the errors of a stream's last operations that failed, oldest first. The stream reports each once, and an event those of
// its operations that the stream had not reported when the event was recorded.
type faults struct {
	list    []fault
	dropped uint64 // number of the last operation that failed and is no longer in the list
}

// fault is the error of a stream's n-th operation.
type fault struct {
	n   uint64
	err error
}

// faultsMost is how many errors a stream remembers.
const faultsMost = 64

func (f *faults) add(n uint64, err error) {
	if len(f.list) == faultsMost {
		f.dropped = f.list[0].n
		f.list = append(f.list[:0], f.list[1:]...)
	}
	f.list = append(f.list, fault{n, err})
}

// between returns the first error among the operations after the from-th and up to the to-th.
func (f *faults) between(from, to uint64) error {
	if f.dropped > from {
		return &driver.Error{Op: "query", Device: -1, Kind: driver.ErrDriver, Detail: "work failed; too much failed since to say how"}
	}
	for i := range f.list {
		if n := f.list[i].n; n > from && n <= to {
			return f.list[i].err
		}
	}
	return nil
}

// failure is faults.between for an event.
func (s *stream) failure(from, to uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.between(from, to)
}

// takeFault returns the error of an operation that Query or Sync has not reported yet.
func (s *stream) takeFault() error {
	if !s.faulty.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done := s.done.Load()
	err := s.faults.between(s.reported.Load(), done)
	s.reported.Store(done)
	return err
}
