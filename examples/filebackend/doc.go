// Package filebackend is a backend whose device memory is a file: slow, large, and nothing like a graphics card. It was
// made from examples/template by following docs/guide/writing-a-backend.md, and shows what such a copy looks like
// when it is done.
//
// A device is one temporary file, made when the device is first opened and removed when its last handle is closed.
// KindDevice memory is a range of that file, which copies read and write. A stream is a queue of work for a goroutine. If
// the file system returns an error, the work that got it fails, and its stream reports the error.
//
// Importing the package registers the backend "file", with two devices of 1 GiB in the folder for temporary files.
// [New] makes others.
package filebackend
