package rtc

import (
	"debug/elf"
	"errors"
	"slices"
	"strings"
	"testing"
)

// If AMD's library uses a shared LLVM, it is refused in a process that has loaded the shared clang of that LLVM, and in
// no other case.
func TestClash(t *testing.T) {
	path := new(search).comgr()
	if path == "" {
		t.Skip("AMD's library for compiling is not installed")
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	needs, err := f.ImportedLibraries()
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	version := "15" // if the library contains its own LLVM, nothing is refused
	shared := slices.IndexFunc(needs, func(n string) bool { return strings.HasPrefix(n, "libLLVM-") })
	if shared >= 0 {
		version = strings.TrimPrefix(strings.Split(needs[shared], ".so")[0], "libLLVM-")
	}
	clang := "7f00 r-xp /usr/lib/llvm/lib/libclang-cpp.so." + version + "\n"
	for mapped, want := range map[string]bool{
		"":                                   false,
		"7f00 r-xp /usr/lib/libLLVM.so\n":    false,
		"7f00 r-xp /lib/libclang-cpp.so.2\n": false,
		clang:                                shared >= 0,
		clang + "7f01 r-xp " + path + "\n":   false,
	} {
		why := clashes(path, []byte(mapped))
		if (why != "") != want {
			t.Errorf("beside %q: %q", mapped, why)
		}
		if want && (!strings.Contains(why, "libclang-cpp.so."+version) || !strings.Contains(why, path)) {
			t.Errorf("the reason is incomplete: %s", why)
		}
	}
	if why := clashes("/nonexistent/libamd_comgr.so.2", []byte(clang)); why != "" {
		t.Errorf("a file that is absent: %s", why)
	}
}
