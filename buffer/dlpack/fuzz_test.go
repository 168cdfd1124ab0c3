package dlpack

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
)

// FuzzTensor has the checks see the values of a struct, with nothing behind its addresses, and compares what they let
// pass with a plain computation on numbers without limits.
func FuzzTensor(f *testing.F) {
	dims := func(n ...int64) []byte {
		var b []byte
		for _, v := range n {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
		return b
	}
	f.Add(uint64(4096), uint64(0), int32(1), int32(0), int32(2), uint32(1<<16|32<<8|2), dims(2, 3), dims(3, 1), true)
	f.Add(uint64(4096), uint64(64), int32(1), int32(0), int32(2), uint32(1<<16|32<<8|2), dims(2, 3), dims(-3, 1), true)
	f.Add(uint64(4097), uint64(0), int32(1), int32(0), int32(1), uint32(1<<16|32<<8|2), dims(2), dims(1), true)
	f.Add(uint64(4096), uint64(0), int32(1), int32(0), int32(1), uint32(1<<16|32<<8|2), dims(2), dims(-1<<60), true)
	f.Add(uint64(1<<63), uint64(1<<63-4), int32(1), int32(0), int32(1), uint32(1<<16|32<<8|2), dims(1), dims(1), true)
	f.Add(uint64(4096), uint64(0), int32(2), int32(1), int32(1), uint32(1<<16|32<<8|2), dims(math.MaxInt64), dims(math.MaxInt64), false)
	f.Add(uint64(1), uint64(8), int32(4), int32(0), int32(3), uint32(1<<16|64<<8|2), dims(2, 1<<31, 1<<31), dims(0, math.MinInt64, -1), true)
	f.Fuzz(func(t *testing.T, data, offset uint64, device, id, ndim int32, dtype uint32, shapeBytes, strideBytes []byte, strided bool) {
		c := cTensor{data: uintptr(data), device: abi.Device{Type: abi.DeviceType(device), ID: id}, ndim: ndim, shape: 8, byteOffset: offset,
			dtype: abi.DataType{Code: abi.TypeCode(dtype), Bits: uint8(dtype >> 8), Lanes: uint16(dtype >> 16)}}
		if checkRank("fuzz", &c) != nil {
			return
		}
		if ndim < 0 || ndim > array.MaxRank {
			t.Fatalf("%d axes pass", ndim)
		}
		read := func(b []byte) []int64 {
			s := make([]int64, ndim)
			for i := range s {
				if len(b) >= 8*(i+1) {
					s[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
				}
			}
			return s
		}
		shape := read(shapeBytes)
		var strides []int64
		if strided {
			strides = read(strideBytes)
		}
		tensor, err := describe("fuzz", &c, shape, strides)
		if err != nil {
			return
		}
		p, err := tensor.cover("fuzz", abi.TypeOf[float32](), 4)
		if err != nil {
			return
		}
		count, lo, hi := big.NewInt(1), new(big.Int), new(big.Int)
		for i, e := range shape {
			count.Mul(count, big.NewInt(e))
			way := new(big.Int).Mul(big.NewInt(e-1), big.NewInt(tensor.Strides[i]))
			if way.Sign() < 0 {
				lo.Add(lo, way)
			} else {
				hi.Add(hi, way)
			}
			if !strided && i+1 < len(shape) && tensor.Strides[i] != tensor.Strides[i+1]*shape[i+1] {
				t.Fatalf("shape %v has strides %v by default", shape, tensor.Strides)
			}
		}
		if count.Sign() <= 0 || !count.IsInt64() {
			t.Fatalf("shape %v passes", shape)
		}
		origin := new(big.Int).SetUint64(offset)
		if abi.DeviceType(device) != abi.OpenCL {
			origin.Add(origin, new(big.Int).SetUint64(data))
		}
		start := new(big.Int).Add(origin, new(big.Int).Mul(lo, big.NewInt(4)))
		size := new(big.Int).Add(new(big.Int).Sub(hi, lo), big.NewInt(1))
		if p.n < 1 || size.Cmp(big.NewInt(int64(p.n))) != 0 {
			t.Fatalf("%d elements for %v", p.n, size)
		}
		size.Mul(size, big.NewInt(4))
		end := new(big.Int).Add(start, size)
		switch {
		case start.Sign() < 0 || start.Cmp(new(big.Int).SetUint64(p.start)) != 0:
			t.Fatalf("start %#x for %v", p.start, start)
		case size.Cmp(new(big.Int).SetUint64(p.size)) != 0 || p.size > math.MaxInt64:
			t.Fatalf("size %d for %v", p.size, size)
		case end.Cmp(new(big.Int).SetUint64(math.MaxUint64)) > 0:
			t.Fatalf("it ends at %v", end)
		case p.first < 0 || p.first >= p.n || -lo.Int64() != int64(p.first):
			t.Fatalf("first is %d of %d", p.first, p.n)
		case p.start%4 != 0 || data == 0 || tensor.dtype != abi.TypeOf[float32]() || id < 0:
			t.Fatalf("%+v passes", c)
		}
	})
}
