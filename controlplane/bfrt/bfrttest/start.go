// SPDX-License-Identifier: Apache-2.0

package bfrttest

import (
	"net"
	"testing"

	"google.golang.org/grpc"
)

// Start serves a switch of two pipelines with the ports of Panel on the loopback
// interface until the test ends, and returns it with its address.
func Start(t testing.TB) (server *Server, address string) {
	t.Helper()
	server, err := New(2, Device)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.PutPanel(Panel()); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	server.Serve(g)
	go g.Serve(listener)
	t.Cleanup(g.Stop)
	return server, listener.Addr().String()
}
