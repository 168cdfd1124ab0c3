package rtc

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// clash returns the reason why hipRTC must not be loaded into this process, or "". hipRTC compiles with AMD's library comgr. Linux
// distributions may build comgr with a clang of its own that uses LLVM's shared library. If the process already has the shared clang of the
// same version, which PoCL loads, both clangs register the same options with that LLVM, and LLVM ends the process.
func clash(s *search) string {
	if runtime.GOOS != "linux" {
		return ""
	}
	mapped, _ := os.ReadFile("/proc/self/maps")
	return clashes(s.comgr(), mapped)
}

// clashes returns the reason why the library at path must not be loaded into a process that has mapped these files, or "".
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
			return path + " cannot be loaded beside " + clang + ", which another library of this process, such as PoCL, has loaded: " +
				need + ", which both use, would end the process"
		}
	}
	return ""
}

// comgr returns the path at which the loader will most likely find comgr, or "".
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
