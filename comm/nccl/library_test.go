package nccl

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersions(t *testing.T) {
	for v, want := range map[int]string{2708: "2.7.8", 20903: "2.9.3", 21400: "2.14.0", 23203: "2.32.3"} {
		require.Equal(t, want, versionText(v))
	}
}
