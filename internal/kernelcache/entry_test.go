package kernelcache

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// The format is written down: who changes it has to change schema, so that entries of both can be in one folder.
func TestEntryHasThisForm(t *testing.T) {
	img := &driver.Image{Format: driver.FormatPTX, Data: []byte("code"), Options: "-w\xff", Params: map[string][]driver.Param{
		"k": {{Name: "x", Kind: driver.ParamPointer, Size: 8, Const: true}}, "a": nil}}
	key := Key(bytes.Repeat([]byte{1}, 32))
	b := encode(key, img)
	text := `{"Key":"` + strings.Repeat("01", 32) + `","Format":1,"Options":"LXf/","Params":{"a":null,"k":[{"Name":"x","Kind":2,"Size":8,"Const":true}]}}`
	require.Equal(t, "HALYKERN\x02\x00", string(b[:lengthAt]))
	require.Equal(t, uint64(len(b)-headerSize), binary.LittleEndian.Uint64(b[lengthAt:]))
	require.Equal(t, uint32(len(text)), binary.LittleEndian.Uint32(b[headerSize:]))
	require.Equal(t, text+"code", string(b[headerSize+4:]))
	require.Equal(t, img, decode(key, b))
	require.Nil(t, decode(NewKey("another"), b))
}

// sealed returns an entry with a right checksum and this content.
func sealed(content []byte) []byte {
	b := append(make([]byte, headerSize), content...)
	seal(b)
	return b
}

// Entries whose checksum is right, but which no cache has written, are refused.
func TestForgedEntriesAreRefused(t *testing.T) {
	key := NewKey()
	good := encode(key, example())[headerSize:]
	for what, content := range map[string][]byte{
		"nothing":                   nil,
		"no description":            {0, 0, 0, 0},
		"a description beyond":      {1, 0, 0, 0},
		"a description far beyond":  {0xff, 0xff, 0xff, 0xff},
		"a description of nonsense": append([]byte{2, 0, 0, 0}, "[]"...),
		"a description that is cut": good[:len(good)/2],
		"another key":               encode(NewKey("another"), example())[headerSize:],
	} {
		b := sealed(content)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		img := decode(key, b)
		runtime.ReadMemStats(&after)
		require.Nil(t, img, what)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), what)
	}
	require.Equal(t, example(), decode(key, sealed(good)))
}

// Whatever a file contains, decoding it does not panic, and what it gives can be stored and read again.
func FuzzDecode(f *testing.F) {
	key := NewKey("fuzz")
	for _, img := range []*driver.Image{example(), {Format: driver.FormatPTX, Data: []byte("x")}, {}} {
		f.Add(encode(key, img)[headerSize:], true)
		f.Add(encode(key, img), false)
	}
	f.Add([]byte("\xff\xff\xff\x0f"), true)
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		if whole { // most bytes would never get beyond the checksum
			b = sealed(b)
		}
		if img := decode(key, b); img != nil {
			require.Equal(t, img, decode(key, encode(key, img)))
			require.Nil(t, decode(NewKey("another"), b))
		}
	})
}
