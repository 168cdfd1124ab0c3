//go:build vulkan

package vulkan

import (
	"bytes"
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

// libraryEnv names the Vulkan loader, or a driver that exports Vulkan's calls itself, to load instead of the usual ones.
const libraryEnv = "HALYARD_VULKAN_LIBRARY"

func libraryNames() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"vulkan-1.dll"}
	case "darwin":
		return []string{"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib",
			"/usr/local/lib/libvulkan.1.dylib", "/opt/homebrew/lib/libvulkan.1.dylib"}
	case "android":
		return []string{"libvulkan.so"}
	}
	return []string{"libvulkan.so.1", "libvulkan.so"}
}

// loadTable loads the Vulkan loader.
func loadTable() (*table, error) {
	lib, err := dl.Open(libraryEnv, libraryNames()...)
	if err != nil {
		return nil, err
	}
	return fillTable(lib)
}

// loadDevice returns the calls of a device.
func (t *table) loadDevice(handle uintptr) (*deviceTable, error) {
	d, err := loadDevice(func(name string) dl.Proc { return dl.ProcAt(t.deviceProc(handle, name)) })
	if err == nil && t.wrapped != nil {
		t.wrapped(d)
	}
	return d, err
}

// nameList are zero-terminated texts for C, and the array of their addresses.
type nameList struct{ list []unsafe.Pointer }

func (n *nameList) add(name string) { n.list = append(n.list, unsafe.Pointer(&dl.CString(name)[0])) }

func (n *nameList) len() uint32 { return uint32(len(n.list)) }

// address returns nil if there are no names.
func (n *nameList) address() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(n.list)) }

// extensionsOf returns the names that an enumeration of extensions gives. The number may grow between the two calls, which then
// say that the list is incomplete.
func extensionsOf(list func(n, to unsafe.Pointer) status) (map[string]bool, status) {
	for {
		n := new(uint32)
		if st := list(unsafe.Pointer(n), nil); st != success || *n == 0 {
			return nil, st
		}
		all := make([]extensionProperties, *n)
		st := list(unsafe.Pointer(n), unsafe.Pointer(&all[0]))
		if st == incomplete {
			continue
		}
		if st != success {
			return nil, st
		}
		have := make(map[string]bool, len(all))
		for _, e := range all[:min(int(*n), len(all))] {
			have[textOf(e.name[:])] = true
		}
		return have, success
	}
}

// textOf returns the text of an array up to its first zero byte.
func textOf(b []byte) string {
	before, _, _ := bytes.Cut(b, []byte{0})
	return string(before)
}
