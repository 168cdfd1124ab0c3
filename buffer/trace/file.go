package trace

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal"
)

// file is a Chrome trace that is written while the program runs.
type file struct {
	c *collector
	e *encoder

	mu     sync.Mutex
	out    *os.File
	end    int64 // end of the entries, where the tail begins
	err    error
	closed bool
}

// Create starts a trace of the events of all buffers in a file, which it creates or replaces; %p in
// the name stands for the process id. After each event the file is a complete trace: if a
// program exits without Close, only the ends of copies and leases that are still under way are missing. If a program
// is killed during a write, the file may lack its closing bracket, as the Trace Event Format allows; its entries are
// complete. If the name is empty, the error is of kind hal.ErrInvalidArgument.
//
// Each place is a process in the trace. The host has the calls of the program, its waits and its accesses. Each device has one track for
// each stream, one for allocations and evictions in its memory, and a counter of the bytes of replicas. Each entry contains the buffer, the
// range in bytes, the cause, the line of the program, and the places where the bytes were current; an arrow leads from the call to the
// copy.
//
// Close waits up to ten seconds until the copies that were enqueued during the trace are done, ends the trace and closes the file. It
// returns the first error of a write. Closing again does nothing and returns the same error.
func Create(name string) (io.Closer, error) {
	if name == "" {
		return nil, hal.Errorf("create trace", hal.ErrInvalidArgument, "empty file name")
	}
	out, err := os.Create(strings.ReplaceAll(name, "%p", strconv.Itoa(os.Getpid())))
	if err != nil {
		return nil, err
	}
	f := &file{out: out, end: int64(len(head))}
	begun := time.Now()
	if _, err := out.WriteString(head + tail); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	f.e = newEncoder(begun, f.write)
	f.c = collect(f.e.ask, f.e.span, f.e.place) // one at a time, by the collector's lock
	return f, nil
}

// page is the size of a page of memory. A write within one page is never cut off, see file.write.
const page = 4096

// write overwrites the tail with an entry and a new tail.
//
// If the process is killed, Linux may end a write at the boundary of two pages. So write puts the entry and its tail into
// one page, and if necessary fills the rest of the page before with spaces. Then no entry can be cut off. (An entry is
// longer than a page only if a device or a file has a very long name.)
func (f *file) write(x entry) {
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

func (f *file) Close() error {
	f.c.close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		f.err = errors.Join(f.err, f.out.Close())
	}
	return f.err
}
