package cprint

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// No two names get the same name in C, and names of different kinds neither.
func TestMangledNamesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, prefix := range []string{"h_", "f_", "k_", "T_", "b_"} {
		for _, name := range []string{"é", "_ue9_", "_e9_", "u__e9_", "hu__e9_", "é_", "_é", "_5fe9_", "é_e9_", "_e9_é", "ée9", "é9_", "x", "u_x", "ü", "uü"} {
			c := mangle(prefix, name)
			assert.Empty(t, seen[c], "%s of %s%s", c, prefix, name)
			seen[c] = prefix + name
			assert.Regexp(t, `^[A-Za-z][A-Za-z0-9_]*$`, c)
		}
	}
}
