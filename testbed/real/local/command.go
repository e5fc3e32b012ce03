// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"
	"fmt"
	"strings"
)

// Command is a command that a host executes, without a shell.
type Command struct {
	Words      []string // program and arguments
	Background bool     // it ended with &: nobody waits for it
}

func (c Command) String() string {
	text := strings.Join(c.Words, " ")
	if c.Background {
		text += " &"
	}
	return text
}

// command splits the text of a command into words, as a shell does with blanks and quotes.
// Everything else that a shell reads in it, such as | and $, is an error: no shell is
// started, since files of others would be executed by it as root.
func command(text string) (c Command, err error) {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutSuffix(text, "&"); ok && !strings.HasSuffix(rest, "&") {
		text, c.Background = rest, true
	}
	var word strings.Builder
	quote, inWord := rune(0), false
	end := func() {
		if inWord {
			c.Words = append(c.Words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == '\'', quote == '"' && !strings.ContainsRune("$`\\", r):
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case strings.ContainsRune("|&;<>()$`\\*?[]{}~#!\n\x00", r):
			return c, fmt.Errorf("%q means something to a shell, and none is started: quote it with ', or put the command into a script", r)
		case r == ' ' || r == '\t':
			end()
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	end()
	switch {
	case quote != 0:
		return c, fmt.Errorf("the quote %c has no end", quote)
	case len(c.Words) == 0:
		return c, errors.New("the command is empty")
	}
	return c, nil
}
