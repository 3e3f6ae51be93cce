import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { promisify } from 'node:util';
import { Injectable } from '@nestjs/common';

/** OWASP's first choice for argon2id: 19 MiB, 2 passes, 1 lane. https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html */
const MEMORY_KIB = 19_456;
const PASSES = 2;
const LANES = 1;
const SALT_BYTES = 16;
const TAG_BYTES = 32;
const HASH_PATTERN =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

const derive = promisify(
  (parameters: Argon2Parameters, done: (error: Error | null, tag: Buffer) => void) =>
    argon2('argon2id', parameters, done),
);

/** Password hashes in PHC text form, which carries its own parameters: raising them later leaves old hashes readable. */
@Injectable()
export class Passwords {
  private readonly decoy = this.hash(randomBytes(SALT_BYTES).toString('hex'));

  async hash(password: string): Promise<string> {
    const nonce = randomBytes(SALT_BYTES);
    const tag = await derive({
      message: password,
      nonce,
      memory: MEMORY_KIB,
      passes: PASSES,
      parallelism: LANES,
      tagLength: TAG_BYTES,
    });
    return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${unpadded(nonce)}$${unpadded(tag)}`;
  }

  /** Pass undefined for an unknown account: it takes as long as a wrong password and is always false. */
  async verify(password: string, hash: string | undefined): Promise<boolean> {
    const matches = await matchesHash(password, hash ?? (await this.decoy));
    return matches && hash !== undefined;
  }
}

async function matchesHash(password: string, hash: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt, expectedText] = HASH_PATTERN.exec(hash) ?? [];
  if (salt === undefined || expectedText === undefined)
    throw new Error('a stored password hash is not in argon2id form');
  const expected = Buffer.from(expectedText, 'base64');
  const tag = await derive({
    message: password,
    nonce: Buffer.from(salt, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  });
  return timingSafeEqual(tag, expected);
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
