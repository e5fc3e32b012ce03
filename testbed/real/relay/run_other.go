// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package relay

import (
	"context"
	"errors"
)

// Run fails: this system has no packet sockets.
func Run(context.Context, *Config, func(string)) error {
	return errors.New("the relay of links needs Linux")
}
