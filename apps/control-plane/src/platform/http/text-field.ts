import { z } from 'zod';

/** Text that is not empty without the blanks around it, which are dropped. `max` in characters. */
export function trimmedText(max: number) {
  return z.string().trim().min(1).max(max).meta({ pattern: SOMETHING });
}

/** For the document: a length counts blanks, too. */
const SOMETHING = String.raw`\S`;
