package array

import "fmt"

// Order is how the elements of an array follow each other in memory.
type Order uint8

const (
	// RowMajor has the last index vary fastest, as in C and NumPy.
	RowMajor Order = iota
	// ColumnMajor has the first index vary fastest, as in Fortran and BLAS.
	ColumnMajor
)

// String returns "row-major" or "column-major".
func (o Order) String() string {
	switch o {
	case RowMajor:
		return "row-major"
	case ColumnMajor:
		return "column-major"
	}
	return fmt.Sprintf("Order(%d)", uint8(o))
}

func (o Order) known() bool { return o <= ColumnMajor }
