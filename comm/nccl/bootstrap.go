package nccl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Bootstrap makes a communicator of ranks that know one address, host:port, and have no MPI. Rank 0 listens there, and the others try to connect
// until ctx ends, in any order. If one of them cannot take part, the call fails at all of them.
//
// Rank 0 sends NCCL's id unencrypted to every process that connects, and NCCL's own connections are not protected either. Use a network that
// strangers cannot reach.
func Bootstrap(ctx context.Context, addr string, rank, size int, dev *hal.Device) (*Comm, error) {
	const op = "Bootstrap"
	if err := checkRank(op, rank, size); err != nil {
		return nil, err
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		e := driver.Errorf(op, driver.ErrInvalidArgument, "the address is not host:port")
		e.Err = err
		return nil, e
	}
	var id ID
	l, err := libraryOf(op, dev)
	if err == nil && rank == 0 {
		id, err = l.newID(op)
	}
	if id, err = exchange(ctx, addr, rank, size, id, err); err != nil {
		return nil, err
	}
	return join(ctx, op, l, id, rank, size, dev)
}

// Each other rank sends rank 0 a hello: the magic number, its rank, the number of ranks, and a text that says why it cannot take part, or is
// empty. When all hellos have come, rank 0 answers each with the magic number, a text that says why there is no communicator, or is empty, and
// the id. The length of a text comes before it.
const (
	magic   = uint32(0x48_4e_43_31) // "HNC1"
	longest = 512                   // bytes of a text
	redial  = 20 * time.Millisecond
	hello   = 5 * time.Second // how long a process that has connected may take for its hello
)

// exchange gives every rank the id of rank 0. It fails at all ranks if failed is not nil at one of them.
func exchange(ctx context.Context, addr string, rank, size int, id ID, failed error) (ID, error) {
	if size == 1 {
		return id, failed
	}
	if rank == 0 {
		return id, serve(ctx, addr, size, id, failed)
	}
	return fetch(ctx, addr, rank, size, failed)
}

func putText(b []byte, text string) []byte {
	if len(text) > longest {
		text = text[:longest]
	}
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
}

func readText(r io.Reader) (string, error) {
	var n [2]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return "", err
	}
	if binary.BigEndian.Uint16(n[:]) > longest {
		return "", errors.New("a text is too long")
	}
	text := make([]byte, binary.BigEndian.Uint16(n[:]))
	_, err := io.ReadFull(r, text)
	return string(text), err
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// guest is a rank that has connected.
type guest struct {
	conn       net.Conn
	rank, size int
	failed     string
}

// serve waits for the hellos of all other ranks, and answers them.
func serve(ctx context.Context, addr string, size int, id ID, failed error) error {
	const op = "Bootstrap"
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		if failed != nil {
			return failed
		}
		return networkError(ctx, op, fmt.Sprintf("rank 0 cannot listen at %s", addr), err)
	}
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	guests := make(chan guest)
	done := make(chan struct{})
	defer func() {
		stop()
		ln.Close()
		close(done)
	}()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go welcome(conn, guests, done)
		}
	}()
	all := make([]net.Conn, size)
	var refused []net.Conn
	defer func() {
		for _, c := range append(all, refused...) {
			if c != nil {
				c.Close()
			}
		}
	}()
	problem := textOf(failed)
	var disagree error
	for joined := 1; joined < size && disagree == nil; {
		select {
		case g := <-guests:
			switch {
			case g.size != size || g.rank <= 0 || g.rank >= size:
				disagree = driver.Errorf(op, driver.ErrMismatch, "a process says that it is rank %d of %d, but at rank 0 there are %d ranks", g.rank, g.size, size)
			case all[g.rank] != nil:
				disagree = driver.Errorf(op, driver.ErrMismatch, "two processes say that they are rank %d", g.rank)
			default:
				all[g.rank] = g.conn
				joined++
				if g.failed != "" && problem == "" {
					problem = fmt.Sprintf("rank %d cannot take part: %s", g.rank, g.failed)
				}
				continue
			}
			refused = append(refused, g.conn)
		case <-ctx.Done():
			var missing []int
			for r := 1; r < size; r++ {
				if all[r] == nil {
					missing = append(missing, r)
				}
			}
			e := interrupted(ctx, op, driver.NoPeer, 0, 0)
			e.Detail = fmt.Sprintf("rank 0 listened at %s, and these ranks did not connect: %v", addr, missing)
			disagree = e
		}
	}
	if disagree != nil && problem == "" {
		problem = disagree.Error()
	}
	answer := putText(binary.BigEndian.AppendUint32(nil, magic), problem)
	answer = append(answer, id[:]...)
	var lost error
	for r, c := range append(slices.Clone(all), refused...) {
		if c == nil {
			continue
		}
		_ = c.SetDeadline(time.Now().Add(hello))
		if _, err := c.Write(answer); err != nil && lost == nil && r < size {
			e := driver.Errorf(op, driver.ErrRankLost, "the process closed its connection while rank 0 waited for the others")
			e.Peer, e.Err = r, err
			lost = e
		}
	}
	switch {
	case failed != nil:
		return failed
	case disagree != nil:
		return disagree
	case problem != "":
		return driver.Errorf(op, driver.ErrUnavailable, "%s", problem)
	}
	return lost
}

// welcome reads the hello of a process. It closes the connection to a process that speaks another protocol.
func welcome(conn net.Conn, guests chan<- guest, done <-chan struct{}) {
	_ = conn.SetDeadline(time.Now().Add(hello))
	var head [12]byte
	g := guest{conn: conn}
	_, err := io.ReadFull(conn, head[:])
	if err == nil && binary.BigEndian.Uint32(head[:]) == magic {
		g.rank, g.size = int(int32(binary.BigEndian.Uint32(head[4:]))), int(int32(binary.BigEndian.Uint32(head[8:])))
		if g.failed, err = readText(conn); err == nil {
			select {
			case guests <- g:
				return
			case <-done:
			}
		}
	}
	conn.Close()
}

// fetch connects to rank 0, and waits for its answer.
func fetch(ctx context.Context, addr string, rank, size int, failed error) (ID, error) {
	const op = "Bootstrap"
	say := binary.BigEndian.AppendUint32(nil, magic)
	say = binary.BigEndian.AppendUint32(say, uint32(rank))
	say = binary.BigEndian.AppendUint32(say, uint32(size))
	say = putText(say, textOf(failed))
	var last error
	for {
		id, problem, connected, err := call(ctx, addr, say)
		switch {
		case err == nil && failed != nil:
			return ID{}, failed
		case err == nil && problem == "":
			return id, nil
		case err == nil:
			return ID{}, driver.Errorf(op, driver.ErrUnavailable, "rank 0 says: %s", problem)
		case ctx.Err() != nil:
			if failed != nil {
				return ID{}, failed
			}
			e := interrupted(ctx, op, 0, 0, 0)
			e.Detail = fmt.Sprintf("no answer from %s", addr)
			if last != nil {
				e.Detail += ": " + last.Error()
			}
			return ID{}, e
		case connected && !strings.Contains(err.Error(), "reset"):
			// Something listens at addr, but closed the connection without an answer, or is not a rank 0.
			e := driver.Errorf(op, driver.ErrRankLost, "no answer from %s", addr)
			e.Peer, e.Err = 0, err
			return ID{}, e
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(redial):
		}
	}
}

// call is one attempt to reach rank 0.
func call(ctx context.Context, addr string, say []byte) (id ID, problem string, connected bool, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return id, "", false, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write(say); err != nil {
		return id, "", true, err
	}
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return id, "", true, err
	}
	if binary.BigEndian.Uint32(head[:]) != magic {
		return id, "", true, errors.New("it speaks another protocol")
	}
	if problem, err = readText(conn); err != nil {
		return id, "", true, err
	}
	_, err = io.ReadFull(conn, id[:])
	return id, problem, true, err
}

// networkError wraps an error of package net in an error of the kind that fits.
func networkError(ctx context.Context, op, detail string, err error) error {
	kind := driver.ErrEngine
	switch {
	case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
		kind = driver.ErrTimeout
	default:
		if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
			kind = driver.ErrInvalidArgument
		}
	}
	e := driver.Errorf(op, kind, "%s", detail)
	e.Err = err
	return e
}
