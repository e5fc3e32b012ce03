// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"fmt"
	"strconv"

	"github.com/pauseless/pauseless/compiler/source"
)

// Token is one lexical element of a program. Text is set for names, literals
// and comments, and for all tokens in a preprocessing directive.
type Token struct {
	Kind  Kind
	Flags TokenFlags
	Pos   source.Pos
	End   source.Pos
	Text  string
}

// TokenFlags describe the context of a token.
type TokenFlags uint8

// Token flags.
const (
	LineStart  TokenFlags = 1 << iota // first on its line
	SpaceAhead                        // white space or a comment before it
	NoExpand                          // name of a macro inside its own expansion
	Open                              // a string that is not closed on its line; see Scanner.Lines
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	EOF Kind = iota
	Illegal
	Comment

	Name
	Integer
	String

	punctuationStart
	LParen       // (
	RParen       // )
	LBracket     // [
	RBracket     // ]
	LBrace       // {
	RBrace       // }
	InvalidBrace // {#}
	Less         // <
	Greater      // >
	Not          // !
	Tilde        // ~
	Colon        // :
	PlusColon    // +:
	Comma        // ,
	Question     // ?
	Dot          // .
	Range        // ..
	Dots         // ...
	Semicolon    // ;
	At           // @
	Hash         // #
	HashHash     // ##
	Mask         // &&&
	AndAnd       // &&
	OrOr         // ||
	Equal        // ==
	NotEqual     // !=
	GreaterEqual // >=
	LessEqual    // <=
	Shl          // <<
	Shr          // >>, joined by the parser
	Plus         // +
	PlusPlus     // ++
	PlusSat      // |+|
	Minus        // -
	MinusSat     // |-|
	Star         // *
	Slash        // /
	Percent      // %
	Or           // |
	And          // &
	Xor          // ^
	Assign       // =

	// The assignment operators, in the order of BinaryOf.
	PlusAssign     // +=
	PlusSatAssign  // |+|=
	MinusAssign    // -=
	MinusSatAssign // |-|=
	StarAssign     // *=
	SlashAssign    // /=
	PercentAssign  // %=
	ShlAssign      // <<=
	ShrAssign      // >>=
	AndAssign      // &=
	OrAssign       // |=
	XorAssign      // ^=
	punctuationEnd

	keywordStart
	Abstract
	Action
	Bit
	Bool
	Break
	Const
	Continue
	Control
	Default
	Else
	Enum
	Error
	Exit
	Extern
	False
	For
	Header
	HeaderUnion
	If
	In
	Inout
	Int
	MatchKind
	Out
	Package
	Parser
	Pragma // @pragma
	Return
	Select
	StringType
	Struct
	Switch
	Table
	This
	Transition
	True
	Tuple
	Typedef
	ValueSet
	Varbit
	Void
	Underscore
	// Keywords that can also be names.
	Actions
	Apply
	Entries
	Key
	List
	Priority
	State
	Type
	keywordEnd
)

var kindText = [...]string{
	EOF: "end of file", Illegal: "illegal token", Comment: "comment",
	Name: "name", Integer: "integer", String: "string",
	LParen: "(", RParen: ")", LBracket: "[", RBracket: "]", LBrace: "{", RBrace: "}", InvalidBrace: "{#}",
	Less: "<", Greater: ">", Not: "!", Tilde: "~", Colon: ":", PlusColon: "+:", Comma: ",", Question: "?",
	Dot: ".", Range: "..", Dots: "...", Semicolon: ";", At: "@", Hash: "#", HashHash: "##",
	Mask: "&&&", AndAnd: "&&", OrOr: "||", Equal: "==", NotEqual: "!=", GreaterEqual: ">=", LessEqual: "<=",
	Shl: "<<", Shr: ">>", Plus: "+", PlusPlus: "++", PlusSat: "|+|", Minus: "-", MinusSat: "|-|",
	Star: "*", Slash: "/", Percent: "%", Or: "|", And: "&", Xor: "^", Assign: "=",
	PlusAssign: "+=", PlusSatAssign: "|+|=", MinusAssign: "-=", MinusSatAssign: "|-|=", StarAssign: "*=",
	SlashAssign: "/=", PercentAssign: "%=", ShlAssign: "<<=", ShrAssign: ">>=", AndAssign: "&=",
	OrAssign: "|=", XorAssign: "^=",
	Abstract: "abstract", Action: "action", Bit: "bit", Bool: "bool", Break: "break", Const: "const",
	Continue: "continue", Control: "control", Default: "default", Else: "else", Enum: "enum", Error: "error",
	Exit: "exit", Extern: "extern", False: "false", For: "for", Header: "header", HeaderUnion: "header_union",
	If: "if", In: "in", Inout: "inout", Int: "int", MatchKind: "match_kind", Out: "out", Package: "package",
	Parser: "parser", Pragma: "@pragma", Return: "return", Select: "select", StringType: "string",
	Struct: "struct", Switch: "switch", Table: "table", This: "this", Transition: "transition", True: "true",
	Tuple: "tuple", Typedef: "typedef", ValueSet: "value_set", Varbit: "varbit", Void: "void", Underscore: "_",
	Actions: "actions", Apply: "apply", Entries: "entries", Key: "key", List: "list", Priority: "priority",
	State: "state", Type: "type",
}

// String returns the text of a token kind that has only one, otherwise its
// description.
func (k Kind) String() string {
	if int(k) < len(kindText) {
		return kindText[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

var keywords = func() map[string]Kind {
	m := make(map[string]Kind, keywordEnd-keywordStart)
	for k := keywordStart + 1; k < keywordEnd; k++ {
		m[kindText[k]] = k
	}
	delete(m, "@pragma")
	return m
}()

// IsKeyword reports whether k is a keyword.
func (k Kind) IsKeyword() bool { return keywordStart < k && k < keywordEnd }

// isName reports whether a token of kind k can be the name of something.
func (k Kind) isName() bool { return k == Name || Actions <= k && k < keywordEnd }

// BinaryOf returns the binary operator of an assignment operator; Assign for
// "=".
func (k Kind) BinaryOf() Kind {
	switch k {
	case PlusAssign:
		return Plus
	case PlusSatAssign:
		return PlusSat
	case MinusAssign:
		return Minus
	case MinusSatAssign:
		return MinusSat
	case StarAssign:
		return Star
	case SlashAssign:
		return Slash
	case PercentAssign:
		return Percent
	case ShlAssign:
		return Shl
	case ShrAssign:
		return Shr
	case AndAssign:
		return And
	case OrAssign:
		return Or
	case XorAssign:
		return Xor
	}
	return Assign
}

// Source returns the token as it appears in a program.
func (t *Token) Source() string {
	switch t.Kind {
	case String:
		return `"` + t.Text + `"`
	case Name, Integer, Comment, Illegal:
		return t.Text
	}
	return t.Kind.String()
}

// describe returns the token as error messages show it.
func (t *Token) describe() string {
	switch t.Kind {
	case EOF:
		return "end of file"
	case Name, Integer:
		return t.Kind.String() + " " + t.Text
	case String:
		return "string"
	}
	return strconv.Quote(t.Source())
}

// PrintTokens returns one line per token, with its position.
func PrintTokens(set *source.Set, tokens []Token) string {
	var b []byte
	for i := range tokens {
		t := &tokens[i]
		pos := set.Position(t.Pos)
		kind := "punctuation"
		switch {
		case t.Kind < punctuationStart:
			kind = t.Kind.String()
		case t.Kind.IsKeyword():
			kind = "keyword"
		}
		if t.Kind == EOF {
			b = fmt.Appendf(b, "%v end of file\n", pos)
			continue
		}
		b = fmt.Appendf(b, "%v %s %s\n", pos, kind, t.Source())
	}
	return string(b)
}
