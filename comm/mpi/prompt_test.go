//go:build linux

package mpi

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// answer waits for the message that PromptSend or PromptRecv began, unless it is done.
func (r *rank) answer(id driver.Request, st driver.Status) driver.Status {
	if id != 0 {
		return r.wait(id)
	}
	return st
}

// Messages and errors are the same with PromptSend and PromptRecv as with Isend and Irecv, short and long, whether they are done at once or not.
func prompts(r *rank) error {
	const most = 1 << 21
	w := r.w.(driver.Prompter)
	send, recv := r.alloc(most), r.alloc(most)
	defer r.e.Free(send, most)
	defer r.e.Free(recv, most)
	me, size := r.w.Rank(), r.w.Size()
	to, from := (me+1)%size, (me+size-1)%size
	once := func(n uint64, tag, source int, room uint64) (sent, got driver.Status, err error) {
		pattern(view[byte](send, int(n)), me+tag)
		clear(view[byte](recv, int(n)))
		out, ost, e1 := w.PromptSend(send, n, to, tag)
		in, ist, e2 := w.PromptRecv(recv, room, source, tag)
		if err := errors.Join(e1, e2); err != nil {
			return sent, got, err
		}
		got = r.answer(in, ist)
		return r.answer(out, ost), got, nil
	}
	defer func(n uint64) { longest = n }(longest)
	for round, limit := range []uint64{longest, 100} { // messages above the limit begin as with Isend
		longest = limit
		for i, n := range []uint64{0, 1, 8, 64, 1023, 4096, 1<<16 + 1, most} {
			tag := 300 + 20*round + i
			source := from
			if i%2 == 1 {
				source = driver.AnySource
			}
			sent, got, err := once(n, tag, source, most)
			if err = errors.Join(err, sent.Err, got.Err); err != nil {
				return err
			}
			if got.Source != from || got.Tag != tag || got.Bytes != n || got.Cancelled {
				return fmt.Errorf("%d bytes: the status is %+v, not from %d with tag %d", n, got, from, tag)
			}
			if !isPattern(view[byte](recv, int(n)), from+tag) {
				return fmt.Errorf("%d bytes from %d are wrong", n, from)
			}
		}
	}
	longest = 1<<31 - 1
	if size > 1 { // see Known problems in the package comment
		for _, n := range []uint64{16, 1 << 16} {
			sent, got, err := once(n, 350, from, n/2)
			var e *driver.Error
			if err = errors.Join(err, sent.Err); err != nil {
				return err
			}
			if !errors.Is(got.Err, driver.ErrTruncated) || !errors.As(got.Err, &e) || e.Op != "Irecv" || e.Text == "" || e.Bytes != n/2 {
				return fmt.Errorf("a message that is too long gives %v", got.Err)
			}
		}
	}
	// A message that cannot begin is an error, and there is no request.
	if id, _, err := w.PromptSend(send, 8, size, 351); id != 0 || !errors.Is(err, driver.ErrInvalidArgument) {
		return fmt.Errorf("a message to rank %d of %d: %d, %v", size, size, id, err)
	}
	// A receive without a message is not done, and can be cancelled.
	id, _, err := w.PromptRecv(recv, 8, from, 352)
	if err != nil || id == 0 {
		return fmt.Errorf("a receive without a message: request %d, %v", id, err)
	}
	if err := r.e.Cancel(id); err != nil {
		return err
	}
	if st := r.wait(id); !st.Cancelled || st.Err != nil {
		return fmt.Errorf("a cancelled receive ended as %+v", st)
	}
	return r.exchange(r.w, send, unsafe.Add(recv, 64), 8, 353)
}
