package build

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/spirv"
)

// doubling is a kernel without parameters that computes 2 * 3 and leaves it.
func doubling() *Module {
	m := New()
	c, _ := m.Function(m.Type(OpTypeVoid))
	i := m.Int(32)
	v := c.Variable(i)
	c.Do(OpStore, v, c.Op(OpIMul, i, m.Const(32, 2), m.Const(32, 3)))
	c.Do(OpReturn)
	c.Do(OpStore, v, m.Const(32, 2)) // never reached, so it is left out
	c.End()
	m.Entry("k_double", c.ID)
	return m
}

func TestModuleAsText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `OpCapability 1
OpCapability 5347
OpMemoryModel 5348 1
OpEntryPoint 5 %2 "k_double"
OpExecutionMode %2 17 1 1 1
%1 = OpTypeVoid
%4 = OpTypeFunction %1
%5 = OpTypeInt 32 0
%7 = OpTypePointer 7 %5
%8 = OpConstant %5 2
%9 = OpConstant %5 3
%2 = OpFunction %1 0 %4
%3 = OpLabel
%6 = OpVariable %7 7
%10 = OpIMul %5 %8 %9
OpStore %6 %10
OpReturn
OpFunctionEnd
`, Text(doubling().Words()))
}

// What is packed comes back, and what is damaged is an error and no panic.
func TestPack(t *testing.T) {
	t.Parallel()
	words := doubling().Words()
	var packer Packer
	packed := packer.Pack(words)
	var unpacker spirv.Unpacker
	data, err := unpacker.Unpack(packed)
	require.NoError(t, err)
	var want []byte
	for _, w := range words {
		want = binary.LittleEndian.AppendUint32(want, w)
	}
	assert.Equal(t, want, data)
	assert.Less(t, len(packed), len(data)/2)
	for n := range len(packed) - 4 {
		if n%4 == 0 {
			continue
		}
		_, err := new(spirv.Unpacker).Unpack(packed[:n])
		assert.Error(t, err, "%d of %d bytes", n, len(packed))
	}
	for _, damaged := range []string{"////", "AAQA", "AAQB", "AP////8PAQ=="} { // the last three: what comes again is 0 bytes back, before the module, and too long
		_, err = new(spirv.Unpacker).Unpack(damaged)
		assert.Error(t, err, damaged)
	}

	again := packer.Pack(words)
	assert.Less(t, len(again), 20, "the same module once more")
	data, err = unpacker.Unpack(again)
	require.NoError(t, err)
	assert.Equal(t, want, data)
	_, err = new(spirv.Unpacker).Unpack(again)
	assert.Error(t, err, "without the module before")
}

// A kernel without arguments has none for parts either.
func TestPartsOfAKernelWithoutArguments(t *testing.T) {
	t.Parallel()
	data, err := new(spirv.Unpacker).Unpack(new(Packer).Pack(doubling().Words()))
	require.NoError(t, err)
	_, err = spirv.Parts(data)
	require.ErrorContains(t, err, "it has no arguments")
}
