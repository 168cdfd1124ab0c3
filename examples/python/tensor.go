//go:build cgo

package main

// #include <stdint.h>
// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
	"unsafe"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// failed returns what the exported functions return: nil, or the text of an error, which tensor_free frees.
func failed(err error) *C.char {
	if err == nil {
		return nil
	}
	return C.CString(err.Error())
}

//export tensor_free
func tensor_free(text *C.char) { C.free(unsafe.Pointer(text)) }

// tensors are the buffers, by the numbers that Python has for them.
var tensors struct {
	sync.Mutex
	last C.int
	all  map[C.int]*buffer.Buffer[float32]
}

func tensor(id C.int) (*buffer.Buffer[float32], error) {
	tensors.Lock()
	defer tensors.Unlock()
	if b := tensors.all[id]; b != nil {
		return b, nil
	}
	return nil, hal.Errorf("tensor", hal.ErrInvalidArgument, "there is no tensor %d", id)
}

// device is where the elements are computed: a GPU if there is one, else another device, else the host.
var device = sync.OnceValues(func() (*hal.Stream, error) {
	dev, err := hal.Default(context.Background())
	if err != nil {
		return nil, err
	}
	return dev.NewStream()
})

//export tensor_new
func tensor_new(n C.longlong, id *C.int) *C.char {
	b, err := buffer.New[float32](int(n))
	if err != nil {
		return failed(err)
	}
	tensors.Lock()
	defer tensors.Unlock()
	if tensors.all == nil {
		tensors.all = map[C.int]*buffer.Buffer[float32]{}
	}
	tensors.last++
	tensors.all[tensors.last] = b
	*id = tensors.last
	return nil
}

// tensor_fill fills the elements on the device. It fails while Python has the elements, because they are lent.
//
//export tensor_fill
func tensor_fill(id C.int, value C.float) *C.char {
	b, err := tensor(id)
	if err != nil {
		return failed(err)
	}
	stream, err := device()
	if err != nil {
		return failed(err)
	}
	lease, err := b.TryAcquire(stream, coherence.Overwrite)
	if err != nil {
		return failed(err)
	}
	err = stream.Fill(lease.Region(), hal.Pattern32(math.Float32bits(float32(value))))
	return failed(errors.Join(err, lease.Release()))
}

// tensor_export lends the elements at the host, to be read and written. It waits for the device.
//
//export tensor_export
func tensor_export(id C.int, versioned bool, address *C.uintptr_t) *C.char {
	b, err := tensor(id)
	if err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m, err := dlpack.Export(ctx, b, dlpack.WithMode(coherence.ReadWrite), dlpack.WithLegacy(!versioned))
	*address = C.uintptr_t(m.Address)
	return failed(err)
}

// tensor_delete ends a loan that Python has not taken over.
//
//export tensor_delete
func tensor_delete(address C.uintptr_t, versioned bool) *C.char {
	return failed(dlpack.Managed{Address: uintptr(address), Legacy: !versioned}.Delete())
}

//export tensor_sum
func tensor_sum(id C.int, sum *C.double) *C.char {
	b, err := tensor(id)
	if err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return failed(b.View(ctx, func(v []float32) error {
		*sum = 0
		for _, x := range v {
			*sum += C.double(x)
		}
		return nil
	}))
}

//export tensor_close
func tensor_close(id C.int) *C.char {
	b, err := tensor(id)
	if err != nil {
		return failed(err)
	}
	if err := b.Close(); err != nil {
		return failed(err)
	}
	tensors.Lock()
	defer tensors.Unlock()
	delete(tensors.all, id)
	return nil
}
