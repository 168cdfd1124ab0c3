package main

// The output, which is written while the next piece is made. Nothing here uses Halyard.

import "io"

// writer writes pieces to a file on a goroutine of its own: while one is written, the next is made.
type writer struct {
	out    io.WriterAt
	pieces [2][]byte
	turn   int
	work   chan piece
	done   chan error // one for each piece
	busy   int        // pieces whose result has not been received from done
}

type piece struct {
	b  []byte
	at int64
}

func newWriter(out io.WriterAt) *writer {
	w := &writer{out: out, work: make(chan piece, 1), done: make(chan error, 2)}
	go func() {
		defer close(w.done)
		for p := range w.work {
			_, err := w.out.WriteAt(p.b, p.at)
			w.done <- err
		}
	}()
	return w
}

// next returns memory for a piece of n bytes, to be passed to write before the next one is asked for.
func (w *writer) next(n int) []byte {
	b := w.pieces[w.turn]
	if cap(b) < n {
		b = make([]byte, n)
	}
	w.pieces[w.turn] = b[:n]
	return b[:n]
}

// write hands a piece over. It waits for the piece before, whose memory is used next, and returns its error.
func (w *writer) write(b []byte, at int64) (err error) {
	if w.busy > 0 {
		err = <-w.done
		w.busy--
	}
	w.work <- piece{b, at}
	w.busy++
	w.turn = 1 - w.turn
	return err
}

// close waits for the pieces under way, and returns their first error.
func (w *writer) close() (err error) {
	close(w.work)
	for e := range w.done {
		if err == nil {
			err = e
		}
	}
	return err
}
