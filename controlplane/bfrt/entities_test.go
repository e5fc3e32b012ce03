// SPDX-License-Identifier: Apache-2.0

package bfrt_test

import (
	"strings"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/schema"
)

// The backups of replicas were left out without a word.
func TestBackupsAreRefused(t *testing.T) {
	s, err := schema.New(&p4configv1.P4Info{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"multicast 1 -> 1, 2 backup 3", "clone 5 -> 1 backup 2/7"} {
		e, err := s.ParseEntity(line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bfrt.Entries(s, []*p4v1.Entity{e}); err == nil || !strings.Contains(err.Error(), "no backups of replicas: "+line) {
			t.Errorf("%s: got %v", line, err)
		}
	}
}
