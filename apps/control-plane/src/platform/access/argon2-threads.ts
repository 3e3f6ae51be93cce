import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** One hash takes a core for about 30 ms. On larger machines half of the cores stay free for other work. */
const THREADS = Math.max(2, Math.min(4, Math.floor(availableParallelism() / 2)));
/** At 30 ms a hash, the last one in line waits about two seconds. Later ones are refused with `Retry-After`. */
const WAITING_MAX = 64 * THREADS;

export interface Argon2Job {
  message: string;
  nonce: Buffer;
  memory: number;
  passes: number;
  parallelism: number;
  tagLength: number;
}

interface Pending {
  job: Argon2Job;
  resolve: (tag: Buffer) => void;
  reject: (error: Error) => void;
}

/** Is thrown when more hashes wait than the threads can compute soon. */
export class HashingBusy extends Error {}

/** This program runs in the thread. It is plain JavaScript, so that it is the same in a run from sources and in a built image. */
const PROGRAM = `
const { argon2Sync } = require('node:crypto');
const { parentPort } = require('node:worker_threads');
parentPort.on('message', (job) => {
  try {
    parentPort.postMessage({ tag: argon2Sync('argon2id', job) });
  } catch (error) {
    parentPort.postMessage({ error: String(error) });
  }
});
`;

/**
 * Computes argon2 hashes in its own threads. In Node's shared thread pool, a flood of sign-ins would delay DNS lookups and file access, and with them
 * PostgreSQL.
 */
export class Argon2Threads {
  private readonly waiting: Pending[] = [];
  private readonly idle: Worker[] = [];
  private started = 0;

  /** Derives a hash; throws HashingBusy when too many wait already. */
  derive(job: Argon2Job): Promise<Buffer> {
    if (this.waiting.length >= WAITING_MAX) return Promise.reject(new HashingBusy());
    return new Promise((resolve, reject) => {
      this.waiting.push({ job, resolve, reject });
      this.next();
    });
  }

  private next(): void {
    const worker = this.idle.pop() ?? this.startOne();
    if (!worker) return;
    const pending = this.waiting.shift();
    if (pending) this.run(worker, pending);
    else this.idle.push(worker);
  }

  private startOne(): Worker | undefined {
    if (this.started >= THREADS) return undefined;
    this.started += 1;
    const worker = new Worker(PROGRAM, { eval: true });
    // Idle threads do not keep the process alive.
    worker.unref();
    return worker;
  }

  private run(worker: Worker, { job, resolve, reject }: Pending): void {
    worker.ref();
    const onMessage = ({ tag, error }: { tag?: Uint8Array; error?: string }): void => {
      // Under `node --watch` a thread reports its loaded modules through the same port; those messages carry no tag.
      if (!tag && error === undefined) return;
      worker.off('message', onMessage).off('error', onError);
      worker.unref();
      this.idle.push(worker);
      if (tag) resolve(Buffer.from(tag));
      else reject(new Error(error));
      this.next();
    };
    const onError = (error: Error): void => {
      worker.off('message', onMessage);
      this.started -= 1;
      reject(error);
      this.next();
    };
    worker.on('message', onMessage).once('error', onError);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(job);
  }
}
