import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { UsageError } from '../failure.ts';

/** Lists the upstream fields that the API takes and never returns. */
export const SECRET_FIELDS: ReadonlySet<string> = new Set(['api_key', 'auth']);
/** Lists the members of a credential that the file may contain in plain text. */
const OPEN_MEMBERS = new Set(['type', 'region']);

const referenceSchema = z.union([
  z.strictObject({ env: z.string().min(1) }),
  z.strictObject({ file: z.string().min(1) }),
]);
const membersSchema = z.record(z.string(), z.unknown());

/** Returns why the value of a secret field is wrong. A secret in the file itself would reach a repository. */
export function faultOfSecrets(value: unknown): string | undefined {
  if (value === null || referenceSchema.safeParse(value).success) return undefined;
  const members = membersSchema.safeParse(value);
  if (!members.success) return 'must be {env: NAME} or {file: PATH}, not the secret itself';
  for (const [name, member] of Object.entries(members.data))
    if (!OPEN_MEMBERS.has(name) && !referenceSchema.safeParse(member).success)
      return `${name} must be {env: NAME} or {file: PATH}, not the secret itself`;
  return undefined;
}

/** Returns the body with each reference replaced by its secret. Throws UsageError for a reference without a value. */
export function withSecrets(
  body: Readonly<Record<string, unknown>>,
  env: NodeJS.ProcessEnv = process.env,
): Record<string, unknown> {
  const pairs = Object.entries(body).map(([name, value]) => [
    name,
    SECRET_FIELDS.has(name) ? secretOf(value, env) : value,
  ]);
  return Object.fromEntries(pairs) as Record<string, unknown>;
}

function secretOf(value: unknown, env: NodeJS.ProcessEnv): unknown {
  const reference = referenceSchema.safeParse(value);
  if (reference.success) return follow(reference.data, env);
  const members = membersSchema.safeParse(value);
  if (!members.success) return value;
  return Object.fromEntries(
    Object.entries(members.data).map(([name, member]) => [name, secretOf(member, env)]),
  );
}

function follow(reference: z.infer<typeof referenceSchema>, env: NodeJS.ProcessEnv): string {
  if ('env' in reference) {
    const value = env[reference.env];
    if (!value)
      throw new UsageError(
        `The environment variable ${reference.env} is not set.\n  Fix: set it to the secret that the file refers to.`,
      );
    return value;
  }
  try {
    return readFileSync(reference.file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`The file of a secret cannot be read: ${(error as Error).message}`);
  }
}
