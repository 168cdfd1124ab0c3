package staging

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/memcopy"
)

// What New takes for the fields of Options that are zero. BenchmarkSlots compares other choices: one slot leaves the link
// or the processor idle by turns, two keep both at work, and a third makes up for moments when one of
// them is late. Much smaller pieces cost more calls, larger ones a longer beginning.
const (
	DefaultSlots     = 3
	DefaultSlotBytes = 1 << 20
)

// The limits of Options.
const (
	MostSlots      = 16
	LeastSlotBytes = 4 << 10
	MostSlotBytes  = 64 << 20
)

// leastPiece is the size in bytes below which a copy is not cut up for the sake of overlap.
const leastPiece = 256 << 10

// retryAfter is how many pieces a slot takes through pageable memory before it asks for page-locked memory again.
const retryAfter = 256

// Options are the options of New.
type Options struct {
	Slots     int    // pieces of memory, 1 to MostSlots
	SlotBytes uint64 // bytes of each, LeastSlotBytes to MostSlotBytes
}

// Ring is a number of pieces of page-locked memory of one device, called slots, which uploads and downloads take in turn. It
// is safe for concurrent use, on any streams of its device: calls share the slots piece by piece.
//
// A slot takes its memory when it is first used. If there is no page-locked memory to be had it does with pageable
// memory, which the device copies as it does any other; everything below holds all the same.
type Ring struct {
	dev     *hal.Device
	size    uint64 // bytes of a slot
	slots   []slot
	free    chan *slot // slots that nothing uses
	closing chan struct{}

	pieces, pageable, waits atomic.Uint64

	mu      sync.Mutex
	flying  []*slot // slots that a stream uses, and nobody waits for
	watched []*slot // slots that a stream uses, and a goroutine waits for
	waiting int     // calls that wait for a slot
	closed  bool
}

// Stats counts what a ring has done.
type Stats struct {
	Pieces   uint64 // copied through slots
	Pageable uint64 // of these, through slots without page-locked memory
	Waits    uint64 // for a slot, or for the bytes of one
}

// New returns a ring for a device. Options that are out of their limits are of kind hal.ErrInvalidArgument.
func New(dev *hal.Device, o Options) (*Ring, error) {
	const op = "new staging ring"
	if dev == nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil device")
	}
	if o.Slots == 0 {
		o.Slots = DefaultSlots
	}
	if o.SlotBytes == 0 {
		o.SlotBytes = DefaultSlotBytes
	}
	r := &Ring{dev: dev, size: o.SlotBytes}
	switch {
	case o.Slots < 0 || o.Slots > MostSlots:
		return nil, r.failure(op, hal.ErrInvalidArgument, "%d slots; 1 to %d", o.Slots, MostSlots)
	case o.SlotBytes < LeastSlotBytes || o.SlotBytes > MostSlotBytes:
		return nil, r.failure(op, hal.ErrInvalidArgument, "slots of %d bytes; %d to %d", o.SlotBytes, LeastSlotBytes, MostSlotBytes)
	}
	r.slots = make([]slot, o.Slots)
	r.flying = make([]*slot, 0, o.Slots)
	r.watched = make([]*slot, 0, o.Slots)
	r.free = make(chan *slot, o.Slots)
	r.closing = make(chan struct{})
	for i := range r.slots {
		s := &r.slots[i]
		ev, err := dev.NewEvent(hal.EventOptions{})
		if err != nil {
			_ = r.Close()
			return nil, err
		}
		s.ring, s.event, s.watch, s.landed = r, ev, s.watchOnce, make(chan struct{}, 1)
		r.free <- s
	}
	return r, nil
}

// Device is the device that the ring is for.
func (r *Ring) Device() *hal.Device { return r.dev }

// Options are the ring's options.
func (r *Ring) Options() Options { return Options{Slots: len(r.slots), SlotBytes: r.size} }

// Stats returns the ring's counters.
func (r *Ring) Stats() Stats {
	return Stats{Pieces: r.pieces.Load(), Pageable: r.pageable.Load(), Waits: r.waits.Load()}
}

// Close gives the slots back, each when the work that uses it has finished; it does not wait. Calls under way fail with
// hal.ErrClosed at their next piece.
func (r *Ring) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	close(r.closing)
	for more := true; more; {
		select {
		case s := <-r.free:
			s.close()
		default:
			more = false
		}
	}
	for _, s := range r.flying {
		s.close()
	}
	for _, s := range r.watched {
		s.close()
	}
	r.flying, r.watched = nil, nil
	return nil
}

// Upload copies src to dst, which is as long, in the order of the stream: after the work that it has been given before the
// call, and before what it is given after the call. It returns when src has been read, and the last
// piece of it enqueued: src may change, but dst holds the bytes only when the stream has passed.
//
// The slots set how far Upload can be ahead of the stream: more bytes than they hold make it wait for the stream. If ctx ends
// meanwhile the error is of kind hal.ErrNotReady and wraps the context's. After that, and after any error that is not a refusal of
// the arguments, some of dst has been written, or will be when the stream has passed, and src is not read any more.
//
// Work on dst that another goroutine enqueues on the same stream during the call may come between two pieces.
func (r *Ring) Upload(ctx context.Context, stream *hal.Stream, dst hal.Region, src []byte) error {
	_, err := r.upload("upload", stream, dst, src, func(op string) (*slot, error) { return r.take(ctx, op) })
	return err
}

// TryUpload is Upload as far as it goes without waiting: until no slot is free. It returns how many bytes, from the start, that
// is. The caller enqueues the others in another way.
func (r *Ring) TryUpload(stream *hal.Stream, dst hal.Region, src []byte) (n uint64, err error) {
	return r.upload("upload", stream, dst, src, r.poll)
}

// upload is Upload with slots from next, until that returns none.
func (r *Ring) upload(op string, stream *hal.Stream, dst hal.Region, src []byte, next func(op string) (*slot, error)) (uint64, error) {
	if err := r.check(op, stream); err != nil {
		return 0, err
	}
	if !fits(dst, len(src)) {
		return 0, stream.CopyIn(dst, src) // which says what is wrong
	}
	if err := stream.CopyIn(hal.Region{Mem: dst.Mem, Off: dst.Off}, nil); err != nil {
		return 0, err
	}
	piece := r.piece(dst.Len)
	off := uint64(0)
	for off < dst.Len {
		s, err := next(op)
		if s == nil || err != nil {
			return off, err
		}
		n := min(piece, dst.Len-off)
		memcopy.Copy(at(s.bytes), at(src[off:]), n)
		to := hal.Region{Mem: dst.Mem, Off: dst.Off + off, Len: n}
		if s.mem != nil {
			err = stream.Copy(to, s.mem.Region(0, n))
		} else {
			err = stream.CopyIn(to, s.bytes[:n])
		}
		if err := r.fly(s, stream, err); err != nil {
			return off, err
		}
		r.leave(s)
		off += n
	}
	return off, nil
}

// Download copies src to dst, which is as long, in the order of the stream, and returns when all bytes are there.
//
// It waits for the stream. If ctx ends first the error is of kind hal.ErrNotReady and wraps the context's. After an error that is
// not a refusal of the arguments dst holds a part of the bytes, and is not written to any more.
func (r *Ring) Download(ctx context.Context, stream *hal.Stream, dst []byte, src hal.Region) error {
	const op = "download"
	if err := r.check(op, stream); err != nil {
		return err
	}
	if !fits(src, len(dst)) {
		return stream.CopyOut(dst, src)
	}
	if err := stream.CopyOut(nil, hal.Region{Mem: src.Mem, Off: src.Off}); err != nil {
		return err
	}
	piece := r.piece(src.Len)
	var ahead [MostSlots]*slot // on their way, the oldest at first%MostSlots
	first, n := 0, 0
	defer func() {
		for ; n > 0; n, first = n-1, first+1 {
			r.leave(ahead[first%MostSlots])
		}
	}()
	for asked, got := uint64(0), uint64(0); got < src.Len; {
		// A call that has a piece on its way takes more slots only if they are free: two calls that
		// wait for each other's would wait for ever.
		for asked < src.Len {
			var s *slot
			var err error
			if n == 0 {
				s, err = r.take(ctx, op)
			} else if s, err = r.poll(op); s == nil && err == nil {
				break
			}
			if err != nil {
				return err
			}
			c := min(piece, src.Len-asked)
			from := hal.Region{Mem: src.Mem, Off: src.Off + asked, Len: c}
			if s.mem != nil {
				err = stream.Copy(s.mem.Region(0, c), from)
			} else {
				err = stream.CopyOut(s.bytes[:c], from)
			}
			if err := r.fly(s, stream, err); err != nil {
				return err
			}
			ahead[(first+n)%MostSlots] = s
			n++
			asked += c
		}
		s := ahead[first%MostSlots]
		first, n = first+1, n-1
		if err := s.wait(ctx, op); err != nil {
			return err
		}
		c := min(piece, src.Len-got)
		memcopy.Copy(at(dst[got:]), at(s.bytes), c)
		r.put(s)
		got += c
	}
	return nil
}

// piece is how much of a copy goes through one slot at a time.
func (r *Ring) piece(n uint64) uint64 {
	each := (n + uint64(len(r.slots)) - 1) / uint64(len(r.slots))
	each = (each + leastPiece - 1) / leastPiece * leastPiece
	return min(max(each, leastPiece), r.size)
}

func (r *Ring) check(op string, stream *hal.Stream) error {
	switch {
	case stream == nil:
		return r.failure(op, hal.ErrInvalidArgument, "nil stream")
	case !stream.Device().Same(r.dev):
		return r.failure(op, hal.ErrWrongDevice, "a stream of %s, or of another handle on the device", stream.Device().Name())
	}
	select {
	case <-r.closing:
		return r.failure(op, hal.ErrClosed, "the ring is closed")
	default:
		return nil
	}
}

// take returns a slot that nothing uses, and waits for one.
func (r *Ring) take(ctx context.Context, op string) (*slot, error) {
	if ctx.Err() != nil {
		return nil, hal.Interrupted(op, ctx)
	}
	if s, err := r.poll(op); s != nil || err != nil {
		return s, err
	}
	r.mu.Lock()
	r.waiting++
	for _, s := range r.flying {
		r.watched = append(r.watched, s)
		go s.watch()
	}
	r.flying = r.flying[:0]
	r.mu.Unlock()
	r.waits.Add(1)
	var s *slot
	var err error
	select {
	case s = <-r.free:
	case <-ctx.Done():
		err = hal.Interrupted(op, ctx)
	case <-r.closing:
		err = r.failure(op, hal.ErrClosed, "the ring is closed")
	}
	r.mu.Lock()
	r.waiting--
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return r.ready(op, s)
}

// poll returns a slot that nothing uses, or nil.
func (r *Ring) poll(op string) (*slot, error) {
	select {
	case s := <-r.free:
		return r.ready(op, s)
	default:
	}
	r.mu.Lock()
	for i, s := range r.flying {
		if done, err := s.event.Query(); done || err != nil {
			if err != nil {
				s.drop()
			}
			r.flying = append(r.flying[:i], r.flying[i+1:]...)
			r.mu.Unlock()
			return r.ready(op, s)
		}
	}
	r.mu.Unlock()
	return nil, nil
}

// ready gives a slot its memory.
func (r *Ring) ready(op string, s *slot) (*slot, error) {
	select {
	case <-r.closing:
		s.close()
		return nil, r.failure(op, hal.ErrClosed, "the ring is closed")
	default:
	}
	if s.retry--; s.bytes == nil || s.mem == nil && s.retry <= 0 {
		s.allocate(r.dev, r.size)
	}
	if s.mem == nil {
		r.pageable.Add(1)
	}
	r.pieces.Add(1)
	return s, nil
}

// put gives back a slot that nothing uses.
func (r *Ring) put(s *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		s.close()
		return
	}
	r.free <- s
}

// fly notes the work of the stream that uses the slot, which is still its caller's. err is how that work was received; if it,
// or the note, failed, nobody knows when the memory can be used again, and the slot takes other memory.
func (r *Ring) fly(s *slot, stream *hal.Stream, err error) error {
	if err == nil {
		err = stream.Record(s.event)
	}
	if err != nil {
		s.drop()
		r.put(s)
	}
	return err
}

// leave gives back a slot that a stream uses.
func (r *Ring) leave(s *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		s.close()
	case r.waiting > 0:
		r.watched = append(r.watched, s)
		go s.watch()
	default:
		r.flying = append(r.flying, s)
	}
}

func (r *Ring) failure(op string, kind error, format string, args ...any) error {
	info := r.dev.Info()
	return &hal.Error{Op: op, Backend: info.Backend, Device: info.Ordinal, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// fits reports whether the region exists and is n bytes long.
func fits(r hal.Region, n int) bool {
	return r.Mem != nil && r.Len == uint64(n) && r.Off <= r.Mem.Size() && r.Len <= r.Mem.Size()-r.Off
}

func at(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
