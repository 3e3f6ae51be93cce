import {
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { BackgroundLoop } from './background-loop.ts';

export interface BackgroundServiceOptions {
  /** The name in its log lines. */
  readonly name: string;
  readonly everyMs: number;
  /** Default: as without a failure. */
  readonly retryMs?: number;
  /** Logged when a run of failures begins. */
  readonly failing: string;
  /** Its work stops before the server closes; default: after. */
  readonly stopsFirst?: boolean;
}

/** A service that repeats `runOnce` from the start of the application until its shutdown, which waits for the run in progress. */
export abstract class BackgroundService
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  protected readonly logger: Logger;
  protected readonly loop: BackgroundLoop;

  protected constructor(private readonly options: BackgroundServiceOptions) {
    const { name, everyMs, retryMs = everyMs } = options;
    this.logger = new Logger(name);
    this.loop = new BackgroundLoop({
      everyMs,
      retryMs,
      work: async () => void (await this.runOnce()),
      onFailing: (error) => this.onFailing(error),
      onWorking: () => this.onWorking(),
    });
  }

  protected abstract runOnce(): Promise<unknown>;

  /** Called when a run of failures begins. */
  protected onFailing(error: unknown): void | Promise<void> {
    this.logger.warn(error, this.options.failing);
  }

  /** Called after the first success and after each run of failures. */
  protected onWorking(): void | Promise<void> {}

  onApplicationBootstrap(): void | Promise<void> {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (this.options.stopsFirst === true) await this.loop.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }
}
