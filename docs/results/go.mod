// SPDX-License-Identifier: Apache-2.0

// A module of its own, without packages: the outcomes are not part of what
// `go install` downloads.
module github.com/pauseless/pauseless/docs/results

go 1.26
