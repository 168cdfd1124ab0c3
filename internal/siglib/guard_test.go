//go:build linux && (amd64 || arm64)

package siglib

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

func handlerOf(t *testing.T, sig syscall.Signal) uintptr {
	t.Helper()
	var a action
	if !swap(int(sig), nil, &a) {
		t.Fatalf("%v cannot be read", sig)
	}
	return a.handler
}

// replace installs a C function as a handler, as a driver would.
func replace(t *testing.T, sig syscall.Signal) {
	t.Helper()
	call := dl.Process().Proc("signal")
	foreign := dl.Process().Proc("abs") // any function that no signal has as its handler
	if !call.Valid() || !foreign.Valid() {
		t.Fatal("the C library lacks signal or abs")
	}
	call.Call2(uintptr(sig), uintptr(foreign))
	if handlerOf(t, sig) != uintptr(foreign) {
		t.Fatalf("the handler of %v was not replaced", sig)
	}
}

func TestReplacedHandlersComeBack(t *testing.T) {
	before := handlerOf(t, syscall.SIGUSR1)
	Enter()
	replace(t, syscall.SIGUSR1)
	replace(t, syscall.SIGFPE)
	if n := Leave(); n != 2 {
		t.Errorf("%d handlers were put back, want 2", n)
	}
	if handlerOf(t, syscall.SIGUSR1) != before {
		t.Error("the handler of SIGUSR1 did not come back")
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR1)
	defer signal.Stop(caught)
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	<-caught
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a division by zero went unnoticed")
			}
		}()
		zero := 0
		t.Log(1 / zero)
	}()
}

func TestOverlappingGuardsShareTheFirstView(t *testing.T) {
	before := handlerOf(t, syscall.SIGUSR2)
	Enter()
	replace(t, syscall.SIGUSR2)
	Enter()
	if n := Leave(); n != 1 {
		t.Errorf("%d handlers were put back, want 1", n)
	}
	if n := Leave(); n != 0 {
		t.Errorf("%d handlers were put back again", n)
	}
	if handlerOf(t, syscall.SIGUSR2) != before {
		t.Error("the handler did not come back")
	}
}

func TestHandlersOfTheRuntimeStay(t *testing.T) {
	signal.Ignore(syscall.SIGUSR2)
	defer signal.Reset(syscall.SIGUSR2)
	Enter()
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGUSR2)
	defer signal.Stop(caught)
	wanted := handlerOf(t, syscall.SIGUSR2)
	if n := Leave(); n != 0 || handlerOf(t, syscall.SIGUSR2) != wanted {
		t.Errorf("%d handlers were put back", n)
	}
}

func TestLayoutOfTheKernel(t *testing.T) {
	if n := unsafe.Sizeof(action{}); n != 32 {
		t.Errorf("struct sigaction is %d bytes, want 32", n)
	}
}
