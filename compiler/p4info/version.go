// SPDX-License-Identifier: Apache-2.0

package p4info

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// Versions are the supported versions of P4Runtime for P4Info, newest first.
var Versions = []string{"1.5", "1.3"}

// ForVersion returns a P4Info that programs for an older version of P4Runtime
// can read. For 1.3 it omits the fields that 1.4 and 1.5 added: default actions
// with arguments, whether a table has initial entries, the units of selectors'
// sizes, the type of a meter and platform properties. Switches do not need
// them.
func ForVersion(info *p4configv1.P4Info, version string) (*p4configv1.P4Info, error) {
	switch version {
	case Versions[0]:
		return info, nil
	case "1.3":
	default:
		return nil, fmt.Errorf("P4Info can be written for P4Runtime %s and %s, not for %q", Versions[0], Versions[1], version)
	}
	if info == nil {
		return nil, nil
	}
	old := proto.Clone(info).(*p4configv1.P4Info)
	if old.PkgInfo != nil {
		old.PkgInfo.PlatformProperties = nil
	}
	for _, t := range old.Tables {
		t.InitialDefaultAction, t.HasInitialEntries = nil, false
	}
	for _, p := range old.ActionProfiles {
		p.SelectorSizeSemantics, p.WeightsDisallowed = nil, false
	}
	for _, m := range old.Meters {
		if m.Spec != nil {
			m.Spec.Type = 0
		}
	}
	for _, m := range old.DirectMeters {
		if m.Spec != nil {
			m.Spec.Type = 0
		}
	}
	return old, nil
}
