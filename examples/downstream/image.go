package main

// The format of the files: a header of text, then pixels. Nothing here uses Halyard.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// errFormat is the kind of error of a file that is not an image, or has only a part of the header.
var errFormat = errors.New("not a binary PGM or PPM file")

// image is what the header of a PGM or PPM file says. These are formats of netpbm. The binary kinds, P5 and P6, have a header
// of text and then the pixels, row by row from the top.
type image struct {
	width, height int
	channels      int   // 1 for PGM, 3 for PPM
	limit         int   // the largest value, below 65536
	data          int64 // offset of the first pixel in the file
}

// pixel is the number of bytes of a pixel.
func (m image) pixel() int {
	if m.limit > 255 {
		return 2 * m.channels
	}
	return m.channels
}

// row is the number of bytes of a row.
func (m image) row() int { return m.width * m.pixel() }

// bytes is the number of bytes of all pixels.
func (m image) bytes() int64 { return int64(m.row()) * int64(m.height) }

func (m image) header() string {
	kind := "P5"
	if m.channels == 3 {
		kind = "P6"
	}
	return fmt.Sprintf("%s\n%d %d\n%d\n", kind, m.width, m.height, m.limit)
}

// transposed is the image with width and height exchanged, as a file that is still to be written.
func (m image) transposed() image {
	m.width, m.height = m.height, m.width
	m.data = int64(len(m.header()))
	return m
}

// open opens a file and reads its header. A file that is shorter than the header says is refused here, before any work.
func open(path string) (f *os.File, m image, err error) {
	if f, err = os.Open(path); err != nil {
		return nil, m, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			f = nil
		}
	}()
	if m, err = readHeader(f); err != nil {
		return f, m, fmt.Errorf("%s: %w", path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return f, m, err
	}
	if has, want := info.Size(), m.data+m.bytes(); has < want {
		return f, m, fmt.Errorf("%s: %w: %d bytes of %d", path, io.ErrUnexpectedEOF, has, want)
	}
	return f, m, nil
}

// readHeader reads the magic letters and the three numbers that follow. White space and comments may separate them.
func readHeader(in io.Reader) (m image, err error) {
	r := bufio.NewReader(in)
	next := func() byte {
		b, e := r.ReadByte()
		if e != nil && err == nil {
			err = fmt.Errorf("%w: %w in the header", errFormat, io.ErrUnexpectedEOF)
		}
		m.data++
		return b
	}
	space := func(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }
	number := func() (n int) {
		b := next()
		for ; err == nil && (space(b) || b == '#'); b = next() {
			for b == '#' && err == nil {
				for b = next(); err == nil && b != '\n'; b = next() {
				}
			}
		}
		for digits := 0; err == nil && !space(b); b, digits = next(), digits+1 {
			if b < '0' || b > '9' || digits > 8 {
				err = fmt.Errorf("%w: no number at byte %d", errFormat, m.data)
				return 0
			}
			n = 10*n + int(b-'0')
		}
		return n // the byte of white space after the number has been read, too
	}
	switch magic := string([]byte{next(), next()}); magic {
	case "P5":
		m.channels = 1
	case "P6":
		m.channels = 3
	default:
		return m, errFormat
	}
	m.width, m.height, m.limit = number(), number(), number()
	switch {
	case err != nil:
		return m, err
	case m.width < 1 || m.height < 1 || m.limit < 1 || m.limit > 65535:
		return m, fmt.Errorf("%w: %d by %d pixels up to %d", errFormat, m.width, m.height, m.limit)
	case int64(m.width) > math.MaxInt/6/int64(m.height):
		return m, fmt.Errorf("%w: %d by %d pixels are too many", errFormat, m.width, m.height)
	}
	return m, nil
}

// draw writes a sample: smooth colors with a grid, in which a row out of place shows.
func (m image) draw(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err := w.WriteString(m.header()); err != nil {
		return err
	}
	row := make([]byte, m.row())
	for y := range m.height {
		for x := range m.width {
			v := [3]byte{byte(255 * x / m.width), byte(255 * y / m.height), byte((x*7 + y*13) >> 3)}
			if x%64 == 0 || y%64 == 0 {
				v = [3]byte{byte(x), byte(y), 255}
			}
			copy(row[x*m.channels:], v[:m.channels])
		}
		if _, err := w.Write(row); err != nil {
			return err
		}
	}
	return w.Flush()
}

// transpose is the straightforward way, for comparison: all of it in memory, pixel by pixel.
func transpose(m image, pixels []byte) []byte {
	out := make([]byte, len(pixels))
	p := m.pixel()
	for y := range m.height {
		for x := range m.width {
			copy(out[(x*m.height+y)*p:][:p], pixels[(y*m.width+x)*p:])
		}
	}
	return out
}
