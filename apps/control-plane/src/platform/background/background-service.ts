import {
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { BackgroundLoop } from './background-loop.ts';

export interface BackgroundServiceOptions {
  /** Is the name of the service in log lines. */
  readonly name: string;
  readonly everyMs: number;
  /** Is the pause after a failure, in ms. The default is the normal pause. */
  readonly retryMs?: number;
  /** Is the text that is logged when a series of failures begins. */
  readonly failing: string;
  /** Is true to stop the service before the server closes; the default is after. */
  readonly stopsFirst?: boolean;
}

/** Repeats `runOnce` from the application's start to its shutdown, which waits for the current run. */
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

  /** Is called when a series of failures begins. */
  protected onFailing(error: unknown): void | Promise<void> {
    this.logger.warn(error, this.options.failing);
  }

  /** Is called after the first success and after each series of failures. */
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
