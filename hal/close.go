package hal

import (
	"errors"
	"io"
	"reflect"
	"slices"
)

// CloseAll closes what a program holds, given in the order in which it was made: the last is closed first, so that a device follows the
// streams, memory and buffers on it. Each is closed, whatever becomes of the others, and the error joins all of theirs. Nil values and
// nil pointers are left out: what could not be made need not be told apart.
func CloseAll(made ...io.Closer) error {
	var errs []error
	for _, c := range slices.Backward(made) {
		if c == nil {
			continue
		}
		if v := reflect.ValueOf(c); v.Kind() == reflect.Pointer && v.IsNil() {
			continue
		}
		if err := c.Close(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
