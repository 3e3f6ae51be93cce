import { HIDDEN_IN_NAMES, HIDDEN_MARKS } from '@tollgate/contracts';
import { z } from 'zod';

const NO_HIDDEN_MARKS = 'must not contain control characters or marks that turn text around';

/**
 * Reads a text to search for. Surrounding blanks are removed, and the rest is not empty. `max` counts characters. Stored texts are a `nameText` or a
 * `noteText`.
 */
export function trimmedText(max: number) {
  return z.string().trim().min(1).max(max).meta({ pattern: SOMETHING });
}

/** Reads a name. It has one line and no invisible characters. */
export function nameText(max: number) {
  return visibleText(HIDDEN_IN_NAMES)
    .trim()
    .min(1)
    .max(max)
    .meta({ pattern: someVisible(HIDDEN_IN_NAMES) });
}

/** Reads a reason, which may have several lines. */
export function noteText(max: number) {
  return visibleText(HIDDEN_MARKS)
    .trim()
    .min(1)
    .max(max)
    .meta({ pattern: someVisible(HIDDEN_MARKS) });
}

/** Reads a `noteText` that may be empty. */
export function optionalNoteText(max: number) {
  return visibleText(HIDDEN_MARKS)
    .max(max)
    .meta({ pattern: `^[^${HIDDEN_MARKS}]*$` });
}

/** Is checked before blanks are removed, because some of the marks are blanks. */
function visibleText(marks: string) {
  const visible = new RegExp(`^[^${marks}]*$`, 'u');
  return z.string().refine((text) => visible.test(text), NO_HIDDEN_MARKS);
}

/** Describes the rule for the API document, whose lengths count blanks too. */
const SOMETHING = String.raw`\S`;

function someVisible(marks: string): string {
  return String.raw`^[^${marks}]*[^\s${marks}][^${marks}]*$`;
}
