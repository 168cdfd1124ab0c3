package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func reportOn(t *testing.T, lines string) (string, *report) {
	t.Helper()
	var out strings.Builder
	r := newReport(&out)
	require.NoError(t, r.read(strings.NewReader(lines)))
	r.finish(without{})
	return out.String(), r
}

func TestSkipsAreToldWithTheirReasons(t *testing.T) {
	out, r := reportOn(t, `{"Action":"start","Package":"m/p"}
{"Action":"run","Package":"m/p","Test":"TestA"}
{"Action":"output","Package":"m/p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"run","Package":"m/p","Test":"TestA/x"}
{"Action":"output","Package":"m/p","Test":"TestA/x","Output":"=== RUN   TestA/x\n"}
{"Action":"output","Package":"m/p","Test":"TestA/x","Output":"    a_test.go:12: an earlier line\n"}
{"Action":"output","Package":"m/p","Test":"TestA/x","Output":"    a_test.go:13: there is no device:\n"}
{"Action":"output","Package":"m/p","Test":"TestA/x","Output":"        tried libx.so\n"}
{"Action":"output","Package":"m/p","Test":"TestA/x","Output":"    --- SKIP: TestA/x (0.00s)\n"}
{"Action":"skip","Package":"m/p","Test":"TestA/x"}
{"Action":"run","Package":"m/p","Test":"TestA/y"}
{"Action":"pass","Package":"m/p","Test":"TestA/y"}
{"Action":"pass","Package":"m/p","Test":"TestA"}
{"Action":"run","Package":"m/p","Test":"TestB"}
{"Action":"skip","Package":"m/p","Test":"TestB"}
{"Action":"output","Package":"m/p","Output":"PASS\n"}
{"Action":"output","Package":"m/p","Output":"ok  \tm/p\t0.01s\n"}
{"Action":"pass","Package":"m/p"}
`)
	assert.Equal(t, `ok  	m/p	0.01s

skipped:
  there is no device: tried libx.so
      p.TestA/x
  (no reason given)
      p.TestB

1 passed, 0 failed, 2 skipped
`, out)
	assert.Zero(t, r.failed())
}

func TestManySkipsForOneReasonAreOneLine(t *testing.T) {
	var lines strings.Builder
	for _, n := range []string{"A", "B", "C", "D", "E"} {
		lines.WriteString(`{"Action":"output","Package":"m/p","Test":"Test` + n + `","Output":"    a_test.go:1: no peer\n"}` + "\n")
		lines.WriteString(`{"Action":"skip","Package":"m/p","Test":"Test` + n + `"}` + "\n")
	}
	out, _ := reportOn(t, lines.String())
	assert.Contains(t, out, "  no peer\n      p.TestA p.TestB p.TestC and 2 more\n")
}

func TestFailuresKeepTheirOutput(t *testing.T) {
	out, r := reportOn(t, `{"ImportPath":"m/q","Action":"build-output","Output":"q.go:1:1: syntax error\n"}
{"Action":"run","Package":"m/p","Test":"TestA"}
{"Action":"output","Package":"m/p","Test":"TestA","Output":"    a_test.go:12: got 1\n"}
{"Action":"output","Package":"m/p","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
{"Action":"fail","Package":"m/p","Test":"TestA"}
{"Action":"run","Package":"m/p","Test":"TestB"}
{"Action":"run","Package":"m/p","Test":"TestB/x"}
{"Action":"pass","Package":"m/p","Test":"TestB/x"}
{"Action":"fail","Package":"m/p","Test":"TestB"}
{"Action":"run","Package":"m/p","Test":"TestC"}
{"Action":"output","Package":"m/p","Test":"TestC","Output":"panic: at the disco\n"}
{"Action":"output","Package":"m/p","Output":"FAIL\tm/p\t0.01s\n"}
{"Action":"fail","Package":"m/p"}
{"Action":"output","Package":"m/q","Output":"FAIL\tm/q [build failed]\n"}
{"Action":"fail","Package":"m/q","FailedBuild":"m/q"}
FAIL
`)
	for _, want := range []string{"q.go:1:1: syntax error\n", "a_test.go:12: got 1\n--- FAIL: TestA", "panic: at the disco\n", "TestC: never ended", "FAIL\tm/p\t0.01s\n"} {
		assert.Contains(t, out, want)
	}
	assert.Equal(t, 4, r.failed(), "A, B outside its subtests, C, and q as a whole")
	assert.True(t, strings.HasSuffix(out, "\n1 passed, 4 failed, 0 skipped\n"), out)
}

// A test that does less than all of its work is told, and fails if nobody asked for less.
func TestLessThanAllIsTold(t *testing.T) {
	lines := `{"Action":"output","Package":"m/p","Test":"TestA","Output":"    a_test.go:1: did 5 of 9 rounds\n"}
{"Action":"pass","Package":"m/p","Test":"TestA"}
{"Action":"output","Package":"m/p","Test":"TestB","Output":"    a_test.go:1: did 9 of 9 rounds\n"}
{"Action":"pass","Package":"m/p","Test":"TestB"}
`
	out, r := reportOn(t, lines)
	assert.Equal(t, "\nless than all of their work:\n  p.TestA did 5 of 9 rounds\n\n2 passed, 0 failed, 0 skipped\n", out)
	r.whole = true
	assert.Equal(t, 1, r.failed())
}
