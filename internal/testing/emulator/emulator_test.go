package emulator_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/testing/emulator"
)

// roleVariable makes this program say so and end.
const roleVariable = "HALYARD_TEST_EMULATOR_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		_, _ = os.Stdout.WriteString("child " + os.Args[1])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestWords(t *testing.T) {
	for value, want := range map[string][]string{
		"":                     {"name", "a b", "c"},
		" qemu-aarch64  -L /x": {"qemu-aarch64", "-L", "/x", "name", "a b", "c"},
	} {
		t.Setenv(emulator.Variable, value)
		require.Equal(t, want, emulator.Words("name", "a b", "c"))
	}
}

// A test program starts itself, under an emulator as well.
func TestCommandStartsThisProgram(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := emulator.Command(t.Context(), self, "again")
	cmd.Env = append(os.Environ(), roleVariable+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "child again", string(out))
}
