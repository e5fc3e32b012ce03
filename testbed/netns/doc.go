// SPDX-License-Identifier: Apache-2.0

// Package netns builds a network on one Linux machine: a network namespace
// for each host, a process for each switch, and veth pairs between them. All
// that it makes is written to a journal before it is made, so that Down
// removes everything, whatever happened in between.
//
// The switches' interfaces are in the namespace of whoever calls Up, and
// their servers on its loopback interface, so that controllers, Wireshark and
// tcpdump work as they always do.
package netns

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
)

// RunDir is where each network keeps its journal and logs, in a directory of
// its name.
var RunDir = "/run/pauseless"

// ErrRoot reports that the caller may not make interfaces and namespaces.
var ErrRoot = errors.New("making network namespaces and interfaces needs root: run this with sudo")

// Down and Up agree on what a network may be called: its name is part of
// those of namespaces and files.
var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// CheckName returns an error if a network may not be called so.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("network name %q: use up to 32 of a-z, 0-9 and -, beginning with a letter or digit", name)
	}
	return nil
}

// Dir returns the directory of a network.
func Dir(name string) string { return filepath.Join(RunDir, name) }

// Namespace returns the name of a host's network namespace.
func Namespace(network, host string) string { return network + "-" + host }
