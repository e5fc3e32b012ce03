// SPDX-License-Identifier: Apache-2.0

//lint:file-ignore SA1019 controllers of earlier versions still send these fields

package p4rt

import p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

// oldRole is an arbitration update for a role with a number instead of a name.
func oldRole(id, election uint64) *p4v1.MasterArbitrationUpdate {
	return &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, Role: &p4v1.Role{Id: id}, ElectionId: uint128(election)}
}

func setOldRole(r *p4v1.WriteRequest, id uint64) { r.RoleId = id }
