package encode_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/encode"
)

// tensor is the entry of a tensor in the header of a safetensors file.
type tensor struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// load reads a tensor of float32 from a safetensors file: the length of a header in 8 bytes, the header in JSON, and the elements of all tensors.
func load(ctx context.Context, file io.ReaderAt, name string) (*buffer.Buffer[float32], []int, error) {
	var length uint64
	if err := binary.Read(io.NewSectionReader(file, 0, 8), binary.LittleEndian, &length); err != nil || length > 100<<20 {
		return nil, nil, fmt.Errorf("no safetensors file: %w", err)
	}
	var header map[string]json.RawMessage
	if err := json.NewDecoder(io.NewSectionReader(file, 8, int64(length))).Decode(&header); err != nil {
		return nil, nil, err
	}
	var t tensor
	if err := json.Unmarshal(header[name], &t); err != nil || t.DType != "F32" || t.Offsets[1] < t.Offsets[0] {
		return nil, nil, fmt.Errorf("%s is %q, not a tensor of F32: %w", name, t.DType, err)
	}
	elements := io.NewSectionReader(file, 8+int64(length)+t.Offsets[0], t.Offsets[1]-t.Offsets[0])
	b, err := buffer.New[float32](int(elements.Size() / 4))
	if err == nil {
		_, err = encode.Of(ctx, b).ReadFrom(elements)
	}
	return b, t.Shape, err
}

// A tensor of a safetensors file becomes a buffer.
func Example_safetensors() {
	file := bytes.NewBuffer(nil)
	header := `{"__metadata__":{"format":"pt"},"bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"weight":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]}}`
	_ = binary.Write(file, binary.LittleEndian, uint64(len(header)))
	file.WriteString(header)
	_ = binary.Write(file, binary.LittleEndian, []float32{-1, -2, 1, 2, 3, 4, 5, 6})

	b, shape, err := load(context.Background(), bytes.NewReader(file.Bytes()), "weight")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	err = b.View(context.Background(), func(x []float32) error { _, err := fmt.Println(shape, x); return err })
	_, _, missing := load(context.Background(), bytes.NewReader(file.Bytes()), "scale")
	fmt.Println(err, missing != nil)
	// Output:
	// [2 3] [1 2 3 4 5 6]
	// <nil> true
}
