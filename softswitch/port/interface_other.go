// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package port

import "errors"

// OpenInterface opens a network interface; that needs Linux.
func OpenInterface(string) (Link, error) {
	return nil, errors.New("network interfaces can be opened on Linux only; use pcap files")
}
