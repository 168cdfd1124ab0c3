package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/internal/cudahip/rtc"
)

func TestNVRTCIsTakenAlong(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	library := filepath.Join(from, "libnvrtc.so.12")
	for _, name := range []string{"libnvrtc.so.12", "libnvrtc-builtins.so.12.9"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(rtc.EnvNVRTC, library)
	var log bytes.Buffer
	if err := takeNVRTC(to, "", &log); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(to, nvrtcFolder, "libnvrtc-builtins.so.12.9")); string(got) != "libnvrtc-builtins.so.12.9" {
		t.Errorf("builtins %q, %v", got, err)
	}
	t.Setenv(rtc.EnvNVRTC, "")
	taken := filepath.Join(to, nvrtcFolder, "libnvrtc.so.12")
	if said, env := compiler(to); len(env) != 1 || env[0] != rtc.EnvNVRTC+"="+taken || !strings.Contains(said, "taken along") {
		t.Errorf("the parts use %q, %q", said, env)
	}
	t.Setenv(rtc.EnvNVRTC, "own.so")
	if said, env := compiler(to); env != nil || !strings.HasPrefix(said, "own.so") {
		t.Errorf("the parts use %q, %q where the environment names one", said, env)
	}
	t.Setenv(rtc.EnvNVRTC, "")
	if err := takeNVRTC(to, "", &log); err != nil || !strings.Contains(log.String(), "without NVRTC") {
		t.Errorf("%v, %q", err, log.String())
	}
	if said, env := compiler(to); env != nil || !strings.HasPrefix(said, "none") {
		t.Errorf("an earlier build's library is left: %q, %q", said, env)
	}
	if err := takeNVRTC(to, filepath.Join(to, "libnvrtc.so.12"), &log); err == nil {
		t.Error("a library without its builtins is taken")
	}
}

func TestReportNamesTheCompiler(t *testing.T) {
	t.Setenv(rtc.EnvNVRTC, "")
	_, r, _ := report(t, sound)
	if !strings.HasPrefix(r.NVRTC, "none was taken along") {
		t.Errorf("the compiler is %q", r.NVRTC)
	}
}
