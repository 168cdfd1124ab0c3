//go:build cuda && linked && cgo

package cuda

// The folders are the ones in which gorgonia.org/cu looks for CUDA.

// #cgo LDFLAGS: -lcuda
// #cgo linux LDFLAGS: -L/usr/local/cuda/lib64 -L/usr/local/cuda/lib -L/usr/lib/x86_64-linux-gnu -L/opt/cuda/lib64 -L/opt/cuda/lib
// #cgo linux CFLAGS: -I/usr/local/cuda/include -I/opt/cuda/include
// #cgo windows LDFLAGS: -LC:/cuda/v11.8/lib/x64 -LC:/cuda/12.0/lib/x64
// #cgo windows CFLAGS: -IC:/cuda/v11.8/include -IC:/cuda/v12.0/include
import "C"

import (
	"reflect"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
)

const binding = "linked"

// linked makes the driver's calls for devices and their contexts through gorgonia.org/cu. The package cannot make a context
// current and use it in one crossing from Go to C, so the calls that need a context are C functions, generated from calls.txt. Calls that
// the package or an older cuda.h lacks are loaded.
//
// cu.Ctx, the package's context type with its own goroutine, is not used. Instead the primary
// context is retained, and each call makes it current: other code may have set another one on the thread in the meantime.
type linked struct{ calls }

func bind(lib *dl.Library) (cudahip.API, error) {
	c, err := load(lib)
	return linked{c}, err
}

const unknown cudahip.Code = 999 // CUDA_ERROR_UNKNOWN

// status returns the driver's number of an error that the package returned. The error's type is not
// exported, so the number is read by reflection.
func status(err error) cudahip.Code {
	if err == nil {
		return cudahip.Success
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return cudahip.Code(uint32(v.Int()))
	}
	return unknown
}

// Version implements cudahip.API.
func (linked) Version() (int32, cudahip.Code) {
	if v := cu.Version(); v >= 0 {
		return int32(v), cudahip.Success
	}
	return 0, unknown
}

// DeviceCount implements cudahip.API.
func (linked) DeviceCount() (int32, cudahip.Code) {
	n, err := cu.NumDevices()
	return int32(n), status(err)
}

// DeviceGet implements cudahip.API.
func (linked) DeviceGet(ordinal int32) (int32, cudahip.Code) {
	d, err := cu.GetDevice(int(ordinal))
	return int32(d), status(err)
}

// DeviceName implements cudahip.API.
func (linked) DeviceName(dev int32) (string, cudahip.Code) {
	s, err := cu.Device(dev).Name()
	return s, status(err)
}

// DeviceTotal implements cudahip.API.
func (linked) DeviceTotal(dev int32) (uintptr, cudahip.Code) {
	n, err := cu.Device(dev).TotalMem()
	return uintptr(n), status(err)
}

// DeviceAttribute implements cudahip.API.
func (linked) DeviceAttribute(number, dev int32) (int32, cudahip.Code) {
	v, err := cu.Device(dev).Attribute(cu.DeviceAttribute(number))
	return int32(v), status(err)
}

// CanAccessPeer implements cudahip.API.
func (linked) CanAccessPeer(dev, peer int32) (int32, cudahip.Code) {
	can, err := cu.Device(dev).CanAccessPeer(cu.Device(peer))
	return int32(can), status(err)
}

// Retain implements cudahip.API. The package's context is a structure around one C pointer.
func (linked) Retain(dev int32) (cudahip.Context, cudahip.Code) {
	ctx, err := cu.Device(dev).RetainPrimaryCtx()
	return *(*cudahip.Context)(unsafe.Pointer(&ctx)), status(err)
}

// Release implements cudahip.API.
func (linked) Release(dev int32) cudahip.Code { return status(cu.Device(dev).ReleasePrimaryCtx()) }

// Launch implements cudahip.API.
func (t linked) Launch(ctx cudahip.Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, stream uintptr) cudahip.Code {
	return t.launch(ctx, kernel, l.Grid, l.Block, uint32(l.Shared), stream, params)
}
