/** Names the own code that replaces a library's way and can be switched off (docs/design/library-replacements.md). */
export const REPLACEMENTS = [
  'redis_lane',
  'prepared_statements',
  'v8_flags',
  'live_map',
  'chunk_templates',
  'hmac',
] as const;
export type Replacement = (typeof REPLACEMENTS)[number];

/** Reads LIBRARY_PATHS: names of replacements between commas, or `all`. It throws for an unknown name. */
export function readLibraryPaths(text = ''): ReadonlySet<Replacement> {
  if (text === 'all') return new Set(REPLACEMENTS);
  const names = text.split(',').filter((name) => name !== '');
  return new Set(
    names.map((name) => {
      const found = REPLACEMENTS.find((known) => known === name);
      if (found) return found;
      throw new Error(`LIBRARY_PATHS: ${name} is none of all, ${REPLACEMENTS.join(', ')}`);
    }),
  );
}

const chosen = readLibraryPaths(process.env['LIBRARY_PATHS']);

/** Returns true where this process takes the library's way instead of the replacement. */
export function takesLibraryPath(replacement: Replacement): boolean {
  return chosen.has(replacement);
}
