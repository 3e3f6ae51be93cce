import { HIDDEN_IN_NAMES, HIDDEN_MARKS } from '@tollgate/contracts';
import { z } from 'zod';

const NO_HIDDEN_MARKS = 'must not contain control characters or marks that turn text around';

/** Text to look for, not empty without the blanks around it, which are dropped. `max` in characters. What is kept is a `nameText` or a `noteText`. */
export function trimmedText(max: number) {
  return z.string().trim().min(1).max(max).meta({ pattern: SOMETHING });
}

/** A name that people give: on one line, and what is seen is what is there. */
export function nameText(max: number) {
  return visibleText(HIDDEN_IN_NAMES)
    .trim()
    .min(1)
    .max(max)
    .meta({ pattern: someVisible(HIDDEN_IN_NAMES) });
}

/** A reason that people write; it may have several lines. */
export function noteText(max: number) {
  return visibleText(HIDDEN_MARKS)
    .trim()
    .min(1)
    .max(max)
    .meta({ pattern: someVisible(HIDDEN_MARKS) });
}

/** A `noteText` that may be empty. */
export function optionalNoteText(max: number) {
  return visibleText(HIDDEN_MARKS)
    .max(max)
    .meta({ pattern: `^[^${HIDDEN_MARKS}]*$` });
}

/** Checked before blanks are dropped: some of the marks are blanks. */
function visibleText(marks: string) {
  const visible = new RegExp(`^[^${marks}]*$`, 'u');
  return z.string().refine((text) => visible.test(text), NO_HIDDEN_MARKS);
}

/** For the document: a length counts blanks, too. */
const SOMETHING = String.raw`\S`;

function someVisible(marks: string): string {
  return String.raw`^[^${marks}]*[^\s${marks}][^${marks}]*$`;
}
