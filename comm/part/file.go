package part

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/npy"
)

// Save writes all elements to one .npy file on a file system that all ranks share, and replaces a file of that name. All ranks call it,
// with the same path, and it waits for them until ctx ends. Each rank writes its part to path with ".part" appended, and makes sure that it
// is on the disk; only then does rank 0 rename the file. After an error the file of that name is the old one, or the
// whole new one. Errors of the file system are wrapped. If another rank failed, the error is of kind ErrMismatch and names that rank.
func (b *Buffer[T]) Save(ctx context.Context, path string) error {
	const op = "Save"
	if err := b.begin(op); err != nil {
		return err
	}
	defer b.state.done()
	h, err := npy.NewHeader[T](false, b.Shape())
	var head []byte
	if err == nil {
		head, err = h.Append(nil)
	}
	temporary, rank, c := path+".part", b.state.rank, b.state.c
	if err == nil && rank == 0 {
		err = create(temporary, head, int64(len(head))+int64(b.state.grid.len())*int64(b.state.elem))
	}
	made := rank == 0 && err == nil
	if err = agree(ctx, c, op, err); err == nil {
		err = agree(ctx, c, op, b.write(ctx, temporary, int64(len(head))))
		if rank == 0 && err == nil {
			err = errors.Join(os.Rename(temporary, path), syncDirectory(path))
		}
		if c.Err() == nil {
			err = agree(ctx, c, op, err)
		}
	}
	if made && err != nil {
		_ = os.Remove(temporary)
	}
	return err
}

// create makes a file of size bytes that begins with head.
func create(path string, head []byte, size int64) error {
	if err := os.WriteFile(path, head, 0o666); err != nil {
		return err
	}
	return os.Truncate(path, size)
}

// syncDirectory makes sure that the new name of a file is on the disk.
func syncDirectory(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// write writes the owned elements to their places in a file, whose data begin at base, and makes sure that they are on the disk.
func (b *Buffer[T]) write(ctx context.Context, path string, base int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if b.state.count > 0 {
		err = b.local.AccessRanges(ctx, coherence.Read, b.OwnedRanges(), func(s []T) error {
			first := b.state.own[0].local
			for _, r := range b.state.own {
				at := base + int64(r.global)*int64(b.state.elem)
				if _, err := f.WriteAt(bytes(s[r.local-first:r.local-first+r.n]), at); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// Load reads the elements of an .npy file that has the shape of the grid and the type T. Any program may have written it, on any number of
// ranks, in either byte order. All ranks call it, with the same path, and it waits for them until ctx ends. Ghosts are stale afterwards. If
// one rank cannot read its part, no rank's elements change. That rank's error is of kind hal.ErrInvalidArgument if the file has another
// array or ends early; else it wraps the error of the file system. The error of the other ranks is of kind ErrMismatch.
func (b *Buffer[T]) Load(ctx context.Context, path string) error {
	const op = "Load"
	if err := b.begin(op); err != nil {
		return err
	}
	defer b.state.done()
	data, err := b.read(op, path)
	if err = agree(ctx, b.state.c, op, err); err != nil {
		return err
	}
	if b.state.count > 0 {
		ranges := b.OwnedRanges()
		err = b.local.AccessRanges(ctx, coherence.Overwrite, ranges, func(s []T) error {
			for _, r := range ranges {
				data = data[copy(s[r.Lo-ranges[0].Lo:r.Hi-ranges[0].Lo], data):]
			}
			return nil
		})
	}
	b.Expire()
	return agree(ctx, b.state.c, op, err)
}

// read reads the owned elements in the order of the local numbering.
func (b *Buffer[T]) read(op, path string) (data []T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := npy.ReadHeader(f)
	if err != nil {
		return nil, err
	}
	want, err := npy.NewHeader[T](false, b.Shape())
	if err != nil {
		return nil, err
	}
	if h.Type != want.Type || !slices.Equal(h.Shape, want.Shape) || h.Fortran && len(h.Shape) > 1 {
		order := ""
		if h.Fortran {
			order = " in column-major order"
		}
		return nil, driver.Errorf(op, driver.ErrInvalidArgument, "%s has %v of shape %v%s, not %v of shape %v", path, h.Type, h.Shape, order,
			want.Type, want.Shape)
	}
	base, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	elem := int64(b.state.elem)
	for _, r := range b.state.own {
		h.Shape = []int{r.n}
		part, err := npy.ReadData[T](io.NewSectionReader(f, base+int64(r.global)*elem, int64(r.n)*elem), h)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		data = append(data, part...)
	}
	return data, nil
}
