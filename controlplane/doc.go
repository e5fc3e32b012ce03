// SPDX-License-Identifier: Apache-2.0

// Package controlplane controls P4Runtime switches: pauseless switch, BMv2's
// simple_switch_grpc and Stratum. It does not depend on the kind of switch.
//
// A Session is a supervised connection to one switch. It takes part in the
// election of a primary controller, reconnects when the connection is lost, and
// reports such changes through Options.Event. Writes are sent in batches. The error
// of a failed write has the names of the updates that failed.
//
//	s, err := controlplane.Connect(ctx, controlplane.Target{Name: "l1", Addr: "127.0.0.1:50001", DeviceID: 1}, controlplane.Options{})
//	err = s.SetPipeline(ctx, controlplane.Pipeline{P4Info: info, Config: json})
//	e, err := s.Schema().ParseEntity("Forward dst=10.0.1.0/24 -> forward(port=3)")
//	err = s.Write(ctx, []*p4v1.Update{controlplane.Insert(e)})
//	depth, err := s.ReadRegister(ctx, "Readqlen")
//
// A Fabric is a session for each of several switches. Each calls a function for
// all of them at once.
//
//	f, err := controlplane.Open(ctx, targets, controlplane.Options{})
//	err = f.Each(ctx, func(ctx context.Context, s *controlplane.Session) error { … })
//
// A Desired state is a pipeline and its entities. Session.Apply brings a switch to
// that state with the least number of writes. A Keeper calls it again whenever a
// switch has restarted, a connection was lost, another controller has written, or
// the desired state has changed.
//
// Subpackages: schema converts entities to text and back, diff compares entities
// and orders updates, register reads and writes register arrays over P4Runtime or
// BMv2's Thrift server, intent computes entities from a topology, and p4rttest is a
// server for tests.
//
// The P4Runtime specification is that of version 1.5.0.
package controlplane
