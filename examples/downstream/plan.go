package main

// The work on devices. This is the only file that uses buffers for it.

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// plan says how an image is divided. The input is read in bands of whole rows. A panel is some columns of all rows, which
// become whole rows of the output. Devices sort each band into the panels; the host transposes each panel when it is full.
//
//	input:   band 0  | a a | b b | c |       panels: a, b, c
//	         band 1  | a a | b b | c |
//
// Every panel is a buffer. Bands go to the devices in turn, and a device writes its band's part of each panel. A device's
// budget has room for two bands and a panel, but rarely for all panels: package buffer evicts those that do not fit to the
// host, each byte once. Host memory limits how many panels are filled at a time; the others are filled in another pass.
type plan struct {
	img     image
	devices []*hal.Device
	rows    int // of a band
	columns int // of a panel
	group   int // panels in a pass
}

// leastBytes is what a device needs for two bands of one row and a panel of one column.
func leastBytes(img image) uint64 {
	return 2*uint64(img.row()) + uint64(img.height)*uint64(img.pixel())
}

// newPlan makes the largest panels and bands that fit every device. Half of a device's memory is for the panel
// that is written, and a quarter for each of two bands.
func newPlan(img image, devices []*hal.Device, o options) (*plan, error) {
	p := &plan{img: img, devices: devices}
	column := uint64(img.height) * uint64(img.pixel())
	for i, d := range devices {
		has := allowance(d, o)
		rows := has / 4 / uint64(img.row())
		columns := min(has/2, d.Info().MaxAlloc) / column
		if rows == 0 || columns == 0 { // not enough for one row or column: divide the memory unevenly
			rows = max(1, min(rows, (has-column)/2/uint64(img.row())))
			columns = max(1, min(columns, (has-2*uint64(img.row()))/column))
		}
		r, c := int(min(rows, uint64(img.height))), int(min(columns, uint64(img.width)))
		if i == 0 {
			p.rows, p.columns = r, c
		}
		p.rows, p.columns = min(p.rows, r), min(p.columns, c)
	}
	// This does not count the two panels that are being written to the file.
	p.group = min(p.panels(), int(o.memory/p.panelBytes()))
	if p.group < 1 {
		return nil, &hal.Error{Op: "transpose", Backend: "host", Kind: hal.ErrOutOfMemory,
			Detail: fmt.Sprintf("a panel of %d columns takes %d bytes of host memory, and %d may be used; a smaller budget makes smaller panels",
				p.columns, p.panelBytes(), o.memory)}
	}
	return p, nil
}

func (p *plan) bands() int  { return (p.img.height + p.rows - 1) / p.rows }
func (p *plan) panels() int { return (p.img.width + p.columns - 1) / p.columns }
func (p *plan) passes() int { return (p.panels() + p.group - 1) / p.group }
func (p *plan) panelBytes() uint64 {
	return uint64(p.columns) * uint64(p.img.height) * uint64(p.img.pixel())
}

// width is the number of bytes of a row of a panel.
func (p *plan) width(panel int) int {
	return min(p.columns, p.img.width-panel*p.columns) * p.img.pixel()
}

// lane is one device at work, with two bands: while it sorts one, the host reads the next into the other.
type lane struct {
	stream *hal.Stream
	bands  [2]*buffer.Buffer[byte]
}

func (p *plan) lanes() (lanes []lane, err error) {
	for _, d := range p.devices {
		var l lane
		if l.stream, err = d.NewStream(); err != nil {
			return lanes, err
		}
		lanes = append(lanes, l)
		for i := range l.bands {
			// Page-locked memory, if the device has it, so that copies do not delay the reading.
			b, err := buffer.New[byte](p.rows*p.img.row(), buffer.WithPinnedHost(d))
			if err != nil {
				return lanes, err
			}
			lanes[len(lanes)-1].bands[i] = b
		}
	}
	return lanes, nil
}

func (l lane) close() (err error) {
	for _, b := range l.bands {
		if b != nil {
			err = errors.Join(err, b.Close())
		}
	}
	return errors.Join(err, l.stream.Close())
}

// run does all passes.
func (p *plan) run(ctx context.Context, in io.ReaderAt, out io.WriterAt) (err error) {
	if _, err := out.WriteAt([]byte(p.img.transposed().header()), 0); err != nil {
		return err
	}
	lanes, err := p.lanes()
	defer func() {
		for _, l := range lanes {
			err = errors.Join(err, l.close())
		}
	}()
	if err != nil {
		return err
	}
	w := newWriter(out)
	for first := 0; err == nil && first < p.panels(); first += p.group {
		err = p.pass(ctx, lanes, in, w, first, min(first+p.group, p.panels()))
	}
	return errors.Join(err, w.close())
}

// pass fills the panels [first, last) and writes them out.
func (p *plan) pass(ctx context.Context, lanes []lane, in io.ReaderAt, w *writer, first, last int) (err error) {
	var panels []*buffer.Buffer[byte]
	defer func() {
		for _, b := range panels {
			err = errors.Join(err, b.Close())
		}
	}()
	for j := first; j < last; j++ {
		b, err := buffer.New[byte](p.width(j) * p.img.height)
		if err != nil {
			return err
		}
		panels = append(panels, b)
	}
	for k := range p.bands() {
		l := lanes[k%len(lanes)]
		band := l.bands[k/len(lanes)%2]
		top, rows := k*p.rows, min(p.rows, p.img.height-k*p.rows)
		// This waits until the band's earlier contents have left the host, and for nothing else.
		err := band.Overwrite(ctx, func(b []byte) error {
			b = b[:rows*p.img.row()]
			if n, err := in.ReadAt(b, p.img.data+int64(top)*int64(p.img.row())); n < len(b) {
				return fmt.Errorf("row %d: %w", top+n/p.img.row(), err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := p.sort(ctx, l.stream, band, panels, first, top, rows); err != nil {
			return err
		}
	}
	for i, b := range panels {
		turned := w.next(int(b.Size()))
		err := b.View(ctx, func(v []byte) error {
			turn(turned, v, p.img.height, p.width(first+i)/p.img.pixel(), p.img.pixel())
			return nil
		})
		if err != nil {
			return err
		}
		to := p.img.transposed()
		if err := w.write(turned, to.data+int64(first+i)*int64(p.columns)*int64(to.row())); err != nil {
			return err
		}
	}
	return nil
}

// sort enqueues the copies that bring a band's pixels to their panels, and returns without waiting for them. It waits for room on the device.
func (p *plan) sort(ctx context.Context, s *hal.Stream, band *buffer.Buffer[byte], panels []*buffer.Buffer[byte], first, top, rows int) error {
	part, err := band.Slice(0, rows*p.img.row())
	if err != nil {
		return err
	}
	from, err := part.Acquire(ctx, s, coherence.Read)
	if err != nil {
		return err
	}
	for i := 0; err == nil && i < len(panels); i++ {
		err = p.sortInto(ctx, s, from.Region(), panels[i], first+i, top, rows)
	}
	return errors.Join(err, from.Release())
}

func (p *plan) sortInto(ctx context.Context, s *hal.Stream, from hal.Region, panel *buffer.Buffer[byte], j, top, rows int) error {
	width := p.width(j)
	// The lease is for these rows alone, and all of them are written, so nothing is copied to the device.
	part, err := panel.Slice(top*width, (top+rows)*width)
	if err != nil {
		return err
	}
	to, err := part.Acquire(ctx, s, coherence.Overwrite)
	if err != nil {
		return err
	}
	for y := 0; err == nil && y < rows; y++ {
		var d, f hal.Region
		if d, err = to.Region().Sub(uint64(y*width), uint64(width)); err != nil {
			break
		}
		if f, err = from.Sub(uint64(y*p.img.row()+j*p.columns*p.img.pixel()), uint64(width)); err != nil {
			break
		}
		err = s.Copy(d, f)
	}
	return errors.Join(err, to.Release())
}

// turn transposes a panel of rows by columns pixels, in squares that fit the processor's caches.
func turn(dst, src []byte, rows, columns, pixel int) {
	const square = 32
	for y0 := 0; y0 < rows; y0 += square {
		for x0 := 0; x0 < columns; x0 += square {
			for y := y0; y < min(y0+square, rows); y++ {
				for x := x0; x < min(x0+square, columns); x++ {
					copy(dst[(x*rows+y)*pixel:][:pixel], src[(y*columns+x)*pixel:])
				}
			}
		}
	}
}
