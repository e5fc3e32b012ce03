// SPDX-License-Identifier: Apache-2.0

//go:build !(amd64 && linux)

package native

import "github.com/pauseless/pauseless/softswitch/interp/internal/ops"

// Translate returns nil: no program is translated for this platform.
func Translate(*ops.Program, *Offsets, bool) *ops.Native { return nil }

// Print returns ok = false.
func Print(*ops.Program, *Offsets) (text string, ok bool) { return "", false }
