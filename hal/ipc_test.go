package hal_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

var someToken = hal.IPCHandle{Backend: "cuda", Device: hal.UUID{1, 2, 3}, Kind: hal.KindDevice, PID: 4321, Offset: 512, Size: 1 << 40,
	Handle: bytes.Repeat([]byte{0xAB}, 64)}

func TestTokensSurvive(t *testing.T) {
	long := someToken
	long.Backend, long.Handle = strings.Repeat("x", 16), bytes.Repeat([]byte{1, 0}, 128)
	for _, k := range []hal.IPCHandle{someToken, long, {Backend: "h", Kind: hal.KindShared, Size: 1, Handle: []byte{0}}} {
		raw, err := k.MarshalBinary()
		require.NoError(t, err)
		var back hal.IPCHandle
		require.NoError(t, back.UnmarshalBinary(raw))
		require.Equal(t, k, back)
		raw[72]++ // the token has its own copy
		require.Equal(t, k, back)

		text, err := json.Marshal(map[string]hal.IPCHandle{"token": k})
		require.NoError(t, err)
		var m map[string]hal.IPCHandle
		require.NoError(t, json.Unmarshal(text, &m))
		require.Equal(t, k, m["token"])
	}
}

// Every byte of a token counts.
func TestChangedTokensAreRefused(t *testing.T) {
	raw, err := someToken.MarshalBinary()
	require.NoError(t, err)
	before := someToken
	for i := range raw {
		for _, bit := range []byte{1, 0x80} {
			changed := bytes.Clone(raw)
			changed[i] ^= bit
			require.ErrorIs(t, before.UnmarshalBinary(changed), hal.ErrInvalidArgument, "byte %d", i)
		}
		require.ErrorIs(t, before.UnmarshalBinary(raw[:i]), hal.ErrInvalidArgument)
	}
	require.ErrorIs(t, before.UnmarshalBinary(append(raw, 0)), hal.ErrInvalidArgument)
	require.Equal(t, someToken, before)
}

func TestTokensThatNobodyExported(t *testing.T) {
	for what, change := range map[string]func(*hal.IPCHandle){
		"no backend":        func(k *hal.IPCHandle) { k.Backend = "" },
		"a long backend":    func(k *hal.IPCHandle) { k.Backend = strings.Repeat("x", 17) },
		"a zero in a name":  func(k *hal.IPCHandle) { k.Backend = "cu\x00da" },
		"no kind":           func(k *hal.IPCHandle) { k.Kind = 0 },
		"an unknown kind":   func(k *hal.IPCHandle) { k.Kind = 4 },
		"no bytes":          func(k *hal.IPCHandle) { k.Size = 0 },
		"too many bytes":    func(k *hal.IPCHandle) { k.Size = 1 << 63 },
		"past the end":      func(k *hal.IPCHandle) { k.Offset = math.MaxInt64 },
		"no handle":         func(k *hal.IPCHandle) { k.Handle = nil },
		"an endless handle": func(k *hal.IPCHandle) { k.Handle = make([]byte, 257) },
	} {
		k := someToken
		change(&k)
		_, err := k.MarshalBinary()
		require.ErrorIs(t, err, hal.ErrInvalidArgument, what)
	}
}

func FuzzToken(f *testing.F) {
	raw, err := someToken.MarshalBinary()
	require.NoError(f, err)
	f.Add(raw)
	f.Add(raw[:60])
	f.Add([]byte("HYIP"))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := hal.IPCHandle{Backend: "untouched"}
		k := before
		if err := k.UnmarshalBinary(b); err != nil {
			require.ErrorIs(t, err, hal.ErrInvalidArgument)
			require.Equal(t, before, k)
			return
		}
		again, err := k.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, b, again, "one token has one form")
	})
}
