//go:build opencl

package opencl

import (
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

// libraryEnv names the OpenCL library to load instead of the usual ones.
const libraryEnv = "HALYARD_OPENCL_LIBRARY"

func libraryNames() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"OpenCL.dll"}
	case "darwin":
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	return []string{"libOpenCL.so.1", "libOpenCL.so"}
}

// loadTable loads the OpenCL library. The functions of a table take objects as the vendor's handles, and host memory as an address;
// the caller keeps the memory alive. Each enqueue returns the command's event, which the caller releases.
func loadTable() (*table, error) {
	lib, err := dl.Open(libraryEnv, libraryNames()...)
	if err != nil {
		return nil, err
	}
	t, err := fillTable(lib)
	if err != nil {
		return nil, err
	}
	for _, f := range []any{t.svmFree, t.svmMemcpy, t.svmFill} {
		if reflect.ValueOf(f).IsNil() {
			t.svmAlloc = nil // a library has all calls of shared virtual memory, or counts as having none
		}
	}
	t.usm = func(platform uintptr) *usmTable {
		usm, _ := loadUSM(t.extensions(platform))
		return usm
	}
	t.il = func(platform uintptr) *ilTable {
		il, _ := loadIL(t.extensions(platform))
		return il
	}
	return t, nil
}

// extensions returns the function that finds functions of a platform's extensions.
func (t *table) extensions(platform uintptr) func(name string) dl.Proc {
	return func(name string) dl.Proc { return dl.ProcAt(t.extension(platform, name)) }
}

// platforms returns all platforms.
func (t *table) platforms() ([]uintptr, status) { return all(t.platformIDs) }

// devices returns all devices of a platform.
func (t *table) devices(platform uintptr) ([]uintptr, status) {
	return all(func(ids []uintptr) (uint32, status) { return t.deviceIDs(platform, deviceTypeAll, ids) })
}

// all returns a list of handles. get fills in as many as there is room for, and returns how many there are. It is called once unless there
// are very many: a driver may take seconds.
func all(get func(ids []uintptr) (uint32, status)) ([]uintptr, status) {
	ids := make([]uintptr, 64)
	n, st := get(ids)
	if st == success && int(n) > len(ids) {
		ids = make([]uintptr, n)
		n, st = get(ids)
	}
	if st != success {
		return nil, st
	}
	return ids[:min(int(n), len(ids))], st
}

// createProgram makes a program of OpenCL C.
func (t *table) createProgram(context uintptr, source string) (uintptr, status) {
	return t.createSource(context, []unsafe.Pointer{address(dl.CString(source))}, uint64(len(source)))
}

// createBinaryProgram makes a program of a binary.
func (t *table) createBinaryProgram(context, device uintptr, code []byte) (uintptr, status) {
	program, loaded, st := t.createBinary(context, device, uint64(len(code)), []unsafe.Pointer{address(code)})
	if st == success && loaded != success {
		t.releaseProgram(program)
		return 0, loaded
	}
	return program, st
}

// compileProgram compiles a program that includes headers by their names.
func (t *table) compileProgram(program, device uintptr, options string, headers []uintptr, names []string) status {
	var list []unsafe.Pointer
	for _, name := range names {
		list = append(list, address(dl.CString(name)))
	}
	return t.compileSource(program, device, options, headers, list)
}

// address returns the address of the first byte, nil if the slice is nil.
func address(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// locked returns a table whose calls are made one at a time, under a lock. Only Oclgrind needs it. Oclgrind has no
// unified shared memory, so the table leaves that out.
func (t *table) locked() *table {
	guarded := *t
	guarded.usm = nil
	var mu sync.Mutex
	fields := reflect.ValueOf(&guarded).Elem()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if f.Kind() != reflect.Func || f.IsNil() {
			continue
		}
		// Reflection cannot set unexported fields, so this goes through the field's address.
		call := reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
		inner := reflect.ValueOf(call.Interface())
		call.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			mu.Lock()
			defer mu.Unlock()
			return inner.Call(args)
		}))
	}
	return &guarded
}
