// SPDX-License-Identifier: Apache-2.0
// Name: directives
#if /* ERROR directive "the condition ends too early" */
#endif
#if /* ERROR directive "the condition ends too early" */ 1 +
#endif
#if /* ERROR directive "( is not closed in the condition" */ (1
#endif
#if /* ERROR directive "division by zero in the condition" */ 1 / 0
#endif
#if /* ERROR directive "X is not a macro with parameters" */ X(1)
#endif
#if defined /* ERROR directive ""defined" needs the name of a macro" */
#endif
#if defined /* ERROR directive ""defined(" is not closed" */(X
#endif
#if /* ERROR directive "unexpected 2 in the condition" */ 1 2
#endif
#if /* ERROR directive "9z is not a number the preprocessor knows" */ 9z
#endif
#if /* ERROR directive "? without : in the condition" */ 1 ? 2
#endif
#if /* ERROR directive "unexpected "a" in the condition" */ "a"
#endif
#else /* ERROR directive "#else without #if" */
#endif /* ERROR directive "#endif without #if" */
#ifdef /* ERROR directive "#ifdef needs the name of a macro" */
#endif
#undef /* ERROR directive "#undef needs the name of a macro" */ 1
#line x /* ERROR directive "#line needs a line number" */
#includ /* WARN directive "unknown directive #includ: the line is ignored (did you mean "include"?)" */ "x"
#frobnicate /* WARN directive "unknown directive #frobnicate: the line is ignored" */
const int a = # /* ERROR syntax "expected an expression, found "#"" */ 1;
---
// Name: open conditional
# /* ERROR directive "#if without #endif" */if 1
const int a = 1;
---
// Name: after else
#if 1
#else
#else /* ERROR directive "#else after #else" */
#elif /* ERROR directive "#elif after #else" */ 1
#endif
---
// Name: includes
#include /* ERROR include "#include needs "file" or <file>" */
#include /* ERROR include "#include needs "file" or <file>" */ 5
#include /* ERROR include "cannot find nowhere.p4 in testdata, the compiler's own files" */ "nowhere.p4"
#include /* ERROR include "cannot find nowhere.p4 in the compiler's own files" */ <nowhere.p4>
#define FILE "nowhere.p4"
#include /* ERROR include "cannot find nowhere.p4 in testdata, the compiler's own files" */ FILE
---
// Name: macros
#define /* ERROR macro "#define needs the name of a macro" */
#define /* ERROR macro "#define needs the name of a macro" */ 1
#define defined /* ERROR macro "a macro cannot have the name "defined"" */ 1
#define A ## /* ERROR macro "## cannot be the first or last thing in a macro" */ x
#define B x ## /* ERROR macro "## cannot be the first or last thing in a macro" */
#define C(x) # y
#define D(1 /* ERROR macro "macro parameters are names" */) x
#define E( /* ERROR macro "the parameter list of macro E is not closed" */x
#define F(x, y) x + y
const int a = F /* ERROR macro "macro F takes 2 arguments, not 1" */(1);
const int b = F /* ERROR macro "macro F takes 2 arguments, not 3" */(1, 2, 3);
#define G 1
#define G /* WARN macro "macro G is defined again with another meaning" */ 2
#define G 2
#define H(x) x ## +
const int c = H(1); /* ERROR syntax "expected an expression, found ";"" */
const int d = F /* ERROR macro "the call of macro F is not closed" */(1
/* ERROR-AT-END syntax "expected ";" after the constant, found end of file" */---
// Name: messages
# /* ERROR user-error "#error this cannot be" */error this cannot be
# /* WARN user-warning "#warning this should not be" */warning this should not be
---
// Name: positions in macros are those of the use
#define BAD(x) (x + nothing)
const int a = 1 +
    BAD /* ERROR undeclared "nothing is not declared" */(
      2);
---
// Name: skipped text is not looked at
#if 0
' " # include nonsense
#if 1
#error no
#else
#endif
#elif 1
const int a = 1;
#else
#error no
#endif
const int b = a;
