package kernel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/parts"
)

// EnvCheck is the environment variable that turns checks on: a list of words with commas between them. With "kernels" each launch waits for
// its kernel, and fails if the kernel failed, wrote to an argument passed with In, or did not write all elements of one passed with Out, or
// read some before. To find out, it copies the arguments to the host, and runs the kernel again with other bytes in each Out. It does not check an In that overlaps an argument which the kernel may write, or an Out
// that overlaps one which it may read.
//
// With "kernels" a launch that a [Split] would divide runs on the first device alone. Before, its parts run on the host, on copies of the
// arguments. The launch fails, with an error of kind hal.ErrOutOfRange that names the kernel, the file and the line, if one uses an element
// outside of its [Footprint]. That is found on Linux.
//
// With "bounds" each launch of a kernel that the command "halyard kernels" translated from Go waits for the kernel, and fails if an index
// was out of range on the device. The error, of kind hal.ErrOutOfRange, names the file, the line, the first such index and the length. An
// access with such an index reads or writes the first element instead, so that nothing outside is touched. A launch fails too, with an error
// of kind hal.ErrKernel, if integers were divided by zero or a count of a shift was negative. On the host Go itself checks all this, and the
// error is always of kind hal.ErrKernel. On both, what the kernel wrote is lost, and the buffers give the error to whoever reads it.
//
// With "rounds" launches of kernels in Go with loops, unless they are known to take few rounds, wait for the kernel on each device as they
// do on one whose driver is known to end loops after some number of rounds. They fail, with the line of the loop, if it has.
//
// The variable is read once, when the program starts; setting it later has no effect.
const EnvCheck = "HALYARD_CHECK"

var checking, checkingBounds, checkingRounds atomic.Bool

func init() {
	for word := range strings.SplitSeq(os.Getenv(EnvCheck), ",") {
		switch strings.TrimSpace(word) {
		case "kernels":
			checking.Store(true)
		case "bounds":
			checkingBounds.Store(true)
		case "rounds":
			checkingRounds.Store(true)
		}
	}
}

// newPattern returns what an Out is filled with before a checked launch. As float32 or float64 all of it is NaN. Any four bytes in a row
// have the highest byte of a float32, which no number below 1e38 has, so a kernel that writes such numbers never writes them by chance,
// however often it is launched.
func newPattern() (pattern [16]byte) {
	for i := range pattern {
		switch b := byte(rand.Uint32()); i % 4 {
		case 2:
			pattern[i] = b | 0xf0
		case 3:
			pattern[i] = 0x7f
		default:
			pattern[i] = b
		}
	}
	return pattern
}

// launchChecked is the end of Launch, with checks before and after the kernel.
func (d *onDevice) launchChecked(ctx context.Context, stream *hal.Stream, grid hal.Grid, args []Arg, s *scratch, leases buffer.Leases,
	faults *faults) error {
	const op = "launch"
	pattern := newPattern()
	which := make([]int, 0, len(s.regions)) // the argument of each region
	for _, i := range buffersOf(args) {
		which = append(which, i)
	}
	mode := func(r int) coherence.Mode { return args[which[r]].mode }
	overlaps := func(r int, other func(m coherence.Mode) bool) bool {
		for o := range s.regions {
			if o != r && other(mode(o)) && s.regions[o].Mem == s.regions[r].Mem &&
				s.regions[o].Off < s.regions[r].Off+s.regions[r].Len && s.regions[r].Off < s.regions[o].Off+s.regions[o].Len {
				return true
			}
		}
		return false
	}
	written := func(r int) bool { return overlaps(r, func(m coherence.Mode) bool { return m != coherence.Read }) }
	fresh := func(r int) bool { // an Out that the kernel cannot read as another argument
		return mode(r) == coherence.Overwrite && !overlaps(r, func(m coherence.Mode) bool { return m != coherence.Overwrite })
	}
	every := func(int) bool { return true }
	read := func(which func(r int) bool) (all [][]byte, err error) {
		all = make([][]byte, len(s.regions))
		for r := range all {
			if err == nil && which(r) {
				all[r] = make([]byte, s.regions[r].Len)
				err = stream.CopyOut(all[r], s.regions[r])
			}
		}
		if err == nil {
			err = stream.Sync(ctx)
		}
		return all, err
	}
	var old [][]byte // what the arguments held before, but for each fresh one
	// fill writes the pattern to each fresh argument, and, for a launch that is not the first, what it held before to each other that the
	// kernel writes to.
	fill := func(pattern [16]byte, again bool) (err error) {
		for r := range s.regions {
			b := old[r]
			if fresh(r) {
				n := int(s.regions[r].Len)
				b = bytes.Repeat(pattern[:], n/len(pattern)+1)[:n]
			} else if !again || mode(r) == coherence.Read {
				continue
			}
			if err == nil {
				err = stream.CopyIn(s.regions[r], b)
			}
		}
		return err
	}
	launch := func() error { return stream.Launch(d.kernel, layer.Keyed(grid, parts.Key(leases)), s.args...) }
	inspect := func(now [][]byte) error {
		for r, b := range now {
			switch {
			case mode(r) == coherence.Read && !written(r) && !bytes.Equal(b, old[r]):
				return d.refuse(op, "it wrote to argument %d, which is passed with In", which[r])
			case fresh(r):
				if left, first := unwritten(b, pattern[:], fields(elementOf(args[which[r]].operand))); left > 0 {
					return d.refuse(op, "it left %d bytes unwritten of argument %d, which is passed with Out; the first at byte %d", left,
						which[r], first)
				}
			}
		}
		return nil
	}
	again := func(pattern [16]byte) ([][]byte, error) {
		err := fill(pattern, true)
		if err == nil {
			err = launch()
		}
		if err != nil {
			return nil, err
		}
		return read(every)
	}
	differ := func(a, b [][]byte) (arg, at int) {
		for r := range a {
			if at := differing(a[r], b[r], fields(elementOf(args[which[r]].operand))); at >= 0 {
				return which[r], at
			}
		}
		return -1, 0
	}
	// repeat compares the results with those for other bytes in each fresh argument. Results that differ for the same bytes, too, say
	// nothing.
	repeat := func(now [][]byte) error {
		other, err := again([16]byte{})
		if err != nil {
			return err
		}
		if arg, at := differ(now, other); arg >= 0 {
			if other, err = again(pattern); err != nil {
				return err
			}
			if same, _ := differ(now, other); same < 0 {
				return d.refuse(op, "byte %d that it writes to argument %d depends on what an argument passed with Out held before", at, arg)
			}
		}
		return nil
	}
	// A launch that is refused must not change an Out, and the pattern does. So the arguments are checked first, with the launch of an
	// empty grid. What is given up before the pattern is written has changed nothing.
	changed := false
	err := stream.Launch(d.kernel, layer.None(grid), s.args...)
	if err == nil {
		old, err = read(func(r int) bool { return !fresh(r) })
	}
	if err == nil {
		for r := range s.regions {
			changed = changed || fresh(r)
		}
		err = fill(pattern, false)
	}
	if err == nil {
		err = launch()
	}
	if err != nil {
		if !changed {
			_ = leases.Release()
			return err
		}
		_ = leases.Commit() // the elements of each Out may be the pattern
		_ = release(leases, err)
		return err
	}
	var bad error
	behind, err := layer.RecordShared(stream)
	if err == nil {
		err, bad = d.await(ctx, stream, behind)
	}
	if err == nil {
		err, bad = faults.inspect(ctx, stream)
	}
	var now [][]byte
	if err == nil {
		now, err = read(every)
	}
	if err == nil {
		err = inspect(now)
	}
	if err == nil && changed {
		err = repeat(now)
	}
	return cmp.Or(err, leases.Commit(), release(leases, bad))
}

// await waits for the stream. behind is an event behind the kernel, which await closes. bad is why the kernel failed, or nil, also if it
// has not ended; err may be of other work as well.
func (d *onDevice) await(ctx context.Context, stream *hal.Stream, behind *hal.Event) (err, bad error) {
	err = behind.Sync(ctx)
	_ = behind.Close()
	if err == nil {
		return stream.Sync(ctx), nil
	}
	failed := d.failed("launch", err)
	if ctx.Err() != nil && errors.Is(err, hal.ErrNotReady) {
		return failed, nil
	}
	return failed, failed
}

// failed returns an error that says that the kernel failed, because of an error of its stream.
func (d *onDevice) failed(op string, err error) error {
	info := d.dev.Info()
	e := &hal.Error{Op: op, Backend: info.Backend, Device: info.Ordinal, Kind: hal.ErrDriver, Detail: "kernel " + d.info.Name + " failed",
		Err: err}
	if inner, ok := err.(*hal.Error); ok {
		e.Kind = inner.Kind
	}
	return e
}

// unwritten counts the bytes in b that still hold the pattern, in runs of at least four, and returns where the first is. The kernel may
// have written a shorter run by chance. fields are the bytes of an element that a kernel can write; the others are left out of the runs.
func unwritten(b, pattern []byte, fields []bool) (left, first int) {
	run, from := 0, 0
	end := func() {
		if run >= 4 {
			if left == 0 {
				first = from
			}
			left += run
		}
		run = 0
	}
	for i := range b {
		switch {
		case len(fields) > 0 && !fields[i%len(fields)]:
		case b[i] != pattern[i%len(pattern)]:
			end()
		default:
			if run == 0 {
				from = i
			}
			run++
		}
	}
	end()
	return left, first
}

// differing returns the first byte of fields in which a and b differ, -1 if there is none.
func differing(a, b []byte, fields []bool) int {
	for i := range a {
		if a[i] != b[i] && (len(fields) == 0 || fields[i%len(fields)]) {
			return i
		}
	}
	return -1
}

// elementOf returns of which type the elements of x are, nil if x does not say it.
func elementOf(x Operand) reflect.Type {
	m, ok := reflect.TypeOf(x).MethodByName("Element")
	if !ok || m.Type.NumOut() != 1 {
		return nil
	}
	return m.Type.Out(0)
}

// fields returns which bytes of an element of type t, unless that is nil, belong to fields that have a name: a kernel that writes each of
// them leaves the padding.
func fields(t reflect.Type) []bool {
	if t == nil {
		return nil
	}
	all := make([]bool, t.Size())
	markFields(t, all)
	return all
}

func markFields(t reflect.Type, all []bool) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				markFields(f.Type, all[f.Offset:])
			}
		}
	case reflect.Array:
		for i := range t.Len() {
			markFields(t.Elem(), all[uintptr(i)*t.Elem().Size():])
		}
	default:
		for i := range t.Size() {
			all[i] = true
		}
	}
}
