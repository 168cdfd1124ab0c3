package llvmpipe

import "testing"

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		model, driver   string
		rounds, nesting int
	}{
		{"llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", 65534, 76},
		{"llvmpipe (LLVM 15.0.6, 256 bits)", "22.3.6", 65534, 76},
		{"llvmpipe (LLVM 21.1.8, 256 bits)", "26.0.5", 65534, 76},
		{"llvmpipe (LLVM 21.1.8, 256 bits)", "Mesa 26.1.6 (LLVM 21.1.8)", 0, 76},
		{"llvmpipe", "", 65534, 76},
		{"SwiftShader Device (LLVM 10.0.0)", "5.0.0", 0, 0},
		{"cpu-haswell-AMD EPYC", "3.1", 0, 0},
	} {
		if rounds, nesting := Limits(c.model, c.driver); rounds != c.rounds || nesting != c.nesting {
			t.Errorf("Limits(%q, %q) = %d, %d, want %d, %d", c.model, c.driver, rounds, nesting, c.rounds, c.nesting)
		}
	}
}
