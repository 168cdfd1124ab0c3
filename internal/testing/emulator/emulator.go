// Package emulator starts programs that are built for another architecture than the machine's. Tests start themselves with it.
package emulator

import (
	"context"
	"os"
	"os/exec"
	"strings"
)

// Variable names the environment variable that holds the emulator's command, with words between spaces, such as
// "qemu-aarch64 -L /usr/aarch64-linux-gnu". An emulated program needs it to start other programs of its architecture.
const Variable = "HALYARD_EMULATOR"

// Command is exec.CommandContext for a program of the architecture that this one is built for.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	words := Words(name, args...)
	return exec.CommandContext(ctx, words[0], words[1:]...)
}

// Words returns the words that start a program of the architecture that this one is built for.
func Words(name string, args ...string) []string {
	words := strings.Fields(os.Getenv(Variable))
	return append(append(words, name), args...)
}
