import { z } from 'zod';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { cursorQuery } from '../../platform/http/cursor.ts';
import type { RefusalCode } from '../../platform/http/refusals.ts';

/** Lists the kinds of records that a token can create and that outlast it. */
export const MADE_KINDS = ['user', 'key', 'upstream', 'node'] as const;
export type MadeKind = (typeof MADE_KINDS)[number];
const kind = z.enum(MADE_KINDS);

export const madeQuery = cursorQuery({});
export type MadeQuery = z.output<typeof madeQuery>;

export const madeSchema = z
  .object({
    kind,
    id: idField,
    name: z.string().nullable().describe('null where it is deleted'),
    state: z.enum(['active', 'disabled', 'deleted']),
    has_one_time_password: z
      .boolean()
      .describe('The password that the token was shown is still in force'),
    made_at: timeField,
  })
  .meta({ id: 'MadeByToken' });
export type Made = z.output<typeof madeSchema>;

export const disableMadeBody = z
  .strictObject({
    kinds: z
      .array(kind)
      .min(1)
      .default([...MADE_KINDS]),
  })
  .default({ kinds: [...MADE_KINDS] })
  .meta({ 'x-example': { kinds: ['user', 'key'] } });
export type DisableMadeBody = z.output<typeof disableMadeBody>;

export const disabledMadeSchema = z
  .object({
    disabled: z
      .int()
      .describe('Accounts that were frozen, keys and upstreams disabled, nodes removed'),
    left: z
      .array(z.object({ kind, id: idField, code: z.string() }))
      .describe('What was refused, and why'),
  })
  .meta({ id: 'DisabledByToken' });
export type DisabledMade = Omit<z.output<typeof disabledMadeSchema>, 'left'> & {
  left: { kind: MadeKind; id: number; code: RefusalCode }[];
};
