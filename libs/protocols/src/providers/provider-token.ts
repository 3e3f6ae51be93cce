import { createSign } from 'node:crypto';
import {
  readServiceAccount,
  secretTexts,
  type ServiceAccount,
  type TokenAuth,
} from '@tollgate/contracts';
import { isRecord, nonEmpty, parseJson } from '../json/json-guard.ts';

/** Describes a POST of form fields that fetches a provider token. */
export interface TokenRequest {
  readonly url: string;
  readonly body: string;
}

/** Holds a token, and for how long it counts; or the reason why there is none, without a secret. */
export type TokenReading =
  | { readonly token: string; readonly lifeMs: number }
  | { readonly refusal: string };

/** The hosts of tokens are these. https://developers.google.com/identity/protocols/oauth2/service-account#httprest, https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow. */
const GOOGLE = 'https://oauth2.googleapis.com';
const ENTRA = 'https://login.microsoftonline.com';
const GOOGLE_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const AZURE_SCOPE = 'https://cognitiveservices.azure.com/.default';

/** Is the longest that Google takes. */
const ASSERTION_S = 3_600;
/** Is how long a token counts that names no lifetime. */
const LIFE_S_DEFAULT = 300;
const LIFE_S_MAX = 86_400;
const REASON_CHARS_MAX = 300;

/** Returns the request that fetches a token. `baseUrl` is that of the upstream. One at a loopback address is a double, and makes its tokens itself. */
export function tokenRequest(
  auth: TokenAuth,
  { baseUrl, nowMs }: { baseUrl: string; nowMs: number },
): TokenRequest {
  const double = doubleAt(baseUrl);
  if (auth.type === 'google') {
    const url = `${double ?? GOOGLE}/token`;
    const assertion = assertionOf(readServiceAccount(auth.service_account), url, nowMs);
    const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    return { url, body: new URLSearchParams({ grant_type, assertion }).toString() };
  }
  return {
    url: `${double ?? ENTRA}/${auth.tenant}/oauth2/v2.0/token`,
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: auth.client_id,
      client_secret: auth.client_secret,
      scope: AZURE_SCOPE,
    }).toString(),
  };
}

/** Reads the answer to such a request; what its body sent is cut out of the reason. */
export function readToken(
  auth: TokenAuth,
  request: TokenRequest,
  { status, body }: { status: number; body: string },
): TokenReading {
  const answer = parseJson(body);
  const fields = isRecord(answer) ? answer : {};
  const token = nonEmpty(fields['access_token']);
  if (status === 200 && token !== null && /^[\x21-\x7e]+$/.test(token)) {
    const stated = Number(fields['expires_in']);
    const lifeS = Number.isFinite(stated) && stated > 0 ? stated : LIFE_S_DEFAULT;
    return { token, lifeMs: Math.min(lifeS, LIFE_S_MAX) * 1000 };
  }
  const said = [fields['error'], fields['error_description']].flatMap(
    (each) => nonEmpty(each) ?? [],
  );
  const reason = [...secretTexts(auth), ...new URLSearchParams(request.body).values()]
    .reduce((shown, secret) => shown.replaceAll(secret, '***'), said.join(': '))
    .slice(0, REASON_CHARS_MAX);
  return { refusal: `the token host answered ${status}${reason === '' ? '' : `: ${reason}`}` };
}

function doubleAt(baseUrl: string): string | null {
  const { hostname, origin } = new URL(baseUrl);
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname) ? origin : null;
}

/** Returns a JWT that the account signs: https://www.rfc-editor.org/rfc/rfc7523. */
function assertionOf(account: ServiceAccount, audience: string, nowMs: number): string {
  const issuedAt = Math.floor(nowMs / 1000);
  const header = {
    alg: 'RS256',
    typ: 'JWT',
    ...(account.privateKeyId !== null && { kid: account.privateKeyId }),
  };
  const claims = {
    iss: account.clientEmail,
    scope: GOOGLE_SCOPE,
    aud: audience,
    iat: issuedAt,
    exp: issuedAt + ASSERTION_S,
  };
  const signed = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = createSign('RSA-SHA256').update(signed).sign(account.privateKey, 'base64url');
  return `${signed}.${signature}`;
}
