// Package simnccl builds a simulated libnccl.so.2 and librccl.so.1, for tests of package comm/nccl on machines that have no GPU.
//
// They stand on the simulated drivers of package simgpu and keep the vendors' binary interface. Ranks may be threads of one process or
// processes of one machine; all bytes go over a socket, to a thread of the process that made the unique id. What is sent is copied
// from the device in stream order, and what is received is copied to the device behind a word that the stream waits for. So a missing wait shows
// as a wrong byte, or as a violation of the driver's rules.
//
// What differs from the real library, on purpose: ranks that disagree about an operation or its length, which is undefined there, get an
// error; a second call before the first has taken effect is always refused; a communicator that is not blocking never has its work on the stream when the call returns; the end of
// a communicator waits for all ranks.
// As with the real library, streams are stuck after an error until the communicator is aborted, a device takes one rank unless NCCL_MULTI_RANK_GPU_ENABLE is 1, and
// a send that is not grouped waits for its receive.
//
// All texts of the libraries begin with "simulated". The head of src/nccl.c lists the variables that make them misbehave.
package simnccl
