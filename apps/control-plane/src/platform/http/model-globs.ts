import { z } from 'zod';

/** Reads model names with `*` wildcards, separated by commas; an empty text or `*` means all. Duplicates are removed. */
export function modelGlobs(charsMax: number) {
  return z
    .string()
    .max(charsMax)
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .refine(
      (parts) => parts.every((part) => /^[A-Za-z0-9._:/@+*-]{1,256}$/.test(part)),
      'must be model names separated by commas; * is the only wildcard',
    )
    .transform((parts) => [...new Set(parts)].join(','));
}
