// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// nameSlots records the names of the slots for Print.
func (c *compiler) nameSlots() {
	names := make([]string, c.temps)
	field := func(at int, name string, limbs int) {
		if limbs == 1 {
			names[at] = name
			return
		}
		for i := range limbs {
			names[at+i] = fmt.Sprintf("%s.%d", name, i)
		}
	}
	for i, name := range [ops.SysSlots]string{ops.SysPayload: "$payload", ops.SysTruncate: "$truncate", ops.SysLength: "$length", ops.SysIngressLen: "$arrived", ops.SysExit: "$exit"} {
		names[c.Prog.Sys+i] = name
	}
	for _, h := range c.Order {
		if h.Slots == nil {
			names[h.Base+ops.RelValid], names[h.Base+ops.RelOffset], names[h.Base+ops.RelDirty] = h.Name+"."+ops.ValidField, h.Name, h.Name+".$changed"
			if h.Type.Varbit >= 0 {
				names[h.Base+ops.RelVarLen], names[h.Base+ops.RelVarOff] = h.Name+".$bits", h.Name+".$at"
			}
		}
		for i, f := range h.Type.Fields {
			if at := h.Field(i); at != ops.NoSlot && f.Width > 0 {
				field(at, h.Name+"."+f.Name, ops.LimbsOf(f.Width))
			}
		}
	}
	for _, s := range c.stackOrder {
		names[s.Next] = s.Name + ".$next"
	}
	for _, s := range c.unionStackOrder {
		names[s.Next] = s.Name + ".$next"
	}
	for i := range c.ParamSlots {
		names[c.Params+i] = fmt.Sprintf("arg%d", i)
	}
	c.Prog.Names = names
}
