package translate

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A launcher takes its grid from the condition that all of the kernel's work stands under, and asks for one where there is none.
func TestGridOfALauncher(t *testing.T) {
	t.Parallel()
	imp, err := imports()
	require.NoError(t, err)
	for body, want := range map[string]string{
		"if i := t.Global(0); i < len(y) { y[i] = 1 }":                                                                 "hal.Over(kernel.Len(y))",
		"if i := t.Global(0); len(y) > i { y[i] = 1 }":                                                                 "hal.Over(kernel.Len(y))",
		"i := t.Global(0); if i >= len(x)/2 { return }; y[i] = 1":                                                      "hal.Over((kernel.Len(x) / 2))",
		"i := t.Global(0); if len(x) <= i { return }; y[i] = 1":                                                        "hal.Over(kernel.Len(x))",
		"i, j := t.Global(0), t.Global(1); if i >= int(w) || j >= len(y)-1 { return }; y[i+j] = 1":                     "hal.Over(int(w), max(0, (kernel.Len(y)-1)))",
		"if i := t.Global(0); i < (len(y)-2)/3 { y[i] = 1 }":                                                           "hal.Over(max(0, ((kernel.Len(y)-2)/3)))",
		"i, j := t.Global(0), t.Global(1); if i >= int(w) { return }; k := 2*i; if j >= len(x) { return }; y[k+j] = 1": "hal.Over(int(w), kernel.Len(x))",
		"i, j := t.Global(0), t.Global(1); if i >= int(w) { return }; if j < len(x) { y[i+j] = 1 }":                    "hal.Over(int(w), kernel.Len(x))",
		"i := t.Global(0); if i >= len(y) { return }; if w > 1 { y[i] = 1 } else { y[i] = 2 }":                         "hal.Over(kernel.Len(y))",
		"i, j := t.Global(0), t.Global(1); if i >= int(w) { return }; if j == 3 { return }; y[i+j] = 1":                "",
		"i, j := t.Global(0), t.Global(1); if i >= int(w) { return }; y[i] = 1; if j >= len(x) { return }; y[i+j] = 1": "",
		"n, i := int(w), t.Global(0); if i < 2*n && t.Global(1) < 7 { y[i] = 1 }":                                      "hal.Over((2*int(w)), 7)",
		"i := t.Global(0); if i >= int(s.N) || i == 3 { return }; y[i] = 1":                                            "hal.Over(int(s.N))",
		"i, n := t.Global(0), int(w); n++; if i < n { y[i] = 1 }":                                                      "",
		"i := t.Global(0); i++; if i < len(y) { y[i] = 1 }":                                                            "",
		"if i := t.Global(0); i < len(y) { y[i] = 1 } else { y[0] = 1 }":                                               "",
		"i := t.Global(0); y[i] = 1; if i < len(y) { y[i] = 2 }":                                                       "",
		"i := t.Global(0); if i < len(y) || i == 3 { y[i] = 1 }":                                                       "",
		"i := t.Global(0); if i > len(y) { y[0] = 1 }":                                                                 "",
		"i, j := t.Global(0), t.Global(1); if i < len(y) { y[i] = float32(j) }":                                        "",
		"i := t.Global(0); if i < len(y)/int(w) { y[i] = 1 }":                                                          "",
		"i := t.Global(0); if i < int(x[0]) { y[i] = 1 }":                                                              "",
		"for i := t.Global(0); i < len(y); i += t.Size(0) { y[i] = 1 }":                                                "",
		"if t.Local(0) < len(y) { y[0] = 1 }":                                                                          "",
		"i := t.Global(0); if i < len(y) { }; y[i] = 1":                                                                "",
	} {
		made, err := translatedWith(imp, head+"\ntype S struct{ N int32 }\n\n//halyard:kernel\nfunc k(t grid.Thread, w int32, s S, x, y []float32) {\n\t"+
			strings.ReplaceAll(body, "; ", "\n\t")+"\n}\n")
		if !assert.NoError(t, err, body) {
			continue
		}
		got := regexp.MustCompile(`q\.Launching\("k", (.*)\); ok`).FindSubmatch(made.Go)
		require.NotNil(t, got, body)
		if want == "" {
			want = "hal.Grid{}"
		}
		assert.Equal(t, want, string(got[1]), body)
	}
}
