import { BackgroundService, type BackgroundServiceOptions } from './background-service.ts';

const RETRY_MS = 5_000;

/** Checks a state repeatedly while the application runs. Replicas check at the same time, so `look` must allow that. */
export abstract class Watch extends BackgroundService {
  protected constructor(options: BackgroundServiceOptions) {
    super({ retryMs: RETRY_MS, ...options });
  }

  abstract look(): Promise<unknown>;

  protected runOnce(): Promise<unknown> {
    return this.look();
  }
}
