// Package trace shows what coherent buffers do, and why.
//
// [Record] collects the events of every buffer in the process: copies and fills, from when they are enqueued to
// when they are done, replicas that come and go, waits of the host. A [Recording] is written as a Chrome
// trace ([Recording.WriteJSON]), which ui.perfetto.dev and chrome://tracing open, or drawn as a
// timeline ([Recording.WriteSVG]). [Log] sends the same events to a log/slog logger as they happen.
//
// While something records, every copy costs a host callback on its stream, so that its end can be
// seen; on a device without [hal.CapHostCallback] a copy is shown as the moment it was enqueued.
package trace
