// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// HoldPort returns host:port of the loopback interface, for a program that needs
// an address to listen on. Until release is called, the kernel does not give the
// port to programs that bind to any free port. Programs can bind to this one,
// several times if needed.
func HoldPort() (addr string, release func(), err error) {
	// While a socket is bound with SO_REUSEADDR and does not listen, other sockets
	// with that option, as those of servers, can bind to the same address.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("socket: %w", err)
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var name unix.Sockaddr
	if err == nil {
		name, err = unix.Getsockname(fd)
	}
	if err != nil {
		unix.Close(fd)
		return "", nil, fmt.Errorf("a free port: %w", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port), func() { unix.Close(fd) }, nil
}
