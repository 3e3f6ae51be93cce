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
  private readonly secret: Buffer;
  /** These session secrets are accepted: the current one, and the other one while processes that use it still run. */
  private readonly accepted: readonly Buffer[];

  constructor(
    private readonly jwt: JwtService,
    @Inject(CONFIG) config: Config,
  ) {
    this.secret = derivedKey(config.JWT_SECRET, 'session');
    const next = config.JWT_SECRET_NEXT;
    this.accepted = next === undefined ? [this.secret] : [this.secret, derivedKey(next, 'session')];
  }

  sign({ userId, version, sid }: SessionClaims): string {
    return this.jwt.sign(
      { version, sid },
      {
        secret: this.secret,
        algorithm: ALGORITHM,
        issuer: ISSUER,
        audience: AUDIENCE,
        subject: String(userId),
        expiresIn: SESSION_SECONDS,
      },
    );
  }

  /** Returns undefined for a token that was not signed here, has expired, or has missing or extra claims. */
  verify(token: string): SessionClaims | undefined {
    if (token.length > TOKEN_CHARS_MAX) return undefined;
    for (const secret of this.accepted) {
      const found = this.verifyWith(secret, token);
      if (found) return found;
    }
    return undefined;
  }

  private verifyWith(secret: Buffer, token: string): SessionClaims | undefined {
    try {
      const { header: head, payload } = this.jwt.verify(token, {
        secret,
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: AUDIENCE,
        complete: true,
      });
      header.parse(head);
      const { sub, version, sid } = claims.parse(payload);
      return { userId: Number(sub), version, sid };
    } catch {
      return undefined;
    }
  }
}
