package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// open runs all contests once on few elements, which compares the results of both sides with plain Go's.
func open(t *testing.T, list []contest) {
	for _, c := range list {
		t.Run(c.String(), func(t *testing.T) {
			require.NoError(t, c.open(t.Context(), func(func() error, func() error) error { return nil }))
		})
	}
}

func TestTranslationsComputeWhatGoDoes(t *testing.T) {
	devices, err := openCL(t.Context())
	if err != nil {
		t.Skip(err)
	}
	open(t, onDevices(96, devices))
}

// The numbers of rows and of elements are odd, so that processors get parts of different lengths.
func TestLoopsOnTheHostComputeWhatGoDoes(t *testing.T) { open(t, onHost(97)) }

func TestLoopsInCComputeWhatKernelsDo(t *testing.T) {
	library := filepath.Join(t.TempDir(), "loops.so")
	if out, err := exec.CommandContext(t.Context(), "gcc", "-O3", "-ffp-contract=off", "-shared", "-fPIC", "-o", library, "c/loops.c", "-lm").CombinedOutput(); err != nil {
		t.Skipf("no gcc: %s", out)
	}
	list, err := besideC(library, 128) // the kernel of heat checks no rows, so that blocks must be whole
	require.NoError(t, err)
	open(t, list)
}
