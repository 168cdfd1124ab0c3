package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGeneratedFileIsCurrent(t *testing.T) {
	is, err := os.ReadFile("../../lanes_gen.go")
	require.NoError(t, err)
	want, err := generated()
	require.NoError(t, err)
	assert.Equal(t, string(want), string(is), "run go generate in kernel/lanes")
}
