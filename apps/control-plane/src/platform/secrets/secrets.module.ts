import { Global, Module } from '@nestjs/common';
import { createSecretBox } from '@tollgate/contracts';
import { CONFIG, type Config } from '../../config.ts';

/** Injection token of the box that seals secrets for their rows: `@Inject(SECRET_BOX) box: SecretBox`. */
export const SECRET_BOX = Symbol('SECRET_BOX');

@Global()
@Module({
  providers: [
    {
      provide: SECRET_BOX,
      inject: [CONFIG],
      useFactory: (config: Config) => createSecretBox(config.ENCRYPTION_KEY),
    },
  ],
  exports: [SECRET_BOX],
})
export class SecretsModule {}
