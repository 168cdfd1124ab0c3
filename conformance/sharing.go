package conformance

import (
	"bytes"
	"fmt"
	"os"

	"github.com/go-halyard/halyard/hal"
)

var sharingChecks = []Check{
	{Name: "TokenDescribesMemory", Rule: "A memory's IPC handle has its size, kind, device and process, and is the same after conversion to bytes or text and back.", Needs: hal.CapIPC, run: tokenDescribes},
	{Name: "OwnTokenRejected", Rule: "A process cannot open an IPC handle that it exported.", Needs: hal.CapIPC, run: ownToken},
	{Name: "BadTokensRejected", Rule: "An IPC handle of another backend or other hardware is refused as wrong device, and an invalid one as an invalid argument.", Needs: hal.CapIPC, run: badTokens},
	{Name: "AnotherProcess", Rule: "Memory of another process can be opened several times, holds what that process wrote, and is closed one opening at a time.", Needs: hal.CapIPC, run: anotherProcess},
	{Name: "OnlyPlainMemory", Rule: "Exporting memory that cannot be shared is refused as unsupported, and closed memory as closed.", Needs: hal.CapIPC, run: onlyPlain},
}

func (t *trial) export(m *hal.Memory) hal.IPCHandle {
	token, err := m.IPCHandle()
	t.must(err, "export")
	return token
}

func tokenDescribes(t *trial) {
	for _, align := range []uint64{0, t.dev.Info().MaxAlign} {
		m, err := t.dev.Alloc(hal.KindDevice, 5000, align)
		t.must(err, "allocate")
		t.Cleanup(func() { t.must(m.Close(), "close") })
		k := t.export(m)
		i := t.dev.Info()
		t.want(k.Size == 5000 && k.Kind == hal.KindDevice && k.Backend == i.Backend && k.Device == i.UUID && k.PID == uint32(os.Getpid()) && len(k.Handle) > 0,
			"the IPC handle is %+v", k)
		raw, err := k.MarshalBinary()
		t.must(err, "marshal")
		var back hal.IPCHandle
		t.must(back.UnmarshalBinary(raw), "unmarshal")
		same, err := back.MarshalBinary()
		t.must(err, "marshal")
		t.want(bytes.Equal(raw, same), "the IPC handle changed in a conversion: %x, then %x", raw, same)
		t.same(same, raw, "the IPC handle")
	}
}

func ownToken(t *trial) {
	m := t.filled(t.dev, t.random(64))
	k := t.export(m)
	t.refuses(hal.ErrInvalidArgument, "open an IPC handle of this process", func() error { return made(t.dev.OpenIPC(k)) }, m)
	other := t.Open()
	t.refuses(hal.ErrInvalidArgument, "open an IPC handle of this process on another handle of the device", func() error { return made(other.OpenIPC(k)) }, m)
}

func badTokens(t *trial) {
	m := t.filled(t.dev, t.random(64))
	k := t.export(m)
	edited := func(change func(*hal.IPCHandle)) hal.IPCHandle { x := k; change(&x); return x }
	for what, c := range map[string]struct {
		token hal.IPCHandle
		kind  error
	}{
		"all fields zero": {hal.IPCHandle{}, hal.ErrInvalidArgument},
		"another backend": {edited(func(x *hal.IPCHandle) { x.Backend = "other" }), hal.ErrWrongDevice},
		"other hardware":  {edited(func(x *hal.IPCHandle) { x.Device[0] ^= 0xff }), hal.ErrWrongDevice},
		"no bytes":        {edited(func(x *hal.IPCHandle) { x.Size = 0 }), hal.ErrInvalidArgument},
		"too many bytes":  {edited(func(x *hal.IPCHandle) { x.Size = 1 << 63 }), hal.ErrInvalidArgument},
		"no handle":       {edited(func(x *hal.IPCHandle) { x.Handle = nil }), hal.ErrInvalidArgument},
		"no kind":         {edited(func(x *hal.IPCHandle) { x.Kind = 0 }), hal.ErrInvalidArgument},
	} {
		t.refuses(c.kind, fmt.Sprintf("open an IPC handle with %s", what), func() error { return made(t.dev.OpenIPC(c.token)) }, m)
	}
}

func onlyPlain(t *trial) {
	for _, k := range kinds(t.dev) {
		if k == hal.KindDevice {
			continue
		}
		m := t.memory(t.dev, k, 64)
		t.refuses(hal.ErrUnsupported, fmt.Sprintf("export %v memory", k), func() error { _, err := m.IPCHandle(); return err }, m)
	}
	m := t.memory(t.dev, hal.KindDevice, 64)
	t.must(m.Close(), "close")
	_, err := m.IPCHandle()
	t.wantKind(err, hal.ErrClosed, "export closed memory")
}
