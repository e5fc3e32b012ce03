// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 controllers of earlier versions still send these fields, and the server must accept them

package p4rtserver

import p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

func cookieOf(e *p4v1.TableEntry) uint64 { return e.ControllerMetadata }

func setCookie(e *p4v1.TableEntry, cookie uint64) { e.ControllerMetadata = cookie }

func egressPort(r *p4v1.Replica) uint32 { return r.GetEgressPort() }

// watchedNumber returns the port in the deprecated field of a member. It
// returns false if the field is not set.
func watchedNumber(m *p4v1.ActionProfileGroup_Member) (int, bool) {
	w, ok := m.WatchKind.(*p4v1.ActionProfileGroup_Member_Watch)
	if !ok {
		return -1, false
	}
	return int(w.Watch), true
}

func setWatchedNumber(m *p4v1.ActionProfileGroup_Member, port int) {
	m.WatchKind = &p4v1.ActionProfileGroup_Member_Watch{Watch: int32(port)}
}

func watchedNumberOf(a *p4v1.ActionProfileAction) (int, bool) {
	w, ok := a.WatchKind.(*p4v1.ActionProfileAction_Watch)
	if !ok {
		return -1, false
	}
	return int(w.Watch), true
}

func setWatchedNumberOf(a *p4v1.ActionProfileAction, port int) {
	a.WatchKind = &p4v1.ActionProfileAction_Watch{Watch: int32(port)}
}

func setEgressPort(r *p4v1.Replica, port uint32) {
	r.PortKind = &p4v1.Replica_EgressPort{EgressPort: port}
}

func roleID(r *p4v1.Role) uint64 { return r.GetId() }

func writeRoleID(r *p4v1.WriteRequest) uint64 { return r.GetRoleId() }

func pipelineRoleID(r *p4v1.SetForwardingPipelineConfigRequest) uint64 { return r.GetRoleId() }
