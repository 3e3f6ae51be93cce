import { Inject, Injectable } from '@nestjs/common';
import { FunctionLibrary, onRedisReturn, type RedisConnection } from '@tollgate/keyspace';
import { BackgroundService } from '../background/background-service.ts';
import { DomainEvents } from '../domain-events/domain-events.ts';
import { REDIS } from './redis-token.ts';

/** Nodes that miss a function wait three seconds for it. */
const EVERY_MS = 1_000;
const RETRY_MS = 200;

/** Reports that another writer had replaced these libraries. */
export class FunctionsReplaced {
  constructor(readonly libraries: readonly string[]) {}
}

/** Keeps the Lua functions loaded and restores them when another writer has replaced them. Nodes call the functions and must not be able to replace them. */
@Injectable()
export class LibraryKeeper extends BackgroundService {
  private stopWatching = (): void => undefined;
  constructor(
    private readonly library: FunctionLibrary,
    @Inject(REDIS) private readonly redis: RedisConnection,
    private readonly events: DomainEvents,
  ) {
    super({
      name: 'redis',
      everyMs: EVERY_MS,
      retryMs: RETRY_MS,
      failing: 'the functions cannot be loaded; trying again',
    });
  }

  override onApplicationBootstrap(): void {
    this.stopWatching = onRedisReturn(this.redis, () => this.loop.wakeWithin(0));
    this.loop.start();
  }

  override onApplicationShutdown(): Promise<void> {
    this.stopWatching();
    return super.onApplicationShutdown();
  }

  protected async runOnce(): Promise<void> {
    const foreign = await this.library.keepLoaded();
    if (foreign.length > 0) await this.events.publish(new FunctionsReplaced(foreign));
  }
}
