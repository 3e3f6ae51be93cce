import { createSecretKey } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { z } from 'zod';
import { CONFIG, derivedKey, type Config } from '../../config.ts';

export const SESSION_SECONDS = 12 * 60 * 60;
const ALGORITHM = 'HS256';
const ISSUER = 'tollgate';
const AUDIENCE = 'tollgate-admin-api';
const TOKEN_CHARS_MAX = 2048;

/** The schema is strict: a missing or textual `exp` must not mean "never" (security S16). */
const claims = z.strictObject({
  sub: z.string().regex(/^[1-9]\d{0,9}$/),
  version: z.number().int().positive(),
  sid: z.uuid(),
  iss: z.literal(ISSUER),
  aud: z.literal(AUDIENCE),
  iat: z.number().int().positive(),
  exp: z.number().int().positive(),
});
const header = z.strictObject({ alg: z.literal(ALGORITHM), typ: z.literal('JWT') });

export interface SessionClaims {
  userId: number;
  /** Is the session version of the account when the session began. */
  version: number;
  sid: string;
}

/** Signs and verifies the token of a session. `Sessions` decides whether the session itself is still valid. */
@Injectable()
export class SessionToken {
  private readonly signer: JwtService;
  /** The first signs. The other secret is accepted while processes that use it still run. */
  private readonly verifiers: readonly JwtService[];

  constructor(@Inject(CONFIG) { JWT_SECRET, JWT_SECRET_NEXT }: Config) {
    this.signer = jwtWith(JWT_SECRET);
    this.verifiers = [
      this.signer,
      ...(JWT_SECRET_NEXT === undefined ? [] : [jwtWith(JWT_SECRET_NEXT)]),
    ];
  }

  sign({ userId, version, sid }: SessionClaims): string {
    return this.signer.sign({ version, sid }, { subject: String(userId) });
  }

  /** Returns undefined for a token that was not signed here, has expired, or has missing or extra claims. */
  verify(token: string): SessionClaims | undefined {
    if (token.length > TOKEN_CHARS_MAX) return undefined;
    for (const jwt of this.verifiers) {
      const found = verifyWith(jwt, token);
      if (found) return found;
    }
    return undefined;
  }
}

/** The key is a key object: from bytes, jsonwebtoken first tries to read a public key, in each call. */
function jwtWith(secret: string): JwtService {
  return new JwtService({
    secret: createSecretKey(derivedKey(secret, 'session')),
    signOptions: {
      algorithm: ALGORITHM,
      issuer: ISSUER,
      audience: AUDIENCE,
      expiresIn: SESSION_SECONDS,
    },
    verifyOptions: { algorithms: [ALGORITHM], issuer: ISSUER, audience: AUDIENCE, complete: true },
  });
}

function verifyWith(jwt: JwtService, token: string): SessionClaims | undefined {
  try {
    const { header: head, payload } = jwt.verify<{ header: unknown; payload: unknown }>(token);
    header.parse(head);
    const { sub, version, sid } = claims.parse(payload);
    return { userId: Number(sub), version, sid };
  } catch {
    return undefined;
  }
}
