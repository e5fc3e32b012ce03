// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Programs can bind to a held port repeatedly, but the kernel does not assign
// it to programs that bind to any port.
func TestAPortThatIsHeld(t *testing.T) {
	addr, release, err := HoldPort()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("somebody listens")
	}
	// gRPC's servers in C++ share ports, too.
	shared := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return err
	}}
	_, port, _ := net.SplitHostPort(addr)
	for range 3 {
		for at, how := range map[string]net.ListenConfig{addr: {}, "localhost:" + port: shared, ":" + port: {}} {
			l, err := how.Listen(t.Context(), "tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			s, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			s.Close() // the connection's end occupies this port for a minute
			c.Close()
			l.Close()
		}
	}
	for range 300 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if l.Addr().String() == addr {
			t.Fatal("the port was given to somebody else")
		}
	}
}
