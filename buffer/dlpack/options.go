package dlpack

import (
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// ExportOption is an option of [Export] and [ExportArray].
type ExportOption interface {
	toExport(exportOptions) exportOptions // takes and returns a value, so that the options stay off the heap
}

// ImportOption is an option of [Import].
type ImportOption interface {
	toImport(options) options
}

// Option is an option of [Export], of [ExportArray] and of [Import].
type Option interface {
	ExportOption
	ImportOption
}

// options are the options that exports and imports have in common.
type options struct {
	device *hal.Device // nil for the host
	copied bool
}

type exportOptions struct {
	options
	onStream bool // WithStream was given
	stream   *hal.Stream
	mode     coherence.Mode
	legacy   bool
	done     func(error)
}

type option func(options) options

func (f option) toImport(o options) options { return f(o) }

func (f option) toExport(o exportOptions) exportOptions {
	o.options = f(o.options)
	return o
}

type exportOption func(exportOptions) exportOptions

func (f exportOption) toExport(o exportOptions) exportOptions { return f(o) }

// WithDevice names the device of the tensor's memory. Without the option, or with nil, the memory is the host's.
//
// [Export] makes the elements current on the device and lends the device's memory.
//
// For [Import] it must be the device with the vendor and the ordinal of the tensor. The producer's work must be ordered before
// work on that device's streams. With the option, page-locked and managed memory is imported as memory of the device. For a tensor in
// memory of the host, a unified device may be named: if the memory is the device's own, it is imported as such. Other devices have no
// effect.
func WithDevice(dev *hal.Device) Option {
	return option(func(o options) options {
		o.device = dev
		return o
	})
}

// WithCopy exports or imports a copy if copied is true. copied is a parameter because a consumer may decide it at run time,
// as with the argument "copy" of __dlpack__.
//
// The consumer of an exported copy may write to it, whatever [WithMode] says, and the deleter frees it.
//
// An imported copy of host memory is row-major and without gaps, whatever the tensor's strides and alignment are, and
// the deleter is called before Import returns. A copy of a device's memory is made on the device, gaps included, and
// the deleter is called when the copy is done.
func WithCopy(copied bool) Option {
	return option(func(o options) options {
		o.copied = copied
		return o
	})
}

// WithMode says how the consumer accesses the elements. coherence.Read, the default, marks the tensor as read-only. ReadWrite does not.
// Overwrite is for a consumer that writes every element and reads none.
func WithMode(mode coherence.Mode) ExportOption {
	return exportOption(func(o exportOptions) exportOptions {
		o.mode = mode
		return o
	})
}

// WithLegacy exports, if legacy is true, the struct from before DLPack 1.0, which cannot mark a tensor as read-only.
// The argument "max_version" of __dlpack__ is the newest version that a consumer reads.
func WithLegacy(legacy bool) ExportOption {
	return exportOption(func(o exportOptions) exportOptions {
		o.legacy = legacy
		return o
	})
}

// WithDone sets a function that is called once, with the lease's error or nil, when the deleter has been called and the lease has
// ended. It runs on the consumer's thread, which may hold locks such as Python's. So it may close the buffer, but must
// neither wait for anything else nor panic.
func WithDone(fn func(error)) ExportOption {
	return exportOption(func(o exportOptions) exportOptions {
		o.done = fn
		return o
	})
}

// WithStream is for a consumer that enqueues its work on a stream of this program. The elements are current for work
// that is enqueued on the stream after the export; the host does not wait. Later accesses of the buffer wait for all work that was
// enqueued on the stream before the deleter is called. The program still owns the stream, and keeps it open until then.
// Without [WithDevice] the memory is that of the stream's device.
//
// A consumer may pass the argument "stream" of __dlpack__ in Python's array API standard: the handle of a stream, or 1 for CUDA's default
// stream. [hal.Device.ImportStream] makes a stream of it.
func WithStream(s *hal.Stream) ExportOption {
	return exportOption(func(o exportOptions) exportOptions {
		o.onStream, o.stream = true, s
		return o
	})
}
