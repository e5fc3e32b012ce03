// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"bytes"
	"slices"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/internal/need"
)

// eachFresh runs a test on switches without an earlier controller.
func eachFresh(t *testing.T, do func(x *bench)) {
	t.Run("softswitch", func(t *testing.T) { do(newBench(t, startSoft(t, soft), true)) })
	t.Run("bmv2", func(t *testing.T) { do(newBench(t, startBMv2(t, need.Tool(t, "BMV2", "simple_switch_grpc")), true)) })
}

// push sets the pipeline as ONOS and Stratum's session do.
func (x *bench) push(role string, election *p4v1.Uint128, cookie uint64) error {
	x.Helper()
	cfg := &p4v1.ForwardingPipelineConfig{P4Info: x.config.P4Info, P4DeviceConfig: x.config.P4DeviceConfig}
	if cookie != 0 {
		cfg.Cookie = &p4v1.ForwardingPipelineConfig_Cookie{Cookie: cookie}
	}
	r, err := x.client.SetForwardingPipelineConfig(x.ctx, &p4v1.SetForwardingPipelineConfigRequest{DeviceId: deviceID, Role: role,
		ElectionId: election, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: cfg})
	if err == nil && !proto.Equal(r, &p4v1.SetForwardingPipelineConfigResponse{}) {
		x.Errorf("setting the pipeline is answered with %v", r)
	}
	return err
}

// pipeline returns the pipeline that a switch reports, nil for none.
func (x *bench) pipeline(what p4v1.GetForwardingPipelineConfigRequest_ResponseType) *p4v1.ForwardingPipelineConfig {
	x.Helper()
	r, err := x.client.GetForwardingPipelineConfig(x.ctx, &p4v1.GetForwardingPipelineConfigRequest{DeviceId: deviceID, ResponseType: what})
	if status.Code(err) == codes.FailedPrecondition {
		return nil
	}
	if err != nil {
		x.Fatal(err)
	}
	return r.Config
}

// ONOS (protocols/p4runtime/ctl) requests mastership without a role, compares
// cookies and sets its pipeconf if they differ. It writes members, then groups, then
// entries, with a request for each kind. It accepts ALREADY_EXISTS for an insert and
// NOT_FOUND for a delete in the details of an update. It reads with the ids of
// tables and profiles as wildcards. An instance with a higher election id becomes
// primary; the other one is notified by the status.
func TestAsONOS(t *testing.T) {
	eachFresh(t, func(x *bench) {
		x.session = x.openAs(&p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: uint128(20)})
		a := x.arbitration(x.session)
		if a.Status == nil || a.ElectionId == nil || a.Status.Code != 0 || a.DeviceId != deviceID {
			x.Fatalf("the first instance is told %v", a)
		}
		if c := x.pipeline(p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY); c.GetCookie().GetCookie() != 0 {
			x.Errorf("a new switch runs %v", c)
		}
		const fingerprint = 1<<63 | 7 // of the pipeconf: a negative number in Java
		x.fails(x.push("", uint128(20), fingerprint), codes.OK)
		c := x.pipeline(p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY)
		if c.GetCookie().GetCookie() != fingerprint || x.soft != nil && (c.P4Info != nil || len(c.P4DeviceConfig) > 0) {
			x.Errorf("cookie %#x, and P4Info: %v, configuration: %d bytes; want %#x alone", c.GetCookie().GetCookie(), c.GetP4Info() != nil, len(c.GetP4DeviceConfig()), uint64(fingerprint))
		}

		entry, member, group := x.indirect("t_select", 5, 0, 1), x.member("selector", 1, 0x11), x.group(1, 1, 2)
		x.must(insert(member), insert(x.member("selector", 2, 0x22)))
		x.must(insert(group))
		x.must(insert(entry), insert(x.exactEntry(7, 0x42)))
		x.marks(0x42, body(1, 7, 0, 0))
		if seen := x.spread(5, 40); seen[0x11] == 0 || seen[0x22] == 0 || seen[0x11]+seen[0x22] != 40 {
			x.Errorf("a group of two sends 40 packets to %v", seen)
		}
		err := x.write(insert(x.exactEntry(7, 0x42)), insert(x.exactEntry(8, 0x43)))
		if got := details(err); status.Code(err) != codes.Unknown || !slices.Equal(got, []codes.Code{codes.AlreadyExists, codes.OK}) {
			x.Errorf("inserted again: %v, details %v", err, got)
		}
		x.marks(0x43, body(1, 8, 0, 0))
		err = x.write(remove(x.exactEntry(9, 0)), remove(x.exactEntry(8, 0)))
		if got := details(err); status.Code(err) != codes.Unknown || !slices.Equal(got, []codes.Code{codes.NotFound, codes.OK}) {
			x.Errorf("deleted without being there: %v, details %v", err, got)
		}
		x.same(x.got(&p4v1.TableEntry{TableId: entry.TableId}), entry)
		x.same(x.got(&p4v1.ActionProfileMember{ActionProfileId: x.id("selector")}), member, x.member("selector", 2, 0x22))
		if got := x.got(&p4v1.ActionProfileGroup{ActionProfileId: x.id("selector")}); len(got) != 1 || len(got[0].GetActionProfileGroup().GetMembers()) != 2 {
			x.Errorf("groups: %v", got)
		}
		if got := x.got(&p4v1.DirectCounterEntry{TableEntry: &p4v1.TableEntry{TableId: x.id("t_exact")}}); len(got) != 1 || got[0].GetDirectCounterEntry().GetData().GetPacketCount() != 1 {
			x.Errorf("counters of the one entry that one packet hit: %v", got)
		}

		x.send(1, body(15, 0, 0, 0))
		if p := x.next(x.session).GetPacket(); p == nil || !bytes.Equal(p.Payload, body(15, 0, 0, 0)) || len(p.Metadata) == 0 {
			x.Errorf("packet-in %v", p)
		}
		if x.soft != nil { // not visible on BMv2
			if out := x.outOf(3, func() { x.say(x.session, packetOut(3, 0, body(1, 2, 3, 4))) }); !bytes.Equal(out, body(1, 2, 3, 4)) {
				x.Errorf("packet-out: port 3 sent %x", out)
			}
		}

		// Another instance becomes primary, changes the group, then deletes all.
		other := x.openAs(&p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: uint128(21)})
		if a := x.arbitration(other); a.Status.GetCode() != 0 {
			x.Errorf("the second instance is told %v", a)
		}
		if a := x.arbitration(x.session); a.Status.GetCode() == 0 || a.ElectionId.GetLow() != 21 {
			x.Errorf("the first instance is told %v", a)
		}
		x.fails(x.write(remove(entry)), codes.PermissionDenied)
		x.session = other
		x.must(insert(x.member("selector", 3, 0x33)))
		x.must(modify(x.group(1, 3)))
		if seen := x.spread(5, 20); seen[0x33] != 20 {
			x.Errorf("a group of another member sends 20 packets to %v", seen)
		}
		x.must(remove(entry))
		x.must(remove(x.group(1)))
		x.must(remove(x.member("selector", 1, 0x11)), remove(x.member("selector", 2, 0x22)), remove(x.member("selector", 3, 0x33)))
		x.same(x.got(&p4v1.TableEntry{TableId: entry.TableId}))
		x.same(x.got(&p4v1.ActionProfileMember{ActionProfileId: x.id("selector")}))
	})
}

// Stratum's session (stratum/lib/p4runtime) has an election id of 128 bits,
// which must be returned unchanged, as must the role. It sets the pipeline without a
// cookie and reads it back. First it reads the entries of all tables at once and
// deletes them. Its entries of selectors are one-shot.
func TestAsStratumsSession(t *testing.T) {
	eachFresh(t, func(x *bench) {
		election := &p4v1.Uint128{High: 3, Low: 1 << 63}
		ask := &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: election}
		role := ""
		if x.soft != nil { // PI uses role ids, not names
			role = "sdn_controller"
			ask.Role = &p4v1.Role{Name: role}
		}
		x.session = x.openAs(ask)
		a := x.arbitration(x.session)
		if a.DeviceId != deviceID || !proto.Equal(a.ElectionId, election) || a.Role.GetName() != role || a.Status.GetCode() != 0 {
			x.Fatalf("the session is told %v", a)
		}
		x.fails(x.push(role, election, 0), codes.OK)
		c := x.pipeline(p4v1.GetForwardingPipelineConfigRequest_ALL)
		if !proto.Equal(c.GetP4Info(), x.config.P4Info) || x.soft != nil && !bytes.Equal(c.P4DeviceConfig, x.config.P4DeviceConfig) {
			x.Error("the pipeline that is read is not the one that was set")
		}
		write := func(updates ...*p4v1.Update) {
			x.Helper()
			if _, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID, Role: role, ElectionId: election, Updates: updates}); err != nil {
				x.Errorf("%v, details %v", err, details(err))
			}
		}
		write(insert(x.exactEntry(7, 0x42)), insert(x.oneShot(5, map[uint64]int32{0x11: 1, 0x22: 3})))
		x.marks(0x42, body(1, 7, 0, 0))
		if seen := x.spread(5, 60); seen[0x11] == 0 || seen[0x22] <= seen[0x11] || seen[0x11]+seen[0x22] != 60 {
			x.Errorf("weights of 1 and 3 send 60 packets to %v", seen)
		}
		// All entries except the program's const entries.
		theirs := []uint32{x.id("t_const"), x.id("t_initial")}
		all := []proto.Message{&p4v1.TableEntry{}}
		if x.soft == nil { // PI cannot read t_initial: "Table state out-of-sync with target"
			all = []proto.Message{&p4v1.TableEntry{TableId: x.id("t_exact")}, &p4v1.TableEntry{TableId: x.id("t_select")}}
		}
		clear := func() (updates []*p4v1.Update) {
			x.Helper()
			for _, e := range x.got(all...) {
				if t := e.GetTableEntry(); !t.GetIsDefaultAction() && !slices.Contains(theirs, t.TableId) {
					updates = append(updates, remove(t))
				}
			}
			return updates
		}
		updates := clear()
		if len(updates) != 2 {
			x.Errorf("%d entries are read, want 2", len(updates))
		}
		write(updates...)
		if left := clear(); len(left) > 0 {
			x.Errorf("left: %v", left)
		}
		x.marks(0, body(1, 7, 0, 0))
		if x.soft != nil {
			x.fails(x.write(insert(x.exactEntry(7, 0x42))), codes.PermissionDenied) // without the role
		}
	})
}
