package cudahiptest

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// tokenVariable passes the handle to import to a child process.
const tokenVariable = "HALYARD_TEST_TOKEN"

const sharedSize = 5000 // bytes

func shareBetweenProcesses(h *Harness, t *testing.T) {
	if token := os.Getenv(tokenVariable); token != "" {
		if err := child(h, token); err != nil {
			t.Fatal(err)
		}
		return
	}
	h.reset(t, 0)
	d := h.openHal(t, 0)
	// The alignment is larger than the vendor's own, so that the memory does not begin where the
	// vendor's allocation does.
	var m *hal.Memory
	for range 3 {
		x, err := d.Alloc(hal.KindDevice, sharedSize, 1<<16)
		ok(t, err)
		t.Cleanup(func() { ok(t, x.Close()) })
		m = x
	}
	ok(t, d.Write(t.Context(), m.All(), random(1, sharedSize)))
	token, err := m.IPCHandle()
	ok(t, err)
	if token.Size != sharedSize || token.PID != uint32(os.Getpid()) || token.Backend != d.Info().Backend || token.Device != d.Info().UUID {
		t.Errorf("the token is %+v", token)
	}
	_, err = d.OpenIPC(token)
	kind(t, err, hal.ErrInvalidArgument)

	raw, err := token.MarshalBinary()
	ok(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.v")
	cmd.Env = append(os.Environ(), tokenVariable+"="+hex.EncodeToString(raw))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the other process: %v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte(imported)) {
		t.Fatalf("the other process ran no test:\n%s", out)
	}
	got := make([]byte, sharedSize)
	ok(t, d.Read(t.Context(), got, m.All()))
	same(t, "after the other process wrote", got, random(2, sharedSize))
}

const imported = "the other process has read and written"

// refusesIPC returns an error if a device imports what does not fit a handle.
func refusesIPC(d *hal.Device, token hal.IPCHandle) error {
	for what, c := range map[string]struct {
		edit func(*hal.IPCHandle)
		want error
	}{
		"too many bytes":       {func(t *hal.IPCHandle) { t.Size += 1 << 20 }, hal.ErrOutOfRange},
		"too far on":           {func(t *hal.IPCHandle) { t.Offset += 1 << 20 }, hal.ErrOutOfRange},
		"no bytes":             {func(t *hal.IPCHandle) { t.Size = 0 }, hal.ErrInvalidArgument},
		"other hardware":       {func(t *hal.IPCHandle) { t.Device[3]++ }, hal.ErrWrongDevice},
		"another backend":      {func(t *hal.IPCHandle) { t.Backend = "other" }, hal.ErrWrongDevice},
		"a handle that is cut": {func(t *hal.IPCHandle) { t.Handle = t.Handle[:10] }, hal.ErrInvalidArgument},
		"shared memory":        {func(t *hal.IPCHandle) { t.Kind = hal.KindShared }, hal.ErrUnsupported},
		"a changed handle": {func(t *hal.IPCHandle) {
			t.Handle = bytes.Clone(t.Handle)
			t.Handle[0] ^= 1
		}, hal.ErrInvalidArgument},
	} {
		bad := token
		c.edit(&bad)
		if m, err := d.OpenIPC(bad); err == nil || !driverKind(err, c.want) {
			return fmt.Errorf("%s: imported %v, %v", what, m, err)
		}
	}
	return nil
}

// child imports the parent's memory twice, and reads and writes it.
func child(h *Harness, text string) error {
	ctx := context.Background()
	var token hal.IPCHandle
	raw, err := hex.DecodeString(text)
	if err == nil {
		err = token.UnmarshalBinary(raw)
	}
	if err != nil {
		return err
	}
	d, err := hal.OpenWith(ctx, h.backend, 0)
	if err != nil {
		return err
	}
	m, err := d.OpenIPC(token)
	if err != nil {
		return err
	}
	few := token
	few.Size = 100
	part, err := d.OpenIPC(few)
	if err != nil {
		return err
	}
	if part.Handle() != m.Handle() || part.Size() != 100 || part.Kind() != hal.KindDevice {
		return fmt.Errorf("the second import is %d bytes at %#x, the first at %#x", part.Size(), part.Handle(), m.Handle())
	}
	if err := part.Close(); err != nil {
		return err
	}
	if err := refusesIPC(d, token); err != nil {
		return err
	}
	got := make([]byte, sharedSize)
	if err := d.Read(ctx, got, m.All()); err != nil {
		return err
	}
	if !bytes.Equal(got, random(1, sharedSize)) {
		return fmt.Errorf("the imported memory has other bytes")
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	g, err := s.Gate()
	if err != nil {
		return err
	}
	// The mapping stays until the copy is done.
	if err := s.CopyIn(m.All(), random(2, sharedSize)); err != nil {
		return err
	}
	if _, err := m.IPCHandle(); err == nil {
		return fmt.Errorf("imported memory was exported")
	}
	if u := d.Usage(); u.Held != 0 {
		return fmt.Errorf("imported memory is counted as allocated: %+v", u)
	}
	for _, c := range []func() error{m.Close, g.Signal, s.Close, d.Close} {
		if err := c(); err != nil {
			return err
		}
	}
	if l := h.sim.Leaks(); len(l) > 0 {
		return fmt.Errorf("still alive: %q", l)
	}
	if v := h.sim.Violations(); len(v) > 0 {
		return fmt.Errorf("the driver's rules were broken: %q", v)
	}
	fmt.Println(imported)
	return nil
}

// badShares opens and exports memory in ways that the backend itself must refuse.
func badShares(h *Harness, t *testing.T) {
	h.reset(t, 0)
	a := h.open(t, 0)
	m := alloc(t, a, driver.KindDevice, 1000)
	share, err := a.(driver.IPCSharer).ExportIPC(m)
	ok(t, err)
	s := a.(driver.IPCSharer)
	for _, c := range []struct {
		share driver.IPCShare
		want  error
	}{
		{driver.IPCShare{}, driver.ErrInvalidArgument},
		{driver.IPCShare{Handle: share.Handle[:50], Size: 1000}, driver.ErrInvalidArgument},
		{driver.IPCShare{Handle: append(bytes.Clone(share.Handle), 0), Size: 1000}, driver.ErrInvalidArgument},
		{driver.IPCShare{Handle: share.Handle}, driver.ErrOutOfRange},
		{driver.IPCShare{Handle: share.Handle, Offset: 2, Size: 1<<64 - 1}, driver.ErrOutOfRange},
	} {
		_, err := s.OpenIPC(c.share)
		kind(t, err, c.want)
	}
	_, err = s.ExportIPC(alloc(t, a, driver.KindHost, 100))
	kind(t, err, driver.ErrUnsupported)
}
