package trace

import (
	"bytes"
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
	err    error
	closed bool
}

// Create begins a trace of the events of all buffers in a new file of that name, or in place of the old one; %p in
// the name stands for the number of this process. After each event the file is a complete trace: of a
// program that exits without Close, only the ends of the copies and leases that are still under way are missing. A program that
// is killed in the middle of a write can leave a file without its closing bracket, as the Trace Event Format allows; its entries are
// whole. An empty name is an error of kind hal.ErrInvalidArgument.
func Create(name string) (*File, error) {
	if name == "" {
		return nil, hal.Errorf("create trace", hal.ErrInvalidArgument, "no file name")
	}
	out, err := os.Create(strings.ReplaceAll(name, "%p", strconv.Itoa(os.Getpid())))
	if err != nil {
		return nil, err
	}
	f := &File{out: out, end: int64(len(head))}
	begun := time.Now()
	if _, err := out.WriteString(head + tail); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	f.e = newEncoder(begun, f.write)
	f.c = collect(f.e.ask, f.e.span, f.e.place) // one at a time, by the collector's lock
	return f, nil
}

// page is the smallest unit of memory in which a system writes to a file.
const page = 4096

// write puts an entry in the place of the tail, and the tail behind it.
//
// Linux gives up a write between two pages when the process is killed. So an entry stands with its tail in one page, behind spaces if it
// has to be the next one: what is cut off then is the tail alone. (An entry that is longer than a page would need names of devices and
// files that are as long.)
func (f *File) write(x entry) {
	b := line(x)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil || f.closed {
		return
	}
	gap := int64(len(",\n"))
	if last := f.end + gap + int64(len(b)+len(tail)) - 1; last/page != f.end/page {
		gap = page - f.end%page
	}
	out := bytes.Repeat([]byte{' '}, int(gap))
	if f.end > int64(len(head)) {
		out[0] = ','
	}
	out[gap-1] = '\n'
	out = append(append(out, b...), tail...)
	if _, err := f.out.WriteAt(out, f.end); err != nil {
		f.err = err
		return
	}
	f.end += int64(len(out) - len(tail))
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
