package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// faultBytes is the size of the record in which a translation with HALYARD_BOUNDS reports the first index out of range. Its first word says
// whether there is one, and its second is the number of the place. The index and the length follow, each as two words of 32 bits with the low
// one first.
//
// For an element of a matrix the first word is 2, and the row, the rows, the column and the columns follow. It is 3 if the device has ended
// loops, and 4 for a bound of a slice, such as j in x[i:j]. It is 5 for a divisor of 0, and 6 for a negative count of a shift, which follows.
// The last word is 0.
const faultBytes = 44

// reportBytes is the size of the memory for what a launch reports.
func (d *onDevice) reportBytes() uint64 {
	if d.prints == nil {
		return faultBytes
	}
	return faultBytes + 4 + (mostLines+1)*lineBytes
}

// faults is the memory for what one launch reports.
type faults struct {
	d   *onDevice
	mem *hal.Memory
}

// faultsOn returns cleared memory for a launch, or nil if the kernel reports nothing.
func (d *onDevice) faultsOn(stream *hal.Stream) (*faults, error) {
	if d.sites == nil {
		return nil, nil
	}
	mem, err := stream.Device().Alloc(hal.KindDevice, d.reportBytes(), 0)
	if err != nil {
		return nil, err
	}
	if err := stream.Fill(mem.All(), hal.Pattern8(0)); err != nil {
		return nil, errors.Join(err, mem.Close())
	}
	return &faults{d, mem}, nil
}

func (f *faults) close() {
	if f != nil {
		_ = f.mem.Close()
	}
}

// inspect waits for the stream and returns the error of what the kernel reports. bad is why the kernel failed, or nil.
func (f *faults) inspect(ctx context.Context, stream *hal.Stream) (err, bad error) {
	if f == nil {
		return nil, nil
	}
	behind, err := layer.RecordShared(stream)
	if err != nil {
		return err, nil
	}
	// Nothing follows the kernel before it has ended: if the wait is given up, the leases' event must report how it ends.
	if err, bad = f.d.await(ctx, stream, behind); err != nil {
		return err, bad
	}
	b := make([]byte, f.d.reportBytes())
	if err := stream.CopyOut(b, f.mem.All()); err != nil {
		return err, nil
	}
	if err := stream.Sync(ctx); err != nil {
		return err, nil
	}
	order := binary.NativeEndian
	printed.read(f.d.prints, b[faultBytes:])
	if order.Uint32(b) == 0 {
		return nil, nil
	}
	if order.Uint32(b) == 3 {
		ended := f.d.fail(hal.ErrUnsupported, "launch", "%s: the device's driver (%s) ended the loops of a thread, because they took too many rounds together, "+
			"as Mesa before 26.1 does after 65,535; take fewer in each launch, or use another driver", f.d.in.RoundsAt, f.d.dev.Info().Driver)
		return ended, ended
	}
	at := ""
	if site := int(order.Uint32(b[4:])); site < len(f.d.sites) {
		at = f.d.sites[site] + ": "
	}
	wide := func(i int) int64 { return int64(uint64(order.Uint32(b[i:])) | uint64(order.Uint32(b[i+4:]))<<32) }
	found, of := fmt.Sprintf("index %d out of range with length %d", wide(8), wide(16)), hal.ErrOutOfRange
	switch order.Uint32(b) {
	case 2:
		found = fmt.Sprintf("index %d, %d out of range with %d rows and %d columns", wide(8), wide(24), wide(16), wide(32))
	case 4:
		found = fmt.Sprintf("bound %d of a slice out of range with %d", wide(8), wide(16))
	case 5:
		found, of = "integer divide by zero", hal.ErrKernel
	case 6:
		found, of = fmt.Sprintf("negative shift amount %d", wide(8)), hal.ErrKernel
	}
	failed := f.d.fail(of, "launch", "%s%s", at, found)
	return failed, failed // as on the host, what a failed kernel wrote is lost
}
