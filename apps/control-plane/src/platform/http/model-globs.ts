import { z } from 'zod';

/** Model names with `*` wildcards, separated by commas; empty or `*` = all. Each is kept once. */
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
