import { readFileSync } from 'node:fs';
import { MODEL_KINDS, OUTPUT_LIMIT_FIELDS } from '@tollgate/snapshot';
import { z } from 'zod';
import { nameText, noteText } from '../../platform/http/text-field.ts';

const TOKENS_MAX = 100_000_000;
const FAMILIES_MAX = 1_000;
const NAMES_MAX = 50;
const tokens = z.int().min(1).max(TOKENS_MAX).nullable();
const MODALITIES = ['text', 'image', 'document', 'audio', 'video', 'embedding'] as const;
const modalities = z.array(z.enum(MODALITIES)).min(1).max(MODALITIES.length);

const familySchema = z
  .strictObject({
    family: nameText(128),
    owned_by: nameText(128),
    /** Holds names with their possible continuations: `gpt-5` also matches `gpt-5-mini` and `gpt-5.1`, not `gpt-50`. The longest match decides. */
    names: z.array(nameText(256)).min(1).max(NAMES_MAX),
    kind: z.enum(MODEL_KINDS),
    context_window: tokens,
    max_output_tokens: tokens,
    default_output_tokens: tokens,
    /** Is the field in which chat upstreams take the output limit of these models; `max_tokens` when absent. */
    output_limit_field: z.enum(OUTPUT_LIMIT_FIELDS).optional(),
    input: modalities,
    output: modalities,
  })
  .refine(
    ({ max_output_tokens: max, default_output_tokens: given }) =>
      max === null || given === null || given <= max,
    { path: ['default_output_tokens'], message: 'must not exceed max_output_tokens' },
  );
export type ModelFamily = z.infer<typeof familySchema>;

/** Describes known facts of common models by name, in tokens; null where a fact is unknown. */
export const modelFamilyTableSchema = z
  .strictObject({
    format: z.literal(1),
    /** Is the source of the figures. */
    source: noteText(1_000),
    /** Is the date of the figures. */
    date: z.iso.date(),
    families: z.array(familySchema).min(1).max(FAMILIES_MAX),
  })
  .meta({
    'x-example': {
      format: 1,
      source: 'https://docs.example.com/models',
      date: '2026-11-01',
      families: [
        {
          family: 'example',
          owned_by: 'example',
          names: ['example-1'],
          kind: 'chat',
          context_window: 200_000,
          max_output_tokens: 32_000,
          default_output_tokens: 16_000,
          input: ['text'],
          output: ['text'],
        },
      ],
    },
  });
export type ModelFamilyTable = z.infer<typeof modelFamilyTableSchema>;

/** Returns the table of this release: `apps/control-plane/data/model-families.json`. */
export function shippedFamilies(): ModelFamilyTable {
  const file = new URL('../../../data/model-families.json', import.meta.url);
  return modelFamilyTableSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** Returns the family of a model by its name, in any case and after provider prefixes (`anthropic/`, `us.anthropic.`); null where none matches. */
export function familyOf(table: ModelFamilyTable, name: string): ModelFamily | null {
  const plain = name.toLowerCase();
  let best: { family: ModelFamily; length: number } | null = null;
  for (const family of table.families)
    for (const known of family.names)
      if (known.length > (best?.length ?? 0) && stands(plain, known.toLowerCase()))
        best = { family, length: known.length };
  return best?.family ?? null;
}

const LETTER_OR_DIGIT = /[a-z0-9]/;
const BEFORE = new Set(['/', '.', ':']);

/**
 * Returns whether the name has the known one at its beginning, after a provider or in a fine-tuned model (`ft:gpt-4.1:...`), and no letter or digit
 * continues it.
 */
function stands(name: string, known: string): boolean {
  for (let at = name.indexOf(known); at !== -1; at = name.indexOf(known, at + 1)) {
    const before = at === 0 ? '/' : name.charAt(at - 1);
    const after = name.charAt(at + known.length);
    if (BEFORE.has(before) && !LETTER_OR_DIGIT.test(after)) return true;
  }
  return false;
}
