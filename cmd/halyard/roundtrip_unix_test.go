//go:build unix

package main

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What might never open, or never end, is refused before it is opened.
func TestOnlyRegularFilesAreTaken(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	for path, kind := range map[string]string{pipe: "pipe", socket: "socket", "/dev/zero": "device"} {
		_, stderr, status := halyard(t, "check", "--file", path)
		assert.Equal(t, exitUsage, status)
		assert.Contains(t, stderr, "--file "+path+": this is a "+kind+"; name a regular file")
	}
}
