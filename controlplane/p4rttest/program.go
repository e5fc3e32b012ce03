// SPDX-License-Identifier: Apache-2.0

package p4rttest

import (
	_ "embed"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

//go:embed program.p4info.txtpb
var programText []byte

// Program returns the P4Info of a fictitious program with every kind of object:
// all match kinds, an action selector, registers, counters, meters, a digest
// and packets to and from the controller.
func Program() *p4configv1.P4Info {
	info := &p4configv1.P4Info{}
	if err := prototext.Unmarshal(programText, info); err != nil {
		panic("BUG: program.p4info.txtpb: " + err.Error())
	}
	return info
}
