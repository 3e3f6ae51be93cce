import { randomBytes, timingSafeEqual } from 'node:crypto';
import { Refusal } from '../http/refusal.ts';
import { Argon2Threads, HashingBusy, type Argon2Job } from './argon2-threads.ts';

interface HashCost {
  memoryKib: number;
  passes: number;
  lanes: number;
}

/** Holds the parameters that OWASP recommends first for argon2id: https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html */
const HASH_COST: HashCost = { memoryKib: 19_456, passes: 2, lanes: 1 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;
const HASH_PATTERN =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

const ONE_TIME_BYTES = 15;
/** All callers of one process share these threads and their limit. */
const threads = new Argon2Threads();

/** Throws rate_limited when more hashes wait than the threads can compute soon. */
async function derive(job: Argon2Job): Promise<Buffer> {
  try {
    return await threads.derive(job);
  } catch (error) {
    if (!(error instanceof HashingBusy)) throw error;
    throw new Refusal('rate_limited', {
      detail: 'Too many people sign in at this moment; try again in 2 seconds',
      retryAfterSeconds: 2,
    });
  }
}

/** Generates a password for an administrator to hand over: 20 letters, digits, dashes and underscores. */
export function oneTimePassword(): string {
  return randomBytes(ONE_TIME_BYTES).toString('base64url');
}

/** Hashes and verifies passwords in the PHC text form. The form carries its own parameters, so that old hashes stay readable after the parameters rise. */
export class Passwords {
  private decoy: Promise<string> | undefined;

  constructor(private readonly cost: HashCost = HASH_COST) {}

  async hash(password: string): Promise<string> {
    const nonce = randomBytes(SALT_BYTES);
    const { memoryKib, passes, lanes } = this.cost;
    const tag = await derive({
      message: password,
      nonce,
      memory: memoryKib,
      passes,
      parallelism: lanes,
      tagLength: TAG_BYTES,
    });
    return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${unpadded(nonce)}$${unpadded(tag)}`;
  }

  /** Pass undefined for an unknown account: the call then takes as long as for a wrong password and returns false. */
  async verify(password: string, hash: string | undefined): Promise<boolean> {
    const matches = await matchesHash(password, hash ?? (await this.decoyHash()));
    return matches && hash !== undefined;
  }

  private decoyHash(): Promise<string> {
    this.decoy ??= this.hash(randomBytes(SALT_BYTES).toString('hex')).catch((error: unknown) => {
      this.decoy = undefined;
      throw error;
    });
    return this.decoy;
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
