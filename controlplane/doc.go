// SPDX-License-Identifier: Apache-2.0

// Package controlplane drives P4Runtime switches (pauseless switch, BMv2's
// simple_switch_grpc, Stratum) without knowing which it talks to.
//
// A Session is a supervised connection to one switch. It takes part in the
// election of a primary controller, comes back by itself when the connection
// is lost, and says every such change through Options.Event. Writes go in
// batches; a write that fails says which update failed, by names.
//
//	s, err := controlplane.Connect(ctx, controlplane.Target{Name: "l1", Addr: "127.0.0.1:50001", DeviceID: 1}, controlplane.Options{})
//	err = s.SetPipeline(ctx, controlplane.Pipeline{P4Info: info, Config: json})
//	e, err := s.Schema().ParseEntity("Forward dst=10.0.1.0/24 -> forward(port=3)")
//	err = s.Write(ctx, []*p4v1.Update{controlplane.Insert(e)})
//	depth, err := s.ReadRegister(ctx, "Readqlen")
//
// A Fabric is a session for each of many switches; Each runs something on
// all of them at once.
//
//	f, err := controlplane.Open(ctx, targets, controlplane.Options{})
//	err = f.Each(ctx, func(ctx context.Context, s *controlplane.Session) error { … })
//
// A Desired state is a pipeline and the entities that shall be there.
// Session.Apply makes a switch so with the least writes; a Keeper does it
// again whenever a switch has restarted, a connection was lost, someone else
// wrote, or the desired state changed.
//
// Subpackages: schema gives names and values their text form, diff compares
// entities and orders updates, register reads and writes register arrays
// over P4Runtime or BMv2's Thrift, bmv2 is that Thrift client, intent
// computes entities from a topology, p4rttest is a server to test against.
//
// The P4Runtime specification is that of version 1.5.0.
package controlplane
