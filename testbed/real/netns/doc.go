// SPDX-License-Identifier: Apache-2.0

// Package netns builds a network on one Linux machine: a network namespace
// for each host, a process for each switch, and veth pairs between them. It
// writes each object to a journal before it makes it, so that Down removes
// everything, also after a crash.
//
// The switches' interfaces are in the caller's namespace, and their servers on
// its loopback interface, so that controllers, Wireshark and tcpdump need no
// special handling.
package netns

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
)

// RunDir has a directory for each network, with its journal and logs.
var RunDir = "/run/pauseless"

// ErrRoot reports that the process is not root.
var ErrRoot = errors.New("making network namespaces and interfaces needs root: run this with sudo")

// validName matches names of networks, which are parts of the names of
// namespaces and files.
var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// CheckName returns an error if name is not a valid name of a network.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("network name %q: use up to 32 of a-z, 0-9 and -, beginning with a letter or digit", name)
	}
	return nil
}

// Dir returns the directory of a network's journal and logs.
func Dir(name string) string { return filepath.Join(RunDir, name) }

// Control returns the control socket of the relay of a network's links.
func Control(name string) string { return filepath.Join(Dir(name), "relay.sock") }

// Namespace returns the name of a host's network namespace.
func Namespace(network, host string) string { return network + "-" + host }
