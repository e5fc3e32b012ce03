// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package wire

import "errors"

// Open opens an interface by name.
func Open(string) (Port, error) {
	return nil, errors.New("hosts on real interfaces need Linux (AF_PACKET)")
}
