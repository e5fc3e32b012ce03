// SPDX-License-Identifier: Apache-2.0

package diag

import "strings"

// DidYouMean returns ` (did you mean "x"?)` for the candidate nearest to name
// in spelling, or "" if none is near: at most a third of its letters differ.
// Of several at the same distance, it takes the first.
func DidYouMean(name string, candidates []string) string {
	best, limit := "", len(name)/3+1
	for _, c := range candidates {
		if c == name {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(c), limit); d < limit {
			best, limit = c, d
		}
	}
	if best == "" {
		return ""
	}
	return ` (did you mean "` + best + `"?)`
}

// OneOf is DidYouMean, or if no candidate is near, a list of the first 16.
func OneOf(name string, candidates []string) string {
	const most = 16
	like := DidYouMean(name, candidates)
	switch {
	case like != "" || len(candidates) == 0:
		return like
	case len(candidates) > most:
		return "; there are: " + strings.Join(candidates[:most], ", ") + " …"
	}
	return "; there are: " + strings.Join(candidates, ", ")
}

// distance returns the number of bytes to insert, delete, replace or swap
// with a neighbour to get from a to b, or limit if it is at least that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, two
	}
	return min(one[len(b)], limit)
}
