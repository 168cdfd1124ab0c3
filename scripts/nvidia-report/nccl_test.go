package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, text string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestNCCLIsTakenAlong(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	library, other := write(t, "one", from, "libnccl.so.2.27.3"), write(t, "two", from, "libnccl.so.2.28.9")
	taken := filepath.Join(to, takenNCCL)
	for _, c := range []struct{ named, environment, want string }{{"", library, "one"}, {other, library, "two"}, {"", "", ""}} {
		t.Setenv(envNCCL, c.environment)
		var log bytes.Buffer
		if err := takeNCCL(to, c.named, &log); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(taken)
		if string(got) != c.want || os.IsNotExist(err) != (c.want == "") {
			t.Errorf("%q named, %q in the environment: the folder has %q, %v", c.named, c.environment, got, err)
		}
		if strings.Contains(log.String(), "without NCCL") != (c.want == "") {
			t.Errorf("it says %q", log.String())
		}
	}
	if err := takeNCCL(to, filepath.Join(from, "absent"), new(bytes.Buffer)); err == nil {
		t.Error("a library that is not there is taken")
	}
}

// What the environment names comes first, then what was taken along, then Python's; beside the simulated driver only the simulated library will do.
func TestWhichNCCLThePartsUse(t *testing.T) {
	dir := folder(t, nil)
	t.Setenv("HALYARD_PYTHON", "")
	t.Setenv(envNCCL, "")
	expect := func(simulated bool, said, env string) {
		t.Helper()
		got, settings := ncclOf(t.Context(), dir, simulated)
		if got != said || strings.Join(settings, " ") != env {
			t.Errorf("it says %q and sets %q, want %q and %q", got, settings, said, env)
		}
	}
	write(t, "#!/bin/sh\nexit 1\n", dir, "python3")
	const none = "none was taken along; tests with several ranks need one that is installed on the machine"
	expect(false, none, "")
	pythons := filepath.Join(dir, "site", "libnccl.so.2")
	write(t, "#!/bin/sh\necho a warning; echo nccl="+pythons+"\n", dir, "python3")
	expect(false, none, "") // the package has no library
	write(t, "", pythons)
	expect(false, pythons+", installed for Python", envNCCL+"="+pythons)
	taken := write(t, "", dir, takenNCCL)
	expect(false, taken+", taken along", envNCCL+"="+taken)
	t.Setenv(envNCCL, "own.so")
	expect(false, "own.so, which "+envNCCL+" names", "")
	simulated := filepath.Join(dir, simulatedNCCL)
	expect(true, simulated+", simulated", envNCCL+"="+simulated)
}

func TestPartsFindNCCL(t *testing.T) {
	t.Setenv(envNCCL, "")
	programs := with("halyard", `echo "{\"library\":\"$HALYARD_NCCL_LIBRARY\"}"`)
	_, r, _ := report(t, programs, "-simulated")
	if got := string(part(t, r, "devices").Result); !strings.Contains(got, simulatedNCCL) || !strings.HasSuffix(r.NCCL, ", simulated") {
		t.Errorf("environment %s, and the library is %q", got, r.NCCL)
	}
	t.Setenv(envNCCL, "own.so")
	if _, r, _ := report(t, programs); !strings.HasPrefix(r.NCCL, "own.so") || !strings.Contains(string(part(t, r, "devices").Result), "own.so") {
		t.Errorf("the library is %q, %s", r.NCCL, part(t, r, "devices").Result)
	}
}
