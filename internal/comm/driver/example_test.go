package driver_test

import (
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// An engine reports what its library said, under one of the kinds that every engine shares.
func ExampleError() {
	var err error = &driver.Error{Op: "Irecv", Kind: driver.ErrTruncated, Peer: 3, Tag: 7, Bytes: 64,
		API: "MPI_Test", Class: 15, Code: 15, Text: "MPI_ERR_TRUNCATE: message truncated"}
	fmt.Println(err)
	fmt.Println(errors.Is(err, driver.ErrTruncated), errors.Is(err, driver.ErrEngine))
	// Output:
	// Irecv (rank 3, tag 7, 64 bytes): the message is longer than the memory for it [MPI_Test: MPI_ERR_TRUNCATE: message truncated (class 15, code 15)]
	// true false
}
