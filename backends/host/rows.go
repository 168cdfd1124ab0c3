package host

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/memcopy"
)

// rows is an enqueued copy of rows.
type rows struct {
	dst, src           unsafe.Pointer
	dstPitch, srcPitch uint64
	width, n           uint64
}

func (s *stream) Copy2D(r driver.Rect) error {
	w := rows{origin(&r.Dst), origin(&r.Src), r.Dst.Pitch, r.Src.Pitch, r.Width, r.Rows}
	s.mu.Lock()
	if w.width*w.n <= inlineSize && s.idle() {
		w.copy()
	} else {
		s.enqueue(op{kind: opRows, obj: w.queued()})
	}
	s.mu.Unlock()
	return nil
}

// queued returns a copy on the heap, so that a copy of rows which is done at once allocates nothing.
func (w rows) queued() *rows { return &w }

func (w *rows) copy() {
	for i := range w.n {
		memcopy.Move(unsafe.Add(w.dst, i*w.dstPitch), unsafe.Add(w.src, i*w.srcPitch), w.width)
	}
}

// origin returns the address of the first row.
func origin(p *driver.Pitched) unsafe.Pointer {
	if p.Mem == nil {
		return p.Host
	}
	return unsafe.Add(p.Mem.(*memory).base, p.Off)
}
