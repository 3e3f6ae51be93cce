import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { UpstreamAuth } from '@tollgate/contracts';
import { SignatureV4 } from '@smithy/signature-v4';
import type { SignedHeaders, UnsignedRequest } from './provider.ts';

export type AwsAuth = Extract<UpstreamAuth, { type: 'aws' }>;

/** Signs a request with version 4 of AWS's signature: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
export async function awsSignature(
  { method, origin, path, headers, body }: UnsignedRequest,
  { auth, service, nowMs }: { auth: AwsAuth; service: string; nowMs: number },
): Promise<SignedHeaders> {
  const { protocol, hostname, host, pathname, searchParams } = new URL(path, origin);
  const { headers: signed } = await signerOf(auth, service).sign(
    {
      method,
      protocol,
      hostname,
      path: pathname,
      query: Object.fromEntries(searchParams),
      // A proxy between may change any other header.
      headers: { host, ...only(headers, 'content-type') },
      body: body ?? undefined,
    },
    { signingDate: new Date(nowMs) },
  );
  return only(
    signed,
    'authorization',
    'x-amz-date',
    'x-amz-content-sha256',
    'x-amz-security-token',
  );
}

const signers = new WeakMap<AwsAuth, SignatureV4>();

/** The library keeps the derived key of the day. */
function signerOf(auth: AwsAuth, service: string): SignatureV4 {
  let signer = signers.get(auth);
  if (signer) return signer;
  signer = new SignatureV4({
    service,
    region: auth.region,
    credentials: {
      accessKeyId: auth.access_key_id,
      secretAccessKey: auth.secret_access_key,
      ...(auth.session_token !== undefined && { sessionToken: auth.session_token }),
    },
    sha256: Sha256,
  });
  signers.set(auth, signer);
  return signer;
}

function only(
  headers: Readonly<Record<string, string>>,
  ...names: readonly string[]
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

type Secret = ConstructorParameters<typeof SignatureV4>[0]['sha256'] extends new (
  secret?: infer S,
) => unknown
  ? S
  : never;

/** Hashes for the signature, by the platform. */
class Sha256 {
  readonly #secret: Secret | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: Secret) {
    this.#secret = secret;
    this.#hash = this.#begun();
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    this.#hash = this.#begun();
  }

  #begun(): Hash | Hmac {
    const secret = this.#secret;
    if (secret === undefined) return createHash('sha256');
    return createHmac('sha256', typeof secret === 'string' ? secret : bytesOf(secret));
  }
}

function bytesOf(secret: Exclude<Secret, string | undefined>): Uint8Array {
  return ArrayBuffer.isView(secret)
    ? new Uint8Array(secret.buffer, secret.byteOffset, secret.byteLength)
    : new Uint8Array(secret);
}
