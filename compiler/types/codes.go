// SPDX-License-Identifier: Apache-2.0

package types

import "github.com/pauseless/pauseless/internal/diag"

// Codes of the errors of this package. Package compiler documents them all,
// with examples.
const (
	CodeUndeclared  diag.Code = "undeclared"
	CodeDuplicate   diag.Code = "duplicate"
	CodeMismatch    diag.Code = "type-mismatch"
	CodeNotConstant diag.Code = "not-constant"
	CodeNoValue     diag.Code = "no-value"
	CodeNoType      diag.Code = "no-type"
	CodeTypeUse     diag.Code = "type-use"
	CodeTypeArgs    diag.Code = "type-arguments"
	CodeInfer       diag.Code = "inference"
	CodeWidth       diag.Code = "width"
	CodeTooLarge    diag.Code = "too-large"
	CodeOperand     diag.Code = "operand"
	CodeOutOfRange  diag.Code = "out-of-range"
	CodeCast        diag.Code = "cast"
	CodeNoMember    diag.Code = "no-member"
	CodeNotVariable diag.Code = "not-variable"
	CodeCall        diag.Code = "call"
	CodeArgument    diag.Code = "argument"
	CodeDirection   diag.Code = "direction"
	CodePlacement   diag.Code = "placement"
	CodeFlow        diag.Code = "return-value"
	CodeAbstract    diag.Code = "abstract"
	CodeState       diag.Code = "state"
	CodeSelect      diag.Code = "select"
	CodeSwitch      diag.Code = "switch"
	CodeTable       diag.Code = "table"
	CodeActionRef   diag.Code = "action-reference"
	CodeEntry       diag.Code = "entry"
	CodeAnnotation  diag.Code = "annotation"
	CodeAssert      diag.Code = "static-assert"
)

// Codes of the warnings of this package.
const (
	CodeUnused      diag.Code = "unused"
	CodeShadow      diag.Code = "shadow"
	CodeOverflow    diag.Code = "overflow"
	CodeEmptySet    diag.Code = "empty-set"
	CodeUnreachable diag.Code = "unreachable"
	CodeTransition  diag.Code = "no-transition"
	CodeDeprecated  diag.Code = "deprecated"

	CodeUninitialised diag.Code = "uninitialised"
)
