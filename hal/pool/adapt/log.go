package adapt

import (
	"bufio"
	"encoding/csv"
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
const logHeader = "Time,Action,Pointer,Kind,Size,Stream"

// LogTime is the layout of the time in a log.
const LogTime = "2006-01-02T15:04:05.000000000Z07:00"

// Action is what a line of a log says.
type Action uint8

// The actions of a log.
const (
	ActionAllocate Action = iota
	ActionFree
	ActionFailure // an allocation that failed
)

var actionNames = [...]string{"allocate", "free", "allocate failure"}

// String is the action as a log names it.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "action " + strconv.Itoa(int(a))
}

// Logger writes down what passes through it, as comma-separated values: one line for each allocation and
// each free, with the time; the action (allocate, free or allocate failure); the address of the block, or
// the handle of its memory where memory has no address, in hexadecimal, 0x0 for a failure; the kind of
// memory; the bytes asked for; and a number that stands for the stream, 0 for none.
// [ReadLog] reads it back.
type Logger struct {
	next pool.Allocator

	mu   sync.Mutex
	w    *bufio.Writer
	line []byte
	err  error // the first of the writer

	freeing map[uint64]*freeing // by address
}

// Log returns an allocator that writes a log to w, through a buffer: call Flush at the end. What it
// cannot write is lost, without harm to the allocation; Flush tells.
func Log(a pool.Allocator, w io.Writer) *Logger {
	l := &Logger{next: a, w: bufio.NewWriter(w), freeing: map[uint64]*freeing{}}
	_, l.err = l.w.WriteString(logHeader + "\n")
	return l
}

// Flush writes what is in the buffer, and returns the first error that the writer has ever given.
func (l *Logger) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.w.Flush(); l.err == nil {
		l.err = err
	}
	return l.err
}

// Alloc implements [pool.Allocator].
func (l *Logger) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	b, err := l.next.Alloc(stream, kind, size)
	var at uint64
	if err == nil {
		at, err = address(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.write(ActionFailure, 0, kind, size, stream)
		return pool.Block{}, err
	}
	if f := l.freeing[at]; f != nil { // who frees it has yet to come back
		l.freed(f)
	}
	l.write(ActionAllocate, at, kind, b.Size(), stream)
	return b.From(l), nil
}

// Free implements [pool.Allocator].
func (l *Logger) Free(b pool.Block, stream *hal.Stream) error {
	at, err := address(b)
	if err != nil { // a stale block, which the next allocator refuses
		return l.next.Free(b, stream)
	}
	f := &freeing{at, b.Kind(), b.Size(), stream}
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

// freeing is a block that is being freed. As soon as it is, somebody else may be given the address, and
// whoever comes first writes the line.
type freeing struct {
	address uint64
	kind    hal.Kind
	size    uint64
	stream  *hal.Stream
}

// freed writes the line of a block that has been freed; l.mu is held.
func (l *Logger) freed(f *freeing) {
	delete(l.freeing, f.address)
	l.write(ActionFree, f.address, f.kind, f.size, f.stream)
}

// write writes a line; l.mu is held.
func (l *Logger) write(a Action, address uint64, kind hal.Kind, size uint64, stream *hal.Stream) {
	line := time.Now().AppendFormat(l.line[:0], LogTime)
	line = append(append(line, ','), a.String()...)
	line = strconv.AppendUint(append(line, ",0x"...), address, 16)
	line = append(append(line, ','), kind.String()...)
	line = strconv.AppendUint(append(line, ','), size, 10)
	line = strconv.AppendUint(append(line, ','), uint64(uintptr(unsafe.Pointer(stream))), 10)
	line = append(line, '\n')
	l.line = line
	if _, err := l.w.Write(line); l.err == nil {
		l.err = err
	}
}

// address tells live blocks apart. A stale block has none.
func address(b pool.Block) (uint64, error) {
	r, err := b.Region()
	if err != nil {
		return 0, err
	}
	return uint64(r.Mem.Handle()) + r.Off, nil
}

// LogLine is one line of a log.
type LogLine struct {
	Time    time.Time
	Action  Action
	Pointer uint64
	Kind    hal.Kind
	Size    uint64 // bytes
	Stream  uint64
}

// ReadLog reads a log. Text that is none is of kind hal.ErrInvalidArgument, with the line's number.
func ReadLog(r io.Reader) ([]LogLine, error) {
	const op = "read log"
	in := csv.NewReader(r)
	in.FieldsPerRecord = strings.Count(logHeader, ",") + 1
	in.ReuseRecord = true
	first, err := in.Read()
	if err != nil || strings.Join(first, ",") != logHeader {
		return nil, &hal.Error{Op: op, Device: -1, Kind: hal.ErrInvalidArgument, Detail: "line 1 is not " + logHeader, Err: err}
	}
	var lines []LogLine
	for n := 2; ; n++ {
		f, err := in.Read()
		if err == io.EOF {
			return lines, nil
		}
		var l LogLine
		if err == nil {
			l, err = parseLine(f)
		}
		if err != nil {
			return nil, &hal.Error{Op: op, Device: -1, Kind: hal.ErrInvalidArgument, Detail: "line " + strconv.Itoa(n), Err: err}
		}
		lines = append(lines, l)
	}
}

func parseLine(f []string) (l LogLine, err error) {
	if l.Time, err = time.Parse(LogTime, f[0]); err != nil {
		return l, err
	}
	if n, ok := strings.CutPrefix(f[3], "kind("); ok { // one that there is not was asked for
		k, _ := strconv.ParseUint(strings.TrimSuffix(n, ")"), 10, 8)
		l.Kind = hal.Kind(k)
	}
	action := -1
	for i, name := range actionNames {
		if name == f[1] {
			action = i
		}
	}
	for k := hal.KindDevice; k <= hal.KindShared; k++ {
		if k.String() == f[3] {
			l.Kind = k
		}
	}
	if action < 0 || l.Kind.String() != f[3] {
		return l, hal.Errorf("read log", hal.ErrInvalidArgument, "action %q, kind %q", f[1], f[3])
	}
	l.Action = Action(action)
	if l.Pointer, err = strconv.ParseUint(f[2], 0, 64); err != nil {
		return l, err
	}
	if l.Size, err = strconv.ParseUint(f[4], 10, 64); err != nil {
		return l, err
	}
	l.Stream, err = strconv.ParseUint(f[5], 10, 64)
	return l, err
}
