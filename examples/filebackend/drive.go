package filebackend

import (
	"errors"
	"io"
	"os"
	"sync"
)

// file has the methods of *os.File that a drive uses. Tests replace it.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// drive is what the handles on one device share: a file, which exists while a handle is open, and the list of its
// free ranges.
type drive struct {
	dir   string
	total uint64 // bytes

	mu      sync.Mutex
	handles int
	file    file
	path    string
	space   space
}

// origin is where memory begins in the file. It is not 0, because no memory may have the handle 0.
const origin = 4096 // bytes

// open takes a handle, and makes the file for the first one. The file is sparse: what is not written takes no room
// on the disk.
func (d *drive) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.handles > 0 {
		d.handles++
		return nil
	}
	f, err := os.CreateTemp(d.dir, "halyard-*.memory")
	if err != nil {
		return err
	}
	if err := f.Truncate(int64(origin + d.total)); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	d.file, d.path, d.handles = f, f.Name(), 1
	d.space = newSpace(origin, d.total)
	return nil
}

// close gives a handle back, and removes the file after the last one.
func (d *drive) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.handles--; d.handles > 0 {
		return nil
	}
	err := errors.Join(d.file.Close(), os.Remove(d.path))
	d.file, d.path = nil, ""
	return err
}

// count is the number of open handles.
func (d *drive) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.handles
}

func (d *drive) free() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.handles == 0 {
		return d.total
	}
	return d.space.left
}

// take reserves a range of the file, and reports whether there was one.
func (d *drive) take(size, align uint64) (extent, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.space.take(size, align)
}

func (d *drive) give(e extent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.space.give(e)
}

// write and read need no lock: d.file does not change while a handle is open, and WriteAt and ReadAt are safe for
// concurrent use.

func (d *drive) write(b []byte, at uint64) error {
	_, err := d.file.WriteAt(b, int64(at))
	return err
}

func (d *drive) read(b []byte, at uint64) error {
	_, err := d.file.ReadAt(b, int64(at))
	return err
}
