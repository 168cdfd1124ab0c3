package rtc

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// clash returns why hipRTC must not be loaded into this process, or "". It compiles with AMD's library comgr. Linux distributions may build that with a
// clang of its own on LLVM's shared library; if the shared clang of the same version is there already, as PoCL brings it along, both
// register the same options with that LLVM, which ends the process.
func clash(s *search) string {
	if runtime.GOOS != "linux" {
		return ""
	}
	mapped, _ := os.ReadFile("/proc/self/maps")
	return clashes(s.comgr(), mapped)
}

// clashes says whether the library at path can be loaded beside the files that are mapped.
func clashes(path string, mapped []byte) string {
	if path == "" || bytes.Contains(mapped, []byte("/"+filepath.Base(path))) {
		return "" // it has been loaded
	}
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	needs, _ := f.ImportedLibraries()
	for _, need := range needs {
		version, isLLVM := strings.CutPrefix(need, "libLLVM-")
		version, _, _ = strings.Cut(version, ".so")
		if clang := "libclang-cpp.so." + version; isLLVM && bytes.Contains(mapped, []byte("/"+clang)) {
			return path + " cannot be loaded beside " + clang + ", which another library of this process, such as PoCL, has loaded: " + need + ", which both use, would end the process"
		}
	}
	return ""
}

// comgr returns the path of the library that hipRTC compiles with, where the loader will most likely find it, or "".
func (s *search) comgr() string {
	names := []string{"libamd_comgr.so.2", "libamd_comgr.so.3"}
	folders := filepath.SplitList(getenv("LD_LIBRARY_PATH"))
	if filepath.IsAbs(s.exact) {
		folders = append(folders, filepath.Dir(s.exact))
	}
	cache, _ := os.ReadFile(loaderCache)
	for _, name := range names {
		for _, folder := range folders {
			if path := filepath.Join(folder, name); folder != "" && isFile(path) {
				return path
			}
		}
		if end := bytes.Index(cache, []byte("/"+name+"\x00")); end >= 0 {
			start := bytes.LastIndexByte(cache[:end], 0) + 1
			return string(cache[start:end]) + "/" + name
		}
	}
	return ""
}
