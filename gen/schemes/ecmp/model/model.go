// SPDX-License-Identifier: Apache-2.0

// Package ecmp models ECMP: flows are spread by the hash of their 5-tuple.
package ecmp

import "github.com/pauseless/pauseless/internal/model"

func init() {
	// The next choice goes in turn: hash+1 is as good a hash as hash.
	model.Add(model.Scheme{Name: "ecmp", Base: &model.Base{Choose: (*model.Switch).HashPath}})
}
