package hal

import (
	"errors"
	"io"
	"reflect"
	"slices"
)

// CloseAll closes its arguments in reverse order. If they are in the order in which they were made, a device is closed after the
// streams, memory and buffers on it. An error does not stop CloseAll; all errors are joined. Nil values and nil pointers are skipped,
// so a variable whose object could not be made may be passed too.
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
