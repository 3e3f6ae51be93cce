import { createHash, createHmac } from 'node:crypto';

/** Holds a request as it arrived. */
export interface SignedRequest {
  readonly method: string;
  /** Is the path with its query, as it arrived. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

/** Returns whether the request has the signature that AWS expects of this secret: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
export function isSigned(request: SignedRequest, secret: string): boolean {
  const header = (name: string): string => String(request.headers[name] ?? '').trim();
  const [, , date = '', region = '', service = '', signed = '', signature] =
    AUTHORIZATION.exec(header('authorization')) ?? [];
  const names = signed.split(';');
  if (!names.includes('host')) return false;
  const [path = '', query = ''] = request.target.split('?');
  const canonical = [
    request.method,
    path
      .split('/')
      .map((segment) => encoded(segment))
      .join('/'),
    query.split('&').toSorted().join('&'),
    ...names.map((name) => `${name}:${header(name).replaceAll(/ +/g, ' ')}`),
    '',
    signed,
    hashOf(request.body),
  ].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', header('x-amz-date'), scope, hashOf(canonical)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce<Buffer | string>(
    (previous, part) => createHmac('sha256', previous).update(part).digest(),
    `AWS4${secret}`,
  );
  return createHmac('sha256', key).update(text).digest('hex') === signature;
}

function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
