// SPDX-License-Identifier: Apache-2.0

//go:build race

package controller

func init() { racing = true }
