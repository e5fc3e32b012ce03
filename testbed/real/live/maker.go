// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// Maker makes the runs of an experiment on real switches, one at a time. A run that this
// machine disturbed is made again.
type Maker struct {
	Options
	// Named, if set, returns the name of the network of a plan's run, and Noted is called
	// with each network that is up.
	Named func(*exp.Plan) string
	Noted func(*exp.Plan, exp.Job, *local.Lab) error
	// Tries is how often a run is made at most; zero means three times.
	Tries int
}

var _ exp.Maker = (*Maker)(nil)

// Check returns an error if a case cannot run on real switches.
func (m *Maker) Check(s *scenario.Scenario) error {
	for _, c := range s.Cases() {
		if err := possible(c, m.Options); err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
		if m.Local.Kind == local.BMv2 && c.Own() == nil && c.BMv2.PacketRate == 0 {
			return fmt.Errorf("%v: the experiment is not for BMv2: add bmv2: {packet_rate: 250} to its file, and `exp run` in virtual time uses the same programs", c)
		}
	}
	return nil
}

// Make makes a run. If each try is disturbed, the last one is kept, with its remarks.
func (m *Maker) Make(ctx context.Context, p *exp.Plan, j exp.Job, begun func(worker string)) (*exp.Record, error) {
	c := p.Case(j)
	begun("")
	start := time.Now()
	tries := m.Tries
	if tries == 0 {
		tries = 3
	}
	o := m.Options
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if m.Named != nil {
		o.Name = m.Named(p)
	}
	if m.Noted != nil {
		o.Built = func(lab *local.Lab) error { return m.Noted(p, j, lab) }
	}
	flows, err := c.Flows(j.Seed)
	if err != nil {
		return nil, err
	}
	var again []string
	for try := 1; ; try++ {
		plan, err := planOf(c, o.Local) // with other free ports each time
		if err != nil {
			return nil, err
		}
		var run *result.Run
		if c.Own() != nil {
			run, err = own(ctx, c, plan, j.Seed, o)
		} else {
			run, err = one(ctx, c, flows, plan, j.Seed, o)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && try == tries {
			return nil, exp.RunError{Cause: err}
		}
		why := ""
		if err != nil {
			why = err.Error()
		} else {
			why = strings.Join(run.Remarks, "; ") // each is a disturbance
		}
		if why != "" && try < tries {
			o.Say(fmt.Sprintf("%s: again, since %s", p.Name(j), why))
			again = append(again, why)
			continue
		}
		if len(again) > 0 {
			run.Remarks = append(run.Remarks, fmt.Sprintf("made %d times: before, %s", try, strings.Join(again, "; before, ")))
		}
		run.Scenario, run.Network, run.Raw = p.Scenario.Name, nil, nil
		return &exp.Record{Key: j.Key, Build: exp.Version(), TookS: time.Since(start).Seconds(), Run: run}, nil
	}
}

// Kept does nothing.
func (m *Maker) Kept(context.Context, exp.Job) {}
