package array

import "fmt"

// Order is the order of the elements of an array in memory.
type Order uint8

const (
	// RowMajor means that the last index varies fastest, as in C and NumPy.
	RowMajor Order = iota
	// ColumnMajor means that the first index varies fastest, as in Fortran and BLAS.
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
