// Package simnccl builds a simulated libnccl.so.2 and librccl.so.1, for tests of package comm/nccl on machines that have no GPU.
//
// The libraries use the simulated drivers of package simgpu and have the vendors' binary interface. Ranks may be threads of one process or
// processes of one machine. All bytes go over sockets to a thread of the process that made the unique id. Bytes to send are copied from the
// device in stream order. For bytes to receive the stream waits for a word of memory and then copies them to the device. So a missing wait shows
// as a wrong byte, or as a violation of the driver's rules.
//
// These differences from the real libraries are on purpose. If ranks disagree about an operation or its length, which is undefined in the real
// libraries, they get an error. A second call before the first has taken effect is always refused. A call on a nonblocking communicator always
// returns before its work is on the stream. Finalizing a communicator waits for all ranks.
// As with the real libraries, streams are stuck after an error until the communicator is aborted, a device can have only one rank unless
// NCCL_MULTI_RANK_GPU_ENABLE is 1, and a send outside a group waits for its receive.
//
// All texts of the libraries begin with "simulated". The comment at the top of src/nccl.c lists the environment variables
// that make the libraries misbehave.
package simnccl
