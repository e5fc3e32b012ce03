// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
)

// maxTraceLines ends a trace, so that a switch that is left alone does not fill the disk.
const maxTraceLines = 1_000_000

// traceTo makes a switch write what it does with each packet to a file, a line a step with
// the seconds since its start. The function that it returns closes the file.
func traceTo(sw *softswitch.Switch, file string) (end func() error, err error) {
	f, err := outfile.Stream(file)
	if err != nil {
		return nil, err
	}
	lines := 0
	sw.Lock()
	defer sw.Unlock()
	sw.Trace(&softswitch.Tracer{
		Follow: func(*packet.Frame) bool { return lines < maxTraceLines },
		Step: func(now vtime.Time, text string) {
			if lines++; lines == maxTraceLines {
				text = "the trace ends after so many lines"
			}
			fmt.Fprintf(f, "%.6f %s\n", now.Seconds(), text) // a full disk ends no switch
		},
		Copy: func(_, _ *packet.Frame) {},
		Drop: func(*packet.Frame) {},
	})
	return f.Close, nil
}
