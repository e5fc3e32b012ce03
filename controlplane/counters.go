// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
)

// ReadTableCounter returns the number of packets that hit entries with the given
// action, from the table's direct counter.
func (s *Session) ReadTableCounter(ctx context.Context, table, action string) (packets uint64, err error) {
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return 0, err
	}
	t, err := sch.Table(table)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.target.Name, err)
	}
	if !t.DirectCounter {
		return 0, fmt.Errorf("%s: table %s has no direct counter", s.target.Name, t.Name)
	}
	a := slices.IndexFunc(t.Actions, func(a *schema.Action) bool { return a.Name == action || a.Full == action })
	if a < 0 {
		return 0, fmt.Errorf("%s: table %s has no action %s", s.target.Name, t.Name, action)
	}
	entries, err := s.Read(ctx, &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: t.ID, CounterData: &p4v1.CounterData{}}}})
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e := e.GetTableEntry(); e.GetAction().GetAction().GetActionId() == t.Actions[a].ID {
			packets += uint64(e.GetCounterData().GetPacketCount())
		}
	}
	return packets, nil
}
