package dlpack

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/dlpack/internal/abi"
	"github.com/go-halyard/halyard/internal/testing/dlpacktest"
)

// TestLayoutIsCs compares the structs with what a C compiler makes of them.
func TestLayoutIsCs(t *testing.T) {
	peer := dlpacktest.Load(t)
	var (
		tensor    cTensor
		legacy    cLegacy
		versioned cVersioned
		version   cVersion
		device    abi.Device
		dtype     abi.DataType
	)
	want := []struct {
		name  string
		value uintptr
	}{
		{"tensor", unsafe.Sizeof(tensor)},
		{"tensor.data", unsafe.Offsetof(tensor.data)},
		{"tensor.device", unsafe.Offsetof(tensor.device)},
		{"tensor.ndim", unsafe.Offsetof(tensor.ndim)},
		{"tensor.dtype", unsafe.Offsetof(tensor.dtype)},
		{"tensor.shape", unsafe.Offsetof(tensor.shape)},
		{"tensor.strides", unsafe.Offsetof(tensor.strides)},
		{"tensor.byteOffset", unsafe.Offsetof(tensor.byteOffset)},
		{"legacy", unsafe.Sizeof(legacy)},
		{"legacy.tensor", unsafe.Offsetof(legacy.tensor)},
		{"legacy.context", unsafe.Offsetof(legacy.context)},
		{"legacy.deleter", unsafe.Offsetof(legacy.deleter)},
		{"versioned", unsafe.Sizeof(versioned)},
		{"versioned.version", unsafe.Offsetof(versioned.version)},
		{"versioned.context", unsafe.Offsetof(versioned.context)},
		{"versioned.deleter", unsafe.Offsetof(versioned.deleter)},
		{"versioned.flags", unsafe.Offsetof(versioned.flags)},
		{"versioned.tensor", unsafe.Offsetof(versioned.tensor)},
		{"version", unsafe.Sizeof(version)},
		{"version.minor", unsafe.Offsetof(version.minor)},
		{"device", unsafe.Sizeof(device)},
		{"device.ID", unsafe.Offsetof(device.ID)},
		{"dtype", unsafe.Sizeof(dtype)},
		{"dtype.Code", unsafe.Offsetof(dtype.Code)},
		{"dtype.Bits", unsafe.Offsetof(dtype.Bits)},
		{"dtype.Lanes", unsafe.Offsetof(dtype.Lanes)},
		{"CPU", uintptr(abi.CPU)}, {"CUDA", uintptr(abi.CUDA)}, {"CUDAHost", uintptr(abi.CUDAHost)}, {"OpenCL", uintptr(abi.OpenCL)},
		{"ROCm", uintptr(abi.ROCm)}, {"ROCmHost", uintptr(abi.ROCmHost)}, {"CUDAManaged", uintptr(abi.CUDAManaged)}, {"OneAPI", uintptr(abi.OneAPI)},
		{"Int", uintptr(abi.Int)}, {"Uint", uintptr(abi.Uint)}, {"Float", uintptr(abi.Float)}, {"Complex", uintptr(abi.Complex)}, {"Bool", uintptr(abi.Bool)},
	}
	got := make([]uint64, len(want))
	peer.Layout.Call1(uintptr(unsafe.Pointer(&got[0])))
	for i, w := range want {
		require.EqualValues(t, got[i], w.value, w.name)
	}
}
