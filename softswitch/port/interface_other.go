// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package port

import "errors"

// OpenInterface opens a network interface; that needs Linux.
func OpenInterface(string) (Link, error) {
	return nil, errors.New("network interfaces can be opened on Linux only; use pcap files")
}

// newWaiter returns what waits for the links.
func newWaiter(map[int]Link) (waiter, error) { return newChanWaiter(), nil }

func urge() (done func()) { return func() {} }
