import { hashCredential, proveUpload, type IncidentUpload } from '@tollgate/contracts';
import type { Logger } from 'pino';
import type { IncidentLog } from '../observe/incident-log.ts';

const PERIOD_MS = 1_000;

export interface IncidentReporterParts {
  incidents: Pick<IncidentLog, 'take'>;
  /** `IncidentReports` implements it. */
  reports: { write(upload: IncidentUpload): Promise<void> };
  /** Is the address of the worker. */
  node: string;
  credential: string;
  log: Logger;
}

/** Reports incidents of this worker to the control plane, at most once a second. A report that Redis did not take is sent again before anything newer. */
export class IncidentReporter {
  readonly #parts: IncidentReporterParts;
  readonly #credentialHash: string;
  #unsent: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  #isFailing = false;

  constructor(parts: IncidentReporterParts) {
    this.#parts = parts;
    this.#credentialHash = hashCredential(parts.credential);
  }

  start(): void {
    this.#timer = setInterval(() => void this.report(), PERIOD_MS).unref();
  }

  /** The last report is on its way when this resolves, unless Redis is away. */
  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#sending;
    await this.report();
  }

  /** Sends one report at a time and never throws. */
  report(): Promise<void> {
    return (this.#sending ??= this.#send().finally(() => (this.#sending = null)));
  }

  async #send(): Promise<void> {
    const { incidents, reports, node, log } = this.#parts;
    const taken = this.#unsent === null ? incidents.take() : null;
    const body = this.#unsent ?? (taken && JSON.stringify(taken));
    if (body === null) return;
    const upload = { node, atMs: Date.now(), body };
    this.#unsent = body;
    try {
      await reports.write({
        ...upload,
        proof: proveUpload({ ...upload, purpose: 'incidents' }, this.#credentialHash),
      });
      this.#unsent = null;
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) log.warn({ err: error }, 'incidents cannot be reported; trying again');
      this.#isFailing = true;
    }
  }
}
