import { z } from 'zod';

/** Replies are lists of name and value in turn. */
const pairs = z.array(z.unknown());

const library = pairs.transform(asRecord).pipe(
  z.object({
    library_name: z.string(),
    library_code: z.string().optional(),
    functions: z.array(pairs.transform(asRecord).pipe(z.object({ name: z.string() }))),
  }),
);

export interface LoadedLibrary {
  name: string;
  /** Is the code, if FUNCTION LIST was asked WITHCODE. */
  code: string | undefined;
  functions: string[];
}

/** Returns the libraries of an answer to FUNCTION LIST. */
export function librariesIn(reply: unknown): LoadedLibrary[] {
  return z
    .array(library)
    .parse(reply)
    .map(({ library_name: name, library_code: code, functions }) => ({
      name,
      code,
      functions: functions.map((each) => each.name),
    }));
}

function asRecord(flat: readonly unknown[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (let at = 0; at + 1 < flat.length; at += 2) record[String(flat[at])] = flat[at + 1];
  return record;
}
