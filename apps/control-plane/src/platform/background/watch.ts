import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { BackgroundLoop } from './background-loop.ts';

const RETRY_MS = 5_000;

export interface WatchOptions {
  readonly name: string;
  readonly everyMs: number;
  readonly retryMs?: number;
  /** Logged when a run of failures begins. */
  readonly failing: string;
}

/** Looks at a state again and again while the application runs. Replicas look at the same time: `look` allows that. */
export abstract class Watch implements OnApplicationBootstrap, OnApplicationShutdown {
  protected readonly logger: Logger;
  private readonly loop: BackgroundLoop;

  protected constructor({ name, everyMs, retryMs = RETRY_MS, failing }: WatchOptions) {
    this.logger = new Logger(name);
    this.loop = new BackgroundLoop({
      everyMs,
      retryMs,
      work: async () => void (await this.look()),
      onFailing: (error) => this.logger.warn(error, failing),
    });
  }

  abstract look(): Promise<unknown>;

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
