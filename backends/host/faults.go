package host

import "github.com/go-halyard/halyard/hal/driver"

// faults holds the errors of the last operations of a stream that failed, oldest first. Query and Sync report the first error in the list
// that is newer than their last report. An event reports the first error of its operations that Query and Sync had not reported when the
// event was recorded.
type faults struct {
	list        []fault
	first, last uint64 // numbers of the first and the last failed operation that is no longer in the list; 0 if there is none
}

// fault is the error of a stream's n-th operation.
type fault struct {
	n, key uint64
	err    error
	told   bool // the launcher was told the error, so neither the stream nor its events report it
}

// faultsMost is the number of errors that a stream remembers.
const faultsMost = 64

func (f *faults) add(one fault) {
	if len(f.list) == faultsMost {
		f.last = f.list[0].n
		if f.first == 0 {
			f.first = f.last
		}
		f.list = append(f.list[:0], f.list[1:]...)
	}
	f.list = append(f.list, one)
}

// between returns the first error in the list of an operation after the from-th and up to the to-th. If the list has none, but one of
// these operations may have failed, between returns an error that says so.
func (f *faults) between(d *device, from, to uint64) error {
	for i := range f.list {
		if n := f.list[i].n; n > from && n <= to && !f.list[i].told {
			return f.list[i].err
		}
	}
	return f.forgotten(d, from, to)
}

// forgotten returns an error if one of these operations may have failed and its error may have left the list.
func (f *faults) forgotten(d *device, from, to uint64) error {
	if f.last > from && f.first <= to {
		return d.failure("launch", driver.ErrKernel, "work may have failed; the stream remembers only its last %d errors", faultsMost)
	}
	return nil
}

// of returns the error of a launch with the key, or that there may be one.
func (f *faults) of(d *device, from, to, key uint64) error {
	for i := range f.list {
		if one := &f.list[i]; one.key == key && (key != 0 || !one.told) && one.n > from && one.n <= to {
			return one.err
		}
	}
	return f.forgotten(d, from, to)
}

// failure is faults.between for an event.
func (s *stream) failure(from, to uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.between(s.dev, from, to)
}

func (s *stream) Position() uint64 { return s.issued.Load() }

func (s *stream) FailureOf(first, last, key uint64) error {
	if !s.faulty.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.of(s.dev, first, last, key)
}

// takeFault returns the error of an operation that Query or Sync has not reported yet.
func (s *stream) takeFault() error {
	if !s.faulty.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done := s.done.Load()
	err := s.faults.between(s.dev, s.reported.Load(), done)
	s.reported.Store(done)
	return err
}
