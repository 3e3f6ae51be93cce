import {
  hashCredential,
  JOURNAL_BODY_BYTES_MAX,
  JOURNAL_FINALS_MAX,
  JOURNAL_HEADERS,
  JOURNAL_PATH,
  journalReceiptSchema,
  proveUpload,
} from '@tollgate/contracts';
import type { Logger } from 'pino';
import { request } from 'undici';
import type { PendingFinal } from './settler.ts';
import { SYSTEM_TIMERS, type Timers } from '../../timers.ts';

/** Finals are fenced together, so they are uploaded together. */
const GATHER_MS = 50;
const RETRY_MS = 2_000;
const TIMEOUT_MS = 15_000;
/** Is the number of bytes of `{"finals":[]}` around them. */
const FRAME_BYTES = 64;

export interface JournalUplinkOptions {
  /** Without an address, finals wait in the journal. */
  controlPlaneUrl: string | undefined;
  credential: string;
  /** Is the worker's address as `<name>:<worker>`. */
  node: string;
  log: Pick<Logger, 'warn' | 'info'>;
  now: () => number;
  /** Is called with the requests that PostgreSQL has booked. */
  onBooked: (rids: readonly string[]) => void;
  timers?: Timers;
  post?: PostJournal;
}

export interface JournalPost {
  url: URL;
  body: string;
  headers: Record<string, string>;
  signal: AbortSignal;
}
/** Sends an upload to the control plane. It throws without an answer. */
export type PostJournal = (upload: JournalPost) => Promise<{ status: number; text: string }>;

/**
 * Uploads finals that Redis can no longer take to the control plane, which books them in PostgreSQL first: after Redis lost its data, or when a final
 * is older than Redis' memory of settlements. It repeats until the control plane confirms the booking; booking twice is impossible.
 */
export class JournalUplink {
  readonly #options: JournalUplinkOptions;
  readonly #credentialHash: string;
  readonly #timers: Timers;
  readonly #waiting = new Map<string, string>();
  readonly #ending = new AbortController();
  #cancelSend: (() => void) | undefined;
  #isSending = false;
  #isFailing = false;

  constructor(options: JournalUplinkOptions) {
    this.#options = options;
    this.#timers = options.timers ?? SYSTEM_TIMERS;
    this.#credentialHash = hashCredential(options.credential);
  }

  offer({ rid, payload }: Pick<PendingFinal, 'rid' | 'payload'>): void {
    this.#waiting.set(rid, payload);
    if (!this.#isSending) this.#schedule(GATHER_MS);
  }

  close(): void {
    this.#ending.abort();
    this.#cancelSend?.();
  }

  #schedule(delayMs: number): void {
    if (this.#options.controlPlaneUrl === undefined || this.#ending.signal.aborted) return;
    this.#cancelSend ??= this.#timers.after(delayMs, () => void this.#send());
  }

  async #send(): Promise<void> {
    this.#cancelSend = undefined;
    this.#isSending = true;
    const finals = this.#nextBatch();
    try {
      const booked = await this.#post(JSON.stringify({ finals }));
      for (const rid of booked) this.#waiting.delete(rid);
      this.#options.onBooked(booked);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#options.log.warn(
          { err: error, finals: this.#waiting.size },
          'finals could not be handed to the control plane; trying again',
        );
      this.#isFailing = true;
    } finally {
      this.#isSending = false;
    }
    if (this.#waiting.size > 0) this.#schedule(this.#isFailing ? RETRY_MS : 0);
  }

  #nextBatch(): { rid: string; payload: string }[] {
    const finals: { rid: string; payload: string }[] = [];
    let bytes = FRAME_BYTES;
    for (const [rid, payload] of this.#waiting) {
      bytes += Buffer.byteLength(JSON.stringify({ rid, payload })) + 1;
      if (
        finals.length > 0 &&
        (bytes > JOURNAL_BODY_BYTES_MAX || finals.length >= JOURNAL_FINALS_MAX)
      )
        break;
      finals.push({ rid, payload });
    }
    return finals;
  }

  async #post(body: string): Promise<string[]> {
    const { controlPlaneUrl, node, now, post = postOverHttp } = this.#options;
    const atMs = now();
    const { status, text } = await post({
      url: new URL(JOURNAL_PATH, controlPlaneUrl),
      body,
      headers: {
        'content-type': 'application/json',
        [JOURNAL_HEADERS.node]: node,
        [JOURNAL_HEADERS.at]: String(atMs),
        [JOURNAL_HEADERS.proof]: proveUpload({ node, atMs, body }, this.#credentialHash),
      },
      signal: this.#ending.signal,
    });
    if (status !== 200) throw new Error(`the control plane answered ${status}`);
    return journalReceiptSchema.parse(JSON.parse(text)).booked;
  }
}

/** Opens the uplink with a recorder's options; `address` is that of its worker. */
export function openUplink(
  {
    credential = '',
    postJournal,
    ...given
  }: Pick<JournalUplinkOptions, 'log'> & {
    controlPlaneUrl?: string | undefined;
    credential?: string;
    postJournal?: PostJournal;
  },
  {
    address,
    ...own
  }: Pick<JournalUplinkOptions, 'now' | 'onBooked'> & { timers: Timers; address: string },
): JournalUplink {
  const { controlPlaneUrl, log } = given;
  return new JournalUplink({
    controlPlaneUrl,
    log,
    credential,
    node: address,
    ...own,
    ...(postJournal && { post: postJournal }),
  });
}

/** The address is the operator's own, which no customer or administrator can choose, so no outbound policy applies. */
async function postOverHttp({
  url,
  signal,
  ...parts
}: JournalPost): Promise<{ status: number; text: string }> {
  const response = await request(url, {
    method: 'POST',
    ...parts,
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  return { status: response.statusCode, text: await response.body.text() };
}
