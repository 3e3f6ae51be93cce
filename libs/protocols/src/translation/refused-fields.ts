import type { UpstreamError } from '../exchange.ts';
import { bufferOf, parseJson } from '../json/json-guard.ts';
import { findMember, layoutArray, layoutObject } from '../json/json-layout.ts';
import type { JsonLayout } from '../json/json-layout.ts';
import { applyPatches, editObject } from '../json/json-splice.ts';
import type { Patch } from '../json/json-splice.ts';

/** Fields of a request that some models refuse though their protocol has them, and what becomes of each: the name it moves to, or null where it is left out. */
const REPLACEMENTS = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
  temperature: null,
  top_p: null,
  stop: null,
} as const;
/** Roles of instructions that some models refuse, and who speaks instead. */
const ROLE_REPLACEMENTS = { developer: 'system', system: 'user' } as const;
type RefusableRole = keyof typeof ROLE_REPLACEMENTS;
export type RefusableField = keyof typeof REPLACEMENTS | RefusableRole;

const REFUSAL = /unsupported|not supported|does not support|deprecated/i;
const QUOTED = /['"`]([a-z_]+)['"`]/;
/** DeepSeek: "messages[0].role: unknown variant `developer`"; Mistral: "Input tag 'developer' found using 'role' does not match"; OpenAI: "'messages[0].role' does not support 'system'". */
const REFUSED_ROLE =
  /role\W[^]*?['"`](developer|system)['"`]|['"`](developer|system)['"`][^]*?\Wrole\W/;
const ROLE_REFUSAL = /unsupported|not support|unknown variant|does not match|invalid|unexpected/i;

/** The field, or role of a message, that an upstream has refused for its model, as far as another request can do without it; null for any other error. */
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

/** Take their instructions as `system` only; OpenAI's own take `developer`, and of names that are not known the upstream is asked. */
const WITHOUT_DEVELOPER =
  /deepseek|mistral|ministral|magistral|codestral|devstral|pixtral|llama|qwen|qwq|gemma|kimi|moonshot|glm-|minimax|mimo|command-|granite|sonar/i;
/** https://platform.openai.com/docs/guides/reasoning: the first of them take no instructions at all. */
const WITHOUT_SYSTEM = /(?:^|[/.])o1-(?:mini|preview)/i;

/** The fields that a model, by its name, is known to refuse. */
export function knownRefusals(model: string): RefusableField[] {
  if (WITHOUT_SYSTEM.test(model)) return ['developer', 'system'];
  return WITHOUT_DEVELOPER.test(model) ? ['developer'] : [];
}

/** The request's body without what its model refuses: an output limit under its other name, instructions under another role, sampling and stops left out. Every other byte stays. */
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
    // A limit that both names carry stays under the one that is left; one that is refused under both is left out.
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
