// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package tool

import "net"

// HoldPort returns host:port of the loopback interface on which no program
// listens. The kernel may give the port to another program before it is used:
// only on Linux it is reserved.
func HoldPort() (addr string, release func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return l.Addr().String(), func() {}, l.Close()
}
