import type { UpstreamError } from '../exchange.ts';
import { bufferOf, parseJson } from '../json/json-guard.ts';
import { findMember, layoutArray, layoutObject } from '../json/json-layout.ts';
import type { JsonLayout } from '../json/json-layout.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';
import type { Patch } from '../json/json-splice.ts';

/** Maps request fields that some models refuse, although their protocol has them, to the name that replaces them, or null where they are removed. */
const REPLACEMENTS = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
  temperature: null,
  top_p: null,
  stop: null,
} as const;
/** Maps roles of instructions that some models refuse to the role that replaces them. */
const ROLE_REPLACEMENTS = { developer: 'system', system: 'user' } as const;
type RefusableRole = keyof typeof ROLE_REPLACEMENTS;
export type RefusableField = keyof typeof REPLACEMENTS | RefusableRole;

const REFUSAL = /unsupported|not supported|does not support|deprecated/i;
const QUOTED = /['"`]([a-z_]+)['"`]/;
/**
 * Matches the errors of DeepSeek ("messages[0].role: unknown variant `developer`"), Mistral ("Input tag 'developer' found using 'role' does not
 * match") and OpenAI ("'messages[0].role' does not support 'system'").
 */
const REFUSED_ROLE =
  /role\W[^]*?['"`](developer|system)['"`]|['"`](developer|system)['"`][^]*?\Wrole\W/;
const ROLE_REFUSAL = /unsupported|not support|unknown variant|does not match|invalid|unexpected/i;

/** Returns the field, or message role, that an upstream has refused for its model and that another request can omit; null for any other error. */
export function refusedField({ kind, code, param, message }: UpstreamError): RefusableField | null {
  if (kind !== 'invalid_request') return null;
  const isRefusal =
    code === 'unsupported_parameter' || code === 'unsupported_value' || REFUSAL.test(message);
  const name = param ?? QUOTED.exec(message)?.[1] ?? '';
  return isRefusal && isRefusable(name) ? name : refusedRole(message);
}

function refusedRole(message: string): RefusableRole | null {
  if (!ROLE_REFUSAL.test(message)) return null;
  const [, after, before] = REFUSED_ROLE.exec(message) ?? [];
  const role = after ?? before;
  return role === 'developer' || role === 'system' ? role : null;
}

/** These models take instructions only as `system`. OpenAI's own take `developer`; for unknown names the upstream's answer decides. */
const WITHOUT_DEVELOPER =
  /deepseek|mistral|ministral|magistral|codestral|devstral|pixtral|llama|qwen|qwq|gemma|kimi|moonshot|glm-|minimax|mimo|command-|granite|sonar/i;
/** The first reasoning models take no instructions: https://platform.openai.com/docs/guides/reasoning. */
const WITHOUT_SYSTEM = /(?:^|[/.])o1-(?:mini|preview)/i;

/** Returns the fields that a model is known to refuse, by its name. */
export function knownRefusals(model: string): RefusableField[] {
  if (WITHOUT_SYSTEM.test(model)) return ['developer', 'system'];
  return WITHOUT_DEVELOPER.test(model) ? ['developer'] : [];
}

/**
 * Returns the request's body without fields that its model refuses: an output limit gets its other name, instructions get another role, sampling and
 * stops are removed. Every other byte stays.
 */
export function withoutRefused(body: Uint8Array, refused: ReadonlySet<RefusableField>): Uint8Array {
  const roles = ROLES.filter((role) => refused.has(role) && bufferOf(body).includes(`"${role}"`));
  const fields = FIELDS.filter((field) => refused.has(field));
  const layout = roles.length + fields.length === 0 ? null : layoutObject(body);
  if (!layout) return body;
  return applyPatches(body, [
    ...editObject(layout, fieldEdits(body, layout, fields)),
    ...(roles.length === 0 ? [] : rolePatches(body, layout, refused)),
  ]);
}

const ROLES = ['developer', 'system'] as const;
const FIELDS: readonly (keyof typeof REPLACEMENTS)[] = [
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'stop',
];

function fieldEdits(
  body: Uint8Array,
  layout: JsonLayout,
  fields: readonly (keyof typeof REPLACEMENTS)[],
): Record<string, string | null> {
  const edits: Record<string, string | null> = {};
  for (const field of fields) {
    const member = findMember(layout, field);
    if (!member) continue;
    edits[field] = null;
    const target = REPLACEMENTS[field];
    // A limit under both names stays under the remaining one; one that is refused under both is removed.
    if (target !== null && !fields.includes(target) && !findMember(layout, target))
      edits[target] = Buffer.from(body.subarray(member.valueStart, member.valueEnd)).toString();
  }
  return edits;
}

function rolePatches(
  body: Uint8Array,
  layout: JsonLayout,
  refused: ReadonlySet<RefusableField>,
): Patch[] {
  const messages = findMember(layout, 'messages');
  if (!messages) return [];
  return layoutArray(body, messages.valueStart).flatMap(({ start }) => {
    const message = layoutObject(body, start);
    const member = message && findMember(message, 'role');
    if (!message || !member) return [];
    const role: unknown = parseJson(body.subarray(member.valueStart, member.valueEnd));
    const spoken = speaker(role, refused);
    return spoken === role ? [] : editObject(message, { role: JSON.stringify(spoken) });
  });
}

function speaker(role: unknown, refused: ReadonlySet<RefusableField>): unknown {
  if ((role !== 'developer' && role !== 'system') || !refused.has(role)) return role;
  return speaker(ROLE_REPLACEMENTS[role], refused);
}

function isRefusable(name: string): name is keyof typeof REPLACEMENTS {
  return Object.hasOwn(REPLACEMENTS, name);
}
