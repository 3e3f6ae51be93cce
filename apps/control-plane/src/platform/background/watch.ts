import { BackgroundService, type BackgroundServiceOptions } from './background-service.ts';

const RETRY_MS = 5_000;

/** Looks at a state again and again while the application runs. Replicas look at the same time: `look` allows that. */
export abstract class Watch extends BackgroundService {
  protected constructor(options: BackgroundServiceOptions) {
    super({ retryMs: RETRY_MS, ...options });
  }

  abstract look(): Promise<unknown>;

  protected runOnce(): Promise<unknown> {
    return this.look();
  }
}
