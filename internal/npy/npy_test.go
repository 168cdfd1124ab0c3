package npy_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/npy"
)

// file is a header as some program might write it, behind the magic string.
func file(version byte, dict string) string {
	size := string([]byte{byte(len(dict)), byte(len(dict) >> 8)})
	if version > 1 {
		size += "\x00\x00"
	}
	return "\x93NUMPY" + string(version) + "\x00" + size + dict
}

func TestHeadersOfOtherPrograms(t *testing.T) {
	f4 := npy.Type{Kind: 'f', Size: 4}
	for name, c := range map[string]struct {
		text string
		want npy.Header
	}{
		"NumPy":                {file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n"), npy.Header{Type: f4, Shape: []int{3, 4}}},
		"version 2":            {file(2, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }\n"), npy.Header{Type: f4, Fortran: true, Shape: []int{3, 4}}},
		"version 3":            {file(3, "{'descr': '>c16', 'fortran_order': False, 'shape': (3,), }\n"), npy.Header{Type: npy.Type{Kind: 'c', Size: 16}, BigEndian: true, Shape: []int{3}}},
		"Python 2":             {file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L), }\n"), npy.Header{Type: f4, Shape: []int{3, 4}}},
		"other order of keys":  {file(1, "{\"shape\":(),\"fortran_order\":False,\"descr\":\"<f4\"}"), npy.Header{Type: f4, Shape: []int{}}},
		"spaces and lines":     {file(1, " { 'descr' : '<f4' ,\n 'fortran_order' : False ,\t'shape' : ( 3 , 4 , ) } \n"), npy.Header{Type: f4, Shape: []int{3, 4}}},
		"no elements":          {file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }\n"), npy.Header{Type: f4, Shape: []int{0, 4}}},
		"Python 2, Unicode":    {file(1, "{u'descr': u'<f4', u\"fortran_order\": False, u'shape': (3L, 4L), }\n"), npy.Header{Type: f4, Shape: []int{3, 4}}},
		"booleans":             {file(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }\n"), npy.Header{Type: npy.Type{Kind: 'b', Size: 1}, Shape: []int{4}}},
		"byte order of a byte": {file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }\n"), npy.Header{Type: npy.Type{Kind: 'u', Size: 1}, Shape: []int{4}}},
		"a byte has no order":  {file(1, "{'descr': '>u1', 'fortran_order': False, 'shape': (4,), }\n"), npy.Header{Type: npy.Type{Kind: 'u', Size: 1}, Shape: []int{4}}},
		"a byte has none":      {file(1, "{'descr': '<u1', 'fortran_order': False, 'shape': (4,), }\n"), npy.Header{Type: npy.Type{Kind: 'u', Size: 1}, Shape: []int{4}}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want.Type.Size == 1 {
				c.want.BigEndian = native
			}
			r := strings.NewReader(c.text + "data")
			h, err := npy.ReadHeader(iotest.OneByteReader(r))
			require.NoError(t, err)
			require.Equal(t, c.want, h)
			require.Equal(t, 4, r.Len(), "nothing of the data is read")
		})
	}
}

// native is whether this machine is big-endian.
var native = func() bool {
	h, err := npy.NewHeader[int16](false, nil)
	return err == nil && h.BigEndian
}()

func TestBadHeadersAreRefused(t *testing.T) {
	dict := "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n"
	for _, c := range []struct {
		name, text string
		kind       error
	}{
		{"nothing", "", io.ErrUnexpectedEOF},
		{"magic cut", "\x93NUM", io.ErrUnexpectedEOF},
		{"no magic", strings.Repeat("\x93", 100), hal.ErrInvalidArgument},
		{"version 0", file(0, dict), hal.ErrUnsupported},
		{"version 4", file(4, dict), hal.ErrUnsupported},
		{"minor version", "\x93NUMPY\x01\x01" + file(1, dict)[8:], hal.ErrUnsupported},
		{"no length", "\x93NUMPY\x01\x00\x01", io.ErrUnexpectedEOF},
		{"cut", file(1, dict)[:40], io.ErrUnexpectedEOF},
		{"too long", "\x93NUMPY\x02\x00\x00\x00\x00\x80" + dict, hal.ErrUnsupported},
		{"empty", file(1, ""), hal.ErrInvalidArgument},
		{"no dictionary", file(1, "('descr',)"), hal.ErrInvalidArgument},
		{"not closed", file(1, dict[:len(dict)-2]), hal.ErrInvalidArgument},
		{"something behind", file(1, dict+"x"), hal.ErrInvalidArgument},
		{"key missing", file(1, "{'descr': '<f4', 'shape': (3, 4), }"), hal.ErrInvalidArgument},
		{"no keys", file(1, "{}"), hal.ErrInvalidArgument},
		{"unknown key", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), 'x': 1}"), hal.ErrInvalidArgument},
		{"key twice", file(1, "{'descr': '<f4', 'fortran_order': False, 'fortran_order': True, 'shape': (3, 4)}"), hal.ErrInvalidArgument},
		{"key no string", file(1, "{1: '<f4'}"), hal.ErrInvalidArgument},
		{"key without value", file(1, "{'descr'}"), hal.ErrInvalidArgument},
		{"string not closed", file(1, "{'descr': '<f4, }"), hal.ErrInvalidArgument},
		{"escape", file(1, "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (3, 4), }"), hal.ErrInvalidArgument},
		{"no comma", file(1, "{'descr': '<f4' 'fortran_order': False, 'shape': (3, 4), }"), hal.ErrInvalidArgument},
		{"order no bool", file(1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (3, 4), }"), hal.ErrInvalidArgument},
		{"shape no tuple", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': [3, 4], }"), hal.ErrInvalidArgument},
		{"shape a number", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3), }"), hal.ErrInvalidArgument},
		{"shape not closed", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4"), hal.ErrInvalidArgument},
		{"only a comma", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (,), }"), hal.ErrInvalidArgument},
		{"negative extent", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }"), hal.ErrInvalidArgument},
		{"octal extent", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (03,), }"), hal.ErrInvalidArgument},
		{"L in version 3", file(3, "{'descr': '<f4', 'fortran_order': False, 'shape': (3L,), }"), hal.ErrInvalidArgument},
		{"extent too large", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), hal.ErrOutOfRange},
		{"too many bytes", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }"), hal.ErrOutOfRange},
		{"product wraps", file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }"), hal.ErrOutOfRange},
		{"quarter precision", file(1, "{'descr': '<f1', 'fortran_order': False, 'shape': (3,), }"), hal.ErrUnsupported},
		{"wide boolean", file(1, "{'descr': '<b2', 'fortran_order': False, 'shape': (3,), }"), hal.ErrUnsupported},
		{"bytes as a key", file(1, "{b'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"), hal.ErrInvalidArgument},
		{"only a u", file(1, "{u"), hal.ErrInvalidArgument},
		{"object", file(1, "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"), hal.ErrUnsupported},
		{"date", file(1, "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }"), hal.ErrUnsupported},
		{"no type", file(1, "{'descr': '', 'fortran_order': False, 'shape': (3,), }"), hal.ErrUnsupported},
		{"size with a zero ahead", file(1, "{'descr': '<f04', 'fortran_order': False, 'shape': (3,), }"), hal.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := npy.ReadHeader(strings.NewReader(c.text))
			require.ErrorIs(t, err, c.kind)
			var e *hal.Error
			require.ErrorAs(t, err, &e)
			require.Zero(t, h)
		})
	}
	broken := errors.New("broken")
	for n := range 3 {
		_, err := npy.ReadHeader(io.MultiReader(strings.NewReader(file(1, dict)[:8*n]), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken)
	}
}

// What NumPy 2 writes for np.zeros((2, 3), '<i2'), but for the spaces that it leaves for the extent to grow.
func TestHeaderIsWhatNumPyWrites(t *testing.T) {
	b, err := npy.Header{Type: npy.Type{Kind: 'i', Size: 2}, Shape: []int{2, 3}}.Append([]byte("x"))
	require.NoError(t, err)
	dict := "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }"
	require.Equal(t, "x\x93NUMPY\x01\x00\x76\x00"+dict+strings.Repeat(" ", 117-len(dict))+"\n", string(b))
	for _, h := range []npy.Header{
		{Type: npy.Type{Kind: 'u', Size: 1}, BigEndian: native, Shape: []int{}},
		{Type: npy.Type{Kind: 'c', Size: 8}, BigEndian: true, Fortran: true, Shape: []int{1}},
		{Type: npy.Type{Kind: 'f', Size: 8}, Shape: slices.Repeat([]int{1}, 2000)},
	} {
		b, err := h.Append(nil)
		require.NoError(t, err)
		require.Zero(t, len(b)%64)
		got, err := npy.ReadHeader(bytes.NewReader(b))
		require.NoError(t, err)
		require.Equal(t, h, got)
	}
}

func TestBadInputIsRefused(t *testing.T) {
	f8 := npy.Type{Kind: 'f', Size: 8}
	for name, c := range map[string]struct {
		h    npy.Header
		kind error
	}{
		"no type":      {npy.Header{}, hal.ErrInvalidArgument},
		"odd type":     {npy.Header{Type: npy.Type{Kind: 'f', Size: 3}}, hal.ErrInvalidArgument},
		"negative":     {npy.Header{Type: f8, Shape: []int{-1}}, hal.ErrInvalidArgument},
		"too large":    {npy.Header{Type: f8, Shape: []int{math.MaxInt / 4}}, hal.ErrOutOfRange},
		"many factors": {npy.Header{Type: f8, Shape: slices.Repeat([]int{2}, 64)}, hal.ErrOutOfRange},
	} {
		_, err := c.h.Len()
		require.ErrorIs(t, err, c.kind, name)
		b, err := c.h.Append([]byte("x"))
		require.ErrorIs(t, err, c.kind, name)
		require.Equal(t, "x", string(b))
		_, err = npy.ReadData[float64](strings.NewReader(""), c.h)
		require.ErrorIs(t, err, c.kind, name)
	}
	b, err := npy.Header{Type: f8, Shape: slices.Repeat([]int{1}, 30000)}.Append([]byte("x"))
	require.ErrorIs(t, err, hal.ErrUnsupported)
	require.Equal(t, "x", string(b))

	_, err = npy.TypeOf[string]()
	require.ErrorIs(t, err, hal.ErrUnsupported)
	_, err = npy.TypeOf[int]()
	require.ErrorIs(t, err, hal.ErrUnsupported, "of no fixed size")
	var out bytes.Buffer
	for _, shape := range [][]int{{3}, {-1}, {math.MaxInt, math.MaxInt}} {
		n, err := npy.Write(&out, false, shape, []float32{1, 2})
		require.Error(t, err)
		require.Zero(t, n)
		_, err = npy.Append(nil, false, shape, []float32{1, 2})
		require.Error(t, err)
	}
	_, err = npy.Write(&out, false, []int{1}, []string{"x"})
	require.ErrorIs(t, err, hal.ErrUnsupported)
	_, err = npy.Append(nil, false, slices.Repeat([]int{1}, 30000), []float32{1})
	require.ErrorIs(t, err, hal.ErrUnsupported)
	_, err = npy.Write(&out, false, slices.Repeat([]int{1}, 30000), []float32{1})
	require.ErrorIs(t, err, hal.ErrUnsupported)
	require.Zero(t, out.Len())
}

type celsius float32

func TestDefinedTypesAreWhatTheyAreDefinedAs(t *testing.T) {
	f, err := npy.Append(nil, true, []int{1, 2}, []celsius{-1, 2})
	require.NoError(t, err)
	h, data, err := npy.Decode[float32](f)
	require.NoError(t, err)
	require.True(t, h.Fortran)
	require.Equal(t, []int{1, 2}, h.Shape)
	require.Equal(t, []float32{-1, 2}, data)
}

func swapped[T any](t *testing.T, data []T, unit int) {
	h, err := npy.NewHeader[T](false, []int{len(data)})
	require.NoError(t, err)
	whole, err := npy.Append(nil, false, []int{len(data)}, data)
	require.NoError(t, err)
	body := slices.Clone(whole[len(whole)-len(data)*h.Type.Size:])
	for i := 0; i < len(body); i += unit {
		slices.Reverse(body[i : i+unit])
	}
	h.BigEndian = !h.BigEndian
	r := bytes.NewReader(body)
	got, err := npy.ReadData[T](r, h)
	require.NoError(t, err)
	require.Equal(t, data, got)
	head, err := h.Append(nil)
	require.NoError(t, err)
	_, got, err = npy.Decode[T](append(head, body...))
	require.NoError(t, err)
	require.Equal(t, data, got)
}

func TestTheOtherByteOrder(t *testing.T) {
	swapped(t, []int8{1, -2}, 1)
	swapped(t, []uint16{1, 0x203}, 2)
	swapped(t, []int32{1, -0x2030405}, 4)
	swapped(t, []float64{1.5, math.Pi}, 8)
	swapped(t, []complex64{complex(1, 2), complex(-3, 0.1)}, 4)
	swapped(t, []complex128{complex(1, 2), complex(-3, 0.1)}, 8)
}

// Reading a file whose header states more than the file has costs no more than the file has.
func TestPromisesAreNotTrusted(t *testing.T) {
	h, err := npy.NewHeader[uint64](false, []int{math.MaxInt / 16})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = npy.ReadData[uint64](io.LimitReader(zeros{}, 3<<20), h)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
	_, _, err = npy.Decode[uint64](func() []byte { b, _ := h.Append(nil); return b }())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestLargeFilesAreReadInParts(t *testing.T) {
	data := make([]uint32, 1<<20+7)
	for i := range data {
		data[i] = uint32(i)
	}
	var out bytes.Buffer
	n, err := npy.Write(&out, false, []int{len(data)}, data)
	require.NoError(t, err)
	require.Equal(t, int64(out.Len()), n)
	h, err := npy.ReadHeader(&out)
	require.NoError(t, err)
	got, err := npy.ReadData[uint32](iotest.HalfReader(&out), h)
	require.NoError(t, err)
	require.True(t, slices.Equal(data, got))
}

func FuzzReadHeader(f *testing.F) {
	for _, dict := range []string{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n",
		"{\"shape\":(),\"fortran_order\":True,\"descr\":\"|i1\"}",
		"{'descr': '>c16', 'fortran_order': False, 'shape': (3L,), }\n",
		"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (99999999999999999999,), }",
	} {
		for v := range byte(4) {
			f.Add([]byte(file(v, dict)))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := npy.ReadHeader(bytes.NewReader(data))
		if err != nil {
			var e *hal.Error
			require.ErrorAs(t, err, &e)
			require.Zero(t, h)
			return
		}
		_, err = h.Len()
		require.NoError(t, err)
		b, err := h.Append(nil)
		if errors.Is(err, hal.ErrUnsupported) && len(h.Shape) > 10000 {
			return
		}
		require.NoError(t, err)
		again, err := npy.ReadHeader(bytes.NewReader(b))
		require.NoError(t, err)
		require.Equal(t, h, again)
	})
}

// Booleans are bytes that are 0 or 1, and of no other type than uint8. A header of them writes what NumPy writes.
func TestBooleans(t *testing.T) {
	h := npy.Header{Type: npy.Type{Kind: 'b', Size: 1}, BigEndian: native, Shape: []int{3}}
	b, err := h.Append(nil)
	require.NoError(t, err)
	require.Contains(t, string(b), "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }")
	b = append(b, 1, 0, 1)
	got, data, err := npy.Decode[uint8](b)
	require.NoError(t, err)
	require.Equal(t, h, got)
	require.Equal(t, []uint8{1, 0, 1}, data)
	data, err = npy.ReadData[uint8](bytes.NewReader(b[len(b)-3:]), got)
	require.NoError(t, err)
	require.Equal(t, []uint8{1, 0, 1}, data)
	_, _, err = npy.Decode[int8](b)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.ErrorContains(t, err, "the elements are of type b1, not i1")
	_, _, err = npy.Decode[uint16](b)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
}
