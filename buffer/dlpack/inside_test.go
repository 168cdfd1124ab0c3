package dlpack

// What tests look at besides what programs do.

func (t Tensor) Data() uintptr      { return t.data }
func (t Tensor) ByteOffset() uint64 { return t.byteOffset }
func (t Tensor) Copied() bool       { return t.copied }
