import { hostname } from 'node:os';
import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { VERSION } from '@tollgate/contracts';
import { openTracing, type Tracing } from '@tollgate/tracing';
import { CONFIG, type Config } from '../../config.ts';

/** The injection token is used as `@Inject(TRACING) tracing: Tracing | null`; it is null while tracing is off. */
export const TRACING = Symbol('TRACING');

const logger = new Logger('traces');

@Global()
@Module({
  providers: [
    {
      provide: TRACING,
      inject: [CONFIG],
      useFactory: (config: Config) =>
        openTracing(
          config,
          {
            name: 'tollgate-control-plane',
            version: VERSION,
            instance: `${hostname()}:${process.pid}`,
          },
          (error) => logger.warn(error, 'traces could not be delivered'),
        ),
    },
  ],
  exports: [TRACING],
})
export class TracingModule implements OnApplicationShutdown {
  constructor(@Inject(TRACING) private readonly tracing: Tracing | null) {}

  async onApplicationShutdown(): Promise<void> {
    await this.tracing?.close();
  }
}
