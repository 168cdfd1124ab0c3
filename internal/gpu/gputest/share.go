package gputest

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

// tokenVariable tells a child process what to import: a token and a size, and which bytes it
// holds.
const tokenVariable = "HALYARD_TEST_TOKEN"

func shareBetweenProcesses(h *Harness, t *testing.T) {
	const size = 5000
	if token := os.Getenv(tokenVariable); token != "" {
		if err := child(h, token, size); err != nil {
			t.Fatal(err)
		}
		return
	}
	h.reset(t, 0)
	d := h.open(t, 0)
	s := newStream(t, d)
	// Aligned beyond the vendor's own alignment, so that the memory does not begin where the
	// vendor's allocation does.
	var m driver.Memory
	for range 3 {
		x, err := d.Alloc(driver.KindDevice, size, 1<<16)
		ok(t, err)
		t.Cleanup(func() { ok(t, x.Free()) })
		m = x
	}
	write(t, s, whole(m), random(1, size))
	token, err := d.(driver.Sharer).Export(m)
	ok(t, err)

	_, err = d.(driver.Sharer).Import(token, size)
	if err == nil {
		t.Error("a process imported its own memory")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), tokenVariable+"="+hex.EncodeToString(token))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the other process: %v\n%s", err, out)
	}
	same(t, "after the other process wrote", read(t, s, whole(m)), random(2, size))
	h.sim.Clear() // the driver refused the import above and noted it
}

// child imports the parent's memory twice, reads and writes it.
func child(h *Harness, text string, size uint64) error {
	token, err := hex.DecodeString(text)
	if err != nil {
		return err
	}
	d, err := h.backend.Open(context.Background(), 0)
	if err != nil {
		return err
	}
	sharer := d.(driver.Sharer)
	m, err := sharer.Import(token, size)
	if err != nil {
		return err
	}
	part, err := sharer.Import(token, 100)
	if err != nil {
		return err
	}
	if part.Handle() != m.Handle() || part.Size() != 100 {
		return fmt.Errorf("the second import is %d bytes at %#x, the first at %#x", part.Size(), part.Handle(), m.Handle())
	}
	if err := part.Free(); err != nil {
		return err
	}
	s, err := d.NewStream(driver.StreamOptions{})
	if err != nil {
		return err
	}
	got := make([]byte, size)
	if err := s.CopyOut(at(got), whole(m)); err != nil {
		return err
	}
	if err := s.Sync(); err != nil {
		return err
	}
	if !bytes.Equal(got, random(1, int(size))) {
		return fmt.Errorf("the imported memory has other bytes")
	}
	if err := s.CopyIn(whole(m), at(random(2, int(size)))); err != nil {
		return err
	}
	if err := s.Sync(); err != nil {
		return err
	}
	for _, c := range []func() error{s.Close, m.Free, d.Close} {
		if err := c(); err != nil {
			return err
		}
	}
	if l := h.sim.Leaks(); len(l) > 0 {
		return fmt.Errorf("still alive: %q", l)
	}
	return nil
}

func badTokens(h *Harness, t *testing.T) {
	h.reset(t, 0)
	a, b := h.open(t, 0), h.open(t, 1)
	m := alloc(t, a, driver.KindDevice, 1000)
	token, err := a.(driver.Sharer).Export(m)
	ok(t, err)
	edit := func(at int) []byte {
		c := bytes.Clone(token)
		c[at] ^= 1
		return c
	}
	s := a.(driver.Sharer)
	for _, c := range []struct {
		token []byte
		size  uint64
		want  error
	}{
		{nil, 1000, driver.ErrInvalidArgument},
		{token[:50], 1000, driver.ErrInvalidArgument},
		{append(bytes.Clone(token), 0), 1000, driver.ErrInvalidArgument},
		{edit(0), 1000, driver.ErrInvalidArgument},
		{edit(4), 1000, driver.ErrInvalidArgument},
		{edit(6), 1000, driver.ErrWrongDevice},  // of another backend
		{edit(16), 1000, driver.ErrWrongDevice}, // of other hardware
		{token, 1001, driver.ErrOutOfRange},
		{token, 0, driver.ErrOutOfRange},
	} {
		_, err := s.Import(c.token, c.size)
		kind(t, err, c.want)
	}
	_, err = b.(driver.Sharer).Import(token, 1000)
	kind(t, err, driver.ErrWrongDevice)
	_, err = b.(driver.Sharer).Export(m)
	kind(t, err, driver.ErrWrongDevice)
	_, err = s.Export(alloc(t, a, driver.KindHost, 100))
	kind(t, err, driver.ErrUnsupported)
}
