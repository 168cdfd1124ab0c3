package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDifference(t *testing.T) {
	var lines []string
	for i := range 30 {
		lines = append(lines, strconv.Itoa(i))
	}
	old := strings.Join(lines, "\n") + "\n"
	lines[4], lines[20] = "four", "20\n20.5"
	require.Equal(t, `--- f
+++ what halyard kernels would write
@@ -2,7 +2,7 @@
 1
 2
 3
-4
+four
 5
 6
 7
@@ -19,6 +19,7 @@
 18
 19
 20
+20.5
 21
 22
 23
`, difference("f", old, strings.Join(lines, "\n")+"\n"))
	data := strings.Repeat("ywERAgERAuMpEQILDgPkKQEPCQUI677R+wb0wrEDDy01bhAG\n", 9)
	require.Equal(t, "--- f\n+++ what halyard kernels would write\n@@ -1,11 +1,11 @@\n a\n (9 lines of SPIR-V)\n-b\n (9 lines of SPIR-V)\n+c\n",
		difference("f", "a\n"+data+"b", "a\n"+strings.ToLower(data)+"c"))
	require.Contains(t, difference("f", "", "a\n"), "@@ -1,1 +1,2 @@\n+a\n")
}
