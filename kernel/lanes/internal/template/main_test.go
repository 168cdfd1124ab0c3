package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	for file, name := range files {
		is, err := os.ReadFile("../../" + file)
		require.NoError(t, err)
		want, err := generated(name)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(is), "run go generate in kernel/lanes")
	}
}
