package kernel

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// With HALYARD_DEBUG=print launches of kernels that call grid.Println are made one after the other. Each is waited for, and then its lines are written.

const (
	mostLines = 1000   // of a launch
	lineBytes = 4 * 23 // of a line on a device: see prelude/bounds.h
)

// lines are the lines of the launch that runs.
type lines struct {
	turn chan struct{} // holds one element while a launch prints
	to   io.Writer

	adding  sync.Mutex
	running bool // a launch is; else lines are written at once, as a program or a test has called the kernel itself
	list    []printedLine
	more    int // lines that were not kept
}

// printedLine is a line with the thread that prints it: its block, and its place there, both with dimension 2 first.
type printedLine struct {
	thread [6]uint32
	text   string
}

var printed = &lines{turn: make(chan struct{}, 1), to: os.Stderr}

// Printed adds a line of the host's thread at a place in its block, if kernels print. Package grid calls it.
func Printed(b *Block, local [3]int, at string, args ...any) {
	thread := [6]uint32{b.Index[2], b.Index[1], b.Index[0], uint32(local[2]), uint32(local[1]), uint32(local[0])}
	printed.add(thread, at, args)
}

func (l *lines) add(thread [6]uint32, at string, args []any) {
	l.adding.Lock()
	defer l.adding.Unlock()
	if l.running && len(l.list) == mostLines {
		l.more++
		return
	}
	text := fmt.Sprintf("%s: block %d,%d,%d thread %d,%d,%d: ", at, thread[2], thread[1], thread[0], thread[5], thread[4], thread[3])
	text += fmt.Sprintln(args...)
	if !l.running {
		_, _ = io.WriteString(l.to, text)
		return
	}
	l.list = append(l.list, printedLine{thread, text})
}

// read adds the lines that a kernel has left in a device's memory.
func (l *lines) read(texts []string, b []byte) {
	if len(texts) == 0 {
		return
	}
	word := func(i int) uint32 { return binary.NativeEndian.Uint32(b[4*i:]) }
	n := int(word(0))
	for i := range min(n, mostLines) {
		first := 1 + i*lineBytes/4
		var thread [6]uint32
		for d := range 3 {
			thread[2-d], thread[5-d] = word(first+1+d), word(first+4+d)
		}
		at, rest, _ := strings.Cut(texts[word(first)], "\t")
		var args []any
		next := first + 7
		for arg := range strings.SplitSeq(rest, "\t") {
			bits := uint64(word(next)) | uint64(word(next+1))<<32
			next += 2
			switch arg {
			case "%i":
				args = append(args, int64(bits))
			case "%u":
				args = append(args, bits)
			case "%t":
				args = append(args, bits != 0)
			case "%f":
				args = append(args, math.Float32frombits(uint32(bits)))
			case "%g":
				args = append(args, math.Float64frombits(bits))
			default:
				args, next = append(args, arg), next-2
			}
		}
		l.add(thread, at, args)
	}
	l.adding.Lock()
	defer l.adding.Unlock()
	l.more += max(n-mostLines, 0)
}

// begin waits until no other launch prints, or ctx ends.
func (l *lines) begin(ctx context.Context, d *onDevice) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		e := d.fail(hal.ErrNotReady, "launch", "another launch prints")
		e.Err = context.Cause(ctx)
		return e
	}
	l.adding.Lock()
	l.running = true
	l.adding.Unlock()
	return nil
}

// print waits for a launch, writes its lines in the order of the threads, and lets the next launch begin.
func (l *launch) print(ctx context.Context) {
	defer func() { <-printed.turn }()
	for i := range l.parts {
		p := &l.parts[i]
		if behind, err := layer.RecordShared(p.stream); err == nil && p.enqueued > 0 {
			_, _ = p.on.await(ctx, p.stream, behind) // the error is reported by the stream
		}
	}
	printed.adding.Lock()
	defer printed.adding.Unlock()
	slices.SortStableFunc(printed.list, func(a, b printedLine) int { return slices.Compare(a.thread[:], b.thread[:]) })
	for _, line := range printed.list {
		_, _ = io.WriteString(printed.to, line.text)
	}
	if printed.more > 0 {
		_, _ = fmt.Fprintf(printed.to, "%d more lines of the launch are not kept\n", printed.more)
	}
	printed.list, printed.more, printed.running = printed.list[:0], 0, false
}
