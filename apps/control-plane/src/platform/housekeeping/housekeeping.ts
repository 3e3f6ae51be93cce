import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';

const EVERY_MS = 60 * 60 * 1000;

/** Runs hourly work that deletes what is no longer needed. Every replica runs it; running it twice is harmless. */
@Injectable()
export class Housekeeping implements BeforeApplicationShutdown {
  private readonly logger = new Logger('housekeeping');
  private readonly timers: NodeJS.Timeout[] = [];

  add(name: string, work: () => Promise<void>): void {
    const run = (): void =>
      void work().catch((error: unknown) =>
        this.logger.warn(error, `${name} failed; trying again in an hour`),
      );
    this.timers.push(setInterval(run, EVERY_MS).unref());
  }

  beforeApplicationShutdown(): void {
    for (const timer of this.timers) clearInterval(timer);
  }
}
