// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package port

import "errors"

// OpenInterface returns an error: network interfaces need Linux.
func OpenInterface(string) (Link, error) {
	return nil, errors.New("network interfaces can be opened on Linux only; use pcap files")
}

// newWaiter returns the waiter for the links.
func newWaiter(map[int]Link) (waiter, error) { return newChanWaiter(), nil }

func urge() (done func()) { return func() {} }
