import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { CONFIG, type Config } from '../../config.ts';
import { BULL_CONNECTION, openBullConnection, type BullConnection } from './bull-connection.ts';
import { QueueWorkers } from './queue-workers.ts';

@Global()
@Module({
  providers: [{ provide: BULL_CONNECTION, inject: [CONFIG], useFactory: (config: Config) => openBullConnection(config.REDIS_URL) }, QueueWorkers],
  exports: [BULL_CONNECTION, QueueWorkers],
})
export class QueuesModule implements OnApplicationShutdown {
  constructor(@Inject(BULL_CONNECTION) private readonly connection: BullConnection) {}

  onApplicationShutdown(): void {
    this.connection.disconnect();
  }
}
