package cudahip

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/memcopy"
)

// Sizes are in bytes. If the source of a copy is read during the call, it is copied in pieces, so that the device
// fetches one piece while the host fills the next. memcopy splits a piece of the largest size among several goroutines.
const (
	worthStaging = 256 << 10 // from this size on staging is faster than the vendor's own copy
	leastPiece   = 256 << 10
	mostPiece    = 1 << 20

	largeBlocks = 16 // of one device, at most
)

// blockKind says whether a block is small or large.
type blockKind uint8

const (
	small blockKind = 0
	large blockKind = 1
)

var blockSizes = [2]uintptr{small: 64 << 10, large: 4 << 20}

// blockPair holds the addresses of a small and a large block, or 0 for one that does not exist.
type blockPair [2]uintptr

// staging is the page-locked memory through which a stream copies pageable memory. The stream is in order, so a
// piece of a copy uses the block only when the piece before it is done with the block.
type staging struct {
	mu     sync.Mutex // held while a copy is enqueued, so that the pieces of two copies do not mix
	blocks blockPair
}

// block returns the stream's block for a copy of n bytes: the large one if it has one already, or if a small one is
// not enough and a large one is available; otherwise the small one. The caller holds the stream's staging.mu.
func (s *Stream) block(op string, n uintptr) (base, size uintptr, err error) {
	held := &s.staging.blocks
	k := large
	if n <= blockSizes[small] && held[large] == 0 {
		k = small
	}
	for ; ; k-- {
		code := Success
		if held[k] == 0 {
			held[k], code = s.dev.staging.take(s, k)
		}
		switch {
		case code == Success:
			return held[k], blockSizes[k], nil
		case k == small:
			return 0, 0, s.dev.fail(op, CallHostAlloc, code)
		}
	}
}

// blocks is the page-locked memory of a device's streams. A stream keeps its blocks until it is closed. After that
// the blocks are spare, for the next stream, because freeing them could wait for other streams. There are never more
// than largeBlocks large blocks. When all of them are in use, a stream that needs one takes it from an idle stream,
// or uses a small block.
type blocks struct {
	mu    sync.Mutex
	spare [2][]uintptr
	made  int       // number of large blocks that exist
	users []*Stream // streams that have a large block
}

// take returns a block for the stream, whose staging.mu is held.
func (p *blocks) take(s *Stream, k blockKind) (base uintptr, code Code) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch last := len(p.spare[k]) - 1; {
	case last >= 0:
		base, p.spare[k] = p.spare[k][last], p.spare[k][:last]
	case k == large && p.made == largeBlocks:
		if base = p.recall(); base == 0 {
			return 0, CodeOutOfMemory
		}
	default:
		p.made += int(k)
		p.mu.Unlock() // unlocked, because the vendor's call may take long
		base, code = s.api.HostAlloc(s.ctx, blockSizes[k])
		p.mu.Lock()
		if code = allocated(base, code); code != Success {
			p.made -= int(k)
			return 0, code
		}
	}
	if k == large {
		p.users = append(p.users, s)
	}
	return base, Success
}

// recall takes the large block away from an idle stream and returns it, or 0 if no stream is idle. p.mu is
// held. It queries at most largeBlocks streams.
func (p *blocks) recall() (base uintptr) {
	for i, s := range p.users {
		if !s.staging.mu.TryLock() {
			continue // it is enqueuing a copy
		}
		if s.api.StreamQuery(s.ctx, s.handle) == Success {
			base, s.staging.blocks[large] = s.staging.blocks[large], 0
			p.users = slices.Delete(p.users, i, i+1)
		}
		s.staging.mu.Unlock()
		if base != 0 {
			return base
		}
	}
	return 0
}

// leave takes a stream's blocks away and returns them. recall does not find them afterwards.
func (p *blocks) leave(s *Stream) (left blockPair) {
	s.staging.mu.Lock()
	defer s.staging.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	left, s.staging.blocks = s.staging.blocks, left
	if i := slices.Index(p.users, s); i >= 0 {
		p.users = slices.Delete(p.users, i, i+1)
	}
	return left
}

func (p *blocks) put(left blockPair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, base := range left {
		if base != 0 {
			p.spare[k] = append(p.spare[k], base)
		}
	}
}

// close frees the spare blocks.
func (p *blocks) close(d *Device) {
	p.mu.Lock()
	spare := p.spare
	p.made -= len(spare[large])
	p.spare = [2][]uintptr{}
	p.mu.Unlock()
	for _, list := range spare {
		for _, base := range list {
			_ = d.release(CallHostFree, API.HostFree, base)
		}
	}
}

// stageIn copies pageable memory to the device through the stream's block, in pieces.
//
// If the stream is idle, no earlier work can write to src or use the block, so stageIn itself moves the first pieces
// into the block, up to its size. Host functions in the stream move the others when the stream reaches them.
func (s *Stream) stageIn(m *Memory, addr uintptr, src unsafe.Pointer, n uintptr) error {
	const op = "copy in"
	s.staging.mu.Lock()
	defer s.staging.mu.Unlock()
	idle, err := s.idle(op)
	if err != nil {
		return err
	}
	base, size, err := s.block(op, n)
	if err != nil {
		return err
	}
	now := uintptr(0)
	if idle && !s.isDefault() {
		now = min(n, size)
	}
	piece := min(max((n/4+leastPiece-1)/leastPiece*leastPiece, leastPiece), mostPiece)
	for off := uintptr(0); off < n; {
		var at, c uintptr
		if off < now {
			at, c = base+off, min(piece, now-off)
			memcopy.Copy(dl.Pointer(at), unsafe.Add(src, off), uint64(c))
		} else {
			at, c = base, min(size, n-off)
			if err := s.moveOnHost(op, dl.Pointer(at), unsafe.Add(src, off), c); err != nil {
				return err
			}
		}
		if err := s.copyIn(op, m, addr+off, at, c); err != nil {
			return err
		}
		off += c
	}
	return nil
}

// isDefault reports whether the stream is the default stream. Its work also waits for the work of other streams, which
// may be busy while the default stream itself is idle.
func (s *Stream) isDefault() bool {
	return s.foreign && (s.handle == 0 || s.handle == s.dev.lib.vendor.LegacyStream)
}

// stageOut copies memory of the device to pageable memory through the stream's block. Unlike the vendor's own copy it never
// waits for the copy, even on an idle stream.
func (s *Stream) stageOut(dst unsafe.Pointer, m *Memory, addr, n uintptr) error {
	const op = "copy out"
	s.staging.mu.Lock()
	defer s.staging.mu.Unlock()
	base, size, err := s.block(op, n)
	if err != nil {
		return err
	}
	for off := uintptr(0); off < n; off += size {
		c := min(size, n-off)
		if err := s.copyOut(op, base, m, addr+off, c); err != nil {
			return err
		}
		if err := s.moveOnHost(op, unsafe.Add(dst, off), dl.Pointer(base), c); err != nil {
			return err
		}
	}
	return nil
}

// stageRows copies rows between the device and pageable memory through the stream's block, in which a row fits. Host functions move as
// many rows at a time as fit: a call for each row would fill the queue of a device, whose calls then wait.
func (s *Stream) stageRows(op string, r *driver.Rect, v Rect) error {
	s.staging.mu.Lock()
	defer s.staging.mu.Unlock()
	base, size, err := s.block(op, v.Width*v.Rows)
	if err != nil {
		return err
	}
	in := r.Src.Mem == nil
	host, pitch := r.Dst.Host, v.DstPitch
	if in {
		host, pitch = r.Src.Host, v.SrcPitch
	}
	for first, all := uintptr(0), v.Rows; first < all; first += v.Rows {
		v.Rows = min(all-first, size/v.Width)
		rows, there := v.Rows, unsafe.Add(host, first*pitch)
		move := func() {
			for i := range rows {
				block, row := dl.Pointer(base+i*v.Width), unsafe.Add(there, i*pitch)
				if !in {
					block, row = row, block
				}
				memcopy.Copy(block, row, uint64(v.Width))
			}
		}
		if in {
			if code := s.dev.calls.enqueue(s, move, nil); code != Success {
				return s.dev.fail(op, CallHostCall, code)
			}
			v.Src, v.SrcAt, v.SrcPitch = base, OnHost, v.Width
		} else {
			v.Dst, v.DstAt, v.DstPitch = base, OnHost, v.Width
		}
		if code := s.api.Copy2D(s.ctx, &v, s.handle); code != Success {
			return s.dev.fail(op, CallCopy2D, code)
		}
		if !in {
			if code := s.dev.calls.enqueue(s, move, nil); code != Success {
				return s.dev.fail(op, CallHostCall, code)
			}
			v.Src += rows * v.SrcPitch
		} else {
			v.Dst += rows * v.DstPitch
		}
	}
	return nil
}
