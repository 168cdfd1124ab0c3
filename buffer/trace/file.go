package trace

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal"
)

// File is a Chrome trace that is written while the program runs.
type File struct {
	c *collector
	e *encoder

	mu     sync.Mutex
	out    *os.File
	end    int64 // of the entries, where the tail stands
	first  bool
	err    error
	closed bool
}

// Create begins a trace of the events of all buffers in a new file of that name, or in place of the old one; %p in
// the name stands for the number of this process. After each event the file is a complete trace: of a
// program that exits without Close, only the ends of the copies and leases that are still under way are missing. An empty name is an
// error of kind hal.ErrInvalidArgument.
func Create(name string) (*File, error) {
	if name == "" {
		return nil, &hal.Error{Op: "create trace", Device: -1, Kind: hal.ErrInvalidArgument, Detail: "no file name"}
	}
	out, err := os.Create(strings.ReplaceAll(name, "%p", strconv.Itoa(os.Getpid())))
	if err != nil {
		return nil, err
	}
	f := &File{out: out, first: true}
	begun := time.Now()
	h := head(begun)
	if _, err := out.WriteString(h + tail); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	f.end = int64(len(h))
	f.e = newEncoder(begun, f.write)
	f.c = collect(f.e.ask, f.e.span, f.e.place) // one at a time, by the collector's lock
	return f, nil
}

// write puts an entry in the place of the tail, and the tail behind it.
func (f *File) write(x entry) {
	b := make([]byte, 0, 512)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil || f.closed {
		return
	}
	if !f.first {
		b = append(b, ',')
	}
	f.first = false
	b = append(b, '\n')
	b = append(b, line(x)...)
	n := len(b)
	b = append(b, tail...)
	if _, err := f.out.WriteAt(b, f.end); err != nil {
		f.err = err
		return
	}
	f.end += int64(n)
}

// Name is the name of the file.
func (f *File) Name() string { return f.out.Name() }

// Close ends the trace, after the copies that it has seen begin are done, and closes the file. It returns
// the first error of all writes. Closing again does nothing and returns the same.
func (f *File) Close() error {
	f.c.close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		f.err = errors.Join(f.err, f.out.Close())
	}
	return f.err
}
