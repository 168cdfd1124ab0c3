package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// The hottest loops do not get longer. The counts are those of one version of the compiler; for another version the test only logs the
// counts.
func TestInstructions(t *testing.T) {
	const version = "NVRTC 12.9"
	want := []count{{187, 4}, {237, 8}, {46, 1}, {133, 8}}
	compiler, counts, err := measure(t.Context(), "../../..")
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, driver.ErrUnavailable) {
		if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "nvrtc") {
			t.Fatal("HALYARD_REQUIRE asks for nvrtc: ", err)
		}
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Log(compiler, counts)
	if compiler != version {
		t.Skipf("the counts are those of %s, and this is %s", version, compiler)
	}
	assert.Equal(t, want, counts, "if it is faster, write the new counts down")
}

// The count is that of the loop with the most units, and of the shortest of these.
func TestCount(t *testing.T) {
	const text = `
.text.k_other:
.L_x_1:
        /*0000*/                   MUFU.RSQ R1, R2 ;
        /*0010*/                   BRA ` + "`(.L_x_1)" + ` ;
.text.k_k:
.L_x_2:
        /*0000*/                   FADD R1, R2, R3 ;
.L_x_3:
        /*0010*/                   MUFU.RSQ R1, R2 ;
        /*0020*/                   MUFU.RSQ R1, R3 ;
        /*0030*/               @P0 BRA ` + "`(.L_x_3)" + ` ;
        /*0040*/               @P1 BRA ` + "`(.L_x_2)" + ` ;
.L_x_4:
        /*0050*/                   MUFU.RSQ R1, R2 ;
        /*0060*/               @P0 BRA ` + "`(.L_x_4)" + ` ;
        /*0070*/              @!P0 EXIT ;
        /*0080*/                   BRA ` + "`(.L_x_5)" + ` ;
        /*0090*/                   EXIT ;
.L_x_5:
.text.k_last:
`
	got, err := measured{kernel: "k", mark: "MUFU.RSQ", marks: 1}.count(text)
	require.NoError(t, err)
	assert.Equal(t, count{3, 2}, got)
	got, err = measured{kernel: "k"}.count(text)
	require.NoError(t, err)
	assert.Equal(t, count{10, 1}, got)
	_, err = measured{kernel: "k", mark: "FMUL", marks: 8}.count(text)
	assert.ErrorContains(t, err, "no loop has FMUL 8 times")
	_, err = measured{kernel: "absent"}.count(text)
	assert.ErrorContains(t, err, "no such kernel")
}
