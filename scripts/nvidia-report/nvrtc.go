package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-halyard/halyard/internal/cudahip/rtc"
)

// nvrtcFolder is where the folder has NVRTC and the builtins that it needs beside it.
const nvrtcFolder = "nvrtc"

// takeNVRTC copies NVRTC's library and its builtins into the folder, in place of those of an earlier build. If library is empty it
// copies what HALYARD_NVRTC_LIBRARY names. If that is not set either, the folder has none.
func takeNVRTC(dir, library string, log io.Writer) error {
	to := filepath.Join(dir, nvrtcFolder)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if library == "" {
		library = os.Getenv(rtc.EnvNVRTC)
	}
	if library == "" {
		fmt.Fprintf(log, "going on without NVRTC: neither -nvrtc nor %s names its library\n", rtc.EnvNVRTC)
		return nil
	}
	builtins, err := filepath.Glob(filepath.Join(filepath.Dir(library), "libnvrtc-builtins.so*"))
	if err != nil {
		return err
	}
	if len(builtins) == 0 {
		return fmt.Errorf("there is no libnvrtc-builtins.so beside %s", library)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, from := range append(builtins, library) {
		if err := copyFile(filepath.Join(to, filepath.Base(from)), from); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// nvrtcLibrary returns the path of NVRTC's library in the folder that was built, or "".
func nvrtcLibrary(dir string) string {
	found, _ := filepath.Glob(filepath.Join(dir, nvrtcFolder, "libnvrtc*.so*")) // the pattern is sound
	found = slices.DeleteFunc(found, func(path string) bool {
		builtins, _ := filepath.Match("libnvrtc-builtins.*", filepath.Base(path))
		return builtins
	})
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// compiler says which NVRTC the parts use, and returns the environment in which they find it. What the machine's
// HALYARD_NVRTC_LIBRARY names takes precedence.
func compiler(dir string) (said string, env []string) {
	if own := os.Getenv(rtc.EnvNVRTC); own != "" {
		return own + ", which " + rtc.EnvNVRTC + " names", nil
	}
	if taken := nvrtcLibrary(dir); taken != "" {
		return taken + ", taken along", []string{rtc.EnvNVRTC + "=" + taken}
	}
	return "none was taken along; kernels need one that this machine has", nil
}
