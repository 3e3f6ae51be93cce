import { Inject, Injectable } from '@nestjs/common';
import { FunctionLibrary, onRedisReturn, type RedisConnection } from '@tollgate/keyspace';
import { BackgroundService } from '../background/background-service.ts';
import { REDIS } from './redis-token.ts';

/** Nodes that miss a function wait three seconds for it. */
const EVERY_MS = 1_000;
const RETRY_MS = 200;

/** Keeps the Lua functions loaded: nodes call them, and must not be able to replace them. What another writer put in their place is replaced. */
@Injectable()
export class LibraryKeeper extends BackgroundService {
  private stopWatching = (): void => undefined;
  private onForeign: (libraries: readonly string[]) => Promise<void> = async () => undefined;
  constructor(
    private readonly library: FunctionLibrary,
    @Inject(REDIS) private readonly redis: RedisConnection,
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

  /** Called with the names of libraries that another writer had put in the place of this one. */
  listen(onForeign: (libraries: readonly string[]) => Promise<void>): void {
    this.onForeign = onForeign;
  }

  override onApplicationShutdown(): Promise<void> {
    this.stopWatching();
    return super.onApplicationShutdown();
  }

  protected async runOnce(): Promise<void> {
    const foreign = await this.library.keepLoaded();
    if (foreign.length > 0) await this.onForeign(foreign);
  }
}
