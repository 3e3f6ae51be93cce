import {
  isSideReported,
  outputTokensOf,
  promptTokensOf,
  secretTexts,
  type ReportedUsage,
  type UpstreamAuth,
  type UsageSide,
} from '@tollgate/contracts';
import { PROVIDERS } from '@tollgate/protocols';
import type { GuardedAnswer } from '../../platform/outbound/guarded-request.ts';
import { parseJson } from '../../platform/parse-json.ts';
import type { ConnectionTest } from './connection-test.dto.ts';
import type { Upstream } from './upstream.entity.ts';

const MESSAGE_CHARS_MAX = 500;
/** Servers without authentication get words such as "none" for a key, which names of models contain. */
const SECRET_CHARS_MIN = 8;

export type Failure = NonNullable<ConnectionTest['error']>;

const UNREADABLE: Failure = {
  kind: 'unreadable',
  message: 'The answer does not follow this protocol, or reports no usage',
};

/** Holds the credential of an upstream, with the provider token of an identity that has one. */
export interface Credential {
  readonly auth: UpstreamAuth;
  readonly token: string | null;
}

/** Holds what one request to the provider brought. */
export interface Asked {
  readonly status: number | null;
  readonly error: Failure | null;
  readonly usage: ReportedUsage | null;
  readonly names: string[];
}

export function failureOf(error: unknown): Failure {
  const { code, name } = Object(error);
  if (code === 'ADDRESS_REFUSED')
    return { kind: 'address_refused', message: 'The address is private or not allowed' };
  if (name === 'TimeoutError' || name === 'AbortError')
    return { kind: 'timeout', message: 'The upstream did not answer in time' };
  return {
    kind: 'unreachable',
    message: `The upstream cannot be reached (${code ?? 'no answer'})`,
  };
}

/** Returns what an answer says. The upstream may repeat our key: it is left out (security S14). `isRead`: the answer is one of this protocol. */
export function judged(
  answer: GuardedAnswer | Failure,
  { credential, isRead }: { credential: Credential | null; isRead: boolean },
): Pick<Asked, 'status' | 'error'> {
  if ('kind' in answer) return { status: null, error: answer };
  const { status, text } = answer;
  if (status >= 200 && status < 300) return { status, error: isRead ? null : UNREADABLE };
  const shown = secretsOf(credential).reduce((cut, secret) => cut.replaceAll(secret, '***'), text);
  const message = shown.slice(0, MESSAGE_CHARS_MAX) || `The upstream answered ${status}`;
  return { status, error: { kind: 'refused', message } };
}

/** Leaves out what repeats our key: the names of models come from the upstream, too (security S14). */
export function withoutSecrets(names: readonly string[], credential: Credential | null): string[] {
  const secrets = secretsOf(credential).filter(({ length }) => length >= SECRET_CHARS_MIN);
  return names.filter((name) => !secrets.some((secret) => name.includes(secret)));
}

function secretsOf(credential: Credential | null): string[] {
  if (!credential) return [];
  const { auth, token } = credential;
  return [...secretTexts(auth), ...(token === null ? [] : [token])];
}

export function usageOf(text: string, protocol: Upstream['protocol']): ReportedUsage | null {
  const answer = parseJson(text);
  return typeof answer === 'object' && answer !== null && !Array.isArray(answer)
    ? PROVIDERS[protocol].readUsage({ ...answer })
    : null;
}

export function reportedTokens(usage: ReportedUsage | null, side: UsageSide): number | null {
  if (!usage || !isSideReported(usage, side)) return null;
  return side === 'prompt' ? promptTokensOf(usage) : outputTokensOf(usage);
}
