package kernelcache

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// The format is written down: who changes it has to change schema, so that entries of both can be in one folder.
func TestEntryHasThisForm(t *testing.T) {
	img := &driver.Image{Format: driver.FormatPTX, Data: []byte("code"), Options: "-w", Params: map[string][]driver.Param{
		"k": {{Name: "x", Kind: driver.ParamPointer, Size: 8, Const: true}}, "a": nil}}
	key := Key(bytes.Repeat([]byte{0xaa}, 32))
	b := encode(key, img)
	require.Equal(t, "HALYKERN\x01\x00", string(b[:lengthAt]))
	require.Equal(t, "\x4c\x00\x00\x00\x00\x00\x00\x00", string(b[lengthAt:sumAt]))
	want := string(key[:]) + "\x01" + "\x02\x00\x00\x00-w" + "\x02\x00\x00\x00" +
		"\x01\x00\x00\x00a\x00\x00\x00\x00" +
		"\x01\x00\x00\x00k\x01\x00\x00\x00" + "\x01\x00\x00\x00x\x02\x08\x00\x00\x00\x01" + "code"
	require.Equal(t, want, string(b[headerSize:]))
	require.Len(t, want, 0x4c)
	require.Equal(t, int64(len(b)), sizeOf(img))
	require.Equal(t, img, decode(key, b))
	require.Equal(t, "772cda0d093786fd8b95f73ae495027c", NewKey("a", "b").String()[:32])
}

// Entries whose checksum is right, but which no cache has written, are refused.
func TestForgedEntriesAreRefused(t *testing.T) {
	key := NewKey()
	start := append(make([]byte, headerSize), key[:]...)
	for what, rest := range map[string]string{
		"nothing":               "",
		"no options":            "\x01",
		"options too long":      "\x01\xff\xff\xff\xff",
		"no kernels":            "\x01\x00\x00\x00\x00",
		"too many kernels":      "\x01\x00\x00\x00\x00\xff\xff\xff\xff",
		"kernels without bytes": "\x01\x00\x00\x00\x00\xff\xff\x0f\x00",
		"params without bytes":  "\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\x0f\x00",
		"name too long":         "\x01\x00\x00\x00\x00\x01\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00",
		"too many params":       "\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00" + "\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00",
		"const is 2":            "\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00" + "\x00\x00\x00\x00\x01\x00\x00\x00\x00\x02",
		"the same name":         "\x01\x00\x00\x00\x00\x02\x00\x00\x00" + "\x01\x00\x00\x00a\x00\x00\x00\x00" + "\x01\x00\x00\x00a\x00\x00\x00\x00",
		"names in disorder":     "\x01\x00\x00\x00\x00\x02\x00\x00\x00" + "\x01\x00\x00\x00b\x00\x00\x00\x00" + "\x01\x00\x00\x00a\x00\x00\x00\x00",
		"second name is cut":    "\x01\x00\x00\x00\x00\x02\x00\x00\x00" + "\x01\x00\x00\x00a\x00\x00\x00\x00" + "\x05\x00\x00\x00b\x00\x00\x00",
	} {
		b := append(bytes.Clone(start), rest...)
		seal(b)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		img := decode(key, b)
		runtime.ReadMemStats(&after)
		require.Nil(t, img, what)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), what)
	}
	good := append(bytes.Clone(start), "\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x01"...)
	seal(good)
	require.NotNil(t, decode(key, good))
}

// What decodes is what encode makes of the result; everything else is refused, without a panic and without memory for what is not there.
func FuzzDecode(f *testing.F) {
	key := NewKey("fuzz")
	for _, img := range []*driver.Image{example(), {Format: driver.FormatPTX, Data: []byte("x")}, {}} {
		f.Add(encode(key, img)[headerSize+len(key):], true)
		f.Add(encode(key, img), false)
	}
	f.Add([]byte("\x01\x00\x00\x00\x00\xff\xff\xff\x0f"), true)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed { // most bytes would never get beyond the checksum
			b = append(append(make([]byte, headerSize), key[:]...), b...)
			seal(b)
		}
		if img := decode(key, b); img != nil {
			require.Equal(t, b, encode(key, img))
			require.Nil(t, decode(NewKey("another"), b))
		}
	})
}
