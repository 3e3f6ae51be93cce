/**
 * Characters that are not seen: the controls of a terminal (C0 and C1), separators of lines, and marks that embed or override the direction of text.
 * Ranges for a regular expression, in the notation that JSON Schema has, too. Tab and line feed are not among them.
 */
export const HIDDEN_MARKS = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069`;

/** A name on one line has no use for these marks either: tab, line feed, and marks of direction that are allowed in running text. */
export const HIDDEN_IN_NAMES = String.raw`${HIDDEN_MARKS}\u0009\u000a\u061c\u200e\u200f`;

const hidden = new RegExp(`[${HIDDEN_MARKS}]`, 'gu');

/** Text as a terminal may show it: each hidden mark is `instead`. */
export function withoutHiddenMarks(text: string, instead: string): string {
  return text.replace(hidden, instead);
}
