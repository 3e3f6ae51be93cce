/**
 * Matches characters that are invisible or change how text is shown: terminal controls (C0 and C1), line separators, and marks that embed or override
 * text direction. The ranges use a notation that JSON Schema has, too. Tab and line feed are excluded.
 */
export const HIDDEN_MARKS = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069`;

/** Matches the hidden marks and those that a one-line name does not need either: tab, line feed, and direction marks that running text may have. */
export const HIDDEN_IN_NAMES = String.raw`${HIDDEN_MARKS}\u0009\u000a\u061c\u200e\u200f`;

const hidden = new RegExp(`[${HIDDEN_MARKS}]`, 'gu');

/** Replaces each hidden mark by `instead`, so that a terminal may show the text. */
export function withoutHiddenMarks(text: string, instead: string): string {
  return text.replace(hidden, instead);
}
