package adapt

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// logHeader is the first line of a log.
const logHeader = "Time,Action,Pointer,Size,Stream,Kind"

// logTime is the layout of the time in a log.
const logTime = "2006-01-02T15:04:05.000000000Z07:00"

// The actions in a log.
const (
	actionAllocate = "allocate"
	actionFree     = "free"
	actionFailure  = "allocate failure"
)

// logger writes down what passes through it.
type logger struct {
	next pool.Allocator

	mu   sync.Mutex
	w    *bufio.Writer
	line []byte
	err  error // the first error of the writer

	freeing map[uint64]*freeing // by address
}

// Log returns an allocator that writes a log to w, as comma-separated values. [ReadLog] reads it back. The first five columns are those of
// RAPIDS RMM's logs. Each allocation and each free has a line of
//
//   - the time,
//   - the action: allocate, free or allocate failure,
//   - the address of the block in hexadecimal, or, where memory has no address, the handle of its memory plus the block's offset; 0x0 for a failure
//     and for a block of 0 bytes,
//   - the bytes asked for,
//   - a number that stands for the stream, 0 for none,
//   - the kind of memory.
//
// The log is buffered. flush writes what is in the buffer, and returns the first error that w ever returned. Call it at
// the end; it may be called at any time. If a line cannot be written, it is lost, and the allocation still succeeds.
func Log(a pool.Allocator, w io.Writer) (logging pool.Allocator, flush func() error) {
	l := &logger{next: a, w: bufio.NewWriter(w), freeing: map[uint64]*freeing{}}
	_, l.err = l.w.WriteString(logHeader + "\n")
	return l, l.flush
}

func (l *logger) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.w.Flush(); l.err == nil {
		l.err = err
	}
	return l.err
}

func (l *logger) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	b, err := l.next.Alloc(stream, kind, size)
	var at uint64
	if err == nil {
		at, err = address(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.write(actionFailure, 0, kind, size, stream)
		return pool.Block{}, err
	}
	if f := l.freeing[at]; f != nil { // the address was freed, and the call of Free has not returned yet
		l.freed(f)
	}
	l.write(actionAllocate, at, kind, b.Size(), stream)
	return b.From(l), nil
}

func (l *logger) Free(b pool.Block, stream *hal.Stream) error {
	at, err := address(b)
	if err != nil { // a stale block, which the next allocator refuses
		return l.next.Free(b, stream)
	}
	f := &freeing{at, b.Kind(), b.Size(), stream}
	if f.size == 0 {
		err := l.next.Free(b, stream)
		if err == nil {
			l.mu.Lock()
			l.freed(f)
			l.mu.Unlock()
		}
		return err
	}
	l.mu.Lock()
	if l.freeing[f.address] == nil {
		l.freeing[f.address] = f
	}
	l.mu.Unlock()
	err = l.next.Free(b, stream)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.freeing[f.address] != f:
	case b.Valid():
		delete(l.freeing, f.address)
	default:
		l.freed(f)
	}
	return err
}

// freeing is a block that is being freed. Its address may be given out again before Free returns; then Alloc writes the
// line of the free, else Free does.
type freeing struct {
	address uint64
	kind    hal.Kind
	size    uint64
	stream  *hal.Stream
}

// freed writes the line of a block that has been freed; l.mu is held.
func (l *logger) freed(f *freeing) {
	delete(l.freeing, f.address)
	l.write(actionFree, f.address, f.kind, f.size, f.stream)
}

// write writes a line; l.mu is held.
func (l *logger) write(action string, address uint64, kind hal.Kind, size uint64, stream *hal.Stream) {
	line := time.Now().AppendFormat(l.line[:0], logTime)
	line = append(append(line, ','), action...)
	line = strconv.AppendUint(append(line, ",0x"...), address, 16)
	line = strconv.AppendUint(append(line, ','), size, 10)
	line = strconv.AppendUint(append(line, ','), uint64(uintptr(unsafe.Pointer(stream))), 10)
	line = append(append(line, ','), kind.String()...)
	line = append(line, '\n')
	l.line = line
	if _, err := l.w.Write(line); l.err == nil {
		l.err = err
	}
}

// address returns a number that identifies a live block, or 0 if the block has 0 bytes. For a stale block it returns an error.
func address(b pool.Block) (uint64, error) {
	r, err := b.Region()
	if err != nil || r.Len == 0 {
		return 0, err
	}
	return uint64(r.Mem.Handle()) + r.Off, nil
}

// line is one line of a log.
type line struct {
	action  string // one of the constants
	pointer uint64
	kind    hal.Kind
	size    uint64 // bytes
	stream  uint64 // 0 for none
}

// parseLine reads the fields of a line. The result holds no part of their strings.
func parseLine(f []string) (l line, err error) {
	if _, err = time.Parse(logTime, f[0]); err != nil {
		return l, err
	}
	if n, ok := strings.CutPrefix(f[5], "kind("); ok { // an invalid kind was asked for
		k, _ := strconv.ParseUint(strings.TrimSuffix(n, ")"), 10, 8)
		l.kind = hal.Kind(k)
	}
	for k := hal.KindDevice; k <= hal.KindShared; k++ {
		if k.String() == f[5] {
			l.kind = k
		}
	}
	for _, a := range []string{actionAllocate, actionFree, actionFailure} {
		if a == f[1] {
			l.action = a
		}
	}
	if l.action == "" || l.kind.String() != f[5] {
		return l, hal.Errorf("read log", hal.ErrInvalidArgument, "unknown action %q or kind %q", f[1], f[5])
	}
	if l.pointer, err = strconv.ParseUint(f[2], 0, 64); err != nil {
		return l, err
	}
	if l.size, err = strconv.ParseUint(f[3], 10, 64); err != nil {
		return l, err
	}
	l.stream, err = strconv.ParseUint(f[4], 10, 64)
	return l, err
}
