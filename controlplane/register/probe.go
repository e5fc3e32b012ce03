// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"errors"
	"fmt"

	"github.com/pauseless/pauseless/controlplane/schema"
)

// Probe selects the protocol for a switch's registers: it tries to read the
// program's smallest array over P4Runtime and, if the switch does not support
// that, over BMv2's Thrift server at host:port. An empty address means that
// there is none.
func Probe(ctx context.Context, sch *schema.Schema, session Entities, thrift string) (Store, error) {
	over := P4Runtime{session}
	var probe *schema.Register
	for _, r := range sch.Registers {
		if single(r) == nil && (probe == nil || r.Size < probe.Size) {
			probe = r
		}
	}
	if probe == nil {
		return over, nil // nothing to read either way
	}
	_, err := over.Read(ctx, probe)
	if err == nil || !errors.Is(err, ErrUnsupported) {
		return over, err
	}
	if thrift == "" {
		return nil, fmt.Errorf("the switch does not support registers over P4Runtime; if it is BMv2, give the address of its Thrift server (--thrift 127.0.0.1:9090): %w", ErrUnsupported)
	}
	return dialThrift(ctx, thrift, probe)
}
